//! Defines the checked content of each kind of file.

mod client_checker;

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::ChoiceConfig;
use crate::validation::data_providers::CheckedDataProvider;
use crate::validation::declarations::Declarations;
use crate::validation::scopes::ScopeTables;
use crate::validation::service_providers::CheckedServiceProvider;
use crate::validation::subject_keys::SubjectKeysByVersion;
use crate::watching::settings_file::SettingsFile;
use passerelle_connector::ConfiguredConnector;
use passerelle_connector::kind_settings::SupportedKinds;
use passerelle_federation::connector_rules::ConnectorOrder;
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::{ConnectorMetadata, DataProvider, ServiceProvider};
use passerelle_protocol::acr::Platform;
use passerelle_settings::{Diagnostic, Environment, SecretRules, SourceFile};

/// Settings that the files are checked against, fixed while the hub runs.
#[derive(Clone, Debug)]
pub struct LoadContext {
    /// The configuration folder.
    pub folder: PathBuf,
    /// `passerelle.toml` in this folder.
    pub settings_file: SettingsFile,
    /// The folder of connector files.
    pub connectors: PathBuf,
    /// The environment variables.
    pub environment: Environment,
    /// Which secrets each file may reference.
    pub secrets: SecretRules,
    /// The kinds of connectors.
    pub kinds: SupportedKinds,
    /// The platform.
    pub platform: Platform,
    /// The subject keys.
    pub subject_keys: SubjectKeysByVersion,
    /// Attributes that `sub` is derived from.
    pub subject: SubjectSource,
    /// The claims and level names beyond the specification's.
    pub declarations: Arc<Declarations>,
    /// The `[choice]` table.
    pub choice: ChoiceConfig,
    /// The tables of place names.
    pub places: Vec<PathBuf>,
    /// The default language of the pages.
    pub default_language: String,
    /// The order of the choice page.
    pub order: Arc<ConnectorOrder>,
}

impl LoadContext {
    /// Returns the newest version of the subject keys.
    #[must_use]
    pub fn newest_subject_key(&self) -> u32 {
        self.subject_keys.keys().next_back().copied().unwrap_or(1)
    }
}

/// A service provider: its checked file, and the form that the rest of the hub uses.
#[derive(Debug)]
pub struct ServiceProviderEntry {
    pub client: CheckedServiceProvider,
    pub service_provider: Arc<ServiceProvider>,
}

/// A data provider: its checked file, and the form that the rest of the hub uses.
#[derive(Debug)]
pub struct DataProviderEntry {
    pub registered: CheckedDataProvider,
    pub data_provider: Arc<DataProvider>,
}

/// A connector: its checked file, and the form that the rest of the hub uses.
#[derive(Debug)]
pub struct ConnectorEntry {
    pub configured: Arc<ConfiguredConnector>,
    pub metadata: Arc<ConnectorMetadata>,
}

/// The scope tables: as written, and in the form that the rest of the hub uses.
#[derive(Debug)]
pub struct ScopesEntry {
    pub tables: ScopeTables,
    pub scopes: ScopeTable,
    pub openid: ScopeTable,
}

impl ServiceProviderEntry {
    /// Creates the entry of a checked service provider.
    pub fn new(client: CheckedServiceProvider, context: &LoadContext) -> Self {
        Self {
            service_provider: Arc::new(
                client.service_provider(&context.order, &context.choice.order),
            ),
            client,
        }
    }
}

impl DataProviderEntry {
    /// Creates the entry of a checked data provider.
    pub fn new(registered: CheckedDataProvider) -> Self {
        Self { data_provider: Arc::new(registered.data_provider()), registered }
    }
}

impl ConnectorEntry {
    /// Creates the entry of a checked connector.
    pub fn new(configured: ConfiguredConnector) -> Self {
        Self { metadata: Arc::new(configured.metadata()), configured: Arc::new(configured) }
    }
}

impl ScopesEntry {
    /// Creates the entry of the parsed scope tables.
    ///
    /// # Errors
    /// Returns a diagnostic at the table that names an unknown claim or breaks OpenID Connect.
    pub fn new(
        source: &SourceFile,
        tables: ScopeTables,
        claims: &DeclaredClaims,
    ) -> Result<Self, Diagnostic> {
        let table = |key: &str, names| {
            ScopeTable::from_names(names, claims)
                .map_err(|error| source.diagnostic(key, "is unusable", error.to_string()))
        };
        let (scopes, openid) = (table("scopes", &tables.scopes)?, table("openid", &tables.openid)?);
        Ok(Self { tables, scopes, openid })
    }
}
