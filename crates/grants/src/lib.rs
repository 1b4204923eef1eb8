//! Issues and redeems authorization codes, validates, introspects and revokes access tokens, and
//! keeps sessions.
//!
//! Responsible for the single use of a code, for revoking what a replayed code issued, and for
//! ending a session with everything issued in it. Does not depend on HTTP, actors, the course of a
//! login, or the implementations behind the [`Store`] and [`Signer`] traits. Begin with `code.rs`:
//! why a code can't be used twice.

#![cfg_attr(
    test,
    allow(
        clippy::pedantic,
        clippy::too_many_arguments,
        reason = "tests are tables, and panic where they fail; product code is checked without them"
    )
)]

pub mod assertion;
pub mod auth_failures;
pub mod authorization_request;
mod authorization_response;
pub mod backchannel_logout;
mod certificate;
pub mod client;
pub mod client_keys;
pub mod client_registration;
mod code;
mod dpop;
mod encryption;
pub mod error;
pub mod hint;
mod hub_core;
pub mod introspection;
pub mod lifetimes;
pub mod logout;
mod records;
mod refresh;
pub mod request_object;
mod sender;
pub mod session;
mod session_index;
mod store_quota;
pub mod subjects;
mod token;

use std::sync::Arc;
use std::time::Duration;

use crate::lifetimes::TokenLifetimes;
use arc_swap::ArcSwap;
pub use assertion::SingleUseQuota;
use auth_failures::AuthFailureLimiter;
pub use authorization_request::PushedRequestQuota;
use client_keys::KeyDirectory;
pub use dpop::DpopNonces;
pub use hub_core::HubCore;
use passerelle_federation::ServiceProvider;
use passerelle_federation::assurance::AcrCheck;
use passerelle_jose::Signer;
use passerelle_jose::client_certificate::CertificateAuthorities;
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_store::Store;
pub use refresh::RefreshGrantSummary;
use subjects::SubjectDeriver;
pub use token::UserinfoResponse;

/// Issues, validates and revokes codes, tokens and sessions; one instance per process.
pub struct TokenService {
    pub core: Arc<HubCore>,
    pub store: Arc<dyn Store>,
    pub signer: Arc<dyn Signer>,
    pub gate: Arc<dyn Gate>,
    /// Public keys of all service providers and data providers.
    pub client_keys: Arc<KeyDirectory>,
    pub single_use_quota: SingleUseQuota,
    /// Limits the pushed requests that each client has in the store.
    pub pushed_request_quota: PushedRequestQuota,
    pub dpop_nonces: DpopNonces,
    /// Certificate authorities for clients with `tls_client_auth`; `None` if not configured.
    pub certificate_authorities: Option<CertificateAuthorities>,
    /// Base URL of `mtls_endpoint_aliases` (RFC 8705 §5), if it differs from the issuer's.
    pub certificate_base_url: Option<String>,
    pub subjects: SubjectDeriver,
    /// Whether sessions are indexed by the `sub` of each service provider.
    pub indexes_sessions: bool,
    pub auth_failures: AuthFailureLimiter,
    /// `amr` value that identifies this hub.
    pub amr_marker: String,
    /// The hub's own public keys, current and retired: they verify ID tokens that come back as
    /// hints.
    pub own_keys: Arc<ArcSwap<VerificationKeys>>,
    pub lifetimes: GrantLifetimes,
}

/// Lifetimes of codes and tokens, by the rules of the service provider.
#[derive(Clone, Copy, Debug)]
pub struct GrantLifetimes {
    pub federation: TokenLifetimes,
    pub openid: TokenLifetimes,
}

impl GrantLifetimes {
    /// Returns the lifetimes under these rules.
    #[must_use]
    pub const fn for_rules(&self, rules: ProtocolRules) -> TokenLifetimes {
        match rules {
            ProtocolRules::Federation => self.federation,
            ProtocolRules::Openid => self.openid,
        }
    }

    /// Returns the longest lifetime of a code.
    #[must_use]
    pub fn longest_code(&self) -> Duration {
        self.federation.code.max(self.openid.code)
    }
}

impl TokenService {
    /// Returns the lifetime of this client's codes.
    fn code_lifetime(&self, client_id: &ClientId) -> Duration {
        self.lifetimes.for_rules(self.core.federation.load().rules_for(client_id)).code
    }

    /// Returns the lifetime of this client's access tokens.
    fn access_token_lifetime(&self, client: &ServiceProvider) -> Duration {
        let default = self.lifetimes.for_rules(client.registration.rules).access_token;
        client.access_token_lifetime.unwrap_or(default)
    }
}

/// Decides whether a service provider may use a connector (`docs/design/login.md`, "The gate").
/// A login asks it on every step.
pub trait Gate: Send + Sync {
    /// Checks that this service provider may use this connector at this level, now.
    ///
    /// # Errors
    /// The first reason that applies: `GateClosed` if the service provider is inactive,
    /// `IdpUnknown`, `IdpOff`, `IdpBlocked`, `GateClosed` if its file excludes the connector,
    /// `IdpBlockedForService`, `AcrTooLow`, `IdpReauthenticationUnproven`.
    fn check_access(
        &self,
        client_id: &ClientId,
        connector: &ConnectorId,
        at: AcrCheck,
    ) -> Result<(), ErrorCode>;
}

impl std::fmt::Debug for TokenService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenService").field("core", &self.core).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub mod tests;
