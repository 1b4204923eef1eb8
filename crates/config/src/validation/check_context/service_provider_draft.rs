//! Checks one service provider's file, alone and against the files of the configuration folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::CheckContext;
use crate::model::{DataProviderFile, ServiceProviderFile};
use crate::validation::consistency::{self, ClientDeclaration, Conflict};
use crate::validation::service_providers::{
    self, CheckedServiceProvider, ExistingConnectors, HubSettings,
};
use crate::validation::{connectors, data_providers, insecure_settings};
use passerelle_connector::ConfiguredConnector;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::schema_node::shared_schema_for;
use passerelle_settings::{
    Diagnostic, Environment, FileCheck, SecretContext, SecretOwner, SourceFile, secret_rules,
};

/// The readable parts of a service provider's file, and every finding about it.
#[derive(Clone, Debug, Default)]
pub struct ServiceProviderDraft {
    /// The service provider; `None` if the file can't be deserialized.
    pub client: Option<CheckedServiceProvider>,
    /// Every problem of the file.
    pub problems: Vec<Diagnostic>,
    /// Findings that don't make the file invalid.
    pub warnings: Vec<Diagnostic>,
    /// The connectors of the folder with valid files.
    pub connectors: Vec<ConfiguredConnector>,
}

impl CheckContext {
    /// Reads and checks one service provider's file. Other files of the folder are read for
    /// conflicts with this one; their own problems are not reported. A file of the same name in
    /// the folder is the one that this file replaces.
    pub fn check_service_provider(
        &self,
        path: &Path,
        environment: &Environment,
        now: Timestamp,
    ) -> ServiceProviderDraft {
        let mut draft = ServiceProviderDraft::default();
        let problems = &mut draft.problems;
        let source = match SourceFile::read(path) {
            Ok(source) => source.with_schema(shared_schema_for::<ServiceProviderFile>()),
            Err(problem) => {
                problems.push(problem);
                return draft;
            }
        };
        let schema = shared_schema_for::<ServiceProviderFile>();
        problems.extend(self.find_shared_secret(path, schema));
        let Some(file) = source.deserialize::<ServiceProviderFile>(problems) else { return draft };
        service_providers::check_scopes(
            &mut FileCheck::new(&source, problems),
            &file,
            &self.scopes,
        );
        problems.extend(self.conflicts_with_clients(&source, &file));
        let (configured, is_complete) = self.read_connectors(environment);
        if is_complete {
            problems.extend(self.unreachable(&source, &file, &configured));
            let is_known = |id: &_| configured.iter().any(|connector| connector.id == *id);
            draft.warnings.extend(file.connectors.unknown_connectors(&source, is_known));
        }
        let entry = (source, file);
        draft.warnings.extend(insecure_settings::service_provider_warning(&entry));
        let (source, file) = entry;
        let settings = HubSettings {
            newest_subject_key: self.newest_subject_key(),
            platform: Some(self.platform),
            declarations: Some(&self.declarations),
            sandbox: self.kinds.sandbox,
            order: &Arc::default(),
        };
        let context = self.secret_context(environment);
        let client = service_providers::check_file(
            &mut FileCheck::new(&source, problems),
            file,
            settings,
            &context,
        );
        // Of a file that this one may not reference, nothing is reported.
        if problems.is_empty() {
            problems.extend(secret_rules::exposed_secrets(&source, &self.folder));
        }
        let no_valid_secret = client.no_valid_secret.as_ref();
        draft.warnings.extend(no_valid_secret.and_then(|one| one.warning_at(now)).cloned());
        let problems = self.explain_relative_paths(draft.problems);
        ServiceProviderDraft { client: Some(client), connectors: configured, problems, ..draft }
    }

    fn secret_context<'a>(&'a self, environment: &'a Environment) -> SecretContext<'a> {
        let Self { folder, secrets, .. } = self;
        SecretContext { folder, environment, secrets, owner: SecretOwner::Settings }
    }

    fn newest_subject_key(&self) -> u32 {
        self.subject_key_versions.iter().flatten().copied().max().unwrap_or(1)
    }

    /// Returns the conflicts of this file with other clients of the folder.
    fn conflicts_with_clients(
        &self,
        source: &SourceFile,
        file: &ServiceProviderFile,
    ) -> Vec<Diagnostic> {
        let Some(versions) = &self.subject_key_versions else { return Vec::new() };
        // Problems of other files are not reported here.
        let mut ignored = Vec::new();
        let replaced = self.folder.join(service_providers::FOLDER);
        let replaced = source.path().file_name().map(|name| replaced.join(name));
        let services: Vec<(SourceFile, ServiceProviderFile)> = service_providers::read_drafts(
            &self.folder.join(service_providers::FOLDER),
            &mut ignored,
        );
        let data_providers: Vec<(SourceFile, DataProviderFile)> =
            data_providers::read_drafts(&self.folder.join(data_providers::FOLDER), &mut ignored);
        let others = services
            .iter()
            .filter(|(other, _)| Some(other.path()) != replaced.as_deref())
            .map(|(other, file)| ClientDeclaration::from_service_provider(other, file));
        let others = others.chain(
            data_providers
                .iter()
                .map(|(other, file)| ClientDeclaration::from_data_provider(other, file)),
        );
        let own = ClientDeclaration::from_service_provider(source, file);
        let declarations: Vec<_> = others.chain([own]).collect();
        let concerns_file =
            |conflict: &Conflict| conflict.files.iter().any(|file: &PathBuf| file == source.path());
        consistency::find_conflicts(&declarations, versions)
            .into_iter()
            .filter(concerns_file)
            .map(|conflict| conflict.problem)
            .collect()
    }

    /// Reads the connectors of the folder. The second value is false without a hub, or if a file
    /// is invalid: what a service provider can reach is unknown then.
    fn read_connectors(&self, environment: &Environment) -> (Vec<ConfiguredConnector>, bool) {
        let Some(paths) =
            self.connectors.as_deref().and_then(|folder| connectors::list_files(folder).ok())
        else {
            return (Vec::new(), false);
        };
        let count = paths.len();
        let context = self.secret_context(environment);
        let read = |path: PathBuf| {
            connectors::read_draft(&path, self.kinds, &self.declarations, self.subject, &context)
                .connector
        };
        let found: Vec<_> = paths.into_iter().filter_map(read).collect();
        let is_complete = found.len() == count;
        (found, is_complete)
    }

    fn unreachable(
        &self,
        source: &SourceFile,
        file: &ServiceProviderFile,
        configured: &[ConfiguredConnector],
    ) -> Vec<Diagnostic> {
        let level = |connector: &ConfiguredConnector| connector.file.levels.highest;
        let connectors =
            configured.iter().map(|one| (&one.id, (level(one), source.path()))).collect();
        let existing = ExistingConnectors { connectors };
        service_providers::unreachable_conflicts([(source, file)], &existing, self.platform)
            .into_iter()
            .map(|conflict| conflict.problem)
            .collect()
    }
}
