//! Builds the core of a hub, with its dynamically registered clients.

use std::sync::Arc;

use super::from_settings::rate_limit_settings;
use super::prepare::PreparedHub;
use passerelle_audit::Audit;
use passerelle_config::LoadedConfig;
use passerelle_federation::session::SessionLimits;
use passerelle_grants::HubCore;
use passerelle_grants::client_registration::{ClientRegistrations, RegistrationServices};
use passerelle_protocol::env::Env;
use passerelle_quota::RateLimits;
use passerelle_store::Store;

/// Builds what every part of a hub uses, and starts to read the registrations, unless they are off.
/// Must be called inside an actix system. The first requests may come before the first reading: each
/// reads what it needs.
pub(super) fn build_core(
    loaded: &LoadedConfig,
    env: Env,
    prepared: &PreparedHub,
    store: &Arc<dyn Store>,
    audit: Audit,
) -> Arc<HubCore> {
    let (settings, metrics) = (&loaded.settings, &prepared.metrics);
    let registrations = settings.client_registration.clone().map(|config| {
        let services = RegistrationServices {
            env: env.clone(),
            store: Arc::clone(store),
            federation: prepared.federation.clone(),
            client_keys: Arc::clone(&prepared.client_keys),
            check_client_file: loaded.files.client_checker(),
            platform: settings.platform,
            audit: audit.clone(),
            metrics: Arc::clone(metrics),
            base_url: settings.base_url.clone(),
            hub_name: loaded.theme.name.clone(),
        };
        let registrations = Arc::new(ClientRegistrations::new(config, services));
        actix::spawn(Arc::clone(&registrations).run());
        registrations
    });
    let rates = rate_limit_settings(&settings.quotas);
    Arc::new(HubCore {
        platform: settings.platform,
        issuer: loaded.issuer.clone(),
        certificate_base_url: settings
            .public
            .client_certificates
            .as_ref()
            .and_then(|certificates| certificates.base_url.clone()),
        amr_marker: settings.amr_marker.clone(),
        federation: prepared.federation.clone(),
        registrations,
        rate_limits: Arc::new(RateLimits::new(rates, &env, metrics)),
        session_limits: SessionLimits {
            idle: settings.lifetimes.session_idle(settings.platform),
            lifetime: settings.lifetimes.session(settings.platform),
            ..SessionLimits::for_platform(settings.platform)
        },
        metrics: Arc::clone(metrics),
        audit,
        env,
    })
}
