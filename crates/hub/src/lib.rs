//! Runs logins and connectors as actors: one actor per login, one per identity provider, and the
//! registry of the latter (docs/design/architecture.md).
//!
//! Responsible for what runs when: admission, passivation, time limits. Does not depend on HTTP,
//! pages, or which store, register or connector kind is in use. [`passerelle_federation::login`]
//! decides, the actors execute, and the store's record is authoritative. Begin with
//! `login_actor.rs`.
//!
//! ```text
//! web ─▶ Logins (handle: admits, finds, activates) ─▶ LoginActor (queue, cache) ─▶ run_browser_step
//!                                                                                    │ effects
//!                                        Connectors (handle, snapshot) ◀─────────────┤
//!                                             └▶ ConnectorActor (one per IdP)        └▶ register, grants
//! ```

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod choices;
mod connector;
mod connector_pages;
mod health;
pub mod hub_clock;
mod identify;
mod live_actor;
pub mod live_login_counter;
mod login_actor;
mod login_services;
mod login_summary;
pub mod logins;
mod logouts;
pub mod mail_codes;
mod mail_step;
pub mod notices;
mod prober;
pub mod registry;
pub mod runtime_entries;
mod sandbox;
mod session_reuse;
mod sign_in;
mod step_admission;
mod step_audit;
mod steps;
mod unauthenticated_logins;
mod upstream_logouts;

pub use choices::ChoiceEntry;
pub use login_services::LoginServices;
pub use login_summary::{LoginSummary, Reply, StepError, StoredLogin};
pub use logins::{LoginAdmissionError, Logins};
pub use logouts::{LogoutOutcome, Logouts, redirect_state};
pub use passerelle_connector::sandbox_form::{SandboxOffer, SandboxUser};
pub use prober::OutboundNetwork;
pub use registry::Connectors;
pub use sandbox::SandboxError;
pub use sign_in::{PasswordCredentials, PasswordNotice, PasswordOutcome};
pub use unauthenticated_logins::{UNREAD_LOGIN_LIFETIME, UnauthenticatedLogins};
