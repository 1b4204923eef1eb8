//! Defines a connector with a valid file.

use super::blocks::Block;
use super::logo::Logo;
use crate::config::model::ConnectorFile;
use crate::ids::{ConnectorId, Secret};

/// A connector with a valid file.
#[derive(Clone, PartialEq, Debug)]
pub struct ConfiguredConnector {
    /// The id: the file's name without `.toml`.
    pub id: ConnectorId,
    /// The file, with absolute paths.
    pub file: ConnectorFile,
    /// The hub's client secret or bind password at the identity provider; `None` for kinds without
    /// one.
    pub client_secret: Option<Secret<String>>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// The blocks of its `[[block]]` tables.
    pub blocks: Vec<Block>,
}

/// Whether `persona` connectors are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxMode {
    /// They are allowed.
    On,
    /// They are rejected.
    Off,
}

impl SandboxMode {
    /// Returns [`Self::On`] if `enabled`.
    #[must_use]
    pub const fn from_flag(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}
