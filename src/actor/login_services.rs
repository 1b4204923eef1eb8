//! Services that all login actors share.

use std::sync::Arc;
use std::time::Duration;

use super::live_login_counter::LiveLoginCounter;
use super::registry::Connectors;
use super::unauthenticated_logins::UnauthenticatedLogins;
use crate::assurance::Platform;
use crate::config::CurrentFederation;
use crate::config::model::IdentitySource;
use crate::env::Env;
use crate::grant::Grants;
use crate::identity::rules::IdentityRules;
use crate::quota::RateLimits;
use crate::register::Register;
use crate::session::SessionLimits;
use crate::store::Store;
use crate::telemetry::Metrics;

/// Services that login actors use; one per program.
pub struct LoginServices {
    pub env: Env,
    pub platform: Platform,
    pub store: Arc<dyn Store>,
    pub federation: CurrentFederation,
    pub connectors: Connectors,
    /// Present if identities come from the register.
    pub register: Option<Arc<dyn Register>>,
    pub grants: Arc<Grants>,
    pub rate_limits: Arc<RateLimits>,
    pub metrics: Arc<Metrics>,
    /// Counter of logins without an outcome.
    pub live_logins: Arc<LiveLoginCounter>,
    /// Logins in which no user has authenticated yet.
    pub unauthenticated: UnauthenticatedLogins,
    pub identity_source: IdentitySource,
    pub identity_rules: IdentityRules,
    /// `{base_url}/api/v2/callback/`.
    pub callback_base: String,
    /// How long a session may be reused.
    pub session_limits: SessionLimits,
    /// Time from the authorization request to the expiry of a login.
    pub login_lifetime: Duration,
}

impl std::fmt::Debug for LoginServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginServices").field("platform", &self.platform).finish_non_exhaustive()
    }
}
