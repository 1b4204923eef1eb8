//! Checks `[quotas]` of `passerelle.toml`: rate limits per minute (docs/limits.md). All
//! are off by default, except those by network.

use crate::model::QuotasConfig;
use passerelle_settings::value_checks::{check_range, check_rate};
use passerelle_settings::{Diagnostic, SourceFile};

/// Checks `[quotas]`.
pub fn check_quotas(source: &SourceFile, quotas: &QuotasConfig, problems: &mut Vec<Diagnostic>) {
    check_rate(
        source,
        "quotas.logins_per_service_provider",
        quotas.logins_per_service_provider,
        problems,
    );
    // 0 switches a limit by network off.
    for (key, rate) in [
        ("quotas.requests_per_network", quotas.requests_per_network),
        ("quotas.failed_authentications_per_network", quotas.failed_authentications_per_network),
    ] {
        check_rate(source, key, rate.filter(|rate| *rate != 0), problems);
    }
    check_rate(source, "quotas.redirects_per_connector", quotas.redirects_per_connector, problems);
    check_range(source, "quotas.ipv4_prefix", quotas.ipv4_prefix.into(), (8, 32), problems);
    check_range(source, "quotas.ipv6_prefix", quotas.ipv6_prefix.into(), (16, 128), problems);
}
