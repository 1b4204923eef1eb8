//! L3 · actix: one actor per login, one per identity provider, and the registry that keeps the latter.
//!
//! Owns: who works on what at which moment, admission, passivation, time limits on waiting. Must not know: HTTP,
//! pages, which store, register or kind of connector is behind the ports. The machine (`login`) decides, the actor
//! drives, the store is the truth (architecture, rules 1 to 4).
//!
//! ```text
//! web ─▶ Logins (typed handle: admit, find, activate) ─▶ LoginActor (queue and cache) ─▶ steps::drive
//!                                                                                          │ effects
//!                                         Connectors (typed handle, snapshot) ◀────────────┤
//!                                              └▶ ConnectorActor (one per IdP)             └▶ register, grant
//! ```

mod admission;
mod audited;
pub mod blocks;
mod choices;
pub mod connector;
pub mod health;
mod identify;
mod live;
mod login;
pub mod logins;
mod logouts;
mod means;
pub mod ongoing;
mod prober;
pub mod registry;
mod reuse;
mod sandbox;
mod sign_in;
mod steps;
mod unauthenticated;

pub use choices::{ChoiceEntry, Obstacle};
pub use health::Standing as Condition;
pub use logins::{Ended, Logins, Reply, Standing, StoredLogin, Unserved};
pub use logouts::{Departed, Logouts};
pub use means::LoginServices;
pub use prober::WayOut;
pub use registry::Connectors;
pub use sandbox::{SandboxOffer, SandboxPerson, SandboxRefusal};
pub use sign_in::{SignInOutcome, TypedIn};
pub use unauthenticated::{UNSEEN_LIFE, UnauthenticatedLogins};
