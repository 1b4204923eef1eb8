//! Loads and checks the configuration: every file with its shape, its rules and its secrets.
//!
//! [`load_config`] reads a folder: `passerelle.toml` (overridden by `PASSERELLE_…` variables),
//! `service-providers/*.toml`, `data-providers/*.toml`, `scopes.toml`, `notices.toml`,
//! `locales/*.ftl`, the theme and the connectors' folder. It returns either a complete, checked
//! [`LoadedConfig`] or every [`Diagnostic`](passerelle_settings::Diagnostic). A running hub reloads all
//! of them except `passerelle.toml` and the theme ([`ReloadableFiles::rescan`]).
//!
//! Stands above the parts of the hub, which define and check their own tables
//! (docs/design/adr/0035). Only `server` and the commands use it. Does not know how a hub is built.
//! Begin with [`LoadedConfig`] and [`check_context`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod effective_settings;
pub mod kinds;
mod loaded;
mod markdown_reference;
pub mod model;
mod reload;
mod report;
mod schema;
mod validation;

#[cfg(test)]
pub(crate) mod tests;

pub use loaded::{LoadedConfig, load_config, load_usable_config};
pub use markdown_reference::reference_markdown;
pub use model::{ServiceProviderFile, Settings};
pub use reload::reloadable_files::ReloadableFiles;
pub use reload::{changes, config_digest, reloadable_files, settings_file};
pub use report::{ConfigReport, render_check_output};
pub use schema::{schemas, write_schemas};
pub use validation::certificate_expiry::CertificateExpiry;
pub use validation::data_providers::CheckedDataProvider;
pub use validation::pkcs11::Pkcs11Access;
pub use validation::private_key_access::PrivateKeyAccess;
pub use validation::service_providers::CheckedServiceProvider;
pub use validation::subject_keys::SubjectKeysByVersion;
pub use validation::traces::TraceHeaders;
pub use validation::vault_transit::VaultTransitAccess;
pub use validation::{
    check_context, command_settings, connectors, data_providers, scopes, service_providers,
};
