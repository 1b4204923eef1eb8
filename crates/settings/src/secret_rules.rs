//! Restricts which secrets a file may reference (docs/secrets.md).
//!
//! `passerelle.toml` may reference any file and any variable. A connector file contains the URL
//! that its secret is sent to, so without a restriction it could make the hub send any secret
//! there. Files of connectors, service providers and data providers may therefore only reference
//! their own folder and their own variable prefix.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::diagnostic::{CREATE_FILE, Diagnostic};
use super::environment::{self, Environment};
use super::source_file::SourceFile;
use super::{SecretLocations, safe_read};

/// Kind of file that has its own secrets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretOwnerKind {
    /// A connector file.
    Connector,
    /// A service provider file.
    ServiceProvider,
    /// A data provider file.
    DataProvider,
}

impl SecretOwnerKind {
    const fn folder(self) -> &'static str {
        match self {
            Self::Connector => "connectors",
            Self::ServiceProvider => "service-providers",
            Self::DataProvider => "data-providers",
        }
    }

    const fn variable_word(self) -> &'static str {
        match self {
            Self::Connector => "CONNECTOR",
            Self::ServiceProvider => "SERVICE_PROVIDER",
            Self::DataProvider => "DATA_PROVIDER",
        }
    }
}

/// The file that contains a reference.
#[derive(Clone, Copy, Debug)]
pub enum SecretOwner<'a> {
    /// `passerelle.toml`, which may reference anything.
    Settings,
    /// Another file.
    File {
        /// Kind of file.
        kind: SecretOwnerKind,
        /// Its name without `.toml`.
        id: &'a str,
    },
}

/// Context for resolving the references of a file.
#[derive(Clone, Copy, Debug)]
pub struct SecretContext<'a> {
    /// The configuration folder.
    pub folder: &'a Path,
    /// The environment variables.
    pub environment: &'a Environment,
    /// The restrictions on references.
    pub secrets: &'a SecretRules,
    /// The file that contains the references.
    pub owner: SecretOwner<'a>,
}

impl<'a> SecretContext<'a> {
    /// Returns the context for the references of one file.
    #[must_use]
    pub fn for_file(self, kind: SecretOwnerKind, path: &'a Path) -> Self {
        Self { owner: SecretOwner::File { kind, id: file_id(path) }, ..self }
    }
}

/// Returns the file name without `.toml`; empty if it is not UTF-8.
fn file_id(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Restricts the references of files other than `passerelle.toml`.
#[derive(Clone, Default, Debug)]
pub struct SecretRules {
    locations: SecretLocations,
    /// Files that `passerelle.toml` references; no other file may reference them.
    settings_files: Vec<PathBuf>,
    /// The hub's key and state folders; no file may reference their content.
    settings_folders: Vec<PathBuf>,
    settings_variables: BTreeSet<String>,
}

/// Error returned when a file may not reference another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SecretAccessError {
    /// The path is outside the allowed places, or a link leads out of them.
    Outside,
    /// `passerelle.toml` references the same file.
    OwnedBySettings,
    /// Nothing exists at the path.
    Missing,
    /// The path is that of a folder, a pipe or a device.
    NotAFile,
    /// This user may not open the file, or not enter its folder.
    PermissionDenied,
}

impl SecretAccessError {
    /// Returns why the file at `path` could not be opened.
    fn from_path(path: &Path) -> Self {
        match path.metadata() {
            Ok(found) if !found.is_file() => Self::NotAFile,
            Err(error) if error.kind() != ErrorKind::PermissionDenied => Self::Missing,
            Ok(_) | Err(_) => Self::PermissionDenied,
        }
    }
}

impl SecretRules {
    /// Creates the rules for a configuration folder with the settings file `source`.
    /// `own_folders` are the hub's folders of keys and state.
    pub fn new(
        source: &SourceFile,
        locations: SecretLocations,
        own_folders: &[&Path],
        folder: &Path,
    ) -> Self {
        let named = source
            .all_texts()
            .into_iter()
            .map(|text| folder.join(text))
            .filter(|path| path.is_file());
        // Files of the configuration folder itself belong to several owners, even if `keys` or
        // `state` is that folder.
        let is_separate = |path: &PathBuf| path.canonicalize().ok() != folder.canonicalize().ok();
        let own_folders = own_folders.iter().map(|path| folder.join(path));
        Self {
            locations,
            settings_files: named.collect(),
            settings_folders: own_folders.filter(is_separate).collect(),
            settings_variables: source.referenced_variables().into_iter().collect(),
        }
    }

    /// Opens a referenced file.
    ///
    /// A path outside the owner's places is rejected before any file access, so that the error
    /// reveals nothing about other files. The opened file is checked again, since a link may lead
    /// elsewhere.
    ///
    /// # Errors
    /// Fails with a [`SecretAccessError`] if the reference is not allowed or the file can't be
    /// opened.
    pub fn open_secret(
        &self,
        context: &SecretContext<'_>,
        file: &Path,
    ) -> Result<File, SecretAccessError> {
        let path = context.folder.join(file);
        let unreadable = |_| SecretAccessError::from_path(&path);
        let SecretOwner::File { kind, id } = context.owner else {
            return safe_read::open_regular_file(&path).map_err(unreadable);
        };
        let own = context.folder.join(&self.locations.folder).join(kind.folder()).join(id);
        let single = context.folder.join(single_secret_name(id));
        let named = to_absolute(&path).ok_or(SecretAccessError::Outside)?;
        let inside = to_absolute(&own).and_then(|own| {
            Some(named.strip_prefix(own).ok()?.components().all(is_normal_component))
        });
        if id.is_empty()
            || !(inside == Some(true) || to_absolute(&single).is_some_and(|single| single == named))
        {
            return Err(SecretAccessError::Outside);
        }
        let is_own = |real: &Path| {
            self.is_in_own_folder(real, context.folder, kind, id)
                || is_single_secret(real, context.folder, id)
        };
        // Checked before opening, so that errors reveal nothing about files elsewhere.
        if path.canonicalize().is_ok_and(|real| !is_own(&real)) {
            return Err(SecretAccessError::Outside);
        }
        let opened = safe_read::open_regular_file(&path).map_err(unreadable)?;
        // Checked again after opening, since a link may have been replaced meanwhile.
        if !real_path(&opened, &path).is_some_and(|real| is_own(&real)) {
            return Err(SecretAccessError::Outside);
        }
        if self.is_owned_by_settings(&opened) {
            Err(SecretAccessError::OwnedBySettings)
        } else {
            Ok(opened)
        }
    }

    /// Returns true if `real` is in the owner's folder. That folder and the root of all secrets may
    /// be links, as in Kubernetes mounts, if they end in a folder of the owner's kind and id.
    fn is_in_own_folder(
        &self,
        real: &Path,
        folder: &Path,
        kind: SecretOwnerKind,
        id: &str,
    ) -> bool {
        let root = folder.join(&self.locations.folder);
        let own = root.join(kind.folder()).join(id);
        let (Ok(root), Ok(own)) = (root.canonicalize(), own.canonicalize()) else { return false };
        own.starts_with(root)
            && own.ends_with(Path::new(kind.folder()).join(id))
            && real.starts_with(own)
    }

    /// Returns true if the file is one of the settings' own. Compares device and inode, so that
    /// hard links count too. Reads the folders each time, since the hub writes keys while it runs.
    fn is_owned_by_settings(&self, opened: &File) -> bool {
        let Ok(opened) = opened.metadata() else { return true };
        let is_same = |path: &Path| {
            path.metadata()
                .is_ok_and(|found| (found.dev(), found.ino()) == (opened.dev(), opened.ino()))
        };
        let is_in = |folder: &PathBuf| {
            folder.read_dir().into_iter().flatten().flatten().any(|entry| is_same(&entry.path()))
        };
        self.settings_files.iter().any(|path| is_same(path))
            || self.settings_folders.iter().any(is_in)
    }

    /// Returns true if the owner may reference this variable.
    pub fn allows_variable(&self, owner: SecretOwner<'_>, name: &str) -> bool {
        let SecretOwner::File { kind, id } = owner else { return true };
        let own = self
            .variable_prefix(kind, id)
            .is_some_and(|prefix| name.len() > prefix.len() && name.starts_with(&prefix));
        own && !name.starts_with(environment::PREFIX) && !self.settings_variables.contains(name)
    }

    /// Returns the prefix of an owner's variables.
    ///
    /// Returns `None` for an id that doesn't map to a unique prefix: `__` ends the id, so the id
    /// must not contain `__` or end with `_`.
    fn variable_prefix(&self, kind: SecretOwnerKind, id: &str) -> Option<String> {
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let written = id.split('-').all(word).then(|| id.to_ascii_uppercase().replace('-', "_"))?;
        Some(format!("{}{}_{written}__", self.locations.environment_prefix, kind.variable_word()))
    }

    /// Returns an instruction where the owner's secret files must be.
    pub fn file_advice(&self, owner: SecretOwner<'_>) -> String {
        let SecretOwner::File { kind, id } = owner else {
            return CREATE_FILE.into();
        };
        let own = self.locations.folder.join(kind.folder()).join(id);
        format!(
            "put the secret into the folder {} and write {{ file = \"{}\" }}, or into the file {} of the configuration folder",
            own.display(),
            own.join("client.secret").display(),
            single_secret_name(id)
        )
    }

    /// Returns an instruction how the owner's variables must be named.
    pub fn variable_advice(&self, owner: SecretOwner<'_>) -> String {
        let SecretOwner::File { kind, id } = owner else {
            return "set the variable, or correct the name".into();
        };
        match self.variable_prefix(kind, id) {
            Some(prefix) => {
                format!(
                    "this file may reference variables that start with {prefix}: write {{ env = \"{prefix}CLIENT_SECRET\" }}, and set it"
                )
            }
            None => format!(
                "a file whose name contains anything but a-z, 0-9 and single hyphens can't reference variables: rename it, or {}",
                self.file_advice(owner)
            ),
        }
    }
}

/// Returns the name of the secret file in the configuration folder that belongs to an id.
fn single_secret_name(id: &str) -> String {
    format!("{id}.secret")
}

/// Returns the key with which a file references the secret file of its own id in the configuration
/// folder.
pub fn find_single_secret_reference(source: &SourceFile, folder: &Path) -> Option<String> {
    let single = folder.join(single_secret_name(file_id(source.path())));
    let is_single = |file: &Path| {
        to_absolute(&folder.join(file)).is_some_and(|named| Some(named) == to_absolute(&single))
    };
    source.secret_files().into_iter().find(|(_, file)| is_single(file)).map(|(key, _)| key)
}

/// Returns a problem for each referenced secret file whose mode is wider than 0600.
pub fn exposed_secrets(source: &SourceFile, folder: &Path) -> Vec<Diagnostic> {
    let exposed = |(key, file): (String, PathBuf)| {
        let path = folder.join(file);
        let metadata = path.metadata().ok()?;
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
        let is_mounted =
            || path.canonicalize().is_ok_and(|real| is_mounted_secret(&real, owner, mode));
        if mode & !0o600 == 0 || is_mounted() {
            return None;
        }
        let message =
            format!("references a secret file that is open to others (mode {mode:04o}, not 0600)");
        let fix = format!(
            "run `chmod 600` on {}, which the hub's user must own; if others may have read it, change the secret",
            path.display()
        );
        Some(source.diagnostic(&key, message, fix))
    };
    source.secret_files().into_iter().filter_map(exposed).collect()
}

/// Returns true for a file that systemd or Kubernetes mounted for the hub: it belongs to root, and
/// the hub reads it through its group, or through an access control list, whose mask is shown as
/// the mode of the group.
fn is_mounted_secret(real: &Path, owner: u32, mode: u32) -> bool {
    let is_mount = real.starts_with("/run/credentials") || real.components().any(is_mount_folder);
    owner == 0 && mode & !0o640 == 0 && is_mount
}

/// Returns true if the file is in the configuration folder itself, or in one of its `..…` folders,
/// where Kubernetes keeps mounted files.
fn is_single_secret(real: &Path, folder: &Path, id: &str) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let between = real.parent().and_then(|parent| parent.strip_prefix(folder).ok());
    real.file_name().is_some_and(|name| name == single_secret_name(id).as_str())
        && between.is_some_and(|path| path.components().all(is_mount_folder))
}

/// Returns true for the name of a folder that Kubernetes keeps mounted files in.
fn is_mount_folder(part: Component<'_>) -> bool {
    part.as_os_str().as_encoded_bytes().starts_with(b"..") && is_normal_component(part)
}

fn is_normal_component(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

fn to_absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok()
}

/// Returns the path of an open file. Asks Linux for the file descriptor's path, since the name may
/// lead elsewhere by now.
fn real_path(opened: &File, path: &Path) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
    std::fs::read_link(link).or_else(|_| path.canonicalize()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_secret_belongs_to_root_and_is_read_through_the_group() {
        let credential = Path::new("/run/credentials/passerelle.service/pkcs11.pin");
        let kubernetes = Path::new("/etc/passerelle/secrets/..2026_11_23_16_00_00.1/client.secret");
        for mounted in [credential, kubernetes] {
            assert!(is_mounted_secret(mounted, 0, 0o440) && is_mounted_secret(mounted, 0, 0o640));
            assert!(!is_mounted_secret(mounted, 1000, 0o440), "another user can change it");
            for mode in [0o444, 0o460, 0o660, 0o4440] {
                assert!(!is_mounted_secret(mounted, 0, mode), "{mode:o}");
            }
        }
        assert!(!is_mounted_secret(Path::new("/etc/passerelle/idp.secret"), 0, 0o640));
    }

    #[test]
    fn no_prefix_of_one_file_is_the_prefix_of_another() {
        let rules = SecretRules::default();
        let ids = [
            "a",
            "a-b",
            "a-",
            "-a",
            "a--b",
            "ab",
            "a-b-c",
            "a1",
            "A",
            "a_b",
            "a.b",
            "connector-a",
            "é",
            "",
        ];
        let kinds = [
            SecretOwnerKind::Connector,
            SecretOwnerKind::ServiceProvider,
            SecretOwnerKind::DataProvider,
        ];
        let prefixes: Vec<String> = kinds
            .iter()
            .flat_map(|kind| ids.iter().filter_map(|id| rules.variable_prefix(*kind, id)))
            .collect();
        assert_eq!(prefixes.len(), 3 * 6, "{prefixes:?}");
        for (index, one) in prefixes.iter().enumerate() {
            for other in prefixes
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, other)| other)
            {
                assert!(!other.starts_with(one.as_str()), "{one} begins {other}");
            }
        }
        let odd = SecretOwner::File { kind: SecretOwnerKind::ServiceProvider, id: "Odd.Name" };
        assert!(!rules.allows_variable(odd, "SERVICE_PROVIDER_ODD_NAME__SECRET"));
        assert!(rules.variable_advice(odd).contains("secrets/service-providers/Odd.Name"));
    }
}
