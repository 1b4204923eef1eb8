//! Progress of long work: a line on standard error, if that is a terminal, and the signals that
//! cancel it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressBarIter, ProgressFinish, ProgressStyle};
use passerelle_register::file::import::{ImportObserver, ImportStep};
use tokio::signal::unix::{SignalKind, signal};

use super::block_on;

const BYTES: &str = "{msg}: {percent} % of {total_bytes}, {bytes_per_sec}, {eta} left";
const ITEMS: &str = "{msg}: {pos} of {len}, {per_sec}, {eta} left";

/// Returns a progress line, which ends with the value.
fn progress_line(template: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(total)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_finish(ProgressFinish::AndClear)
}

/// Returns a progress line that counts things, such as identity providers.
pub(crate) fn count_items(what: &'static str, total: usize) -> ProgressBar {
    progress_line(ITEMS, total as u64).with_message(what)
}

/// Reads files one after the other, with one progress line for all.
pub(crate) struct FileProgress(ProgressBar);

impl FileProgress {
    pub(crate) fn new(what: &'static str, files: &[PathBuf]) -> Self {
        let sizes = files.iter().filter_map(|path| Some(path.metadata().ok()?.len()));
        Self(progress_line(BYTES, sizes.sum()).with_message(what))
    }

    /// Opens one of the files.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub(crate) fn open(&self, path: &Path) -> std::io::Result<BufReader<ProgressBarIter<File>>> {
        Ok(BufReader::new(self.0.wrap_read(File::open(path)?)))
    }
}

/// Whether SIGINT, SIGTERM or SIGHUP has asked the command to end.
#[derive(Clone)]
pub(crate) struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Handles these signals until the process ends, so that the command can remove what it has not
    /// completed.
    pub(crate) fn on_signals() -> Self {
        let cancellation = Self(Arc::default());
        let received = cancellation.clone();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            block_on(async {
                let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal)
                else {
                    return;
                };
                drop(ready);
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                received.0.store(true, Ordering::Relaxed);
            });
        });
        // Fails when the thread drops its end, which is after the handlers are installed.
        let _installed: Result<(), _> = is_ready.recv();
        cancellation
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Progress line of `passerelle register import`.
pub(crate) struct ImportProgress {
    line: ProgressBar,
    cancellation: Cancellation,
}

impl ImportProgress {
    pub(crate) fn new() -> Self {
        Self { line: progress_line(BYTES, 0), cancellation: Cancellation::on_signals() }
    }
}

impl ImportObserver for ImportProgress {
    fn begin(&self, step: ImportStep, bytes: u64) {
        self.line.reset();
        self.line.set_length(bytes);
        self.line.set_message(match step {
            ImportStep::ReadSource => "Reading the source",
            ImportStep::ReadRegister => "Reading the register",
            ImportStep::Write => "Writing the register",
        });
    }

    fn advance(&self, bytes: u64) {
        self.line.inc(bytes);
    }

    fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }
}
