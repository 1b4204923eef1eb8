//! Reads and checks the files of a configuration folder other than `passerelle.toml` and connectors.

use std::path::Path;
use std::sync::Arc;

use crate::model::{DataProviderFile, ServiceProviderFile, Settings};
use crate::reload::reloadable_files::CheckedFiles;
use crate::validation::consistency::{self, ClientDeclaration};
use crate::validation::data_providers::{self, CheckedDataProvider};
use crate::validation::declarations::Declarations;
use crate::validation::service_providers::{self, CheckedServiceProvider, HubSettings};
use crate::validation::{languages, scopes, settings};
use passerelle_connector::ConfiguredConnector;
use passerelle_federation::notices;
use passerelle_localization::MessageFile;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SourceFile};

/// The files other than `passerelle.toml` and connectors, deserialized.
pub(super) struct ParsedFiles {
    pub scopes: Option<(SourceFile, scopes::ScopeTables)>,
    pub notices: Option<(SourceFile, Vec<notices::Notice>)>,
    pub services: Vec<(SourceFile, ServiceProviderFile)>,
    pub data_providers: Vec<(SourceFile, DataProviderFile)>,
    pub languages: Vec<(SourceFile, Arc<MessageFile>)>,
}

impl ParsedFiles {
    /// Reads the files of a configuration folder. `declared` is `None` if the settings are
    /// unreadable.
    pub(super) fn read(
        folder: &Path,
        declared: Option<&Declarations>,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        Self {
            scopes: scopes::load_scopes(
                &folder.join("scopes.toml"),
                declared.map(|declared| &*declared.claims),
                problems,
            ),
            notices: notices::load_notices(&folder.join("notices.toml"), problems),
            services: service_providers::read_drafts(
                &folder.join(service_providers::FOLDER),
                problems,
            ),
            data_providers: data_providers::read_drafts(
                &folder.join(data_providers::FOLDER),
                problems,
            ),
            languages: languages::load_languages(&folder.join(languages::FOLDER), problems),
        }
    }

    /// Checks what the settings name in these files: the default language.
    pub(super) fn check_references(
        &self,
        source: &SourceFile,
        settings: &Settings,
    ) -> Vec<Diagnostic> {
        let language = &settings.default_language;
        let language = languages::default_language_diagnostic(source, language, &self.languages);
        language.into_iter().collect()
    }

    /// Finds conflicts between service providers and data providers.
    pub(super) fn conflicts(&self, checked: Option<&settings::CheckedSettings>) -> Vec<Diagnostic> {
        let services = self.services.iter();
        let services =
            services.map(|(source, file)| ClientDeclaration::from_service_provider(source, file));
        let data_providers = self.data_providers.iter();
        let data_providers = data_providers
            .map(|(source, file)| ClientDeclaration::from_data_provider(source, file));
        let declarations: Vec<_> = services.chain(data_providers).collect();
        let conflicts = match checked {
            Some(checked) => consistency::find_conflicts(
                &declarations,
                &checked.subject_keys.keys().copied().collect(),
            ),
            None => consistency::duplicate_ids(&declarations)
                .into_iter()
                .chain(consistency::sector_conflicts(&declarations))
                .collect(),
        };
        conflicts.into_iter().map(|conflict| conflict.problem).collect()
    }
}

/// What service providers and data providers are checked against.
pub(super) struct ClientChecks<'a> {
    /// What secrets are read with.
    pub context: SecretContext<'a>,
    /// Without valid settings, rules that need them are not checked.
    pub settings: HubSettings<'a>,
}

impl ClientChecks<'_> {
    /// Checks every service provider and data provider.
    pub(super) fn check(
        &self,
        parsed: ParsedFiles,
        problems: &mut Vec<Diagnostic>,
    ) -> CheckedClients {
        let Self { context, settings } = self;
        let ParsedFiles { scopes, notices, services, data_providers, languages } = parsed;
        let tables = scopes.as_ref().map(|(_, tables)| tables.clone()).unwrap_or_default();
        let service = |(source, file): (SourceFile, ServiceProviderFile)| {
            service_providers::check_scopes(&mut FileCheck::new(&source, problems), &file, &tables);
            let client = service_providers::check_file(
                &mut FileCheck::new(&source, problems),
                file,
                *settings,
                context,
            );
            (source, client)
        };
        let services = services.into_iter().map(service).collect();
        let provider = |(source, file): (SourceFile, DataProviderFile)| {
            data_providers::check_scopes(
                &mut FileCheck::new(&source, problems),
                &file,
                &tables.scopes,
            );
            let newest = settings.newest_subject_key;
            let registered = data_providers::check_file(
                &mut FileCheck::new(&source, problems),
                file,
                newest,
                context,
            );
            (source, registered)
        };
        let data_providers = data_providers.into_iter().map(provider).collect();
        CheckedClients { services, data_providers, scopes, notices, languages }
    }
}

/// The files of [`ParsedFiles`], checked.
pub(super) struct CheckedClients {
    services: Vec<(SourceFile, CheckedServiceProvider)>,
    data_providers: Vec<(SourceFile, CheckedDataProvider)>,
    scopes: Option<(SourceFile, scopes::ScopeTables)>,
    notices: Option<(SourceFile, Vec<notices::Notice>)>,
    languages: Vec<(SourceFile, Arc<MessageFile>)>,
}

impl CheckedClients {
    /// Returns the files of the clients.
    pub(super) fn sources(&self) -> impl Iterator<Item = &SourceFile> {
        let data_providers = self.data_providers.iter().map(|(source, _)| source);
        self.services.iter().map(|(source, _)| source).chain(data_providers)
    }

    /// Adds the connectors; returns `None` if a file is missing.
    pub(super) fn with_connectors(
        self,
        connectors: Vec<(SourceFile, ConfiguredConnector)>,
    ) -> Option<CheckedFiles> {
        let Self { services, data_providers, scopes, notices, languages } = self;
        let (scopes, notices) = scopes.zip(notices)?;
        Some(CheckedFiles { services, data_providers, connectors, scopes, notices, languages })
    }
}
