//! Follows `passerelle.toml`, which only a restart reads again: whether the next start would fail.

use std::path::PathBuf;

use crate::config::kinds::Kinds;
use crate::config::loaded::settings_diagnostics;
use crate::config::loading::{Diagnostic, Environment, safe_read};
use crate::digest;

/// The settings file of a running hub.
pub struct SettingsFile {
    folder: PathBuf,
    environment: Environment,
    kinds: Kinds,
    active: Option<[u8; 32]>,
    state: SettingsFileState,
}

/// State of the settings file, compared with the one that the hub was started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsFileState {
    Unchanged,
    /// Takes effect at the next start.
    Changed([u8; 32]),
    /// Prevents the next start.
    Invalid(Vec<Diagnostic>),
}

impl SettingsFile {
    /// Takes the present file as the one that the hub was started with.
    pub(super) fn new(folder: PathBuf, environment: Environment, kinds: Kinds) -> Self {
        let state = SettingsFileState::Unchanged;
        let mut file = Self { folder, environment, kinds, active: None, state };
        file.active = file.hash();
        file
    }

    /// Returns the state at the last check.
    #[must_use]
    pub const fn state(&self) -> &SettingsFileState {
        &self.state
    }

    /// Reads the file, and checks it if it is not the active one.
    pub fn check(&mut self) {
        let hash = self.hash();
        self.state = match (hash, &self.state) {
            (hash, _) if hash == self.active => SettingsFileState::Unchanged,
            (Some(hash), SettingsFileState::Changed(known)) if hash == *known => return,
            (hash, _) => match settings_diagnostics(&self.folder, &self.environment, self.kinds) {
                invalid if !invalid.is_empty() => SettingsFileState::Invalid(invalid),
                _ => SettingsFileState::Changed(hash.unwrap_or_default()),
            },
        };
    }

    fn hash(&self) -> Option<[u8; 32]> {
        let bytes = safe_read::read_regular_file(&self.folder.join("passerelle.toml")).ok()?;
        Some(digest::sha256(&bytes))
    }
}
