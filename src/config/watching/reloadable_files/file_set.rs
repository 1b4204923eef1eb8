//! Tracks the files of one kind: of each the newest version, valid or not, and the last valid one,
//! which is active.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::loading::{Diagnostic, FileStamp, SourceFile, safe_read};
use crate::config::watching::config_digest::FieldDigests;
use crate::digest;

/// A valid version of a file.
#[derive(Debug)]
pub struct FileVersion<T> {
    /// The parsed file.
    pub source: SourceFile,
    /// Its checked content.
    pub content: T,
    /// Fingerprints of its values.
    pub fields: Arc<FieldDigests>,
}

/// Order in which versions appeared: number of the scan, then the file system's timestamp.
pub type ChangeOrder = (u64, FileStamp);

/// A file whose newest version is valid and not active yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingFile {
    /// When the version appeared.
    pub order: ChangeOrder,
    /// No version of the file is active.
    pub is_new: bool,
}

/// The state of one file.
#[derive(Debug)]
pub struct TrackedFile<T> {
    fingerprint: FileFingerprint,
    order: ChangeOrder,
    newest: Result<Arc<FileVersion<T>>, Vec<Diagnostic>>,
    active: Option<Arc<FileVersion<T>>>,
    /// Why the newest version is not active although it is valid by itself.
    rejections: Vec<Diagnostic>,
    last_opened: LastOpened,
}

/// The stamp under which a file was last opened. A file with an unchanged stamp need not be opened
/// again. Because file system clocks have a resolution of milliseconds, a stamp only identifies the
/// content once two scans have seen it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct LastOpened {
    stamp: FileStamp,
    twice: bool,
}

impl LastOpened {
    fn opened_again(self, stamp: FileStamp) -> Self {
        Self { stamp, twice: self.stamp == stamp }
    }

    fn is_known_by(self, stamp: FileStamp) -> bool {
        self.twice && self.stamp == stamp
    }
}

/// Identifies the content of a version.
#[derive(Clone, PartialEq, Debug)]
pub enum FileFingerprint {
    /// The file could be read.
    Text {
        /// SHA-256 of the file.
        hash: [u8; 32],
        /// SHA-256 of the referenced files (secrets, key sets); `None` if unreadable.
        references: Vec<(PathBuf, Option<[u8; 32]>)>,
    },
    /// The file could not be read.
    Unreadable(Diagnostic),
}

/// The files of one kind.
#[derive(Debug)]
pub struct FileSet<T> {
    files: BTreeMap<PathBuf, TrackedFile<T>>,
    /// Set while the folder is unreadable; all versions then stay active.
    folder_problem: Option<Diagnostic>,
}

/// Parameters of a scan.
pub struct ScanContext<'a> {
    /// Number of the scan.
    pub number: u64,
    /// Folder that references are relative to.
    pub folder: &'a Path,
}

/// Result of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanOutcome {
    /// Every changed file was read.
    Complete,
    /// A file changed while it was read. It keeps its version and must be scanned again soon.
    BeingWritten,
}

// Derived implementations would require the same traits of `T`.
impl<T> Default for FileSet<T> {
    fn default() -> Self {
        Self { files: BTreeMap::new(), folder_problem: None }
    }
}

impl<T> Clone for TrackedFile<T> {
    fn clone(&self) -> Self {
        let Self { fingerprint, order, newest, active, rejections, last_opened } = self;
        let (fingerprint, newest, active) = (fingerprint.clone(), newest.clone(), active.clone());
        Self {
            fingerprint,
            order: *order,
            newest,
            active,
            rejections: rejections.clone(),
            last_opened: *last_opened,
        }
    }
}

impl<T> Clone for FileSet<T> {
    fn clone(&self) -> Self {
        Self { files: self.files.clone(), folder_problem: self.folder_problem.clone() }
    }
}

impl<T> FileVersion<T> {
    /// Creates a version, fingerprinting the file and its references.
    pub fn new(source: SourceFile, content: T, folder: &Path) -> Self {
        let fields =
            Arc::new(FieldDigests::from_source(&source, &hash_references(&source, folder)));
        Self { source, content, fields }
    }
}

impl<T> FileSet<T> {
    /// Inserts an already checked version as active.
    pub fn insert_checked(&mut self, version: FileVersion<T>, folder: &Path) {
        let path = version.source.path().to_owned();
        let fingerprint = FileFingerprint::Text {
            hash: *version.source.hash(),
            references: hash_references(&version.source, folder),
        };
        let (order, version) = ((0, FileStamp::from_path(&path)), Arc::new(version));
        let file = TrackedFile {
            fingerprint,
            order,
            newest: Ok(Arc::clone(&version)),
            active: Some(version),
            rejections: Vec::new(),
            last_opened: LastOpened::default(),
        };
        self.files.insert(path, file);
    }

    /// Reads the files in `paths` that are new or whose content, including that of referenced
    /// files, has changed. Forgets files that are not in `paths`. An unreadable folder changes
    /// nothing.
    pub fn scan(
        &mut self,
        paths: Result<Vec<PathBuf>, Diagnostic>,
        scan: &ScanContext<'_>,
        read: impl Fn(&Path) -> Result<Vec<u8>, Diagnostic>,
        check: impl Fn(&SourceFile) -> Result<T, Vec<Diagnostic>>,
    ) -> ScanOutcome {
        let paths = match paths {
            Ok(paths) => paths,
            Err(problem) => {
                self.folder_problem = Some(problem);
                return ScanOutcome::Complete;
            }
        };
        self.folder_problem = None;
        let mut outcome = ScanOutcome::Complete;
        let mut before = std::mem::take(&mut self.files);
        for path in paths {
            let stamp = FileStamp::from_path(&path);
            let known = before.remove(&path);
            if known.as_ref().is_some_and(|known| {
                known.last_opened.is_known_by(stamp)
                    && known.fingerprint.references_unchanged(scan.folder)
            }) {
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let bytes = read(&path);
            if known.as_ref().is_some_and(|known| known.fingerprint.matches(&bytes, scan.folder)) {
                self.files.extend(known.map(|known| {
                    (
                        path,
                        TrackedFile { last_opened: known.last_opened.opened_again(stamp), ..known },
                    )
                }));
                continue;
            }
            let (fingerprint, newest) = read_version(&path, bytes, scan.folder, &check);
            if FileStamp::from_path(&path) != stamp {
                // A partially written file may parse.
                outcome = ScanOutcome::BeingWritten;
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let active = known.and_then(|known| known.active);
            let order = (scan.number, stamp);
            self.files.insert(
                path,
                TrackedFile {
                    fingerprint,
                    order,
                    newest,
                    active,
                    rejections: Vec::new(),
                    last_opened: LastOpened::default().opened_again(stamp),
                },
            );
        }
        outcome
    }

    /// Returns true if there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files whose newest version is valid and not active yet.
    pub fn pending_files(&self) -> impl Iterator<Item = (&Path, PendingFile)> {
        let pending = self.files.iter().filter(|(_, file)| file.is_pending());
        pending.map(|(path, file)| {
            (path.as_path(), PendingFile { order: file.order, is_new: file.active.is_none() })
        })
    }

    /// Returns the files of which no version can be used.
    pub fn unusable_files(&self) -> impl Iterator<Item = &Path> {
        let unusable = |file: &TrackedFile<T>| file.newest.is_err() && file.active.is_none();
        self.files.iter().filter(move |(_, file)| unusable(file)).map(|(path, _)| path.as_path())
    }

    /// Returns the versions that would be active if every pending one was accepted, except those of
    /// rejected files.
    pub fn candidate_versions<'a>(
        &'a self,
        is_rejected: &'a dyn Fn(&Path) -> bool,
    ) -> impl Iterator<Item = &'a Arc<FileVersion<T>>> {
        self.files.iter().filter_map(|(path, file)| match &file.newest {
            Ok(newest) if !file.is_pending() || !is_rejected(path) => Some(newest),
            Ok(_) | Err(_) => file.active.as_ref(),
        })
    }

    /// Activates the newest versions, except those with problems in `rejected`.
    pub fn activate_pending(&mut self, rejected: &mut BTreeMap<PathBuf, Vec<Diagnostic>>) {
        for (path, file) in &mut self.files {
            file.rejections = rejected.remove(path).unwrap_or_default();
            if let (Ok(newest), []) = (&file.newest, file.rejections.as_slice()) {
                file.active = Some(Arc::clone(newest));
            }
        }
    }

    /// Returns the active versions, by file.
    pub fn active_versions(&self) -> impl Iterator<Item = &Arc<FileVersion<T>>> {
        self.files.values().filter_map(|file| file.active.as_ref())
    }

    /// Returns every problem, the folder's first, then by file.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let from_files = self.files.values().flat_map(|file| match &file.newest {
            Ok(_) => file.rejections.iter(),
            Err(problems) => problems.iter(),
        });
        self.folder_problem.iter().chain(from_files)
    }

    /// Returns the first problem of each file whose newest version is not in use.
    pub fn problems_by_file(&self) -> impl Iterator<Item = (&Path, &Diagnostic)> {
        self.files.iter().filter_map(|(path, file)| {
            let problem = match &file.newest {
                Ok(_) => file.rejections.first(),
                Err(problems) => problems.first(),
            };
            Some((path.as_path(), problem?))
        })
    }

    /// Deactivates the active versions that `check` rejects, with its problem.
    pub fn deactivate(&mut self, check: impl Fn(&FileVersion<T>) -> Option<Diagnostic>) {
        for file in self.files.values_mut() {
            if let Some(problem) = file.active.as_deref().and_then(&check) {
                (file.newest, file.active) = (Err(vec![problem]), None);
            }
        }
    }

    /// Returns whether there are files, or a folder that can't be read, and no active version.
    pub fn has_only_bad_files(&self) -> bool {
        self.bad_file_count() > 0 && self.active_versions().next().is_none()
    }

    /// Returns the number of invalid files, plus one for an unreadable folder.
    pub fn bad_file_count(&self) -> usize {
        let files = self
            .files
            .values()
            .filter(|file| file.newest.is_err() || !file.rejections.is_empty())
            .count();
        files + usize::from(self.folder_problem.is_some())
    }
}

impl<T> TrackedFile<T> {
    fn is_pending(&self) -> bool {
        let Ok(newest) = &self.newest else { return false };
        self.active.as_ref().is_none_or(|active| !Arc::ptr_eq(active, newest))
    }
}

impl FileFingerprint {
    /// Returns true if the referenced files are unchanged.
    fn references_unchanged(&self, folder: &Path) -> bool {
        match self {
            Self::Text { references, .. } => {
                references.iter().all(|(path, hash)| hash_file(&folder.join(path)) == *hash)
            }
            Self::Unreadable(_) => false,
        }
    }

    fn matches(&self, bytes: &Result<Vec<u8>, Diagnostic>, folder: &Path) -> bool {
        match (self, bytes) {
            (Self::Text { hash, .. }, Ok(bytes)) => {
                digest::sha256(bytes) == *hash && self.references_unchanged(folder)
            }
            (Self::Unreadable(known), Err(problem)) => known == problem,
            (Self::Text { .. }, Err(_)) | (Self::Unreadable(_), Ok(_)) => false,
        }
    }
}

type VersionResult<T> = Result<Arc<FileVersion<T>>, Vec<Diagnostic>>;

fn read_version<T>(
    path: &Path,
    bytes: Result<Vec<u8>, Diagnostic>,
    folder: &Path,
    check: impl Fn(&SourceFile) -> Result<T, Vec<Diagnostic>>,
) -> (FileFingerprint, VersionResult<T>) {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(problem) => return (FileFingerprint::Unreadable(problem.clone()), Err(vec![problem])),
    };
    let hash = digest::sha256(&bytes);
    let source = match SourceFile::from_bytes(path, bytes) {
        Ok(source) => source,
        Err(problem) => {
            return (FileFingerprint::Text { hash, references: Vec::new() }, Err(vec![problem]));
        }
    };
    // References are hashed before they are used, so that the next scan notices a change in
    // between.
    let fingerprint = FileFingerprint::Text { hash, references: hash_references(&source, folder) };
    let checked = check(&source);
    (fingerprint, checked.map(|content| Arc::new(FileVersion::new(source, content, folder))))
}

fn hash_references(source: &SourceFile, folder: &Path) -> Vec<(PathBuf, Option<[u8; 32]>)> {
    let hashed = |path: PathBuf| {
        let hash = hash_file(&folder.join(&path));
        (path, hash)
    };
    // A logo is relative to the folder of the file that names it.
    let source_folder = source.path().parent().unwrap_or(folder);
    let logo = source.text_at("logo").map(|name| source_folder.join(name));
    source.referenced_files().into_iter().chain(logo).map(hashed).collect()
}

fn hash_file(path: &Path) -> Option<[u8; 32]> {
    safe_read::read_regular_file(path).ok().map(|bytes| digest::sha256(&bytes))
}

#[cfg(test)]
mod tests;
