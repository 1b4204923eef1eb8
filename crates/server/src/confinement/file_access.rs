//! Restricts by Landlock which files the process may write, and lets it execute none.

use std::path::PathBuf;

use landlock::{
    ABI, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope,
};

use super::PAGE;
use passerelle_telemetry::CheckFinding;

/// Linux 6.2, the first whose Landlock also stops `truncate(2)`.
const LANDLOCK_ABI: ABI = ABI::V3;

/// Allows changes of regular files beneath the folders, and of single files; forbids all other
/// changes, and each execution. Reading stays free: files are read again while the hub runs.
pub(super) fn restrict_file_access(writable: &[PathBuf]) -> Result<(), CheckFinding> {
    let status = restrict_this_thread(writable).map_err(|error| {
        CheckFinding::new(
            format!("Landlock can't restrict this process: {error}"),
            format!("check process.writable_folders, and see {PAGE}"),
        )
    })?;
    let lacking = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } if effective_abi >= LANDLOCK_ABI => {
            return Ok(());
        }
        LandlockStatus::Available { .. } => "this kernel's Landlock lacks a part (truncation)",
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => {
            "this kernel has no Landlock"
        }
    };
    Err(CheckFinding::new(
        format!("{lacking}, so that the process can write wherever its user can"),
        format!("use Linux 6.2 or later with Landlock enabled (lsm=), and see {PAGE}"),
    ))
}

fn restrict_this_thread(writable: &[PathBuf]) -> Result<RestrictionStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_write(LANDLOCK_ABI) | AccessFs::Execute)?
        // Since Linux 6.12. In the same ruleset: one that handles no access of files would forbid to
        // move a file to another folder. The filter of system calls denies signals on every kernel.
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    for path in writable {
        // An error of the path is not Landlock's: the path is left out, and so not writable.
        match PathFd::new(path) {
            Ok(descriptor) => {
                let rights = if path.is_dir() { changes_of_files() } else { changes_of_one_file() };
                rules = rules.add_rule(PathBeneath::new(descriptor, rights))?;
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the hub can't write there");
            }
        }
    }
    rules.restrict_self()
}

/// Rights that replacing, appending to, rotating and removing regular files needs.
fn changes_of_files() -> BitFlags<AccessFs> {
    changes_of_one_file()
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}

/// Rights that a file alone can have.
fn changes_of_one_file() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate
}
