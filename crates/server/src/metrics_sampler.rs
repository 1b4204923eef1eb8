//! Samples metrics of the whole hub at each scrape, and names service providers in labels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::keys::SharedKeys;
use super::register::register_settings;
use passerelle_admin::console::{LiveLogins, LiveLoginsSource, LoginTrend};
use passerelle_admin::readiness::Readiness;
use passerelle_audit::recent::RecentEvents;
use passerelle_config::LoadedConfig;
use passerelle_config::model::ServiceProviderLabels;
use passerelle_egress::certificate_expiry;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::{Federation, ServiceProvider};
use passerelle_grants::HubCore;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::live_login_counter::LiveLoginCounter;
use passerelle_jose::keyfiles;
use passerelle_jose::keyring::KeyState;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_telemetry::Metrics;

/// Length of a bar in the trend of the admin console, and interval of the removal of old logins.
const TREND_INTERVAL: Duration = Duration::from_secs(60);

/// Settings that determine the labels of service providers.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelPolicy {
    labels: ServiceProviderLabels,
    platform: Platform,
}

impl LabelPolicy {
    /// Reads the policy from the settings.
    pub(crate) fn from_settings(loaded: &LoadedConfig) -> Self {
        Self {
            labels: loaded.settings.metrics.service_provider_labels,
            platform: loaded.settings.platform,
        }
    }

    /// Applies the labels of this federation, and removes the series of removed labels.
    pub(crate) fn apply(self, federation: &Federation, metrics: &Metrics) {
        if self.labels == ServiceProviderLabels::Class {
            metrics.set_client_classes(self.classes(federation));
        }
        let services =
            all_service_providers(federation).map(|service| service.registration.client_id.clone());
        let data_providers = federation.data_providers().map(|provider| provider.client_id.clone());
        let connector = |id: &str| federation.connector(&ConnectorId::from(id)).is_some();
        metrics.retain_series(connector, services.chain(data_providers));
    }

    fn classes(self, federation: &Federation) -> BTreeMap<ClientId, Arc<str>> {
        let platform = platform_label(self.platform);
        let [federated, openid, data] = ["federation", "openid", "data-provider"]
            .map(|rules| Arc::<str>::from(format!("{platform}/{rules}")));
        let services = all_service_providers(federation).map(|service| {
            let usual = match service.registration.rules {
                ProtocolRules::Federation => &federated,
                ProtocolRules::Openid => &openid,
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

const fn platform_label(platform: Platform) -> &'static str {
    match platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    }
}

/// Sources of the metrics that are sampled at each scrape.
pub(super) struct MetricSources {
    pub core: Arc<HubCore>,
    pub client_keys: Arc<KeyDirectory>,
    pub keys: SharedKeys,
    /// Age at which keys are rotated by schedule.
    pub key_rotation_period: Option<Duration>,
    pub live_logins: Arc<LiveLoginCounter>,
}

/// Returns a function that counts the live logins by state, for the admin console.
pub(super) fn live_login_reader(
    live_logins: Arc<LiveLoginCounter>,
    core: Arc<HubCore>,
) -> LiveLoginsSource {
    Box::new(move || {
        let counts =
            live_logins.live_by_state(core.env.now(), &core.metrics).map(|(_, count)| count);
        let [choosing, awaiting_callback, verifying, identifying, confirming_mail, consenting] =
            counts;
        LiveLogins {
            choosing,
            awaiting_callback,
            verifying,
            identifying,
            confirming_mail,
            consenting,
        }
    })
}

/// Starts to keep the logins of the last hour for the admin console, and removes expired ones from
/// `recent` every minute. Ends with its last user.
pub(super) fn start_login_trend(
    core: &Arc<HubCore>,
    recent: Option<Arc<RecentEvents>>,
) -> Arc<LoginTrend> {
    let (trend, core) = (Arc::new(LoginTrend::default()), Arc::clone(core));
    let kept = Arc::downgrade(&trend);
    actix::spawn(async move {
        let mut minutes = tokio::time::interval(TREND_INTERVAL);
        minutes.tick().await;
        loop {
            minutes.tick().await;
            let Some(trend) = kept.upgrade() else { return };
            trend.add_minute(&core.metrics.ended_logins(), core.env.now());
            if let Some(recent) = &recent {
                recent.remove_expired();
            }
        }
    });
    trend
}

/// Sets the fixed metrics and samples the others at each scrape.
pub(super) fn start_sampling(loaded: &LoadedConfig, sources: MetricSources) {
    let metrics = Arc::clone(&sources.core.metrics);
    metrics.set_platform(platform_label(loaded.settings.platform));
    // A register that can't be used has kept the hub from starting.
    let register = register_settings(loaded).ok().flatten();
    for (label, pem) in register.map(|settings| settings.certificates()).unwrap_or_default() {
        if let Some(end) = certificate_expiry::earliest_expiry(pem.as_bytes()) {
            metrics.set_certificate_expiry(label, end);
        }
    }
    let labels = LabelPolicy::from_settings(loaded);
    labels.apply(&sources.core.federation.load(), &metrics);
    metrics.sample_with(move |metrics| {
        // Clients can register at any time.
        labels.apply(&sources.core.federation.load(), metrics);
        sources.report(metrics);
    });
}

/// Samples whether the hub admits logins.
pub(super) fn sample_admission(metrics: &Metrics, readiness: &Arc<Readiness>) {
    let readiness = Arc::downgrade(readiness);
    metrics.sample_with(move |metrics| {
        let readiness = readiness.upgrade();
        metrics.set_logins_admitted(readiness.is_some_and(|readiness| readiness.admits_logins()));
    });
}

impl MetricSources {
    fn report(&self, metrics: &Metrics) {
        let now = self.core.env.now();
        self.live_logins.publish_metrics(now, metrics);
        self.client_keys.record_fetch_times();
        metrics
            .set_client_secret_expiry(last_secret_ends(&self.core.federation.load()).into_iter());
        metrics.clear_active_keys();
        let rows = self.keys.rows(now);
        let period = self.key_rotation_period;
        if let Some(at) = period.and_then(|period| keyfiles::rotation_due_at(&rows, period)) {
            metrics.set_key_rotation_due(at);
        }
        for row in rows.iter().filter(|row| row.state == KeyState::Current) {
            let labels = [row.purpose.as_str(), row.alg, row.location.as_str()];
            metrics.set_active_key(labels, row.since);
        }
    }
}

fn all_service_providers(federation: &Federation) -> impl Iterator<Item = &Arc<ServiceProvider>> {
    federation.service_providers().chain(federation.registered_without_file())
}

fn last_secret_ends(federation: &Federation) -> Vec<(ClientId, Timestamp)> {
    let services = federation
        .service_providers()
        .filter(|service| service.registration.active)
        .filter_map(|service| {
            let secrets = service.authentication.secrets();
            Some((service.registration.client_id.clone(), DatedSecret::last_expiry(secrets)?))
        });
    let data_providers = federation.active_data_providers().filter_map(|provider| {
        Some((provider.client_id.clone(), DatedSecret::last_expiry(&provider.secrets)?))
    });
    services.chain(data_providers).collect()
}
