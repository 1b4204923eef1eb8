//! Defines the `[process]` table of `passerelle.toml`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Restrictions that the process of the hub puts on itself (docs/security/confinement.md).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConfinementConfig {
    /// Confinement by Landlock and seccomp: the process writes only to its own folders and runs no
    /// program. `best-effort` starts with what the kernel has and reports the rest; `required`
    /// doesn't start without all of it; `off` confines nothing, for debugging.
    pub confinement: ConfinementMode,
    /// Further folders that the process may write to, for example that of a PKCS#11 module.
    pub writable_folders: Vec<PathBuf>,
    /// Locks all memory of the process, so that no secret reaches the swap. Needs an unlimited
    /// `RLIMIT_MEMLOCK`, and returns less memory to the system.
    pub lock_memory: bool,
}

/// How much of the confinement a start requires.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfinementMode {
    /// As much as the kernel offers; what is missing degrades `/readyz`.
    #[default]
    BestEffort,
    /// All of it, or no start.
    Required,
    /// None.
    Off,
}
