//! Writes a file so that readers see all of it or nothing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use super::folder::KeyFileError;
use passerelle_protocol::atomic_file::{parent_folder, sync_folder};

/// Bits of a mode without the type of the file.
const PERMISSION_BITS: u32 = 0o777;

/// User id of root.
const ROOT: u32 = 0;

/// A temporary file beside its final name, so that readers never see a partial file. Removed if
/// dropped before [`Self::publish`].
pub(super) struct TemporaryFile<'a> {
    file: File,
    temporary: PathBuf,
    path: &'a Path,
}

impl<'a> TemporaryFile<'a> {
    /// Creates the temporary file. It gets the owner, group and mode of the file that it replaces;
    /// a new file that root creates belongs to the owner of its folder, so that the hub can read
    /// it.
    ///
    /// # Errors
    /// `Busy` if it exists, `Unwritable`.
    pub(super) fn create(path: &'a Path) -> Result<Self, KeyFileError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp"));
        // `create_new` neither follows a planted link nor shares the file with another run.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => {
                let created = Self { file, temporary, path };
                let copied = copy_ownership(&created.file, path);
                copied.map_err(|cause| KeyFileError::Unwritable { path: path.into(), cause })?;
                Ok(created)
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeyFileError::Busy { path: path.into(), temporary })
            }
            Err(cause) => Err(KeyFileError::Unwritable { path: path.into(), cause }),
        }
    }

    /// Returns its final name.
    pub(super) const fn path(&self) -> &'a Path {
        self.path
    }

    /// Writes and syncs the content.
    ///
    /// # Errors
    /// `Unwritable`.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<(), KeyFileError> {
        let written = self.file.write_all(content).and_then(|()| self.file.sync_all());
        written.map_err(|cause| KeyFileError::Unwritable { path: self.path.into(), cause })
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// `Unwritable`.
    pub(super) fn publish(self) -> Result<(), KeyFileError> {
        let renamed = fs::rename(&self.temporary, self.path);
        let synced = renamed.and_then(|()| sync_folder(parent_folder(self.path)));
        synced.map_err(|cause| KeyFileError::Unwritable { path: self.path.into(), cause })
    }
}

fn copy_ownership(file: &File, path: &Path) -> io::Result<()> {
    let own = file.metadata()?;
    let replaced = match fs::metadata(path) {
        Ok(replaced) => Some(replaced),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let owner = match &replaced {
        Some(replaced) => replaced.clone(),
        None if own.uid() == ROOT => fs::metadata(parent_folder(path))?,
        None => return Ok(()),
    };
    if (own.uid(), own.gid()) != (owner.uid(), owner.gid()) {
        fchown(file, Some(owner.uid()), Some(owner.gid()))?;
    }
    // After the change of owner, which may clear mode bits.
    let modes = [replaced.map(|replaced| replaced.mode()), Some(file.metadata()?.mode())];
    let [Some(wanted), Some(present)] = modes.map(|mode| mode.map(|mode| mode & PERMISSION_BITS))
    else {
        return Ok(());
    };
    if wanted == present {
        return Ok(());
    }
    match file.set_permissions(Permissions::from_mode(wanted)) {
        // A confined hub changes no mode. The file keeps 0600, the mode that key files must have.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        changed => changed,
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        // After a rename the file is gone; after an error there is nothing better to do.
        let _ = fs::remove_file(&self.temporary);
    }
}
