//! What the parts of a hub need of its settings, in their own words.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::actor::logins;
use crate::config::Loaded;
use crate::config::model::{IdentitySource, Limits, Quotas, SubjectSource};
use crate::config::quotas::DEFAULT_REQUESTS_PER_NETWORK;
use crate::grant::mistakes::Allowed;
use crate::identity::rules::{Required, Rules};
use crate::protocol::acr::Platform;
use crate::quota::{NetworkRate, Prefixes, Rates};
use crate::store::Usage;

/// On the high platform the identity is the provider's (R009), whatever the settings say.
pub(super) fn identity_source(loaded: &Loaded) -> IdentitySource {
    match loaded.settings.platform {
        Platform::High => IdentitySource::Provider,
        Platform::Standard => loaded.settings.identity_source,
    }
}

pub(super) fn rules(loaded: &Loaded) -> Rules {
    let required = match loaded.settings.subject {
        SubjectSource::Pivot => Required::Pivot,
        SubjectSource::Provider => Required::SubjectOnly,
    };
    Rules { home_country: loaded.settings.home_country.clone(), required }
}

pub(super) fn limits(configured: &Limits) -> logins::Limits {
    // A page of ours must come before the shell's deadline cuts the request.
    let patience =
        Duration::from_secs(configured.request_seconds).saturating_sub(Duration::from_secs(1));
    logins::Limits { steps_in_flight: configured.steps_in_flight, patience }
}

/// The room for all logins.
pub(super) fn login_room(configured: &Limits) -> Usage {
    Usage { records: configured.logins, bytes: configured.login_bytes() }
}

pub(super) fn allowed(configured: &Limits) -> Allowed {
    // The configuration refuses 0.
    let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
    Allowed {
        failed_authentications: count(configured.failed_authentications_per_minute),
        inactive_answers: count(configured.inactive_answers_per_minute),
    }
}

pub(super) fn rates(configured: &Quotas) -> Rates {
    let rate = |count: Option<u32>| count.and_then(NonZeroU32::new);
    Rates {
        logins_per_service_provider: rate(configured.logins_per_service_provider),
        requests_per_network: match configured.requests_per_network.map(NonZeroU32::new) {
            Some(Some(most)) => NetworkRate::Everyone(most),
            Some(None) => NetworkRate::Unlimited,
            None => NetworkRate::PublicAddresses(DEFAULT_REQUESTS_PER_NETWORK),
        },
        departures_per_connector: rate(configured.departures_per_connector),
        failed_authentications_per_network: rate(configured.failed_authentications_per_network),
        prefixes: Prefixes { v4: configured.ipv4_prefix, v6: configured.ipv6_prefix },
    }
}

pub(super) fn workers(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        given => given,
    }
}
