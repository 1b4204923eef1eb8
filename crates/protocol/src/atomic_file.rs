//! Replaces files atomically: a reader, and a start after a crash, finds the old content or the
//! new. Creates files and folders that only this user can access.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Writes a temporary file with mode 0600 beside `path`, syncs it, renames it to `path`, and syncs
/// the folder. Creates a missing folder.
///
/// # Errors
/// Returns an error if the folder or the file can't be written or synced. `path` then has the old
/// content or the new.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = parent_folder(path);
    create_private_folder(folder)?;
    // Under an unpredictable name.
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Checks that this process can create files in a folder: it creates one and removes it.
///
/// # Errors
/// Returns an error if it can't.
pub fn check_folder_writable(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(".new-").tempfile_in(folder).map(drop)
}

/// Creates a folder, and those above it, for this user alone (mode 0700). An existing one stays as
/// it is.
///
/// # Errors
/// Returns an error if the folder can't be created.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a file with mode 0600, and the folders above it. An existing file stays as it is.
///
/// # Errors
/// Returns an error if the file exists, or can't be created.
pub fn write_private_file(path: &Path, content: &[u8]) -> io::Result<()> {
    create_private_folder(parent_folder(path))?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content)
}

/// Syncs every file and folder of a folder that contains nothing else.
///
/// # Errors
/// Returns an error if one of them can't be opened or synced.
pub fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Syncs a folder, so that renames in it are on the disk.
///
/// # Errors
/// Returns an error if the folder can't be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the folder of a file; the current one for a bare name.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_planted_file_or_link_is_neither_written_nor_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "planted").unwrap();
        symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let error = write_private_file(path, b"secret").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "planted");
    }

    /// `/proc/sys` takes no files, not even from root.
    #[test]
    fn a_folder_is_writable_if_a_file_can_be_created_and_it_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        check_folder_writable(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        check_folder_writable(Path::new("/proc/sys")).unwrap_err();
        check_folder_writable(&folder.path().join("absent")).unwrap_err();
    }

    #[test]
    fn new_files_and_folders_are_this_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        write_private_file(&folder.path().join("a/b/c"), b"secret").unwrap();
        sync_tree(folder.path()).unwrap();
        for (path, mode) in [("a", 0o700), ("a/b", 0o700), ("a/b/c", 0o600)] {
            let metadata = folder.path().join(path).metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, mode, "{path}");
        }
    }
}
