//! The files that a running hub reads again: connectors, service providers, data providers, scopes, notices (architecture, rule 4).
//!
//! Owns: which version of each file counts. A bad file keeps its last good version; one that was never good isn't there. A
//! fault between files falls on the one that changed last. A file that is gone is gone at once; a folder that can't be read
//! changes nothing. Must not know: when files are read, and what becomes of what they say.

mod settle;
mod shelf;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use shelf::Found;
use shelf::{Reading, Shelf, Version};

use super::connector_findings;
use super::connector_rules::Order;
use super::connectors::{self, ConfiguredConnector};
use super::data_providers::{self, RegisteredDataProvider};
use super::model::{Choice, SubjectSource};
use super::notices::{self, Notice};
use super::outline::{ConnectorOutline, DataProviderOutline, Fields, Outline, ServiceOutline};
use super::problem::Problem;
use super::regular;
use super::scopes::{self, Tables};
use super::secret_rules::{Context, Owner, SecretRules};
use super::service_providers::{self, RegisteredClient};
use super::settings::SubjectKeys;
use super::source::{self, Source};
use super::{
    ConnectorFacts, DataProvider, Environment, Federation, Sandbox, Service, Unavailable,
    toml_files,
};
use crate::digest;
use crate::identity::scopes::ScopeTable;
use crate::ids::ConnectorId;
use crate::protocol::acr::Platform;

/// What the files are read against, and no reading changes.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The configuration folder.
    pub folder: PathBuf,
    pub connectors: PathBuf,
    pub environment: Environment,
    pub secrets: SecretRules,
    pub sandbox: Sandbox,
    pub platform: Platform,
    pub subject_keys: SubjectKeys,
    pub subject: SubjectSource,
    pub choice: Choice,
    /// The choice's order.
    pub order: Arc<Order>,
}

/// A service provider, as its file has it and as everything else reads it.
#[derive(Debug)]
struct Registered {
    client: RegisteredClient,
    service: Arc<Service>,
}

#[derive(Debug)]
struct RegisteredData {
    registered: RegisteredDataProvider,
    provider: Arc<DataProvider>,
}

#[derive(Debug)]
struct Described {
    configured: Arc<ConfiguredConnector>,
    facts: Arc<ConnectorFacts>,
}

#[derive(Debug)]
struct Opened {
    tables: Tables,
    scopes: ScopeTable,
    openid: ScopeTable,
}

/// Every file as it was last read.
#[derive(Clone, Debug)]
pub struct Files {
    ground: Arc<Ground>,
    services: Shelf<Registered>,
    data_providers: Shelf<RegisteredData>,
    connectors: Shelf<Described>,
    scopes: Shelf<Opened>,
    notices: Shelf<Arc<[Notice]>>,
    /// Faults that came of a file's going, which nothing holds up.
    left_behind: Vec<Problem>,
    readings: u64,
}

/// One sort of file, as metrics and a plan name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Connector,
    ServiceProvider,
    DataProvider,
    Scopes,
    Notices,
}

impl Sort {
    pub const ALL: [Self; 5] =
        [Self::Connector, Self::ServiceProvider, Self::DataProvider, Self::Scopes, Self::Notices];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connector => "connector",
            Self::ServiceProvider => "service_provider",
            Self::DataProvider => "data_provider",
            Self::Scopes => "scopes",
            Self::Notices => "notices",
        }
    }
}

/// Whether a connector that is well described could work; a fault as its key and its mend.
pub type Buildable<'a> = &'a dyn Fn(&ConfiguredConnector) -> Result<(), (String, String)>;

/// What the start has read and judged.
pub(super) struct Judged {
    pub services: Vec<(Source, RegisteredClient)>,
    pub data_providers: Vec<(Source, RegisteredDataProvider)>,
    pub connectors: Vec<(Source, ConfiguredConnector)>,
    pub scopes: (Source, Tables),
    pub notices: (Source, Vec<Notice>),
}

impl Files {
    /// # Errors
    /// A scope table that can't be used.
    pub(super) fn of(ground: Ground, judged: Judged) -> Result<Self, Problem> {
        let folder = ground.folder.clone();
        let (mut services, mut data_providers) = (Shelf::default(), Shelf::default());
        let (mut connectors, mut scopes, mut notices) =
            (Shelf::default(), Shelf::default(), Shelf::default());
        for (source, client) in judged.services {
            services.put(Version::new(source, Registered::of(client, &ground), &folder), &folder);
        }
        for (source, registered) in judged.data_providers {
            data_providers
                .put(Version::new(source, RegisteredData::of(registered), &folder), &folder);
        }
        for (source, configured) in judged.connectors {
            connectors.put(Version::new(source, Described::of(configured), &folder), &folder);
        }
        let (source, tables) = judged.scopes;
        let opened = Opened::of(&source, tables)?;
        scopes.put(Version::new(source, opened, &folder), &folder);
        let (source, said) = judged.notices;
        notices.put(Version::new(source, Arc::from(said), &folder), &folder);
        let ground = Arc::new(ground);
        Ok(Self {
            ground,
            services,
            data_providers,
            connectors,
            scopes,
            notices,
            left_behind: Vec::new(),
            readings: 0,
        })
    }

    /// Reads what has changed, and decides what counts from now on.
    pub fn read(&mut self, buildable: Buildable<'_>) -> Found {
        self.readings += 1;
        let ground = Arc::clone(&self.ground);
        let Ground { folder, environment, secrets, .. } = &*ground;
        let context = Context { folder, environment, secrets, owner: Owner::Settings };
        let reading = Reading { number: self.readings, folder: &ground.folder };
        let newest = ground.subject_keys.keys().next_back().copied().unwrap_or(1);

        let folder = service_folder(&ground.folder);
        let service = |source: &Source| {
            let (mut problems, file) = shape(source)?;
            let client = service_providers::check(
                source,
                file,
                newest,
                Some(ground.platform),
                &context,
                &mut problems,
            );
            whole(problems, Registered::of(client, &ground))
        };
        let read = |path: &Path| source::bytes_in(&folder, path);
        let of_services =
            self.services.look(toml_files(&folder, FOLDER_MEND), &reading, read, service);

        let folder = data_folder(&ground.folder);
        let listed = match toml_files(&folder, FOLDER_MEND) {
            // None are needed, so that a folder that never was holds none.
            Err(_) if self.data_providers.is_empty() && !folder.exists() => Ok(Vec::new()),
            listed => listed,
        };
        let data_provider = |source: &Source| {
            let (mut problems, file) = shape(source)?;
            let registered = data_providers::check(source, file, newest, &context, &mut problems);
            whole(problems, RegisteredData::of(registered))
        };
        let of_data = self.data_providers.look(
            listed,
            &reading,
            |path| source::bytes_in(&folder, path),
            data_provider,
        );

        let folder = &ground.connectors;
        let connector = |source: &Source| {
            let configured = connectors::configured(source, ground.sandbox, &context)?;
            buildable(&configured)
                .map_err(|(key, mend)| vec![source.problem(&key, "can't work", mend)])?;
            Ok(Described::of(configured))
        };
        let of_connectors = self.connectors.look(
            connectors::files(folder),
            &reading,
            |path| source::bytes_in(folder, path),
            connector,
        );

        let alone = |name: &str| match ground.folder.is_dir() {
            true => Ok(vec![ground.folder.join(name)]),
            false => toml_files(&ground.folder, FOLDER_MEND),
        };
        let read = |path: &Path| bytes_or(path, ABSENT);
        let of_scopes = self.scopes.look(alone("scopes.toml"), &reading, read, |source| {
            let mut problems = Vec::new();
            let tables = if is_absent(source) {
                Some(Tables::default())
            } else {
                scopes::read(source, &mut problems)
            };
            Opened::of(source, tables.ok_or(problems)?).map_err(|problem| vec![problem])
        });

        let read = |path: &Path| bytes_or(path, notices::ABSENT);
        let of_notices = self.notices.look(alone("notices.toml"), &reading, read, |source| {
            let mut problems = Vec::new();
            notices::read(source, &mut problems).map(Arc::from).ok_or(problems)
        });

        self.settle();
        if [of_services, of_data, of_connectors, of_scopes, of_notices]
            .contains(&Found::BeingWritten)
        {
            Found::BeingWritten
        } else {
            Found::Settled
        }
    }

    /// What the files that count say together.
    #[must_use]
    pub fn federation(&self) -> Federation {
        let (scopes, openid) = self.scopes.counting().next().map_or_else(
            || (ScopeTable::default(), ScopeTable::openid()),
            |version| (version.says.scopes.clone(), version.says.openid.clone()),
        );
        let connectors = self.connectors.counting().map(|version| {
            let Described { configured, facts } = &version.says;
            (configured.id.clone(), Arc::clone(facts))
        });
        let choice = &self.ground.choice;
        let unavailable =
            if choice.hide_unavailable { Unavailable::Hidden } else { Unavailable::Greyed };
        let mut federation = Federation::new([], scopes, unavailable);
        federation.openid_scopes = openid;
        federation.notices = self
            .notices
            .counting()
            .next()
            .map(|version| Arc::clone(&version.says))
            .unwrap_or_default();
        federation.categories.clone_from(&choice.categories);
        federation.remember_last =
            choice.remember_last.then(|| Duration::from_secs(choice.remember_days * 24 * 3600));
        let federation = federation.with_connectors(connectors);
        Federation::of_shared(
            self.services.counting().map(|version| Arc::clone(&version.says.service)),
            self.data_providers.counting().map(|version| Arc::clone(&version.says.provider)),
            federation,
        )
    }

    /// The connectors that count, each with the fields that tell whether it is still the same.
    #[must_use]
    pub fn connectors(&self) -> BTreeMap<ConnectorId, (Arc<ConfiguredConnector>, Arc<Fields>)> {
        let of = |version: &Arc<Version<Described>>| {
            let configured = &version.says.configured;
            (configured.id.clone(), (Arc::clone(configured), Arc::clone(&version.fields)))
        };
        self.connectors.counting().map(of).collect()
    }

    /// Connectors in use that `connector_findings::check_identity` refuses.
    #[must_use]
    pub fn refused(&self) -> Vec<Problem> {
        let check = |version: &Arc<Version<Described>>| {
            connector_findings::check_identity(
                &version.source,
                &version.says.configured.file,
                self.ground.subject,
            )
        };
        self.connectors.counting().filter_map(check).collect()
    }

    /// Everything that is wrong now, each with its file and its mend.
    #[must_use]
    pub fn complaints(&self) -> Vec<Problem> {
        let all = self
            .connectors
            .complaints()
            .chain(self.services.complaints())
            .chain(self.data_providers.complaints());
        all.chain(self.scopes.complaints())
            .chain(self.notices.complaints())
            .chain(&self.left_behind)
            .cloned()
            .collect()
    }

    /// How many files of this sort are bad.
    #[must_use]
    pub fn bad(&self, sort: Sort) -> usize {
        match sort {
            Sort::Connector => self.connectors.bad(),
            Sort::ServiceProvider => self.services.bad(),
            Sort::DataProvider => self.data_providers.bad(),
            Sort::Scopes => self.scopes.bad(),
            Sort::Notices => self.notices.bad(),
        }
    }

    /// What counts, in short: for a comparison with what would.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let connector = |version: &Arc<Version<Described>>| {
            let Described { configured, facts } = &version.says;
            (configured.id.clone(), ConnectorOutline::of(facts, &version.fields))
        };
        let service = |version: &Arc<Version<Registered>>| {
            let client = &version.says.client;
            (client.file.client_id.clone(), ServiceOutline::of(&client.file, &version.fields))
        };
        let provider = |version: &Arc<Version<RegisteredData>>| {
            let fields = Arc::clone(&version.fields);
            (version.says.registered.file.client_id.clone(), DataProviderOutline { fields })
        };
        Outline {
            connectors: self.connectors.counting().map(connector).collect(),
            service_providers: self.services.counting().map(service).collect(),
            data_providers: self.data_providers.counting().map(provider).collect(),
            scopes: self
                .scopes
                .counting()
                .next()
                .map(|version| Arc::clone(&version.fields))
                .unwrap_or_default(),
            notices: self
                .notices
                .counting()
                .next()
                .map(|version| Arc::clone(&version.fields))
                .unwrap_or_default(),
        }
    }

    /// Folders whose changes are worth a reading.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let root = &self.ground.folder;
        vec![root.clone(), service_folder(root), data_folder(root), self.ground.connectors.clone()]
    }

    /// What the settings' file, which only a restart reads again, is told apart by now.
    #[must_use]
    pub fn settings(&self) -> Option<[u8; 32]> {
        regular::read(&self.ground.folder.join("passerelle.toml"))
            .ok()
            .map(|bytes| digest::sha256(&bytes))
    }
}

const FOLDER_MEND: &str =
    "put the folder back, and make it readable; until then what it held counts on";

fn service_folder(root: &Path) -> PathBuf {
    root.join("service-providers")
}

fn data_folder(root: &Path) -> PathBuf {
    root.join(data_providers::FOLDER)
}

fn shape<T: serde::de::DeserializeOwned + schemars::JsonSchema>(
    source: &Source,
) -> Result<(Vec<Problem>, T), Vec<Problem>> {
    let mut problems = Vec::new();
    match source.shape(&mut problems) {
        Some(file) => Ok((problems, file)),
        None => Err(problems),
    }
}

fn whole<T>(problems: Vec<Problem>, made: T) -> Result<T, Vec<Problem>> {
    if problems.is_empty() { Ok(made) } else { Err(problems) }
}

/// In place of a file that is not there: the built-in tables count.
pub(super) const ABSENT: &str = "# absent: the built-in tables\n";

/// A file that need not be there.
fn bytes_or(path: &Path, absent: &str) -> Result<Vec<u8>, Problem> {
    let folder = path.parent().unwrap_or(path);
    let is_absent = std::fs::symlink_metadata(path)
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    if is_absent { Ok(absent.into()) } else { source::bytes_in(folder, path) }
}

fn is_absent(source: &Source) -> bool {
    *source.hash() == digest::sha256(ABSENT.as_bytes())
}

impl Registered {
    fn of(client: RegisteredClient, ground: &Ground) -> Self {
        Self {
            service: Arc::new(Service::of(&client, &ground.order, &ground.choice.order)),
            client,
        }
    }
}

impl RegisteredData {
    fn of(registered: RegisteredDataProvider) -> Self {
        Self { provider: Arc::new(DataProvider::of(&registered)), registered }
    }
}

impl Described {
    fn of(configured: ConfiguredConnector) -> Self {
        Self { facts: Arc::new(ConnectorFacts::of(&configured)), configured: Arc::new(configured) }
    }
}

impl Opened {
    fn of(source: &Source, tables: Tables) -> Result<Self, Problem> {
        let table = |key: &str, names| {
            ScopeTable::from_names(names)
                .map_err(|fault| source.problem(key, "is unusable", fault.to_string()))
        };
        let (scopes, openid) = (table("scopes", &tables.scopes)?, table("openid", &tables.openid)?);
        Ok(Self { tables, scopes, openid })
    }
}

#[cfg(test)]
mod tests;
