//! What the metrics are told of a running hub as a whole: under which names service providers appear, what is gone, and what
//! is looked up at each scrape.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keys::SharedKeys;
use crate::actor::ongoing::Ongoing;
use crate::config::federation::{Authentication, Federation};
use crate::config::metrics::ServiceProviderLabels;
use crate::config::{Current, DatedSecret, Loaded};
use crate::egress::certificates;
use crate::env::{Env, Timestamp};
use crate::grant::client_keys::KeyDirectory;
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::acr::Platform;
use crate::protocol::registration::Rules;
use crate::telemetry::Metrics;
use crate::token::keyfiles;
use crate::token::keyring::KeyState;
use crate::web::window::{LiveTold, OnTheWay};

/// What of the settings the names depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming {
    labels: ServiceProviderLabels,
    platform: Platform,
}

impl Naming {
    pub fn of(loaded: &Loaded) -> Self {
        Self {
            labels: loaded.settings.metrics.service_provider_labels,
            platform: loaded.settings.platform,
        }
    }

    /// From now on this federation counts: the series of who is gone end.
    pub fn apply(self, federation: &Federation, metrics: &Metrics) {
        if self.labels == ServiceProviderLabels::Class {
            metrics.classes(self.classes(federation));
        }
        let services = federation.services().map(|service| service.registration.client_id.clone());
        let data_providers = federation.data_providers().map(|provider| provider.client_id.clone());
        let connector = |id: &str| federation.connector(&ConnectorId::from(id)).is_some();
        metrics.keep(connector, services.chain(data_providers));
    }

    fn classes(self, federation: &Federation) -> BTreeMap<ClientId, Arc<str>> {
        let platform = platform(self.platform);
        let [federated, openid, data] = ["federation", "openid", "data-provider"]
            .map(|rules| Arc::<str>::from(format!("{platform}/{rules}")));
        let services = federation.services().map(|service| {
            let usual = match service.registration.rules {
                Rules::Federation => &federated,
                Rules::Openid => &openid,
            };
            (
                service.registration.client_id.clone(),
                Arc::clone(service.class.as_ref().unwrap_or(usual)),
            )
        });
        let data_providers = federation
            .data_providers()
            .map(|provider| (provider.client_id.clone(), Arc::clone(&data)));
        services.chain(data_providers).collect()
    }
}

const fn platform(platform: Platform) -> &'static str {
    match platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    }
}

/// What is looked at when somebody scrapes.
pub(super) struct Looked {
    pub federation: Current,
    pub client_keys: Arc<KeyDirectory>,
    pub keys: SharedKeys,
    pub ongoing: Arc<Ongoing>,
    pub env: Env,
}

/// Where logins on their way stand, for the operator's window.
pub(super) fn on_the_way(ongoing: Arc<Ongoing>, env: &Env, metrics: &Arc<Metrics>) -> OnTheWay {
    let (env, metrics) = (env.clone(), Arc::clone(metrics));
    Box::new(move || {
        let counts = ongoing.live(env.now(), &metrics).map(|(_, count)| count);
        let [choosing, away, verifying, identifying, consenting] = counts;
        LiveTold { choosing, away, verifying, identifying, consenting }
    })
}

/// Has it told from now on.
pub(super) fn follow(loaded: &Loaded, looked: Looked, metrics: &Metrics) {
    metrics.hub_is(platform(loaded.settings.platform));
    let ends = |pem: &str| certificates::first_end(pem.as_bytes());
    if let Some(end) =
        loaded.register.identity.as_ref().and_then(|identity| ends(identity.reveal()))
    {
        metrics.certificate_expires("register_client", end);
    }
    if let Some(end) = loaded.register.ca.as_deref().and_then(ends) {
        metrics.certificate_expires("register_ca", end);
    }
    Naming::of(loaded).apply(&looked.federation.load(), metrics);
    metrics.sample_with(move |metrics| looked.report(metrics));
}

impl Looked {
    fn report(&self, metrics: &Metrics) {
        let now = self.env.now();
        self.ongoing.report(now, metrics);
        self.client_keys.report();
        metrics.client_secrets_expire(secrets_end(&self.federation.load()).into_iter());
        metrics.keys_cleared();
        let rows = keyfiles::rows(&self.keys.ring.load(), &self.keys.upstream.load(), now);
        for row in rows.iter().filter(|row| row.state == KeyState::Current) {
            metrics.key_in_use(row.purpose.as_str(), row.alg, row.since);
        }
    }
}

fn secrets_end(federation: &Federation) -> Vec<(ClientId, Timestamp)> {
    let services =
        federation.services().filter(|service| service.registration.active).filter_map(|service| {
            let secrets = match &service.authentication {
                Authentication::SecretPost(secrets)
                | Authentication::SecretBasic(secrets)
                | Authentication::Secret(secrets) => secrets,
                Authentication::PrivateKeyJwt(_) => return None,
            };
            Some((service.registration.client_id.clone(), DatedSecret::last_end(secrets)?))
        });
    let data_providers = federation.active_data_providers().filter_map(|provider| {
        Some((provider.client_id.clone(), DatedSecret::last_end(&provider.secrets)?))
    });
    services.chain(data_providers).collect()
}
