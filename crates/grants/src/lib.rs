//! Issues and redeems authorization codes, validates, introspects and revokes access tokens, and
//! keeps sessions.
//!
//! Responsible for the single use of a code, for revoking what a replayed code issued, and for
//! ending a session with everything issued in it. Does not depend on HTTP, actors, the course of a
//! login, or the implementations behind the `Store` and `Signer` traits. Begin with `code.rs`:
//! why a code can't be used twice.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod access_token;
pub mod assertion;
pub mod auth_failures;
pub mod authorization_request;
pub mod backchannel_logout;
mod client;
pub mod client_keys;
mod code;
mod code_exchange;
pub mod dynamic_clients;
pub mod error;
mod hint;
mod hub_core;
pub mod lifetimes;
pub mod logout_redirects;
pub mod pending_post;
mod records;
mod refresh;
pub mod request_object;
mod response_signer;
mod revocation;
mod sender;
mod services;
mod session;
mod store_quota;
pub mod subjects;
mod token_endpoint;
mod token_issuer;
mod used_jtis;

use std::time::Duration;

use crate::lifetimes::TokenLifetimes;
pub use access_token::{AccessTokens, IntrospectionResponse, UserinfoResponse};
pub use code::AuthorizationCodes;
pub use hint::IdTokenHints;
pub use hub_core::HubCore;
use passerelle_federation::assurance::AcrCheck;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::registration::ProtocolRules;
pub use refresh::{RefreshGrantSummary, RefreshTokens};
pub use response_signer::ResponseSigner;
pub use revocation::RevocationEndpoint;
pub use sender::{DpopNonces, SenderVerifier};
pub use services::{GrantDependencies, GrantServices};
pub use session::Sessions;
pub use token_endpoint::TokenEndpoint;
pub use used_jtis::UsedJtis;

/// Lifetimes of codes and tokens, by the rules of the service provider.
#[derive(Clone, Copy, Debug)]
pub struct TokenLifetimesByRules {
    pub federation: TokenLifetimes,
    pub openid: TokenLifetimes,
}

impl TokenLifetimesByRules {
    /// Returns the lifetimes under these rules.
    pub const fn for_rules(&self, rules: ProtocolRules) -> TokenLifetimes {
        match rules {
            ProtocolRules::Federation => self.federation,
            ProtocolRules::Openid => self.openid,
        }
    }

    /// Returns the longest lifetime of a code.
    pub fn longest_code(&self) -> Duration {
        self.federation.code.max(self.openid.code)
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

#[cfg(test)]
mod tests;
