//! Defines a connector with a valid file.

use super::blocks::Block;
use super::connector_kind::ConfiguredKind;
use super::logo::Logo;
use crate::config::model::{ConnectorFile, IdentityProof};
use crate::identity::mapping::Mapping;
use crate::ids::{ConnectorId, Secret};

/// A connector with a valid file.
#[derive(Clone, Debug)]
pub struct ConfiguredConnector {
    /// The id: the file's name without `.toml`.
    pub id: ConnectorId,
    /// The file, without the `[kind.…]` table.
    pub file: ConnectorFile,
    /// The `[kind.…]` table, with absolute paths.
    pub kind: ConfiguredKind,
    /// The hub's client secret or bind password at the identity provider; `None` for kinds without
    /// one.
    pub client_secret: Option<Secret<String>>,
    /// PEM: the hub's certificate with its chain and key, as a TLS client of the identity provider.
    pub client_identity: Option<Secret<String>>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// The blocks of its `[[block]]` tables.
    pub blocks: Vec<Block>,
    /// How its claims are mapped; `None` if a rule is invalid, which no loaded file has.
    pub mapping: Option<Mapping>,
}

impl ConfiguredConnector {
    /// Returns true if the identity provider verifies identities, or is a sandbox.
    #[must_use]
    pub fn proves_identity(&self) -> bool {
        self.file.identity == Some(IdentityProof::Verified) || self.kind.is_sandbox()
    }
}

/// Whether sandboxes are allowed, where anyone can sign in as anyone.
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
