//! Writes log lines in batches, so that busy hubs do not make a system call for each line.
//!
//! A line waits only while other lines are written more often than [`BATCH_INTERVAL`], and never
//! longer than that. Warnings and errors do not wait; the lines before them are written with them.

use std::io::{self, Stderr, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Longest time that a line waits.
const BATCH_INTERVAL: Duration = Duration::from_millis(100);
/// Size from which a batch is written at once: a write of this size to a pipe is not interleaved
/// with those of other processes (`PIPE_BUF`).
const MAX_BATCH_BYTES: usize = 4096;

/// An output that gets log lines in batches. Cheap to clone.
pub(super) struct BatchedOutput<W>(Arc<SharedBatch<W>>);

struct SharedBatch<W> {
    batch: Mutex<Batch<W>>,
    /// Signals that the batch has got its first line.
    has_lines: Condvar,
}

struct Batch<W> {
    output: W,
    lines: Vec<u8>,
    interval: Duration,
    written_at: Option<Instant>,
    /// Set while nothing writes waiting lines: before the thread runs, and at exit.
    writes_through: bool,
}

impl<W: Write + Send + 'static> BatchedOutput<W> {
    /// Creates an output. A thread writes the lines that wait.
    pub fn new(output: W) -> Self {
        Self::with_interval(output, BATCH_INTERVAL)
    }

    fn with_interval(output: W, interval: Duration) -> Self {
        let batch =
            Batch { output, lines: Vec::new(), interval, written_at: None, writes_through: true };
        let shared = Arc::new(SharedBatch { batch: Mutex::new(batch), has_lines: Condvar::new() });
        let clone = Arc::clone(&shared);
        let writer = move || clone.write_due_batches();
        let started = std::thread::Builder::new().name("log-writer".into()).spawn(writer);
        // Without the thread, each line is written at once.
        shared.lock().writes_through = started.is_err();
        Self(shared)
    }
}

impl<W: Write> BatchedOutput<W> {
    /// Writes the waiting lines, and from now on each line at once.
    fn close(&self) {
        let mut batch = self.0.lock();
        batch.writes_through = true;
        batch.write();
    }
}

impl<W> Clone for BatchedOutput<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> SharedBatch<W> {
    fn lock(&self) -> MutexGuard<'_, Batch<W>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_due_batches(&self) {
        loop {
            let waiting = self.has_lines.wait_while(self.lock(), |batch| batch.lines.is_empty());
            let rest = waiting.unwrap_or_else(PoisonError::into_inner).remaining_wait();
            std::thread::sleep(rest);
            let mut batch = self.lock();
            // Meanwhile, an urgent line or a full batch may have been written.
            if !batch.lines.is_empty() && batch.remaining_wait().is_zero() {
                batch.write();
            }
        }
    }

    fn add(&self, line: &[u8], is_urgent: bool) {
        let mut batch = self.lock();
        let is_first = batch.lines.is_empty();
        batch.lines.extend_from_slice(line);
        if is_urgent
            || batch.writes_through
            || batch.lines.len() >= MAX_BATCH_BYTES
            || batch.remaining_wait().is_zero()
        {
            batch.write();
        } else if is_first {
            self.has_lines.notify_one();
        }
    }
}

impl<W: Write> Batch<W> {
    /// Returns how long the batch may still wait.
    fn remaining_wait(&self) -> Duration {
        self.written_at.map_or(Duration::ZERO, |at| self.interval.saturating_sub(at.elapsed()))
    }

    fn write(&mut self) {
        // Lines that can't be written are lost: they must not fill the memory.
        let _lost = self.output.write_all(&self.lines);
        self.lines.clear();
        self.written_at = Some(Instant::now());
    }
}

impl<'a, W: Write + 'a> MakeWriter<'a> for BatchedOutput<W> {
    type Writer = LineWriter<'a, W>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter { shared: &self.0, is_urgent: true }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        LineWriter { shared: &self.0, is_urgent: *metadata.level() <= Level::WARN }
    }
}

/// Takes one line, which tracing-subscriber writes as a whole.
pub(super) struct LineWriter<'a, W> {
    shared: &'a SharedBatch<W>,
    is_urgent: bool,
}

impl<W: Write> Write for LineWriter<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.shared.add(line, self.is_urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the waiting log lines when it is dropped. Hold it until the process ends.
#[must_use = "lines that wait are lost if the process ends without it"]
pub struct LogGuard(BatchedOutput<Stderr>);

impl LogGuard {
    pub(super) fn new(output: BatchedOutput<Stderr>) -> Self {
        Self(output)
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Sends each write to a test.
    struct Writes(Sender<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn output(interval: Duration) -> (BatchedOutput<Writes>, Receiver<String>) {
        let (written, writes) = channel();
        (BatchedOutput::with_interval(Writes(written), interval), writes)
    }

    fn log(output: &BatchedOutput<Writes>, lines: impl FnOnce()) {
        let subscriber = tracing_subscriber::fmt()
            .with_writer(output.clone())
            .without_time()
            .with_target(false)
            .with_ansi(false)
            .finish();
        tracing::subscriber::with_default(subscriber, lines);
    }

    #[test]
    fn a_burst_is_written_in_few_batches_in_order_and_without_loss() {
        let (output, writes) = output(HOUR);
        log(&output, || (0..1000).for_each(|line| tracing::info!(line)));
        output.close();
        let batches: Vec<String> = writes.try_iter().collect();
        let expected: String = (0..1000).map(|line| format!(" INFO line={line}\n")).collect();
        assert_eq!(batches.concat(), expected);
        assert!(batches.len() < 10, "{}", batches.len());
        assert!(batches.iter().all(|batch| batch.len() < MAX_BATCH_BYTES + 20));
    }

    #[test]
    fn a_line_after_a_pause_and_a_warning_do_not_wait() {
        let (output, writes) = output(HOUR);
        log(&output, || tracing::info!("alone"));
        assert_eq!(writes.try_recv().unwrap(), " INFO alone\n");
        log(&output, || tracing::info!("waits"));
        assert!(writes.try_recv().is_err());
        log(&output, || tracing::warn!("urgent"));
        assert_eq!(writes.try_recv().unwrap(), " INFO waits\n WARN urgent\n");
    }

    #[test]
    fn a_waiting_line_is_written_without_a_further_one() {
        let (output, writes) = output(Duration::from_millis(1));
        for line in 0..100 {
            log(&output, || tracing::info!(line));
        }
        let mut received = String::new();
        while !received.ends_with("line=99\n") {
            received += &writes.recv().unwrap();
        }
    }

    #[test]
    fn lines_after_the_end_are_written_at_once() {
        let (output, writes) = output(HOUR);
        log(&output, || tracing::info!("first"));
        log(&output, || tracing::info!("waits"));
        output.close();
        log(&output, || tracing::info!("late"));
        let batches: Vec<String> = writes.try_iter().collect();
        assert_eq!(batches, [" INFO first\n", " INFO waits\n", " INFO late\n"]);
    }

    #[test]
    fn an_output_that_fails_loses_lines_and_keeps_none_in_memory() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let output = BatchedOutput::with_interval(Full, HOUR);
        for _ in 0..1000 {
            output.0.add(b"a line of the log\n", false);
        }
        assert!(output.0.lock().lines.capacity() < 2 * MAX_BATCH_BYTES);
        output.close();
        assert!(output.0.lock().lines.is_empty());
    }
}
