//! Checks `[quotas]` of `passerelle.toml`: rate limits per minute (docs/limits.md). All
//! are off by default, except the one for requests from one network.

use super::value_checks::{check_range, check_rate};
use crate::config::loading::{Diagnostic, SourceFile};
use crate::config::model::QuotasConfig;

/// Checks `[quotas]`.
pub fn check_quotas(source: &SourceFile, quotas: &QuotasConfig, problems: &mut Vec<Diagnostic>) {
    check_rate(
        source,
        "quotas.logins_per_service_provider",
        quotas.logins_per_service_provider,
        problems,
    );
    let requests = quotas.requests_per_network.filter(|rate| *rate != 0);
    check_rate(source, "quotas.requests_per_network", requests, problems);
    check_rate(source, "quotas.redirects_per_connector", quotas.redirects_per_connector, problems);
    check_rate(
        source,
        "quotas.failed_authentications_per_network",
        quotas.failed_authentications_per_network,
        problems,
    );
    check_range(source, "quotas.ipv4_prefix", quotas.ipv4_prefix.into(), (8, 32), problems);
    check_range(source, "quotas.ipv6_prefix", quotas.ipv6_prefix.into(), (16, 128), problems);
}
