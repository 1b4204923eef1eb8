//! Levels of assurance (`acr`) and authentication methods (`amr`) (`docs/levels.md`).
//!
//! Responsible for the order of levels, for what each platform accepts, and for what evidence
//! proves.

pub mod acr;
pub mod amr;

pub use passerelle_protocol::acr::{AuthenticationRequirement, Level, Platform};

/// A level that the gate checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcrCheck {
    /// Before the callback: what a request needs. The hub may request more upstream, never less
    /// than the connector's lowest level ([`acr::AcrPolicy::level_to_request`]).
    Requested(AuthenticationRequirement),
    /// From the callback on: the level that the identity provider proved, which must be in the
    /// connector's current range.
    Achieved(Level),
}
