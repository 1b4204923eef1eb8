//! Which secrets a file may refer to (docs/secrets.md).
//!
//! `passerelle.toml` refers to any file and to any variable. A connector's file names the address that its secret is
//! sent to, so that it could have the hub send any secret there: it reads its own alone, and so do the files of service
//! providers and data providers.
//!
//! Owns: the folder and the prefix of variables of each file, and whether a reference stays in them. Must not know: what
//! a secret is for.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::{self, Environment};
use super::model::Settings;
use super::problem::Problem;
use super::regular;
use super::source::Source;

/// docs/secrets.md.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretPlaces {
    /// Folder of the secrets of connectors, service providers and data providers. Each file reads those in a folder of
    /// its own there, and no other: `connectors/ID`, `service-providers/ID` or `data-providers/ID`, where ID is its
    /// name without `.toml`.
    pub folder: PathBuf,
    /// Put before the names of the variables that those files refer to, which begin with `CONNECTOR_ID__`,
    /// `SERVICE_PROVIDER_ID__` or `DATA_PROVIDER_ID__`: capital letters, digits and `_`.
    pub environment_prefix: String,
}

impl Default for SecretPlaces {
    fn default() -> Self {
        Self { folder: "secrets".into(), environment_prefix: String::new() }
    }
}

/// Checks `[secrets]`.
pub(super) fn check(source: &Source, places: &SecretPlaces, problems: &mut Vec<Problem>) {
    let prefix = &places.environment_prefix;
    if !prefix.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
        || prefix.starts_with(|c: char| c.is_ascii_digit())
    {
        let mend = "use capital letters, digits and _, and begin with a letter, as \"LOGIN_\"";
        problems.push(source.problem(
            "secrets.environment_prefix",
            "is no beginning of a variable's name",
            mend,
        ));
    }
    if prefix.starts_with(environment::PREFIX) {
        let what = "begins as the variables that set keys of this file do";
        problems.push(source.problem(
            "secrets.environment_prefix",
            what,
            "choose another, as \"LOGIN_\"",
        ));
    }
    if places.folder.as_os_str().is_empty() {
        problems.push(source.problem(
            "secrets.folder",
            "is empty",
            "write a folder's path, as \"secrets\"",
        ));
    }
}

/// A kind of file that has secrets of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerKind {
    Connector,
    ServiceProvider,
    DataProvider,
}

impl OwnerKind {
    const fn folder(self) -> &'static str {
        match self {
            Self::Connector => "connectors",
            Self::ServiceProvider => "service-providers",
            Self::DataProvider => "data-providers",
        }
    }

    const fn variables(self) -> &'static str {
        match self {
            Self::Connector => "CONNECTOR",
            Self::ServiceProvider => "SERVICE_PROVIDER",
            Self::DataProvider => "DATA_PROVIDER",
        }
    }
}

/// The file whose references are followed.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// `passerelle.toml`, which may refer to anything.
    Settings,
    /// Another one, by its name without `.toml`.
    File { kind: OwnerKind, id: &'a str },
}

/// What references in files are resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The configuration folder.
    pub folder: &'a Path,
    pub environment: &'a Environment,
    pub secrets: &'a SecretRules,
    pub owner: Owner<'a>,
}

impl<'a> Context<'a> {
    /// The same for the references of one file.
    #[must_use]
    pub fn for_file(self, kind: OwnerKind, path: &'a Path) -> Self {
        Self { owner: Owner::File { kind, id: id_of(path) }, ..self }
    }
}

/// The name without `.toml`; empty where it is not UTF-8, which names no secret.
fn id_of(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Where files other than `passerelle.toml` find their secrets.
#[derive(Clone, Default, Debug)]
pub struct SecretRules {
    places: SecretPlaces,
    /// Files that `passerelle.toml` names; they are its own wherever they lie.
    of_settings: Vec<PathBuf>,
    /// Folders of keys and of state, whose files are the hub's own.
    folders_of_settings: Vec<PathBuf>,
    variables_of_settings: BTreeSet<String>,
}

/// Why a file is not opened for another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It lies outside what the file may read, or a link leads out of that.
    Outside,
    /// `passerelle.toml` names it.
    OfSettings,
    /// It can't be opened.
    Unreadable { exists: bool },
}

impl SecretRules {
    /// Those of a configuration folder, whose settings are in `source`; `settings` is `None` where they are malformed.
    #[must_use]
    pub fn new(source: &Source, settings: Option<&Settings>, folder: &Path) -> Self {
        let named =
            source.texts().into_iter().map(|text| folder.join(text)).filter(|path| path.is_file());
        // Files of the configuration folder itself belong to several owners, even if a setting names that folder.
        let is_apart = |path: &PathBuf| path.canonicalize().ok() != folder.canonicalize().ok();
        let folders = settings.into_iter().flat_map(|settings| [&settings.keys, &settings.state]);
        Self {
            places: settings.map(|settings| settings.secrets.clone()).unwrap_or_default(),
            of_settings: named.collect(),
            folders_of_settings: folders.map(|path| folder.join(path)).filter(is_apart).collect(),
            variables_of_settings: source.variables_referred_to().into_iter().collect(),
        }
    }

    /// Opens the file that a reference leads to.
    ///
    /// A path outside the owner's places is refused before the disk is asked, so that an error says nothing about other
    /// files. What was opened is then looked at again, for a link may lead elsewhere.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn open(&self, context: &Context<'_>, file: &Path) -> Result<File, Refused> {
        let path = context.folder.join(file);
        let unreadable = |_| Refused::Unreadable { exists: path.exists() };
        let Owner::File { kind, id } = context.owner else {
            return regular::open(&path).map_err(unreadable);
        };
        let own = context.folder.join(&self.places.folder).join(kind.folder()).join(id);
        let single = context.folder.join(single_name(id));
        let named = absolute(&path).ok_or(Refused::Outside)?;
        let inside = absolute(&own)
            .and_then(|own| Some(named.strip_prefix(own).ok()?.components().all(is_plain)));
        if id.is_empty()
            || !(inside == Some(true) || absolute(&single).is_some_and(|single| single == named))
        {
            return Err(Refused::Outside);
        }
        let is_own = |real: &Path| {
            self.is_in_own_folder(real, context.folder, kind, id)
                || is_single(real, context.folder, id)
        };
        // Before it is opened, so that what lies elsewhere is not even found to be a folder.
        if path.canonicalize().is_ok_and(|real| !is_own(&real)) {
            return Err(Refused::Outside);
        }
        let opened = regular::open(&path).map_err(unreadable)?;
        // And after it: a link may have been exchanged meanwhile.
        if !real_path(&opened, &path).is_some_and(|real| is_own(&real)) {
            return Err(Refused::Outside);
        }
        if self.is_of_settings(&opened) { Err(Refused::OfSettings) } else { Ok(opened) }
    }

    /// A link in the place of the whole folder, or of the folder of all secrets, is the operator's and followed, as long as it
    /// ends in a folder of this file's own: Kubernetes mounts secrets behind such links.
    fn is_in_own_folder(&self, real: &Path, folder: &Path, kind: OwnerKind, id: &str) -> bool {
        let root = folder.join(&self.places.folder);
        let own = root.join(kind.folder()).join(id);
        let (Ok(root), Ok(own)) = (root.canonicalize(), own.canonicalize()) else { return false };
        own.starts_with(root)
            && own.ends_with(Path::new(kind.folder()).join(id))
            && real.starts_with(own)
    }

    /// Compares device and inode number, so that another hard link of the same file counts too. The folders are read each
    /// time, for the hub writes keys while it runs.
    fn is_of_settings(&self, opened: &File) -> bool {
        let Ok(opened) = opened.metadata() else { return true };
        let is_same = |path: &Path| {
            path.metadata()
                .is_ok_and(|found| (found.dev(), found.ino()) == (opened.dev(), opened.ino()))
        };
        let is_in = |folder: &PathBuf| {
            folder.read_dir().into_iter().flatten().flatten().any(|entry| is_same(&entry.path()))
        };
        self.of_settings.iter().any(|path| is_same(path))
            || self.folders_of_settings.iter().any(is_in)
    }

    /// Whether the owner may refer to this variable.
    #[must_use]
    pub fn allows_variable(&self, owner: Owner<'_>, name: &str) -> bool {
        let Owner::File { kind, id } = owner else { return true };
        let own = self
            .prefix(kind, id)
            .is_some_and(|prefix| name.len() > prefix.len() && name.starts_with(&prefix));
        own && !name.starts_with(environment::PREFIX) && !self.variables_of_settings.contains(name)
    }

    /// What the names of an owner's variables begin with.
    ///
    /// `None` for an id that can't be written in a name so that no other one is written alike: `__` ends the id, so that it
    /// must not hold it, nor end in half of it.
    fn prefix(&self, kind: OwnerKind, id: &str) -> Option<String> {
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let written = id.split('-').all(word).then(|| id.to_ascii_uppercase().replace('-', "_"))?;
        Some(format!("{}{}_{written}__", self.places.environment_prefix, kind.variables()))
    }

    /// Where the owner's files must lie, as an instruction.
    #[must_use]
    pub fn file_advice(&self, owner: Owner<'_>) -> String {
        let Owner::File { kind, id } = owner else {
            return "put the secret there; the path counts from the configuration folder".into();
        };
        let own = self.places.folder.join(kind.folder()).join(id);
        format!(
            "put the secret into the folder {}, and write {{ file = \"{}\" }}, or into the file {} of the configuration folder",
            own.display(),
            own.join("client.secret").display(),
            single_name(id)
        )
    }

    /// How the owner's variables must be called, as an instruction.
    #[must_use]
    pub fn variable_advice(&self, owner: Owner<'_>) -> String {
        let Owner::File { kind, id } = owner else {
            return "set the variable, or correct the name".into();
        };
        match self.prefix(kind, id) {
            Some(prefix) => {
                format!(
                    "this file reads variables that begin with {prefix}: write {{ env = \"{prefix}CLIENT_SECRET\" }}, and set it"
                )
            }
            None => format!(
                "a file whose name holds other than a-z, 0-9 and single hyphens reads no variables: rename it, or {}",
                self.file_advice(owner)
            ),
        }
    }
}

/// The one file of the configuration folder itself that belongs to an id.
fn single_name(id: &str) -> String {
    format!("{id}.secret")
}

/// The reference of a file to the one in the configuration folder that is named after it, by its key.
pub(super) fn single_reference(source: &Source, folder: &Path) -> Option<String> {
    let single = folder.join(single_name(id_of(source.path())));
    let is_single = |file: &Path| {
        absolute(&folder.join(file)).is_some_and(|named| Some(named) == absolute(&single))
    };
    source.secret_files().into_iter().find(|(_, file)| is_single(file)).map(|(key, _)| key)
}

/// What the file refers to and anybody on this machine may read, or even change.
pub(super) fn exposed(source: &Source, folder: &Path) -> Vec<Problem> {
    let exposed = |(key, file): (String, PathBuf)| {
        let path = folder.join(file);
        let mode = path.metadata().ok()?.mode() & 0o7777;
        let what = format!(
            "names a file of a secret that every user of this machine can read or change (mode {mode:04o})"
        );
        let mend = format!(
            "run `chmod 600 {0}`, or 640 and give it the group of the hub; if others may have read it, change the secret",
            path.display()
        );
        (mode & 0o006 != 0).then(|| source.problem(&key, what, mend))
    };
    source.secret_files().into_iter().filter_map(exposed).collect()
}

/// In the configuration folder itself, or in one of its folders `..…`, in which Kubernetes keeps the files of a mount.
fn is_single(real: &Path, folder: &Path, id: &str) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let between = real.parent().and_then(|parent| parent.strip_prefix(folder).ok());
    let is_kept = |part: Component<'_>| {
        part.as_os_str().as_encoded_bytes().starts_with(b"..") && is_plain(part)
    };
    real.file_name().is_some_and(|name| name == single_name(id).as_str())
        && between.is_some_and(|path| path.components().all(is_kept))
}

fn is_plain(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

/// Where an open file lies. Linux is asked about the file itself: a name could lead elsewhere by now.
fn real_path(opened: &File, path: &Path) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
    std::fs::read_link(link).or_else(|_| path.canonicalize()).ok()
}

#[cfg(test)]
mod tests;
