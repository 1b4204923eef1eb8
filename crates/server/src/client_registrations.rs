//! Builds the core of a hub with its dynamically registered clients.

use std::sync::Arc;

use super::hub_parts::hub_core;
use passerelle_audit::Audit;
use passerelle_config::LoadedConfig;
use passerelle_federation::{CurrentFederation, Federation};
use passerelle_grants::HubCore;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_grants::client_registration::{ClientRegistrations, RegistrationServices};
use passerelle_protocol::env::Env;
use passerelle_store::Store;
use passerelle_telemetry::Metrics;

/// Builds what every part of a hub uses, and starts to read the registrations, unless they are off.
/// Must be called inside an actix system. The first requests may come before the first reading: each
/// reads what it needs.
pub(super) fn build_core(
    loaded: &LoadedConfig,
    env: Env,
    federation: Federation,
    (store, client_keys): (&Arc<dyn Store>, &Arc<KeyDirectory>),
    (metrics, audit): (Arc<Metrics>, Audit),
) -> Arc<HubCore> {
    let federation = CurrentFederation::new(federation);
    let registrations = loaded.settings.client_registration.clone().map(|config| {
        let services = RegistrationServices {
            env: env.clone(),
            store: Arc::clone(store),
            federation: federation.clone(),
            client_keys: Arc::clone(client_keys),
            check_client_file: loaded.files.client_checker(),
            platform: loaded.settings.platform,
            audit: audit.clone(),
            metrics: Arc::clone(&metrics),
            base_url: loaded.settings.base_url.clone(),
            hub_name: loaded.theme.name.clone(),
        };
        let registrations = Arc::new(ClientRegistrations::new(config, services));
        actix::spawn(Arc::clone(&registrations).run());
        registrations
    });
    hub_core(loaded, env, federation, registrations, (metrics, audit))
}
