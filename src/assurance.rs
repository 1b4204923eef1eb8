//! L1 · Honest levels of assurance (`acr`) and authentication methods (`amr`): decisions 8 and 9.
//!
//! Owns: the order of levels, what each platform accepts, what evidence proves. Must not know: HTTP, actors, stores.

pub mod acr;
pub mod amr;

pub use crate::protocol::acr::{Demand, Level, Platform};

/// A level that the gate judges (decisions 1), and what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// Before the callback: what a request needs. More may be asked upstream, never less than the connector's lowest
    /// ([`acr::Agreement::to_ask`]).
    Asked(Demand),
    /// From the callback on: what the identity provider proved, which must be what its connector may prove now.
    Obtained(Level),
}
