//! L3 · Codes and tokens at work: issue, redeem, judge, introspect, revoke (decisions 6, 11).
//!
//! Owns: what a code and an access token stand for, single use, revocation of what a reused code issued, the end of a
//! session with all that was issued in it. Must not know: HTTP, actors, how a login came about, which store or which
//! signer is behind the ports.

mod assertion;
pub mod client;
pub mod client_keys;
mod code;
pub mod hint;
pub mod introspection;
pub mod logout;
pub mod mistakes;
mod records;
pub mod refusal;
mod seal;
pub mod session;
pub mod subjects;
mod token;

use std::sync::Arc;
use std::time::Duration;

use crate::assurance::{At, Platform};
use crate::audit::Audit;
use crate::config::Current;
use crate::env::Env;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::catalogue::ErrorCode;
use crate::session::Limits;
use crate::store::Store;
use crate::telemetry::Metrics;
use crate::token::Signer;
use crate::token::verify::VerificationKeys;
use arc_swap::ArcSwap;
pub use assertion::AssertionRoom;
use client_keys::KeyDirectory;
use mistakes::Mistakes;
use subjects::Subjects;
pub use token::UserinfoAnswer;

/// What redeeming and judging work with. One for the program, shared by all.
pub struct Grants {
    pub store: Arc<dyn Store>,
    pub signer: Arc<dyn Signer>,
    pub gate: Arc<dyn Gate>,
    pub federation: Current,
    /// Every service provider's and data provider's public keys.
    pub client_keys: Arc<KeyDirectory>,
    pub assertion_room: AssertionRoom,
    pub subjects: Subjects,
    pub mistakes: Mistakes,
    pub metrics: Arc<Metrics>,
    pub audit: Audit,
    pub env: Env,
    pub platform: Platform,
    pub issuer: String,
    /// The word that names this hub in `amr`.
    pub amr_marker: String,
    /// Our own public keys, current and retired: for ID tokens that come back as hints.
    pub own_keys: Arc<ArcSwap<VerificationKeys>>,
    pub lives: Lives,
    pub session_limits: Limits,
}

/// How long what is issued lives.
#[derive(Clone, Copy, Debug)]
pub struct Lives {
    pub code: Duration,
    pub access_token: Duration,
    pub id_token: Duration,
    /// Under `rules = "openid"`.
    pub openid_id_token: Duration,
}

/// The gate (decisions 1): one question, asked at choose, callback, reuse, consent and token.
pub trait Gate: Send + Sync {
    /// May this service provider be served through this connector, at this level, now?
    /// # Errors
    /// The reason why not: `GateClosed`, `IdpOff`, `IdpBlocked`, `IdpBlockedForService`, `IdpUnknown`, `AcrTooLow`.
    fn may(&self, client_id: &ClientId, connector: &ConnectorId, at: At) -> Result<(), ErrorCode>;
}

impl std::fmt::Debug for Grants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grants").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// A store's refusal, in the catalogue's words.
pub(crate) fn store_code(fault: &crate::store::StoreFault) -> ErrorCode {
    use crate::store::StoreFault;
    match fault {
        StoreFault::Full => ErrorCode::StoreFull,
        StoreFault::Unavailable(_) => ErrorCode::StoreUnavailable,
        StoreFault::Exists | StoreFault::Revoked => ErrorCode::Internal,
    }
}

#[cfg(test)]
pub(crate) mod tests;
