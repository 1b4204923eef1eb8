//! `[quotas]` of `passerelle.toml`: how often something may happen in a minute (docs/limits.md). All are off by default, but
//! the one for requests from one network.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use super::settings::within;
use super::source::Source;

/// The most that a rate may be: beyond it there is no limit worth counting.
const MOST: u64 = 10_000_000;

/// Each for one minute, and for all hubs that share a store together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Quotas {
    /// Logins that one service provider may begin; its own file may say otherwise by `logins_per_minute`. Any number when
    /// absent.
    pub logins_per_service_provider: Option<u32>,
    /// Authorization requests from one network. Many people may share one address (docs/limits.md). When absent, 1,200 from each
    /// public address, and any number from loopback and private ones. 0: any number.
    pub requests_per_network: Option<u32>,
    /// People sent to one identity provider; its connector's file may say otherwise by `limits.departures_per_minute`. Any
    /// number when absent.
    pub departures_per_connector: Option<u32>,
    /// Failed client authentications from one network, whichever clients they name. Any number when absent.
    pub failed_authentications_per_network: Option<u32>,
    /// Bits of an IPv4 address that make a network: 32 is the address itself.
    pub ipv4_prefix: u8,
    /// Bits of an IPv6 address that make a network: 64 is what one household gets, at least.
    pub ipv6_prefix: u8,
}

/// Requests from one public address in a minute where the operator says nothing: five times what 10,000 people behind one
/// address send before a deadline (docs/limits.md).
pub const DEFAULT_REQUESTS_PER_NETWORK: NonZeroU32 = NonZeroU32::MIN.saturating_add(1199);

impl Default for Quotas {
    fn default() -> Self {
        Self {
            logins_per_service_provider: None,
            requests_per_network: None,
            departures_per_connector: None,
            failed_authentications_per_network: None,
            ipv4_prefix: 32,
            ipv6_prefix: 64,
        }
    }
}

pub(super) fn check(source: &Source, quotas: &Quotas, problems: &mut Vec<Problem>) {
    rate(
        source,
        "quotas.logins_per_service_provider",
        quotas.logins_per_service_provider,
        problems,
    );
    let requests = quotas.requests_per_network.filter(|rate| *rate != 0);
    rate(source, "quotas.requests_per_network", requests, problems);
    rate(source, "quotas.departures_per_connector", quotas.departures_per_connector, problems);
    rate(
        source,
        "quotas.failed_authentications_per_network",
        quotas.failed_authentications_per_network,
        problems,
    );
    within(source, "quotas.ipv4_prefix", quotas.ipv4_prefix.into(), (8, 32), problems);
    within(source, "quotas.ipv6_prefix", quotas.ipv6_prefix.into(), (16, 128), problems);
}

/// One for a minute, wherever it is written.
pub(super) fn rate(source: &Source, key: &str, rate: Option<u32>, problems: &mut Vec<Problem>) {
    if let Some(rate) = rate {
        within(source, key, rate.into(), (1, MOST), problems);
    }
}
