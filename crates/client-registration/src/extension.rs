//! What the crate adds to a hub.

use std::sync::Arc;

use passerelle_extension::{Extension, ExtensionContext, RegistrationEndpoint, StartedExtension};
use passerelle_protocol::acr::Platform;
use passerelle_settings::ConfiguredTable;
use passerelle_store::Usage;
use passerelle_web::endpoint::Endpoint;

use super::mirror::REGISTRATIONS;
use super::records::REGISTRATION;
use super::settings::{self, ClientRegistrationConfig};
use super::{
    ClientRegistrations, RegistrationServices, admin_routes, audit_events, command, console_acts,
    endpoints, error_codes,
};

/// Records of a registration: the one in use, and those that a change or a crash has left.
const RECORDS_PER_REGISTRATION: usize = 4;
/// Path of the client registration endpoint; each client's configuration is below it.
const REGISTRATION_PATH: &str = "/api/v2/register";

/// The routes, errors, records, settings and metrics of client registration.
pub const EXTENSION: Extension = Extension {
    error_codes: error_codes::ALL,
    metrics: &[&REGISTRATIONS],
    record_kinds: &[(REGISTRATION, registration_usage)],
    table: Some(settings::TABLE),
    audit_events: audit_events::ALL,
    endpoints: registration_endpoints,
    registration_endpoint,
    admin_endpoints: admin_routes::ENDPOINTS,
    console_acts: console_acts::ACTS,
    command: Some(command::COMMAND),
    start: start_registrations,
    ..Extension::new("client-registration")
};

fn registration_usage(table: Option<&ConfiguredTable>) -> Usage {
    let registrations = table.and_then(ConfiguredTable::settings);
    let registrations = registrations.map_or(0, |config: &ClientRegistrationConfig| {
        usize::try_from(config.max_registrations).unwrap_or(usize::MAX)
    });
    // One more for their index.
    REGISTRATION.usage_of(registrations * RECORDS_PER_REGISTRATION + 1)
}

fn registration_endpoint(
    table: &ConfiguredTable,
    platform: Platform,
) -> Option<RegistrationEndpoint> {
    let config: &ClientRegistrationConfig = table.settings()?;
    Some(RegistrationEndpoint { path: REGISTRATION_PATH, rules: config.rules_on(platform) })
}

fn registration_endpoints() -> Vec<Endpoint> {
    let program = |path| {
        let endpoint = Endpoint::at(path).rejected_as(audit_events::REGISTRATION_REFUSED);
        endpoint.for_programs().enabled_if(|hub| hub.extension::<ClientRegistrations>().is_some())
    };
    vec![
        program(REGISTRATION_PATH).post(endpoints::register_client),
        program("/api/v2/register/{client_id}")
            .get(endpoints::read_registration)
            .put(endpoints::update_registration)
            .delete(endpoints::delete_registration),
    ]
}

/// Starts to read the registrations, unless they are off. The first requests may come before the
/// first reading: each reads what it needs.
fn start_registrations(context: &ExtensionContext<'_>) -> StartedExtension {
    let config = context.table.and_then(ConfiguredTable::settings);
    let Some(config): Option<&ClientRegistrationConfig> = config else {
        return StartedExtension::default();
    };
    let core = context.core;
    let registrations = Arc::new(ClientRegistrations::new(
        config.clone(),
        RegistrationServices {
            env: core.env.clone(),
            store: Arc::clone(context.store),
            federation: core.federation.clone(),
            client_keys: Arc::clone(context.client_keys),
            check_client_file: Arc::clone(context.check_service_provider_file),
            platform: core.platform,
            audit: core.audit.clone(),
            metrics: Arc::clone(&core.metrics),
            issuer: core.issuer.clone(),
            hub_name: context.theme.name.clone(),
        },
    ));
    // The extension starts once for each hub, so it sets the value first.
    let _ = core.dynamic_clients.set(Arc::clone(&registrations) as Arc<_>);
    actix::spawn(Arc::clone(&registrations).run());
    StartedExtension {
        limiters: vec![registrations.limiter()],
        state: Some(registrations),
        ..StartedExtension::default()
    }
}

#[cfg(test)]
mod tests {
    use passerelle_extension::testing::check_extension;

    use super::EXTENSION;

    #[test]
    fn the_extension_collides_with_nothing_of_the_hub() {
        check_extension(&EXTENSION);
    }
}
