//! Follows `passerelle.toml`, which only a restart reads again: whether the next start would fail.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use passerelle_protocol::digest;
use passerelle_settings::{Diagnostic, safe_read};

/// Returns the problems that prevent a start with the present file.
type StartCheck = dyn Fn() -> Vec<Diagnostic> + Send + Sync;

/// The settings file of a running hub.
#[derive(Clone)]
pub struct SettingsFile {
    path: PathBuf,
    start_check: Arc<StartCheck>,
    active: Option<[u8; 32]>,
    state: SettingsFileState,
}

/// State of the settings file, compared with the one that the hub was started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsFileState {
    Unchanged,
    /// Takes effect at the next start.
    Changed(Option<[u8; 32]>),
    /// Prevents the next start.
    Invalid(Vec<Diagnostic>),
}

impl SettingsFile {
    /// Takes the present file as the one that the hub is started with.
    pub(crate) fn new(path: PathBuf, start_check: Arc<StartCheck>) -> Self {
        let active = hash(&path);
        Self { path, start_check, active, state: SettingsFileState::Unchanged }
    }

    /// Returns where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the state at the last check.
    pub const fn state(&self) -> &SettingsFileState {
        &self.state
    }

    /// Reads the file, and checks it if it is not the active one.
    pub fn check(&mut self) {
        let hash = hash(&self.path);
        self.state = match (hash, &self.state) {
            (hash, _) if hash == self.active => SettingsFileState::Unchanged,
            (hash, SettingsFileState::Changed(known)) if hash == *known => return,
            (hash, _) => match (self.start_check)() {
                invalid if !invalid.is_empty() => SettingsFileState::Invalid(invalid),
                _ => SettingsFileState::Changed(hash),
            },
        };
    }
}

impl fmt::Debug for SettingsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsFile")
            .field("path", &self.path)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

fn hash(path: &Path) -> Option<[u8; 32]> {
    safe_read::read_regular_file(path).ok().map(|bytes| digest::sha256(&bytes))
}
