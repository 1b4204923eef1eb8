//! Tracks the files of one kind: of each the newest version, valid or not, and the last valid one,
//! which is active.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use passerelle_protocol::digest;
use passerelle_settings::source_file::ReferencedFile;
use passerelle_settings::{Diagnostic, FieldDigests, FileRole, FileStamp, SourceFile, safe_read};

/// A valid version of a file.
#[derive(Debug)]
pub(super) struct FileVersion<T> {
    /// The parsed file.
    pub source: SourceFile,
    /// Its checked content.
    pub content: T,
    /// Fingerprints of its values.
    pub fields: Arc<FieldDigests>,
    /// The files that it names, read before its content.
    references: Vec<FileReference>,
}

/// A named file with its content at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileReference {
    file: ReferencedFile,
    /// SHA-256 of the content; `None` if it is unreadable.
    hash: Option<[u8; 32]>,
    /// It is a file of authorities, and has none.
    trusts_no_one: bool,
}

/// Order in which versions appeared: number of the scan, then the file system's timestamp.
pub(super) type ChangeOrder = (u64, FileStamp);

/// A file whose newest version is valid and not active yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PendingFile {
    /// When the version appeared.
    pub order: ChangeOrder,
    /// No version of the file is active.
    pub is_new: bool,
}

/// The state of one file.
#[derive(Clone, Debug)]
pub(super) struct TrackedFile<T> {
    fingerprint: FileFingerprint,
    order: ChangeOrder,
    newest: Result<Arc<FileVersion<T>>, Vec<Diagnostic>>,
    active: Option<Arc<FileVersion<T>>>,
    /// The files that the active version names, when they were last read.
    active_references: Vec<FileReference>,
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
pub(super) enum FileFingerprint {
    /// The file could be read.
    Text {
        /// SHA-256 of the file.
        hash: [u8; 32],
        /// The files that it names.
        references: Vec<FileReference>,
    },
    /// The file could not be read.
    Unreadable(Diagnostic),
}

/// The files of one kind.
#[derive(Clone, Debug)]
pub(super) struct FileSet<T> {
    /// Schema of the files, which says which keys name other files.
    schema: Arc<serde_json::Value>,
    files: BTreeMap<PathBuf, TrackedFile<T>>,
    /// Set while the folder is unreadable; all versions then stay active.
    folder_problem: Option<Diagnostic>,
}

/// Parameters of a scan.
pub(super) struct ScanContext<'a> {
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

impl<T> FileVersion<T> {
    fn new(source: SourceFile, content: T, references: Vec<FileReference>) -> Self {
        let hashes = references.iter().map(|reference| reference.hash);
        let fields = Arc::new(FieldDigests::from_source(&source, hashes));
        Self { source, content, fields, references }
    }
}

fn read_references(source: &SourceFile, folder: &Path) -> Vec<FileReference> {
    source.named_files(folder).into_iter().map(FileReference::read).collect()
}

impl FileReference {
    fn read(file: ReferencedFile) -> Self {
        let bytes = safe_read::read_regular_file(&file.path).ok();
        // A commented certificate is none.
        let begins = |line: &[u8]| line.starts_with(b"-----BEGIN ");
        let has_pem = bytes.as_ref().is_some_and(|b| b.split(|byte| *byte == b'\n').any(begins));
        let trusts_no_one = file.role == FileRole::Authorities && !has_pem;
        Self { hash: bytes.map(|bytes| digest::sha256(&bytes)), trusts_no_one, file }
    }

    /// Returns true if the file can't be read, and neither can its folder: whether it was removed or
    /// is out of reach is unknown.
    fn is_out_of_reach(&self) -> bool {
        self.hash.is_none()
            && self.file.path.parent().is_none_or(|folder| std::fs::read_dir(folder).is_err())
    }

    fn read_again(references: &[Self]) -> Vec<Self> {
        references.iter().map(|reference| Self::read(reference.file.clone())).collect()
    }
}

impl<T> FileSet<T> {
    /// Creates an empty set of files with this schema.
    pub(super) fn new(schema: serde_json::Value) -> Self {
        Self { schema: Arc::new(schema), files: BTreeMap::new(), folder_problem: None }
    }

    /// Inserts an already checked version as active. `folder` is the configuration folder.
    pub(super) fn insert_checked(&mut self, source: SourceFile, content: T, folder: &Path) {
        let path = source.path().to_owned();
        let references = read_references(&source, folder);
        let fingerprint =
            FileFingerprint::Text { hash: *source.hash(), references: references.clone() };
        let version = Arc::new(FileVersion::new(source, content, references.clone()));
        let file = TrackedFile {
            fingerprint,
            order: (0, FileStamp::from_path(&path)),
            newest: Ok(Arc::clone(&version)),
            active: Some(version),
            active_references: references,
            rejections: Vec::new(),
            last_opened: LastOpened::default(),
        };
        self.files.insert(path, file);
    }

    /// Reads the files in `paths` that are new or whose content, including that of referenced
    /// files, has changed. Forgets files that are not in `paths`. An unreadable folder changes none
    /// of its files; those that they name are read all the same.
    pub(super) fn scan(
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
                for file in self.files.values_mut() {
                    file.read_named_files_again(&check);
                }
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
                known.last_opened.is_known_by(stamp) && known.references_unchanged()
            }) {
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let bytes = read(&path);
            if known.as_ref().is_some_and(|known| known.matches(&bytes)) {
                self.files.extend(known.map(|known| {
                    (
                        path,
                        TrackedFile { last_opened: known.last_opened.opened_again(stamp), ..known },
                    )
                }));
                continue;
            }
            let (fingerprint, newest) = self.read_version(&path, bytes, scan.folder, &check);
            if FileStamp::from_path(&path) != stamp {
                // A partially written file may parse.
                outcome = ScanOutcome::BeingWritten;
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let (active, active_references) =
                known.map(|known| known.reread_active_references(&check)).unwrap_or_default();
            let order = (scan.number, stamp);
            self.files.insert(
                path,
                TrackedFile {
                    fingerprint,
                    order,
                    newest,
                    active,
                    active_references,
                    rejections: Vec::new(),
                    last_opened: LastOpened::default().opened_again(stamp),
                },
            );
        }
        outcome
    }

    fn read_version(
        &self,
        path: &Path,
        bytes: Result<Vec<u8>, Diagnostic>,
        folder: &Path,
        check: impl Fn(&SourceFile) -> Result<T, Vec<Diagnostic>>,
    ) -> (FileFingerprint, VersionResult<T>) {
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(problem) => {
                return (FileFingerprint::Unreadable(problem.clone()), Err(vec![problem]));
            }
        };
        let hash = digest::sha256(&bytes);
        let source = match SourceFile::from_bytes(path, bytes) {
            Ok(source) => source.with_schema(Arc::clone(&self.schema)),
            Err(problem) => {
                return (
                    FileFingerprint::Text { hash, references: Vec::new() },
                    Err(vec![problem]),
                );
            }
        };
        // References are read before they are used, so that the next scan notices a change in
        // between.
        let references = read_references(&source, folder);
        let fingerprint = FileFingerprint::Text { hash, references: references.clone() };
        let version = |content| Arc::new(FileVersion::new(source.clone(), content, references));
        (fingerprint, check(&source).map(version))
    }

    /// Returns true if there are no files.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files whose newest version is valid and not active yet.
    pub(super) fn pending_files(&self) -> impl Iterator<Item = (&Path, PendingFile)> {
        let pending = self.files.iter().filter(|(_, file)| file.is_pending());
        pending.map(|(path, file)| {
            (path.as_path(), PendingFile { order: file.order, is_new: file.active.is_none() })
        })
    }

    /// Returns the files of which no version can be used.
    pub(super) fn unusable_files(&self) -> impl Iterator<Item = &Path> {
        let unusable = |file: &TrackedFile<T>| file.newest.is_err() && file.active.is_none();
        self.files.iter().filter(move |(_, file)| unusable(file)).map(|(path, _)| path.as_path())
    }

    /// Returns the versions that would be active if every pending one was accepted, except those of
    /// rejected files.
    pub(super) fn candidate_versions<'a>(
        &'a self,
        is_rejected: &'a dyn Fn(&Path) -> bool,
    ) -> impl Iterator<Item = &'a Arc<FileVersion<T>>> {
        self.files.iter().filter_map(|(path, file)| match &file.newest {
            Ok(newest) if !file.is_pending() || !is_rejected(path) => Some(newest),
            Ok(_) | Err(_) => file.active.as_ref(),
        })
    }

    /// Activates the newest versions, except those with problems in `rejected`.
    pub(super) fn activate_pending(&mut self, rejected: &mut BTreeMap<PathBuf, Vec<Diagnostic>>) {
        for (path, file) in &mut self.files {
            file.rejections = rejected.remove(path).unwrap_or_default();
            if let (Ok(newest), []) = (&file.newest, file.rejections.as_slice()) {
                file.active = Some(Arc::clone(newest));
                file.active_references.clone_from(&newest.references);
            }
        }
    }

    /// Returns the active versions, by file.
    pub(super) fn active_versions(&self) -> impl Iterator<Item = &Arc<FileVersion<T>>> {
        self.files.values().filter_map(|file| file.active.as_ref())
    }

    /// Returns every problem, the folder's first, then by file.
    pub(super) fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let from_files = self.files.values().flat_map(|file| match &file.newest {
            Ok(_) => file.rejections.iter(),
            Err(problems) => problems.iter(),
        });
        self.folder_problem.iter().chain(from_files)
    }

    /// Returns the first problem of each file whose newest version is not in use.
    pub(super) fn problems_by_file(&self) -> impl Iterator<Item = (&Path, &Diagnostic)> {
        self.files.iter().filter_map(|(path, file)| {
            let problem = match &file.newest {
                Ok(_) => file.rejections.first(),
                Err(problems) => problems.first(),
            };
            Some((path.as_path(), problem?))
        })
    }

    /// Returns the stamp of each file as the last scan saw it.
    pub(super) fn stamps(&self) -> impl Iterator<Item = (&Path, FileStamp)> {
        self.files.iter().map(|(path, file)| (path.as_path(), file.last_opened.stamp))
    }

    /// Returns the folders of the files that the active versions name.
    pub(super) fn folders_of_references(&self) -> impl Iterator<Item = &Path> {
        let references = self.files.values().flat_map(|file| &file.active_references);
        references.filter_map(|reference| reference.file.path.parent())
    }

    /// Deactivates the active versions that `check` rejects, with its problem.
    pub(super) fn deactivate(&mut self, check: impl Fn(&FileVersion<T>) -> Option<Diagnostic>) {
        for file in self.files.values_mut() {
            if let Some(problem) = file.active.as_deref().and_then(&check) {
                (file.newest, file.active) = (Err(vec![problem]), None);
            }
        }
    }

    /// Returns whether there are files, or a folder that can't be read, and no active version.
    pub(super) fn has_only_bad_files(&self) -> bool {
        self.bad_file_count() > 0 && self.active_versions().next().is_none()
    }

    /// Returns the number of invalid files, plus one for an unreadable folder.
    pub(super) fn bad_file_count(&self) -> usize {
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

    /// Returns true if the files that the newest and the active version name are unchanged.
    fn references_unchanged(&self) -> bool {
        let newest = match &self.fingerprint {
            FileFingerprint::Text { references, .. } => references.as_slice(),
            FileFingerprint::Unreadable(_) => return false,
        };
        let is_unchanged = |known: &[FileReference]| FileReference::read_again(known) == known;
        is_unchanged(newest)
            && (newest == self.active_references || is_unchanged(&self.active_references))
    }

    fn matches(&self, bytes: &Result<Vec<u8>, Diagnostic>) -> bool {
        match (&self.fingerprint, bytes) {
            (FileFingerprint::Text { hash, .. }, Ok(bytes)) => {
                digest::sha256(bytes) == *hash && self.references_unchanged()
            }
            (FileFingerprint::Unreadable(known), Err(problem)) => {
                let active = &self.active_references;
                known == problem && FileReference::read_again(active) == *active
            }
            (FileFingerprint::Text { .. }, Err(_)) | (FileFingerprint::Unreadable(_), Ok(_)) => {
                false
            }
        }
    }

    /// Takes over the present content of the files that the active version names, while the folder
    /// of the file itself can't be read. A removed trust anchor is not trusted for as long as that
    /// takes: if a file of authorities has changed and the connector can't be built with it, no
    /// version is active.
    fn read_named_files_again(
        &mut self,
        check: impl Fn(&SourceFile) -> Result<T, Vec<Diagnostic>>,
    ) {
        let Some(active) = self.active.clone() else { return };
        let before = &self.active_references;
        let read = FileReference::read_again(before).into_iter().zip(before);
        let references: Vec<FileReference> = read
            .map(|(now, known)| if now.is_out_of_reach() { known.clone() } else { now })
            .collect();
        if references == *before {
            return;
        }
        let changed = references.iter().zip(before).filter(|(now, known)| now != known);
        let has_other_authorities =
            changed.into_iter().any(|(now, _)| now.file.role == FileRole::Authorities);
        let trusts_no_one = references.iter().any(|reference| reference.trusts_no_one);
        let version = |content| {
            Arc::new(FileVersion::new(active.source.clone(), content, references.clone()))
        };
        match check(&active.source).map(version) {
            Ok(version) if !trusts_no_one => {
                (self.newest, self.active) = (Ok(Arc::clone(&version)), Some(version));
            }
            Err(_) if !has_other_authorities => {}
            refused => {
                (self.newest, self.active) = (Err(refused.err().unwrap_or_default()), None);
            }
        }
        // The next scan of a readable folder reads the file again.
        self.fingerprint =
            FileFingerprint::Text { hash: *active.source.hash(), references: Vec::new() };
        self.last_opened = LastOpened::default();
        self.active_references = references;
    }

    /// Returns the active version with the present content of the files that it names, so that a
    /// removed trust anchor is not trusted for as long as the newest version is invalid. If a file
    /// of authorities is missing or empty, no version is active.
    fn reread_active_references(
        self,
        check: impl Fn(&SourceFile) -> Result<T, Vec<Diagnostic>>,
    ) -> (Option<Arc<FileVersion<T>>>, Vec<FileReference>) {
        let references = FileReference::read_again(&self.active_references);
        let Some(active) = self.active else { return (None, Vec::new()) };
        if references == self.active_references {
            return (Some(active), references);
        }
        if references.iter().any(|reference| reference.trusts_no_one) {
            return (None, Vec::new());
        }
        let refreshed = check(&active.source).map(|content| {
            Arc::new(FileVersion::new(active.source.clone(), content, references.clone()))
        });
        (Some(refreshed.unwrap_or(active)), references)
    }
}

type VersionResult<T> = Result<Arc<FileVersion<T>>, Vec<Diagnostic>>;

#[cfg(test)]
mod tests;
