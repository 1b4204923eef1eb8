//! One folder of files of one kind: of each the newest version, good or bad, and the last good one, which counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::outline::Fields;
use crate::config::problem::Problem;
use crate::config::regular::{self, Stamp};
use crate::config::source::Source;
use crate::digest;

/// A good version of a file: what it says, and where in it.
#[derive(Debug)]
pub struct Version<T> {
    pub source: Source,
    pub says: T,
    pub fields: Arc<Fields>,
}

/// When a version was first seen: in which reading, and among those of one reading by the file system's clock.
pub type Order = (u64, Stamp);

/// One file.
#[derive(Debug)]
pub struct Filed<T> {
    seen: Seen,
    order: Order,
    newest: Result<Arc<Version<T>>, Vec<Problem>>,
    counts: Option<Arc<Version<T>>>,
    /// Why the newest version does not count, although it is good by itself.
    refused: Vec<Problem>,
    opened: Opened,
}

/// When a file was opened last. Thousands need not be opened each time; but a stamp tells no more than its clock, which
/// stands still for milliseconds: only what one reading, and a later one, have found under the same stamp is taken as
/// known by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Opened {
    under: Stamp,
    twice: bool,
}

impl Opened {
    fn again(self, under: Stamp) -> Self {
        Self { under, twice: self.under == under }
    }

    fn is_known_by(self, stamp: Stamp) -> bool {
        self.twice && self.under == stamp
    }
}

/// What a version was told apart by.
#[derive(Clone, PartialEq, Debug)]
pub enum Seen {
    Text {
        hash: [u8; 32],
        /// What it refers to: secrets, key sets. `None`: not to be read.
        referred: Vec<(PathBuf, Option<[u8; 32]>)>,
    },
    Unreadable(Problem),
}

#[derive(Debug)]
pub struct Shelf<T> {
    files: BTreeMap<PathBuf, Filed<T>>,
    /// The folder itself can't be read: everything stays as it was.
    complaint: Option<Problem>,
}

/// How the files of a shelf are read.
pub struct Reading<'a> {
    pub number: u64,
    /// What references count from.
    pub folder: &'a Path,
}

/// What a look found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    Settled,
    /// A file changed while it was read: it is left as it was, and is to be looked at again soon.
    BeingWritten,
}

// Derived, these would ask the same of `T`.
impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self { files: BTreeMap::new(), complaint: None }
    }
}

impl<T> Clone for Filed<T> {
    fn clone(&self) -> Self {
        let Self { seen, order, newest, counts, refused, opened } = self;
        let (seen, newest, counts) = (seen.clone(), newest.clone(), counts.clone());
        Self { seen, order: *order, newest, counts, refused: refused.clone(), opened: *opened }
    }
}

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self { files: self.files.clone(), complaint: self.complaint.clone() }
    }
}

impl<T> Version<T> {
    pub fn new(source: Source, says: T, folder: &Path) -> Self {
        let fields = Arc::new(Fields::of(&source, &referred(&source, folder)));
        Self { source, says, fields }
    }
}

impl<T> Shelf<T> {
    /// A version that was read and judged elsewhere, and counts.
    pub fn put(&mut self, version: Version<T>, folder: &Path) {
        let path = version.source.path().to_owned();
        let seen = Seen::Text {
            hash: *version.source.hash(),
            referred: referred(&version.source, folder),
        };
        let (order, version) = ((0, Stamp::of(&path)), Arc::new(version));
        let filed = Filed {
            seen,
            order,
            newest: Ok(Arc::clone(&version)),
            counts: Some(version),
            refused: Vec::new(),
            opened: Opened::default(),
        };
        self.files.insert(path, filed);
    }

    /// Reads every listed file that is new or says something else than before, by its bytes and by those of the files that it
    /// refers to. What is not listed is gone. An unreadable folder changes nothing.
    pub fn look(
        &mut self,
        listed: Result<Vec<PathBuf>, Problem>,
        reading: &Reading<'_>,
        read: impl Fn(&Path) -> Result<Vec<u8>, Problem>,
        judge: impl Fn(&Source) -> Result<T, Vec<Problem>>,
    ) -> Found {
        let listed = match listed {
            Ok(listed) => listed,
            Err(problem) => {
                self.complaint = Some(problem);
                return Found::Settled;
            }
        };
        self.complaint = None;
        let mut found = Found::Settled;
        let mut before = std::mem::take(&mut self.files);
        for path in listed {
            let stamp = Stamp::of(&path);
            let known = before.remove(&path);
            if known.as_ref().is_some_and(|known| {
                known.opened.is_known_by(stamp) && known.seen.refers_to_the_same(reading.folder)
            }) {
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let bytes = read(&path);
            if known.as_ref().is_some_and(|known| known.seen.still(&bytes, reading.folder)) {
                self.files.extend(
                    known.map(|known| (path, Filed { opened: known.opened.again(stamp), ..known })),
                );
                continue;
            }
            let (seen, newest) = version(&path, bytes, reading.folder, &judge);
            if Stamp::of(&path) != stamp {
                // Half of a file that is written in place may look whole.
                found = Found::BeingWritten;
                self.files.extend(known.map(|known| (path, known)));
                continue;
            }
            let counts = known.and_then(|known| known.counts);
            let order = (reading.number, stamp);
            self.files.insert(
                path,
                Filed {
                    seen,
                    order,
                    newest,
                    counts,
                    refused: Vec::new(),
                    opened: Opened::default().again(stamp),
                },
            );
        }
        found
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Files whose newest version is good and doesn't count yet.
    pub fn pending(&self) -> impl Iterator<Item = (&Path, Order)> {
        let pending = self.files.iter().filter(|(_, filed)| filed.is_pending());
        pending.map(|(path, filed)| (path.as_path(), filed.order))
    }

    /// The versions that would count if the newest did, except those of the files in `held`.
    pub fn chosen<'a>(
        &'a self,
        held: &'a dyn Fn(&Path) -> bool,
    ) -> impl Iterator<Item = &'a Arc<Version<T>>> {
        self.files.iter().filter_map(|(path, filed)| match &filed.newest {
            Ok(newest) if !filed.is_pending() || !held(path) => Some(newest),
            Ok(_) | Err(_) => filed.counts.as_ref(),
        })
    }

    /// From now on the newest versions count, except where there is something to say against one.
    pub fn settle(&mut self, against: &mut BTreeMap<PathBuf, Vec<Problem>>) {
        for (path, filed) in &mut self.files {
            filed.refused = against.remove(path).unwrap_or_default();
            if let (Ok(newest), []) = (&filed.newest, filed.refused.as_slice()) {
                filed.counts = Some(Arc::clone(newest));
            }
        }
    }

    /// Versions that count, by file.
    pub fn counting(&self) -> impl Iterator<Item = &Arc<Version<T>>> {
        self.files.values().filter_map(|filed| filed.counts.as_ref())
    }

    /// What is wrong, file by file; of the folder first.
    pub fn complaints(&self) -> impl Iterator<Item = &Problem> {
        let of_files = self.files.values().flat_map(|filed| match &filed.newest {
            Ok(_) => filed.refused.iter(),
            Err(problems) => problems.iter(),
        });
        self.complaint.iter().chain(of_files)
    }

    /// How many files are bad; an unreadable folder is one more.
    pub fn bad(&self) -> usize {
        let files = self
            .files
            .values()
            .filter(|filed| filed.newest.is_err() || !filed.refused.is_empty())
            .count();
        files + usize::from(self.complaint.is_some())
    }
}

impl<T> Filed<T> {
    fn is_pending(&self) -> bool {
        let Ok(newest) = &self.newest else { return false };
        self.counts.as_ref().is_none_or(|counts| !Arc::ptr_eq(counts, newest))
    }
}

impl Seen {
    /// What it refers to says the same as before.
    fn refers_to_the_same(&self, folder: &Path) -> bool {
        match self {
            Self::Text { referred, .. } => {
                referred.iter().all(|(path, hash)| hash_of(&folder.join(path)) == *hash)
            }
            Self::Unreadable(_) => false,
        }
    }

    fn still(&self, bytes: &Result<Vec<u8>, Problem>, folder: &Path) -> bool {
        match (self, bytes) {
            (Self::Text { hash, .. }, Ok(bytes)) => {
                digest::sha256(bytes) == *hash && self.refers_to_the_same(folder)
            }
            (Self::Unreadable(known), Err(problem)) => known == problem,
            (Self::Text { .. }, Err(_)) | (Self::Unreadable(_), Ok(_)) => false,
        }
    }
}

type Newest<T> = Result<Arc<Version<T>>, Vec<Problem>>;

fn version<T>(
    path: &Path,
    bytes: Result<Vec<u8>, Problem>,
    folder: &Path,
    judge: impl Fn(&Source) -> Result<T, Vec<Problem>>,
) -> (Seen, Newest<T>) {
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(problem) => return (Seen::Unreadable(problem.clone()), Err(vec![problem])),
    };
    let hash = digest::sha256(&bytes);
    let source = match Source::of_bytes(path, bytes) {
        Ok(source) => source,
        Err(problem) => return (Seen::Text { hash, referred: Vec::new() }, Err(vec![problem])),
    };
    // Before they are used, so that a change between the two is seen as one the next time.
    let seen = Seen::Text { hash, referred: referred(&source, folder) };
    let judged = judge(&source);
    (seen, judged.map(|says| Arc::new(Version::new(source, says, folder))))
}

fn referred(source: &Source, folder: &Path) -> Vec<(PathBuf, Option<[u8; 32]>)> {
    let hashed = |path: PathBuf| {
        let hash = hash_of(&folder.join(&path));
        (path, hash)
    };
    // A logo lies beside the file that names it.
    let beside = source.path().parent().unwrap_or(folder);
    let logo = source.text("logo").map(|name| beside.join(name));
    source.files_referred_to().into_iter().chain(logo).map(hashed).collect()
}

fn hash_of(path: &Path) -> Option<[u8; 32]> {
    regular::read(path).ok().map(|bytes| digest::sha256(&bytes))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use super::*;

    #[test]
    fn thousands_of_files_that_stay_as_they_are_are_not_opened_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.toml");
        let (mut shelf, opened) = (Shelf::<String>::default(), Cell::new(0));
        let mut number = 0;
        let mut look = |expected: &str| {
            number += 1;
            opened.set(0);
            let read = |path: &Path| {
                opened.set(opened.get() + 1);
                Ok(fs::read(path).unwrap())
            };
            let judge = |source: &Source| Ok(source.text("says").unwrap_or_default().to_owned());
            shelf.look(
                Ok(vec![path.clone()]),
                &Reading { number, folder: folder.path() },
                read,
                judge,
            );
            shelf.settle(&mut BTreeMap::new());
            assert_eq!(
                shelf.counting().map(|version| version.says.as_str()).collect::<Vec<_>>(),
                [expected]
            );
            opened.get()
        };
        // Written anew under another name and put in its place, as careful editors do it: another file, for all that counts.
        let write = |says: &str| {
            let draft = folder.path().join("draft");
            fs::write(&draft, format!("says = \"{says}\"")).unwrap();
            fs::rename(&draft, &path).unwrap();
        };
        write("a");
        assert_eq!([look("a"), look("a"), look("a"), look("a")], [1, 1, 0, 0]);
        write("b");
        assert_eq!([look("b"), look("b"), look("b")], [1, 1, 0]);
    }

    #[test]
    fn what_a_file_refers_to_is_looked_at_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let (path, secret) = (folder.path().join("one.toml"), folder.path().join("secret"));
        fs::write(&path, "says = { file = \"secret\" }").unwrap();
        let mut shelf = Shelf::<Vec<u8>>::default();
        let judged = |shelf: &mut Shelf<Vec<u8>>, number| {
            let judge = |_: &Source| Ok(fs::read(&secret).unwrap());
            let read = |path: &Path| Ok(fs::read(path).unwrap());
            shelf.look(
                Ok(vec![path.clone()]),
                &Reading { number, folder: folder.path() },
                read,
                judge,
            );
            shelf.settle(&mut BTreeMap::new());
            shelf.counting().next().unwrap().says.clone()
        };
        for (number, says) in ["one", "one", "one", "two", "two", "two", "xyz"].iter().enumerate() {
            fs::write(&secret, says).unwrap();
            assert_eq!(judged(&mut shelf, number as u64), says.as_bytes());
        }
    }
}
