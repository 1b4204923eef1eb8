//! Writes a file so that readers see all of it or nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::folder::KeyFileError;
use crate::atomic_file::{parent_folder, sync_folder};

/// A temporary file beside its final name, so that readers never see a partial file. Removed if
/// dropped before [`Self::publish`].
pub(super) struct TemporaryFile<'a> {
    file: File,
    temporary: PathBuf,
    path: &'a Path,
}

impl<'a> TemporaryFile<'a> {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// `Busy` if it exists, `Unwritable`.
    pub fn create(path: &'a Path) -> Result<Self, KeyFileError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.tmp"));
        // `create_new` neither follows a planted link nor shares the file with another run.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => Ok(Self { file, temporary, path }),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeyFileError::Busy { path: path.into(), temporary })
            }
            Err(cause) => Err(KeyFileError::Unwritable { path: path.into(), cause }),
        }
    }

    /// Returns its final name.
    pub const fn path(&self) -> &'a Path {
        self.path
    }

    /// Writes and syncs the content.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn write(&mut self, content: &[u8]) -> Result<(), KeyFileError> {
        let written = self.file.write_all(content).and_then(|()| self.file.sync_all());
        written.map_err(|cause| KeyFileError::Unwritable { path: self.path.into(), cause })
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// `Unwritable`.
    pub fn publish(self) -> Result<(), KeyFileError> {
        let renamed = fs::rename(&self.temporary, self.path);
        let synced = renamed.and_then(|()| sync_folder(parent_folder(self.path)));
        synced.map_err(|cause| KeyFileError::Unwritable { path: self.path.into(), cause })
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        // After a rename the file is gone; after an error there is nothing better to do.
        let _ = fs::remove_file(&self.temporary);
    }
}
