//! What every endpoint works with: one value for the program, shared by all web workers.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::client_address::Proxies;
use super::cookies::Cookies;
use super::pages::Theme;
use crate::actor::{Connectors, Logins, Logouts};
use crate::assurance::Platform;
use crate::config::Current;
use crate::config::logo::Logo;
use crate::env::Env;
use crate::grant::Grants;
use crate::quota::Quotas;
use crate::quota::exchange::Exchange;
use crate::telemetry::Metrics;
use crate::token::UpstreamKeys;
use crate::token::keyring::Keyring;

pub struct Hub {
    pub env: Env,
    pub platform: Platform,
    /// `{base_url}/api/v2`.
    pub issuer: String,
    pub federation: Current,
    pub logins: Logins,
    pub logouts: Logouts,
    pub connectors: Connectors,
    pub grants: Arc<Grants>,
    pub quotas: Arc<Quotas>,
    /// What hubs with a shared store tell each other.
    pub exchange: Option<Arc<Exchange>>,
    /// Whose word counts for where a request comes from.
    pub proxies: Proxies,
    pub metrics: Arc<Metrics>,
    pub cookies: Cookies,
    pub theme: Theme,
    /// Served at `/assets/logo`.
    pub logo: Option<Logo>,
    /// Whether `/sandbox/…` exists at all.
    pub sandbox: Sandbox,
    pub keyring: Arc<ArcSwap<Keyring>>,
    /// The hub's keys as a client of identity providers.
    pub upstream_keys: Arc<ArcSwap<UpstreamKeys>>,
    /// A retired key is published as long as anything it signed may be alive.
    pub key_grace: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    Off,
    On,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}
