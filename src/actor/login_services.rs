//! What login actors work with: one for the program, shared by all of them.

use std::sync::Arc;
use std::time::Duration;

use super::ongoing::Ongoing;
use super::registry::Connectors;
use super::unauthenticated::UnauthenticatedLogins;
use crate::assurance::Platform;
use crate::config::Current;
use crate::config::model::IdentitySource;
use crate::env::Env;
use crate::grant::Grants;
use crate::identity::rules::Rules;
use crate::quota::Quotas;
use crate::register::Register;
use crate::session::Limits;
use crate::store::Store;
use crate::telemetry::Metrics;

pub struct LoginServices {
    pub env: Env,
    pub platform: Platform,
    pub store: Arc<dyn Store>,
    pub federation: Current,
    pub connectors: Connectors,
    /// Present where identities come from the register.
    pub register: Option<Arc<dyn Register>>,
    pub grants: Arc<Grants>,
    pub quotas: Arc<Quotas>,
    pub metrics: Arc<Metrics>,
    /// Logins without an outcome, counted.
    pub ongoing: Arc<Ongoing>,
    /// Logins whose page was never fetched.
    pub unauthenticated: UnauthenticatedLogins,
    pub identity_source: IdentitySource,
    pub identity_rules: Rules,
    /// `{base_url}/api/v2/callback/`.
    pub callback_base: String,
    /// How long a session may be reused.
    pub session_limits: Limits,
    /// From authorize to expiry.
    pub login_life: Duration,
}

impl std::fmt::Debug for LoginServices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Means").field("platform", &self.platform).finish_non_exhaustive()
    }
}
