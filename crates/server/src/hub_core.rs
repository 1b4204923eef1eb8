//! Builds the core of a hub.

use std::sync::{Arc, OnceLock};

use super::from_settings::rate_limit_settings;
use super::prepare::PreparedHub;
use passerelle_audit::Audit;
use passerelle_config::LoadedConfig;
use passerelle_federation::session::SessionLimits;
use passerelle_grants::HubCore;
use passerelle_protocol::env::Env;
use passerelle_quota::RateLimits;

/// Builds what every part of a hub uses.
pub(super) fn build_core(
    loaded: &LoadedConfig,
    env: Env,
    prepared: &PreparedHub,
    audit: Audit,
) -> Arc<HubCore> {
    let (settings, metrics) = (&loaded.settings, &prepared.metrics);
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
        dynamic_clients: OnceLock::new(),
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
