//! Confines the process before it has other threads, so that code which an attacker gets to run in
//! it writes only to the hub's own folders, starts no program, and leaves no core dump
//! (docs/security/confinement.md).

mod file_access;
mod memory;
mod system_calls;

use std::net::ToSocketAddrs as _;
use std::path::{Path, PathBuf};

use super::build_error::join_lines;
use passerelle_audit::settings::AuditSink;
use passerelle_config::LoadedConfig;
use passerelle_config::model::{ConfinementConfig, ConfinementMode};
use passerelle_protocol::atomic_file::{create_private_folder, parent_folder};
use passerelle_store::kind::StoreSettings;
use passerelle_telemetry::CheckFinding;

/// Page that explains each finding.
const PAGE: &str = "docs/security/confinement.md";

/// Error returned when `process.confinement` is `required` and something is missing.
#[derive(thiserror::Error, Debug)]
#[error("the process can't be confined as process.confinement = \"required\" demands:\n{}", join_lines(.0))]
pub struct ConfinementError(Vec<CheckFinding>);

/// Confines this process as `[process]` says, and returns the protections that the system lacks.
/// Call it before the process starts a thread: it does not confine existing threads.
///
/// # Errors
/// Returns an error if the confinement is required and incomplete.
pub fn confine_process(loaded: &LoadedConfig) -> Result<Vec<CheckFinding>, ConfinementError> {
    let config = &loaded.settings.process;
    let findings = apply_protections(config, &writable_paths(loaded), ProcessNeeds::find(loaded));
    if config.confinement == ConfinementMode::Required && !findings.is_empty() {
        return Err(ConfinementError(findings));
    }
    Ok(findings)
}

/// What a hub with these settings does that others are denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessNeeds {
    /// It connects to Unix sockets: a Redis at one, or a PKCS#11 module that may have a daemon.
    pub unix_sockets: bool,
}

impl ProcessNeeds {
    fn find(loaded: &LoadedConfig) -> Self {
        let store = super::store::store_settings(loaded);
        let has_module = loaded.settings.pkcs11.is_some();
        Self { unix_sockets: has_module || store.is_ok_and(StoreSettings::uses_unix_socket) }
    }
}

/// Forbids, for every thread, to make the content of a file executable, as soon as the C library has
/// loaded its modules for the resolution of names. Does nothing for a hub with a PKCS#11 module,
/// which may load further libraries at any time.
pub fn forbid_new_code(loaded: &LoadedConfig) {
    let is_confined = loaded.settings.process.confinement != ConfinementMode::Off;
    if !is_confined || loaded.settings.pkcs11.is_some() {
        return;
    }
    // The resolution may wait for a name server, and nothing waits for it.
    std::thread::spawn(|| {
        if let Err(finding) = forbid_executable_mappings() {
            tracing::error!(problem = %finding, "this process is not fully confined");
        }
    });
}

/// Forbids executable mappings in this process, after the C library has loaded its modules.
///
/// # Errors
/// Returns a finding if the kernel has no seccomp filters.
pub fn forbid_executable_mappings() -> Result<(), CheckFinding> {
    // No source knows this name (RFC 6761 §6.4), so that the C library asks all of them.
    let _unknown = ("modules.invalid.", 0).to_socket_addrs();
    system_calls::forbid_executable_mappings()
}

/// Applies every protection that the settings demand, and returns those that are missing.
pub fn apply_protections(
    config: &ConfinementConfig,
    writable: &[PathBuf],
    needs: ProcessNeeds,
) -> Vec<CheckFinding> {
    let locked = if config.lock_memory { memory::lock_memory() } else { Ok(()) };
    if config.confinement == ConfinementMode::Off {
        return locked.err().into_iter().collect();
    }
    let protections = [
        locked,
        memory::disable_core_dumps(),
        find_other_threads(),
        file_access::restrict_file_access(writable),
        system_calls::restrict_system_calls(needs),
    ];
    protections.into_iter().filter_map(Result::err).collect()
}

/// Returns the folders that the hub writes to while it runs, creating those that are missing, and the
/// file of the audit log, which the operator may have linked to another place.
fn writable_paths(loaded: &LoadedConfig) -> Vec<PathBuf> {
    let settings = &loaded.settings;
    let log = (settings.audit.sink == AuditSink::File).then_some(settings.audit.path.as_path());
    let audit = log.map(parent_folder);
    let checkpoint = settings.audit.checkpoint_copy.as_deref().map(parent_folder);
    let store = super::store::store_settings(loaded).ok().and_then(|store| store.written_folder());
    let created = [Some(settings.state.as_path()), audit, checkpoint, store].into_iter().flatten();
    for folder in created.clone() {
        // The part of the hub that needs the folder reports why it can't be created.
        let _reported_there = create_private_folder(folder);
    }
    let own = created.chain([settings.keys.as_path()]).filter(|folder| folder.is_dir());
    let linked = log.filter(|log| log.exists());
    let configured = settings.process.writable_folders.iter().map(PathBuf::as_path);
    own.chain(linked).chain(configured).map(Path::to_path_buf).collect()
}

/// Returns an error if the process has other threads: Landlock restricts only this thread and those
/// that it starts.
fn find_other_threads() -> Result<(), CheckFinding> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
    match threads {
        Ok(1) => Ok(()),
        Ok(threads) => Err(CheckFinding::new(
            format!(
                "{} threads were started before the confinement and are free of it",
                threads - 1
            ),
            "report this as a bug",
        )),
        Err(error) => Err(CheckFinding::new(
            format!("the threads of this process can't be counted: {error}"),
            "mount /proc",
        )),
    }
}
