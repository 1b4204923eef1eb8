//! Defines a connector with a valid file.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::kind_settings::ConfiguredKind;
use super::{ConnectorFile, IdentityProof};
use passerelle_federation::ConnectorProfile;
use passerelle_federation::blocks::Block;
use passerelle_federation::identity::mapping::Mapping;
use passerelle_federation::logo::Logo;
use passerelle_federation::provider_display::ProviderDisplay;
use passerelle_protocol::ids::{ConnectorId, Secret};

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
    /// Returns the metadata for the rest of the hub.
    pub fn metadata(&self) -> ConnectorProfile {
        let file = &self.file;
        let name = Arc::new(file.name.clone());
        let display = ProviderDisplay::new(
            Arc::clone(&name),
            &file.search_terms,
            file.category.clone(),
            self.logo.clone(),
        );
        ConnectorProfile {
            name,
            display: Arc::new(display),
            enabled: file.enabled,
            listed: file.listed,
            email_domains: file.email_domains.clone(),
            levels: file.levels,
            amr: file.amr.clone(),
            mfa: file.mfa.clone(),
            passed_amr: file.passed_amr.clone(),
            mail_code: file.mail_code,
            acr_names: file.acr.names.clone(),
            blocks: self.blocks.clone().into(),
            reauthenticates: self.kind.reauthenticates(),
            proves_identity: self.proves_identity(),
            backchannel_logout: self.kind.accepts_backchannel_logout(),
            posted_callbacks: self.kind.accepts_posted_callbacks(),
            electronic_record_types: self.kind.electronic_record_types(),
            forwarded_params: self.kind.forwarded_params(),
            addresses: self.kind.addresses().into_iter().map(str::to_owned).collect(),
            is_probed: file.probe,
            redirects_per_minute: file.limits.redirects_per_minute.and_then(NonZeroU32::new),
        }
    }

    /// Returns true if the identity provider verifies identities, or is a sandbox.
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
    pub const fn from_flag(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}
