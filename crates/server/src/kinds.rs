//! The kinds of connectors and the optional crates of this program.

use passerelle_config::kinds::Kinds;
use passerelle_connector::kind_settings::ConnectorKindFormat;
use passerelle_connector::{oauth2, oidc, persona};
use passerelle_extension::Extension;
#[cfg(feature = "ldap")]
use passerelle_ldap as ldap;
#[cfg(feature = "openid4vp")]
use passerelle_openid4vp as openid4vp;
#[cfg(feature = "saml")]
use passerelle_saml as saml;
use passerelle_telemetry::{Metrics, TelemetryError};

/// The kinds of stores, registers and connectors of this program, and its optional crates.
pub const KINDS: Kinds = Kinds {
    stores: passerelle_store::KINDS,
    registers: passerelle_register::KINDS,
    connectors: CONNECTORS,
    extensions: EXTENSIONS,
};

/// The optional crates.
const EXTENSIONS: &[Extension] = &[
    #[cfg(feature = "client-registration")]
    passerelle_client_registration::EXTENSION,
    #[cfg(feature = "mail")]
    passerelle_mail::EXTENSION,
    #[cfg(feature = "openid4vp")]
    openid4vp::EXTENSION,
    #[cfg(feature = "public-pages")]
    passerelle_public_pages::EXTENSION,
    #[cfg(feature = "saml")]
    saml::EXTENSION,
];

/// Every kind of connector, in the order of messages.
const CONNECTORS: &[ConnectorKindFormat] = &[
    oidc::KIND,
    oauth2::KIND,
    #[cfg(feature = "ldap")]
    ldap::KIND,
    #[cfg(not(feature = "ldap"))]
    ConnectorKindFormat::missing("ldap"),
    #[cfg(feature = "openid4vp")]
    openid4vp::KIND,
    #[cfg(not(feature = "openid4vp"))]
    ConnectorKindFormat::missing("openid4vp"),
    #[cfg(feature = "saml")]
    saml::KIND,
    #[cfg(not(feature = "saml"))]
    ConnectorKindFormat::missing("saml"),
    persona::KIND,
];

/// Returns the metrics of a hub, with those of these optional crates.
///
/// # Errors
/// Returns an error if a metric is declared twice.
pub fn declare_metrics(extensions: &[Extension]) -> Result<Metrics, TelemetryError> {
    let metrics: Vec<_> =
        extensions.iter().flat_map(|extension| extension.metrics).copied().collect();
    Metrics::with_extensions(&metrics)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{KINDS, declare_metrics, install_extensions};
    use passerelle_audit::EventKind;
    use passerelle_config::kinds::Kinds;
    use passerelle_extension::SettingsTable;
    use passerelle_localization::catalogue;
    use passerelle_protocol::catalogue::ErrorCode;
    use passerelle_store::RecordKind;
    use passerelle_web::SandboxRoutes;
    use passerelle_web::routes::endpoints;

    /// Returns every name in the lists of this program: routes, error codes, texts, metrics, kinds of
    /// records, audit events, commands, and keys of the configuration.
    fn generated_lists() -> BTreeSet<String> {
        install_extensions();
        let extensions = KINDS.extensions;
        let lists: Vec<_> = extensions.iter().map(|extension| extension.endpoints).collect();
        let routes = endpoints(SandboxRoutes::On, &lists);
        let admin_endpoints = extensions.iter().flat_map(|extension| extension.admin_endpoints);
        let commands = extensions.iter().filter_map(|extension| extension.command);
        let commands = commands.map(|command| (command.arguments)().get_name().to_owned());
        let metrics = declare_metrics(extensions).unwrap();
        let record_kinds = extensions.iter().flat_map(|extension| extension.record_kinds);
        let record_kinds =
            record_kinds.map(|(kind, _)| *kind).chain(RecordKind::HUB_KINDS.to_vec());
        let schemas = passerelle_config::schemas(KINDS);
        let keys = schemas.iter().flat_map(|(_, schema)| property_names(schema));
        let codes = ErrorCode::all();
        routes
            .iter()
            .map(|endpoint| endpoint.row.path.to_owned())
            .chain(admin_endpoints.map(|endpoint| format!("/admin{}", endpoint.path)))
            .chain(codes.iter().map(|code| code.entry().code.to_owned()))
            .chain(catalogue().message_keys().map(str::to_owned))
            .chain(metrics.declared().iter().map(|metric| metric.name.clone()))
            .chain(record_kinds.map(|kind| kind.name.to_owned()))
            .chain(EventKind::all().iter().map(|event| event.as_str().to_owned()))
            .chain(keys)
            .chain(commands)
            .collect()
    }

    fn property_names(schema: &serde_json::Value) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(properties) = schema.get("properties").and_then(|found| found.as_object()) {
            names.extend(properties.keys().cloned());
        }
        let nested = schema.as_object().into_iter().flat_map(|object| object.values());
        let items = schema.as_array().into_iter().flatten();
        names.extend(nested.chain(items).flat_map(property_names));
        names
    }

    #[test]
    fn no_two_kinds_of_records_share_a_letter_or_a_name() {
        let own = KINDS.extensions.iter().flat_map(|extension| extension.record_kinds);
        let all: Vec<_> =
            own.map(|(kind, _)| *kind).chain(RecordKind::HUB_KINDS.to_vec()).collect();
        let letters: BTreeSet<u8> = all.iter().map(|kind| kind.letter).collect();
        let names: BTreeSet<&str> = all.iter().map(|kind| kind.name).collect();
        assert_eq!((letters.len(), names.len()), (all.len(), all.len()));
    }

    #[test]
    fn no_extension_takes_a_key_of_the_settings_or_a_path_of_another() {
        let schemas = passerelle_config::schemas(Kinds { extensions: &[], ..KINDS });
        let own_keys = &schemas[0].1["properties"];
        for SettingsTable { kind, .. } in KINDS.extensions.iter().filter_map(|one| one.table) {
            assert!(own_keys.get(kind.name).is_none(), "[{}]", kind.name);
        }
        let endpoints = KINDS.extensions.iter().flat_map(|one| one.admin_endpoints);
        let paths: Vec<&str> = endpoints.map(|endpoint| endpoint.path).collect();
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
    }

    /// `.ci/run` runs this test with all features, and with none.
    #[test]
    fn a_program_has_what_its_optional_crates_add_only_with_their_features() {
        let lists = generated_lists();
        let of_wallets = [
            "/connectors/{connector}/wallet",
            "/connectors/{connector}/wallet/other-device",
            "/connectors/{connector}/wallet/digital-credential",
            "/connectors/{connector}/wallet/code",
            "/api/v2/wallet/{connector}/{request}",
            "/api/v2/wallet/{connector}/{request}/response",
            "Y020500",
            "Y020521",
            "wallet-asks",
            "error-wallet-request",
            "passerelle_wallet_presentations_total",
            "wallet_request",
            "cross_device",
        ];
        for name in of_wallets {
            assert_eq!(lists.contains(name), cfg!(feature = "openid4vp"), "{name}");
        }
        let of_registration = [
            "/api/v2/register",
            "/api/v2/register/{client_id}",
            "/admin/clients/{id}/approve",
            "client_registered",
            "Y030105",
            "Y045001",
            "Y500120",
            "passerelle_client_registrations",
            "registration",
            "client_registration",
            "max_registrations",
        ];
        for name in of_registration {
            assert_eq!(lists.contains(name), cfg!(feature = "client-registration"), "{name}");
        }
        let of_mail = [
            "/admin/mail-addresses/reset",
            "mail_address_reset",
            "Y500130",
            "mail-code-subject",
            "passerelle_mails_total",
            "mail_queue",
            "mails_per_address",
        ];
        for name in of_mail {
            assert_eq!(lists.contains(name), cfg!(feature = "mail"), "{name}");
        }
        let of_public_pages = ["/status", "/privacy", "public-status-title", "public_pages"];
        for name in of_public_pages {
            assert_eq!(lists.contains(name), cfg!(feature = "public-pages"), "{name}");
        }
        let of_saml = [
            "/connectors/{connector}/saml/acs",
            "Y020601",
            "saml-send-title",
            "saml_response",
            "metadata_signers",
        ];
        for name in of_saml {
            assert_eq!(lists.contains(name), cfg!(feature = "saml"), "{name}");
        }
        let is_of_wallets = |name: &&String| {
            let is_text = name.starts_with("wallet-") || name.starts_with("error-wallet-");
            is_text || name.contains("/wallet") || name.starts_with("Y0205")
        };
        assert_eq!(lists.iter().any(|name| is_of_wallets(&name)), cfg!(feature = "openid4vp"));
    }
}
