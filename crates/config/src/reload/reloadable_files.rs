//! Reloads the files that may change while the hub runs: connectors, service providers, data
//! providers, scopes, notices, place names, messages of the pages.
//!
//! Responsible for the active version of each file. An invalid file keeps its last valid version;
//! one that was never valid is ignored. A conflict between files is attributed to the file that
//! changed last. A removed file takes effect immediately. An unreadable folder changes none of its
//! files, but the files that they name are read all the same.
//! Does not decide when to rescan.

mod conflict_resolution;
mod csv_tables;
mod entries;
mod file_set;
mod scanning;
mod summary;
mod unusable_files;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use csv_tables::CsvTables;
use entries::ScopesEntry;
use file_set::{FileSet, FileVersion, ScanContext};

use super::settings_file::SettingsFile;
use crate::model::{DataProviderFile, ScopesFile, ServiceProviderFile};
use crate::validation::certificate_expiry::{CertificateExpiry, certificate_expiries};
use crate::validation::data_providers::CheckedDataProvider;
use crate::validation::service_providers::CheckedServiceProvider;
use crate::validation::{connector_diagnostics, email_domains, languages, scopes::ScopeTables};
use passerelle_connector::ConfiguredConnector;
use passerelle_connector::kind_settings::connector_schema;
use passerelle_federation::email_domains::EmailDomainFile;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::notices::{self, Notice, NoticesFile};
use passerelle_federation::place_names::PlaceNames;
use passerelle_federation::{Federation, UnavailableDisplay};
use passerelle_localization::{Languages, MessageFile};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::schema_node::schema_for;
use passerelle_settings::{Diagnostic, FieldDiagnostic, FieldDigests, FileStamp, SourceFile};

pub use conflict_resolution::NO_CONNECTOR;
pub use entries::LoadContext;
pub use file_set::ScanOutcome;

/// Every reloadable file with its active version.
#[derive(Clone, Debug)]
pub struct ReloadableFiles {
    context: Arc<LoadContext>,
    services: FileSet<CheckedServiceProvider>,
    data_providers: FileSet<CheckedDataProvider>,
    connectors: FileSet<Arc<ConfiguredConnector>>,
    scopes: FileSet<ScopesEntry>,
    notices: FileSet<Arc<[Notice]>>,
    places: CsvTables<PlaceNames>,
    /// One file, if there is one.
    email_domains: CsvTables<EmailDomainFile>,
    languages: FileSet<Arc<MessageFile>>,
    /// Conflicts that no pending change has caused: dangling references to a removed file.
    unattributed: Vec<Diagnostic>,
    scan_count: u64,
    /// Stamps of the connectors' files when they were last compared.
    connector_stamps: BTreeMap<ConnectorId, FileStamp>,
}

/// Kind of file, as a metric label and in reload plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    Connector,
    ServiceProvider,
    DataProvider,
    Scopes,
    Notices,
    Language,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Connector,
        Self::ServiceProvider,
        Self::DataProvider,
        Self::Scopes,
        Self::Notices,
        Self::Language,
    ];

    /// Returns the label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connector => "connector",
            Self::ServiceProvider => "service_provider",
            Self::DataProvider => "data_provider",
            Self::Scopes => "scopes",
            Self::Notices => "notices",
            Self::Language => "language",
        }
    }
}

/// Checks that a connector with a valid file can be built.
pub type BuildCheck<'a> = &'a dyn Fn(&ConfiguredConnector) -> Result<(), FieldDiagnostic>;

/// The files that were read and checked at start.
pub(crate) struct CheckedFiles {
    /// The service providers.
    pub services: Vec<(SourceFile, CheckedServiceProvider)>,
    /// The data providers.
    pub data_providers: Vec<(SourceFile, CheckedDataProvider)>,
    /// The connectors.
    pub connectors: Vec<(SourceFile, ConfiguredConnector)>,
    /// The scope tables.
    pub scopes: (SourceFile, ScopeTables),
    /// The notices.
    pub notices: (SourceFile, Vec<Notice>),
    /// The messages of the pages.
    pub languages: Vec<(SourceFile, Arc<MessageFile>)>,
}

impl ReloadableFiles {
    /// Creates the files from those checked at start.
    ///
    /// # Errors
    /// Fails if a scope table is unusable.
    pub(crate) fn new(context: LoadContext, checked: CheckedFiles) -> Result<Self, Diagnostic> {
        let folder = context.folder.clone();
        let mut services = FileSet::new(schema_for::<ServiceProviderFile>());
        let mut data_providers = FileSet::new(schema_for::<DataProviderFile>());
        let mut connectors = FileSet::new(connector_schema(context.kinds.formats));
        let mut scopes = FileSet::new(schema_for::<ScopesFile>());
        let mut notices = FileSet::new(schema_for::<NoticesFile>());
        // Messages have no keys of the configuration.
        let mut languages = FileSet::new(serde_json::Value::Null);
        for (source, messages) in checked.languages {
            languages.insert_checked(source, messages, &folder);
        }
        for (source, client) in checked.services {
            services.insert_checked(source, client, &folder);
        }
        for (source, registered) in checked.data_providers {
            data_providers.insert_checked(source, registered, &folder);
        }
        for (source, configured) in checked.connectors {
            connectors.insert_checked(source, Arc::new(configured), &folder);
        }
        let (source, tables) = checked.scopes;
        let entry = ScopesEntry::new(&source, tables, &context.declarations.claims)?;
        scopes.insert_checked(source, entry, &folder);
        let (source, parsed) = checked.notices;
        notices.insert_checked(source, Arc::from(parsed), &folder);
        let places = CsvTables::read(&context.places);
        let email_domains = CsvTables::read(&context.choice.email_domain_file);
        let context = Arc::new(context);
        Ok(Self {
            context,
            services,
            data_providers,
            connectors,
            scopes,
            notices,
            places,
            email_domains,
            languages,
            unattributed: Vec::new(),
            scan_count: 0,
            connector_stamps: BTreeMap::new(),
        })
    }

    /// Reads the files at a start that does without the invalid ones. The scope tables must be
    /// valid: they restrict what is released.
    ///
    /// # Errors
    /// Fails if a scope table is unusable.
    pub(crate) fn scan_at_start(
        context: LoadContext,
        scopes: (SourceFile, ScopeTables),
    ) -> Result<Self, Diagnostic> {
        let notices =
            SourceFile::parse(&context.folder.join("notices.toml"), notices::ABSENT_NOTICES_FILE)?;
        let checked = CheckedFiles {
            services: Vec::new(),
            data_providers: Vec::new(),
            connectors: Vec::new(),
            scopes,
            notices: (notices, Vec::new()),
            languages: Vec::new(),
        };
        let mut files = Self::new(context, checked)?;
        files.scan(&|_| Ok(()));
        Ok(files)
    }

    /// Returns the active versions as files that were checked.
    pub(crate) fn checked_files(&self, scopes: (SourceFile, ScopeTables)) -> CheckedFiles {
        fn copies<T, U>(set: &FileSet<T>, content: impl Fn(&T) -> U) -> Vec<(SourceFile, U)> {
            let copy =
                |version: &Arc<FileVersion<T>>| (version.source.clone(), content(&version.content));
            set.active_versions().map(copy).collect()
        }
        let notices = copies(&self.notices, |notices| notices.to_vec());
        let absent = || (scopes.0.clone(), Vec::new());
        CheckedFiles {
            services: copies(&self.services, Clone::clone),
            data_providers: copies(&self.data_providers, Clone::clone),
            connectors: copies(&self.connectors, |configured| (**configured).clone()),
            notices: notices.into_iter().next().unwrap_or_else(absent),
            languages: copies(&self.languages, Arc::clone),
            scopes,
        }
    }

    /// Deactivates the connectors that can't be built. They get another chance when their files
    /// change.
    pub fn deactivate_unbuildable(&mut self, buildable: BuildCheck<'_>) {
        self.connectors.deactivate(|version| {
            let found = buildable(&version.content).err()?;
            Some(version.source.locate(found))
        });
    }

    /// Returns the connectors whose file is invalid, with its first problem.
    pub fn invalid_connectors(&self) -> BTreeMap<ConnectorId, String> {
        let problems = self.connectors.problems_by_file();
        problems
            .filter_map(|(path, problem)| {
                Some((ConnectorId::from(path.file_stem()?.to_str()?), problem.to_single_line()))
            })
            .collect()
    }

    /// Returns the connectors whose file was written or touched between the last two calls. Its
    /// content may be the same.
    pub fn take_written_connectors(&mut self) -> Vec<ConnectorId> {
        let stamps: BTreeMap<ConnectorId, FileStamp> = self
            .connectors
            .stamps()
            .filter_map(|(path, stamp)| {
                Some((ConnectorId::from(path.file_stem()?.to_str()?), stamp))
            })
            .collect();
        let before = std::mem::replace(&mut self.connector_stamps, stamps);
        let is_written = |id: &&ConnectorId| {
            let known = before.get(*id).filter(|stamp| **stamp != FileStamp::default());
            known.is_some_and(|stamp| self.connector_stamps.get(*id) != Some(stamp))
        };
        self.connector_stamps.keys().filter(is_written).cloned().collect()
    }

    /// Returns the kinds that have files but no usable one, so that no user can log in.
    pub fn unusable_kinds(&self) -> Vec<FileKind> {
        let kinds = [
            (FileKind::Connector, self.connectors.has_only_bad_files()),
            (FileKind::ServiceProvider, self.services.has_only_bad_files()),
        ];
        kinds.into_iter().filter(|(_, is_unusable)| *is_unusable).map(|(kind, _)| kind).collect()
    }

    /// Reads changed files and updates the active versions.
    pub fn rescan(&mut self, buildable: BuildCheck<'_>) -> ScanOutcome {
        self.scan_count += 1;
        self.scan(buildable)
    }

    fn scan(&mut self, buildable: BuildCheck<'_>) -> ScanOutcome {
        self.places.rescan();
        self.email_domains.rescan();
        let load_context = Arc::clone(&self.context);
        let context = load_context.secret_context();
        let scan = ScanContext { number: self.scan_count, folder: &load_context.folder };
        let outcomes = [
            self.scan_service_providers(&scan, &load_context, &context),
            self.scan_data_providers(&scan, &load_context, &context),
            self.scan_connectors(&scan, &load_context, &context, buildable),
            self.scan_scopes(&scan, &load_context.declarations.claims),
            self.scan_notices(&scan),
            self.scan_languages(&scan),
        ];
        self.resolve_conflicts();
        if outcomes.contains(&ScanOutcome::BeingWritten) {
            ScanOutcome::BeingWritten
        } else {
            ScanOutcome::Complete
        }
    }

    /// Builds the federation from the active versions.
    pub fn build_federation(&self) -> Federation {
        let (scopes, openid) = self.scopes.active_versions().next().map_or_else(
            || (ScopeTable::default(), ScopeTable::openid()),
            |version| (version.content.scopes.clone(), version.content.openid.clone()),
        );
        let connectors = self
            .connectors
            .active_versions()
            .map(|version| (version.content.id.clone(), Arc::new(version.content.metadata())));
        let choice = &self.context.choice;
        let unavailable = if choice.hide_unavailable {
            UnavailableDisplay::Hidden
        } else {
            UnavailableDisplay::Disabled
        };
        let mut federation = Federation::new([], scopes, unavailable);
        federation.openid_scopes = openid;
        federation.declared_claims = Arc::clone(&self.context.declarations.claims);
        federation.verified_claims.clone_from(&self.context.declarations.verified_claims);
        federation.notices = self
            .notices
            .active_versions()
            .next()
            .map(|version| Arc::clone(&version.content))
            .unwrap_or_default();
        federation.place_name_files = self.places.active().into();
        federation.email_domain_file = self.email_domains.active().pop();
        federation.no_account.clone_from(&choice.no_account);
        let messages = self.languages.active_versions().map(|version| Arc::clone(&version.content));
        federation.languages =
            Arc::new(Languages::new(&self.context.default_language, &messages.collect::<Vec<_>>()));
        federation.categories.clone_from(&choice.categories);
        federation.ask_email = choice.ask_email;
        federation.remember_last =
            choice.remember_last.then(|| Duration::from_secs(choice.remember_days * 24 * 3600));
        let federation = federation.with_connectors(connectors);
        Federation::with_clients(
            self.services
                .active_versions()
                .map(|version| Arc::clone(&version.content.service_provider)),
            self.data_providers
                .active_versions()
                .map(|version| Arc::clone(&version.content.data_provider)),
            federation,
        )
    }

    /// Returns the active connectors, each with the fingerprints that reveal a change.
    pub fn connectors(
        &self,
    ) -> BTreeMap<ConnectorId, (Arc<ConfiguredConnector>, Arc<FieldDigests>)> {
        let connector = |version: &Arc<FileVersion<Arc<ConfiguredConnector>>>| {
            let configured = &version.content;
            (configured.id.clone(), (Arc::clone(configured), Arc::clone(&version.fields)))
        };
        self.connectors.active_versions().map(connector).collect()
    }

    /// Returns the active connectors that `connector_diagnostics::check_identity` rejects.
    pub fn unverified_connectors(&self) -> Vec<Diagnostic> {
        let check = |version: &Arc<FileVersion<Arc<ConfiguredConnector>>>| {
            connector_diagnostics::check_identity(
                &version.source,
                &version.content,
                self.context.subject,
            )
        };
        self.connectors.active_versions().filter_map(check).collect()
    }

    /// Returns the problems of tables in CSV. A start logs them, and does without the tables.
    pub fn table_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.places.diagnostics().chain(self.email_domains.diagnostics())
    }

    /// Returns a warning for each e-mail domain with two connectors, and for each row of the file of
    /// domains without a connector.
    pub fn domain_conflicts(&self) -> Vec<Diagnostic> {
        let connectors = self.connectors.active_versions();
        let connectors = connectors.map(|version| (&version.source, &*version.content));
        email_domains::domain_conflicts(connectors, self.email_domains.with_paths().next())
    }

    /// Returns every current problem.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let all = self
            .connectors
            .diagnostics()
            .chain(self.services.diagnostics())
            .chain(self.data_providers.diagnostics());
        all.chain(self.scopes.diagnostics())
            .chain(self.notices.diagnostics())
            .chain(self.table_diagnostics())
            .chain(self.languages.diagnostics())
            .chain(&self.unattributed)
            .cloned()
            .collect()
    }

    /// Returns when the certificates that the active versions reference expire.
    #[must_use]
    pub fn certificate_expiries(&self) -> Vec<CertificateExpiry> {
        let connectors = self.connectors.active_versions().map(|version| &version.source);
        let services = self.services.active_versions().map(|version| &version.source);
        let data_providers = self.data_providers.active_versions().map(|version| &version.source);
        let sources: Vec<&SourceFile> = connectors.chain(services).chain(data_providers).collect();
        certificate_expiries(&sources, &self.context.folder, &self.context.environment)
    }

    /// Returns the number of invalid files of this kind.
    pub fn bad_file_count(&self, kind: FileKind) -> usize {
        match kind {
            FileKind::Connector => self.connectors.bad_file_count(),
            FileKind::ServiceProvider => self.services.bad_file_count(),
            FileKind::DataProvider => self.data_providers.bad_file_count(),
            FileKind::Scopes => self.scopes.bad_file_count(),
            FileKind::Notices => self.notices.bad_file_count(),
            FileKind::Language => self.languages.bad_file_count(),
        }
    }

    /// Returns the folders to watch.
    pub fn watched_folders(&self) -> Vec<PathBuf> {
        let root = &self.context.folder;
        let mut folders = vec![
            root.clone(),
            scanning::service_provider_folder(root),
            scanning::data_provider_folder(root),
            self.context.connectors.clone(),
            root.join(languages::FOLDER),
        ];
        folders.extend(languages::language_folders(&root.join(languages::FOLDER)));
        let tables: Vec<PathBuf> = self
            .places
            .folders()
            .chain(self.email_domains.folders())
            .filter(|folder| !folders.contains(folder))
            .collect();
        folders.extend(tables);
        // Not those of service providers, which may have thousands of folders with secrets.
        for folder in self.connectors.folders_of_references() {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        folders
    }

    /// Returns the settings file of the same folder.
    pub fn settings_file(&self) -> SettingsFile {
        self.context.settings_file.clone()
    }
}

#[cfg(test)]
mod tests;
