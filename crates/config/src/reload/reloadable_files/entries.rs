//! Defines what the files are checked against, and the checked content of `scopes.toml`.

mod client_checker;

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::ChoiceConfig;
use crate::reload::settings_file::SettingsFile;
use crate::validation::declarations::Declarations;
use crate::validation::scopes::ScopeTables;
use crate::validation::service_providers::HubSettings;
use crate::validation::subject_keys::SubjectKeysByVersion;
use passerelle_connector::kind_settings::SupportedKinds;
use passerelle_federation::connector_rules::ConnectorOrder;
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_protocol::acr::Platform;
use passerelle_settings::{
    Diagnostic, Environment, FilePath, SecretContext, SecretOwner, SecretRules, SourceFile,
};

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
    pub places: Vec<FilePath>,
    /// The default language of the pages.
    pub default_language: String,
    /// The order of the choice page.
    pub order: Arc<ConnectorOrder>,
}

impl LoadContext {
    /// Returns the newest version of the subject keys.
    pub fn newest_subject_key(&self) -> u32 {
        self.subject_keys.keys().next_back().copied().unwrap_or(1)
    }

    /// Returns what a service provider's file is checked against.
    pub fn hub_settings(&self) -> HubSettings<'_> {
        HubSettings {
            newest_subject_key: self.newest_subject_key(),
            platform: Some(self.platform),
            declarations: Some(&self.declarations),
            sandbox: self.kinds.sandbox,
            order: &self.order,
        }
    }

    /// Returns what the secrets of a file are read with.
    pub fn secret_context(&self) -> SecretContext<'_> {
        let Self { folder, environment, secrets, .. } = self;
        SecretContext { folder, environment, secrets, owner: SecretOwner::Settings }
    }
}

/// The scope tables: as written, and in the form that the rest of the hub uses.
#[derive(Clone, Debug)]
pub(super) struct ScopesEntry {
    pub tables: ScopeTables,
    pub scopes: ScopeTable,
    pub openid: ScopeTable,
}

impl ScopesEntry {
    /// Creates the entry of the parsed scope tables.
    ///
    /// # Errors
    /// Returns a diagnostic at the table that names an unknown claim or breaks OpenID Connect.
    pub(super) fn new(
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
