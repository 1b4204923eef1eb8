//! Loads and checks the configuration: every file with its shape, its rules and its secrets.
//!
//! [`load_config`] reads a folder: `passerelle.toml` (overridden by `PASSERELLE_…` variables),
//! `service-providers/*.toml`, `data-providers/*.toml`, `scopes.toml`, `notices.toml`,
//! `locales/*.ftl`, the theme
//! and the connectors' folder. It returns either a complete, checked [`LoadedConfig`] or every
//! [`Diagnostic`]. A running hub reloads all of them except `passerelle.toml` and the theme
//! ([`ReloadableFiles::rescan`]).
//!
//! Does not depend on the modules that use the configuration.

pub mod federation;
pub mod kinds;
mod loaded;
mod markdown_reference;
pub mod model;
mod report;
mod schema;
mod validation;
mod watching;

#[cfg(test)]
pub(crate) mod tests;

pub use federation::connector_metadata::ConnectorMetadata;
pub use federation::{
    DataProvider, Federation, ServiceProvider, UnavailableDisplay, provider_display,
};
pub use loaded::{LoadedConfig, load_config, load_usable_config};
pub use markdown_reference::reference_markdown;
pub use model::{ConnectorFile, ServiceProviderFile, Settings};
pub use report::{ConfigReport, render_check_output};
pub use schema::{schemas, write_schemas};
pub use validation::backchannel_logout::LogoutEndpoint;
pub use validation::blocks::Block;
pub use validation::client_keys::{JwksUri, KeySource, ResponseEncryptionAlgs};
pub use validation::configured_connector::{ConfiguredConnector, SandboxMode};
pub use validation::data_providers::RegisteredDataProvider;
pub use validation::dated_secret::DatedSecret;
pub use validation::localized_text::text_in_language;
pub use validation::operators::{OperatorAccount, PeerAccess, PrivateListenerAccess};
pub use validation::pkcs11::Pkcs11Access;
pub use validation::private_keys::PrivateKeyAccess;
pub use validation::service_providers::RegisteredClient;
pub use validation::subject_keys::SubjectKeysByVersion;
pub use validation::theme::Theme;
pub use validation::traces::TraceHeaders;
pub use validation::validity::{Validity, ValidityStatus, format_rfc3339};
pub use validation::vault_transit::VaultTransitAccess;
pub use validation::{
    admin_access, blocks, check_context, client_assertions, client_keys, connector_kind,
    connector_rules, connectors, data_providers, fragments, logo, mapping, notices, proxies,
    scopes, service_providers, support_url, theme,
};
pub use watching::current_federation::CurrentFederation;
pub use watching::reloadable_files::ReloadableFiles;
pub use watching::{changes, config_digest, reloadable_files, settings_file};
