//! Defines the `[quotas]` table of `passerelle.toml`.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::MAX_RATE_PER_MINUTE;

/// Rate limits per minute, each shared by all hubs of a store.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuotasConfig {
    /// Logins that one service provider may start, unless its file sets `logins_per_minute`.
    /// Default: unlimited.
    #[schemars(range(min = 1, max = MAX_RATE_PER_MINUTE))]
    pub logins_per_service_provider: Option<u32>,
    /// Authorization requests from one network. Many users may share one address (docs/limits.md).
    /// Default: 1,200 from each public address, unlimited from loopback and private ones. 0:
    /// unlimited.
    #[schemars(range(min = 0, max = MAX_RATE_PER_MINUTE))]
    pub requests_per_network: Option<u32>,
    /// Users redirected to one identity provider, unless its connector sets
    /// `limits.redirects_per_minute`. Default: unlimited.
    #[schemars(range(min = 1, max = MAX_RATE_PER_MINUTE))]
    pub redirects_per_connector: Option<u32>,
    /// Failed client authentications and DPoP proofs from one network, for all clients together.
    /// Default: 1,200 from each public address, unlimited from loopback and private ones. 0:
    /// unlimited.
    #[schemars(range(min = 0, max = MAX_RATE_PER_MINUTE))]
    pub failed_authentications_per_network: Option<u32>,
    /// Prefix length of an IPv4 network; 32 is a single address.
    #[schemars(range(min = 8, max = 32))]
    pub ipv4_prefix: u8,
    /// Prefix length of an IPv6 network; a household has at least a /64.
    #[schemars(range(min = 16, max = 128))]
    pub ipv6_prefix: u8,
}

/// Default limit of requests from one public address per minute: five times the rate of 10,000
/// users behind one address before a deadline (docs/limits.md).
pub const DEFAULT_REQUESTS_PER_NETWORK: NonZeroU32 = NonZeroU32::MIN.saturating_add(1199);

impl Default for QuotasConfig {
    fn default() -> Self {
        Self {
            logins_per_service_provider: None,
            requests_per_network: None,
            redirects_per_connector: None,
            failed_authentications_per_network: None,
            ipv4_prefix: 32,
            ipv6_prefix: 64,
        }
    }
}
