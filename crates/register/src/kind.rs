//! Opens the register that the settings describe, whatever its kind.
//!
//! A kind of register is one folder: a [`TableKind`](passerelle_settings::TableKind) for its table
//! `[register.<name>]`, and [`RegisterSettings`] for what the table says. It has one line in
//! [`super::KINDS`].

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::Register;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::{ConfiguredTable, KindTable};
use passerelle_telemetry::Metrics;

/// What a register is opened with besides its settings.
pub struct RegisterContext {
    /// Code of the country whose births need a `birthplace`.
    pub home_country: String,
    pub metrics: Arc<Metrics>,
    pub now: Timestamp,
}

/// Error that keeps a hub from using its register, with its fix.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{0}")]
pub struct OpenRegisterError(pub String);

/// Checked settings of a register, with their secrets.
pub trait RegisterSettings: Any + Send + Sync {
    /// Opens the register. A server that does not answer is not an error.
    ///
    /// # Errors
    /// Returns an error if the register must not be used as it is configured.
    fn open(&self, context: RegisterContext) -> Result<Arc<dyn Register>, OpenRegisterError>;

    /// Returns true if the register is a server, which may be down.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the file that `passerelle register import` writes, if it is a file.
    fn import_target(&self) -> Option<&Path> {
        None
    }

    /// Returns the file if it is one without persons.
    fn file_without_persons(&self) -> Option<&Path> {
        None
    }

    /// Returns the certificates whose expiry is a metric, as PEM with their labels.
    fn certificates(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }
}

/// Returns what [`TableKind::load`](passerelle_settings::TableKind::load) returns: the table as
/// operators may see it, and the settings that open the register.
pub fn register_settings(
    kind: &KindTable<'_>,
    table: &impl Serialize,
    settings: impl RegisterSettings,
) -> ConfiguredTable {
    kind.configured(table, Box::new(settings) as Box<dyn RegisterSettings>)
}
