//! When to read the files again: soon after an event in their folders, and each round all the same.
//!
//! An event is only a hint. A link's target may change unseen, and a folder that is replaced is heard of no more, so a round
//! goes by without one, and the folders are watched anew when they are others than those that were watched. A folder that
//! comes back, or a link that leads to another one, shows in the folder above it.

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

/// So long nothing has happened before the files are read: whoever writes several, or one in pieces, is done.
pub(super) const QUIET: Duration = Duration::from_millis(200);

/// However much goes on happening, they are read after this.
const LONGEST: Duration = Duration::from_millis(700);

pub(super) struct Watch {
    /// Before the folders that it watches, so that an old one is dropped first.
    watcher: Option<RecommendedWatcher>,
    watched: Vec<(PathBuf, Place)>,
    hints: mpsc::Receiver<()>,
    hint: mpsc::Sender<()>,
    is_lost: Arc<AtomicBool>,
}

/// Device and inode; `None` where there is no folder.
type Place = Option<(u64, u64)>;

impl Watch {
    pub(super) fn new() -> Self {
        let (hint, hints) = mpsc::channel(1);
        Self { watcher: None, watched: Vec::new(), hints, hint, is_lost: Arc::default() }
    }

    /// Watches these folders, if they are not watched already as they are now.
    pub(super) fn over(&mut self, folders: Vec<PathBuf>) {
        // Events name absolute paths, whatever was to be watched.
        let absolute =
            folders.into_iter().map(|folder| std::path::absolute(&folder).unwrap_or(folder));
        let places: Vec<_> = absolute
            .map(|folder| (place(&folder), folder))
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
        match begin(&places, self.hint.clone(), Arc::clone(&self.is_lost)) {
            Ok(watcher) => self.watcher = Some(watcher),
            Err(fault) => {
                tracing::warn!(%fault, "the configuration's folders can't be watched; they are read in rounds only")
            }
        }
        self.watched = places;
    }

    /// Comes back when it is time to read the files again.
    pub(super) async fn wait(&mut self, round: Duration) {
        if timeout(round, self.hints.recv()).await.is_err() {
            return;
        }
        let latest = Instant::now() + LONGEST;
        loop {
            let quiet = (Instant::now() + QUIET).min(latest);
            if timeout_at(quiet, self.hints.recv()).await.is_err() || Instant::now() >= latest {
                return;
            }
        }
    }
}

fn begin(
    places: &[(PathBuf, Place)],
    hint: mpsc::Sender<()>,
    is_lost: Arc<AtomicBool>,
) -> notify::Result<RecommendedWatcher> {
    let own: Vec<PathBuf> = places.iter().map(|(folder, _)| folder.clone()).collect();
    let seen_above: Vec<PathBuf> =
        own.iter().filter_map(|folder| seen_from_above(folder)).collect();
    // Much may go on beside the folders that is none of ours.
    let is_foreign = move |event: &Event| {
        let is_ours = |path: &PathBuf| {
            own.iter().any(|folder| path == folder || path.parent() == Some(folder))
                || seen_above.contains(path)
        };
        !event.paths.is_empty() && !event.paths.iter().any(is_ours)
    };
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        match event {
            Ok(event) if is_only_a_look(event.kind) || is_foreign(&event) => return,
            Ok(_) => {}
            Err(_) => is_lost.store(true, Ordering::SeqCst),
        }
        // Full: there is a hint already, and one is enough.
        let _full = hint.try_send(());
    })?;
    for (folder, _) in places.iter().filter(|(_, place)| place.is_some()) {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
    }
    let above: BTreeSet<PathBuf> =
        places.iter().filter_map(|(folder, _)| Some(above(folder)?.to_owned())).collect();
    for above in above.iter().filter(|above| places.iter().all(|(folder, _)| folder != *above)) {
        if let Err(fault) = watcher.watch(above, RecursiveMode::NonRecursive) {
            tracing::debug!(%fault, "a folder above can't be watched: a folder in it that comes back is found in rounds");
        }
    }
    Ok(watcher)
}

/// The folder that this one is in; `None` of a path that does not end in a name.
fn above(folder: &Path) -> Option<&Path> {
    folder.file_name()?;
    folder.parent()
}

/// What a watch over the folder above calls this one.
fn seen_from_above(folder: &Path) -> Option<PathBuf> {
    Some(above(folder)?.join(folder.file_name()?))
}

/// Reading the files must not lead to reading them.
const fn is_only_a_look(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if !matches!(access, AccessKind::Close(AccessMode::Write)))
}

fn place(folder: &Path) -> Place {
    std::fs::metadata(folder).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hint_waits_for_quiet_and_no_stream_of_them_puts_a_reading_off() {
        let mut watch = Watch::new();
        let began = Instant::now();
        watch.wait(Duration::from_secs(30)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(30), "a round");

        watch.hint.try_send(()).unwrap();
        let began = Instant::now();
        watch.wait(Duration::from_secs(30)).await;
        assert_eq!(began.elapsed(), QUIET, "one hint");

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

    #[tokio::test]
    async fn a_folder_that_is_replaced_is_watched_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("connectors");
        std::fs::create_dir(&folder).unwrap();
        let mut watch = Watch::new();
        watch.over(vec![folder.clone()]);
        std::fs::rename(&folder, root.path().join("old")).unwrap();
        std::fs::create_dir(&folder).unwrap();
        watch.over(vec![folder.clone()]);
        while timeout(QUIET, watch.hints.recv()).await.is_ok() {}
        std::fs::write(folder.join("new.toml"), "").unwrap();
        watch.wait(Duration::from_secs(600)).await;
    }
    #[tokio::test]
    async fn a_folder_that_comes_back_or_a_link_that_leads_elsewhere_is_seen_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["first", "second"] {
            std::fs::create_dir(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink("first", path("connectors")).unwrap();
        let mut watch = Watch::new();
        watch.over(vec![path("connectors")]);
        std::os::unix::fs::symlink("second", path("next")).unwrap();
        std::fs::rename(path("next"), path("connectors")).unwrap();
        watch.wait(Duration::from_secs(600)).await;

        std::fs::remove_file(path("connectors")).unwrap();
        watch.over(vec![path("connectors")]);
        while timeout(QUIET, watch.hints.recv()).await.is_ok() {}
        std::fs::create_dir(path("connectors")).unwrap();
        watch.wait(Duration::from_secs(600)).await;
    }

    #[tokio::test]
    async fn a_folder_that_is_named_from_where_the_hub_was_started_is_watched_too() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("connectors")).unwrap();
        let up: PathBuf =
            std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
        let folder = Path::new(".").join(up).join(root.path().strip_prefix("/").unwrap());
        let mut watch = Watch::new();
        watch.over(vec![folder.clone(), folder.join("./connectors")]);
        for file in ["passerelle.toml", "connectors/new.toml"] {
            std::fs::write(folder.join(file), "").unwrap();
            let seen = timeout(Duration::from_secs(60), watch.hints.recv()).await;
            assert!(seen.is_ok(), "{file}");
            while timeout(QUIET, watch.hints.recv()).await.is_ok() {}
        }
    }

    #[tokio::test]
    async fn what_goes_on_beside_the_folders_is_no_occasion() {
        let root = tempfile::tempdir().unwrap();
        let (folder, beside) = (root.path().join("connectors"), root.path().join("hub.log"));
        std::fs::create_dir(&folder).unwrap();
        let mut watch = Watch::new();
        watch.over(vec![folder.clone()]);
        std::fs::write(&beside, "a line").unwrap();
        std::fs::write(folder.join("last.toml"), "").unwrap();
        watch.hints.recv().await.unwrap();
        while timeout(QUIET, watch.hints.recv()).await.is_ok() {}
        std::fs::write(&beside, "another").unwrap();
        assert!(timeout(QUIET, watch.hints.recv()).await.is_err());
    }
}
