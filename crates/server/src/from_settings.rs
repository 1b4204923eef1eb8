//! Converts the settings into the configuration of each component.

use std::num::NonZeroU32;
use std::time::Duration;

use passerelle_config::LoadedConfig;
use passerelle_config::model::{DEFAULT_REQUESTS_PER_NETWORK, LimitsConfig, QuotasConfig};
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_federation::identity::{IdentitySource, SubjectSource};
use passerelle_grants::TokenLifetimesByRules;
use passerelle_grants::auth_failures::FailureLimits;
use passerelle_grants::lifetimes::{Lifetimes, MAX_ACCESS_TOKEN_LIFETIME};
use passerelle_hub::logins;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_quota::{NetworkRate, PrefixLengths, RateLimitSettings};
use passerelle_store::Usage;

/// Returns the source of identities. On the high platform it is always the identity provider
/// (R009).
pub(super) fn identity_source(loaded: &LoadedConfig) -> IdentitySource {
    match loaded.settings.platform {
        Platform::High => IdentitySource::Provider,
        Platform::Standard => loaded.settings.identity_source,
    }
}

/// Returns the identity rules of a subject source.
pub(super) fn identity_rules(subject: SubjectSource, home_country: &str) -> IdentityRules {
    let required = match subject {
        SubjectSource::Pivot => RequiredClaims::Pivot,
        SubjectSource::Provider => RequiredClaims::SubjectOnly,
    };
    IdentityRules { home_country: home_country.to_owned(), required }
}

/// Returns the limits of login steps.
pub(super) fn login_limits(configured: &LimitsConfig) -> logins::LoginLimits {
    // The hub's own page must be ready before the request deadline ends the request.
    let response_timeout =
        Duration::from_secs(configured.request_seconds).saturating_sub(Duration::from_secs(1));
    logins::LoginLimits { steps_in_flight: configured.steps_in_flight, response_timeout }
}

/// Returns the capacity for all logins.
pub(super) fn login_capacity(configured: &LimitsConfig) -> Usage {
    Usage { records: configured.logins, bytes: configured.login_bytes() }
}

/// Returns the lifetimes of codes and tokens.
pub(super) const fn grant_lifetimes(configured: &Lifetimes) -> TokenLifetimesByRules {
    TokenLifetimesByRules {
        federation: configured.tokens(ProtocolRules::Federation),
        openid: configured.tokens(ProtocolRules::Openid),
    }
}

/// Returns the longest time that a signature of the hub is valid: that of an ID token, or of a
/// userinfo response, which is valid as long as its access token.
pub(super) fn longest_signature(configured: &Lifetimes) -> Duration {
    let TokenLifetimesByRules { federation, openid } = grant_lifetimes(configured);
    federation.id_token.max(openid.id_token).max(MAX_ACCESS_TOKEN_LIFETIME)
}

/// Returns the limits of failed client authentications and inactive introspections.
pub(super) fn auth_failure_limits(configured: &LimitsConfig) -> FailureLimits {
    // The configuration rejects 0.
    let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
    FailureLimits {
        failed_authentications: count(configured.failed_authentications_per_minute),
        inactive_introspections: count(configured.inactive_answers_per_minute),
    }
}

/// Returns the rate limits.
pub(super) fn rate_limit_settings(configured: &QuotasConfig) -> RateLimitSettings {
    let rate = |count: Option<u32>| count.and_then(NonZeroU32::new);
    let by_network = |count: Option<u32>| match count.map(NonZeroU32::new) {
        Some(Some(most)) => NetworkRate::Everyone(most),
        Some(None) => NetworkRate::Unlimited,
        None => NetworkRate::PublicAddresses(DEFAULT_REQUESTS_PER_NETWORK),
    };
    RateLimitSettings {
        logins_per_service_provider: rate(configured.logins_per_service_provider),
        requests_per_network: by_network(configured.requests_per_network),
        redirects_per_connector: rate(configured.redirects_per_connector),
        failed_authentications_per_network: by_network(
            configured.failed_authentications_per_network,
        ),
        prefixes: PrefixLengths { v4: configured.ipv4_prefix, v6: configured.ipv6_prefix },
    }
}

/// Returns the number of worker threads; 0 means one for each CPU.
pub(super) fn worker_count(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        given => given,
    }
}
