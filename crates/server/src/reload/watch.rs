//! Decides when to read the files again: soon after an event in their folders, and at an interval.
//!
//! An event is only a hint: the target of a link may change without one, and a replaced folder
//! sends no more. Folders that were replaced are watched again. A folder that reappears, or a link
//! with a new target, is noticed through its parent folder.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

/// Time without an event before the files are read, so that a series of writes is complete.
pub(super) const QUIET_TIME: Duration = Duration::from_millis(200);

/// Maximum wait for a time without events.
const MAX_SETTLE_TIME: Duration = Duration::from_millis(700);

/// Watches the folders of the configuration.
pub(super) struct FolderWatcher {
    watcher: Option<RecommendedWatcher>,
    watched: Vec<(PathBuf, FolderIdentity)>,
    hints: mpsc::Receiver<()>,
    hint: mpsc::Sender<()>,
    is_lost: Arc<AtomicBool>,
}

/// Device and inode; `None` if the folder does not exist.
type FolderIdentity = Option<(u64, u64)>;

impl FolderWatcher {
    /// Creates a watcher of no folder.
    pub(super) fn new() -> Self {
        let (hint, hints) = mpsc::channel(1);
        Self { watcher: None, watched: Vec::new(), hints, hint, is_lost: Arc::default() }
    }

    /// Watches these folders, unless they are watched already and were not replaced.
    pub(super) fn watch_folders(&mut self, folders: Vec<PathBuf>) {
        // Events carry absolute paths.
        let absolute =
            folders.into_iter().map(|folder| std::path::absolute(&folder).unwrap_or(folder));
        let places: Vec<_> = absolute
            .map(|folder| (folder_identity(&folder), folder))
            .map(|(place, path)| (path, place))
            .collect();
        if self.watcher.is_some()
            && places == self.watched
            && !self.is_lost.swap(false, Ordering::SeqCst)
        {
            return;
        }
        self.watcher = None;
        self.is_lost = Arc::default();
        match start_watcher(&places, self.hint.clone(), Arc::clone(&self.is_lost)) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(error) => {
                tracing::warn!(%error, "the configuration folders can't be watched; they are read at intervals only");
            }
        }
        self.watched = places;
    }

    /// Waits until it is time to read the files again.
    pub(super) async fn wait(&mut self, round: Duration) {
        if timeout(round, self.hints.recv()).await.is_err() {
            return;
        }
        let latest = Instant::now() + MAX_SETTLE_TIME;
        loop {
            let quiet = (Instant::now() + QUIET_TIME).min(latest);
            if timeout_at(quiet, self.hints.recv()).await.is_err() || Instant::now() >= latest {
                return;
            }
        }
    }
}

fn start_watcher(
    places: &[(PathBuf, FolderIdentity)],
    hint: mpsc::Sender<()>,
    is_lost: Arc<AtomicBool>,
) -> notify::Result<RecommendedWatcher> {
    let own: Vec<PathBuf> = places.iter().map(|(folder, _)| folder.clone()).collect();
    let seen_above: Vec<PathBuf> = own.iter().filter_map(|folder| path_in_parent(folder)).collect();
    // Events of other files in the parent folders are ignored.
    let is_foreign = move |event: &Event| {
        let is_ours = |path: &PathBuf| {
            own.iter().any(|folder| path == folder || path.parent() == Some(folder))
                || seen_above.contains(path)
        };
        !event.paths.is_empty() && !event.paths.iter().any(is_ours)
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        match event {
            Ok(event) if is_read_only(event.kind) || is_foreign(&event) => return,
            Ok(_) => {}
            Err(_) => is_lost.store(true, Ordering::SeqCst),
        }
        // A full channel already holds a hint.
        let _full = hint.try_send(());
    })?;
    for (folder, _) in places.iter().filter(|(_, place)| place.is_some()) {
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(%error, "a folder of the configuration can't be watched; it is read at intervals only");
        }
    }
    let above: BTreeSet<PathBuf> =
        places.iter().filter_map(|(folder, _)| Some(parent_folder(folder)?.to_owned())).collect();
    for above in above.iter().filter(|above| places.iter().all(|(folder, _)| folder != *above)) {
        if let Err(error) = watcher.watch(above, RecursiveMode::NonRecursive) {
            tracing::debug!(%error, "a parent folder can't be watched; a folder that reappears in it is found at the next interval");
        }
    }
    Ok(watcher)
}

/// Returns the parent folder; `None` for a path that does not end in a name.
fn parent_folder(folder: &Path) -> Option<&Path> {
    folder.file_name()?;
    folder.parent()
}

/// Returns the path of this folder in events of its parent.
fn path_in_parent(folder: &Path) -> Option<PathBuf> {
    Some(parent_folder(folder)?.join(folder.file_name()?))
}

/// Returns true for read accesses: the hub's own reading must not cause another.
const fn is_read_only(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if !matches!(access, AccessKind::Close(AccessMode::Write)))
}

fn folder_identity(folder: &Path) -> FolderIdentity {
    std::fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hint_waits_for_quiet_and_a_stream_of_hints_does_not_delay_forever() {
        let mut watch = FolderWatcher::new();
        let began = Instant::now();
        watch.wait(Duration::from_secs(30)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(30), "an interval");

        watch.hint.try_send(()).unwrap();
        let began = Instant::now();
        watch.wait(Duration::from_secs(30)).await;
        assert_eq!(began.elapsed(), QUIET_TIME, "one hint");

        let hint = watch.hint.clone();
        let stream = tokio::spawn(async move {
            loop {
                let _full = hint.try_send(());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let began = Instant::now();
        watch.wait(Duration::from_secs(30)).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        stream.abort();
    }

    /// Returns whether the watcher wakes by an event, long before the interval between two scans.
    async fn is_noticed(watch: &mut FolderWatcher) -> bool {
        let interval = Duration::from_secs(24 * 3600);
        timeout(Duration::from_secs(60), watch.wait(interval)).await.is_ok()
    }

    #[tokio::test]
    async fn a_replaced_folder_is_watched_again() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("connectors");
        std::fs::create_dir(&folder).unwrap();
        let mut watch = FolderWatcher::new();
        watch.watch_folders(vec![folder.clone()]);
        std::fs::rename(&folder, root.path().join("old")).unwrap();
        std::fs::create_dir(&folder).unwrap();
        watch.watch_folders(vec![folder.clone()]);
        while timeout(QUIET_TIME, watch.hints.recv()).await.is_ok() {}
        std::fs::write(folder.join("new.toml"), "").unwrap();
        assert!(is_noticed(&mut watch).await);
    }

    #[tokio::test]
    async fn a_folder_that_reappears_or_a_link_with_a_new_target_is_noticed_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["first", "second"] {
            std::fs::create_dir(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink("first", path("connectors")).unwrap();
        let mut watch = FolderWatcher::new();
        watch.watch_folders(vec![path("connectors")]);
        std::os::unix::fs::symlink("second", path("next")).unwrap();
        std::fs::rename(path("next"), path("connectors")).unwrap();
        assert!(is_noticed(&mut watch).await);

        std::fs::remove_file(path("connectors")).unwrap();
        watch.watch_folders(vec![path("connectors")]);
        while timeout(QUIET_TIME, watch.hints.recv()).await.is_ok() {}
        std::fs::create_dir(path("connectors")).unwrap();
        assert!(is_noticed(&mut watch).await);
    }

    #[tokio::test]
    async fn a_folder_with_a_relative_path_is_watched_too() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("connectors")).unwrap();
        let up: PathBuf =
            std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
        let folder = Path::new(".").join(up).join(root.path().strip_prefix("/").unwrap());
        let mut watch = FolderWatcher::new();
        watch.watch_folders(vec![folder.clone(), folder.join("./connectors")]);
        for file in ["passerelle.toml", "connectors/new.toml"] {
            std::fs::write(folder.join(file), "").unwrap();
            let seen = timeout(Duration::from_secs(60), watch.hints.recv()).await;
            assert!(seen.is_ok(), "{file}");
            while timeout(QUIET_TIME, watch.hints.recv()).await.is_ok() {}
        }
    }

    #[tokio::test]
    async fn events_beside_the_folders_are_ignored() {
        let root = tempfile::tempdir().unwrap();
        let (folder, beside) = (root.path().join("connectors"), root.path().join("hub.log"));
        std::fs::create_dir(&folder).unwrap();
        let mut watch = FolderWatcher::new();
        watch.watch_folders(vec![folder.clone()]);
        std::fs::write(&beside, "a line").unwrap();
        std::fs::write(folder.join("last.toml"), "").unwrap();
        assert!(is_noticed(&mut watch).await);
        while timeout(QUIET_TIME, watch.hints.recv()).await.is_ok() {}
        std::fs::write(&beside, "another").unwrap();
        assert!(timeout(QUIET_TIME, watch.hints.recv()).await.is_err());
    }
}
