//! Runs asynchronous work for code that may block: commands.

use std::future::Future;
use std::{io, thread};

/// Runs the work on a thread of its own, so that it may be called inside a runtime. Blocks.
///
/// # Errors
/// Returns an error if no thread or runtime can be started.
pub fn block_on_thread<T: Send>(work: impl Future<Output = T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(work))
        };
        let running = thread::Builder::new().spawn_scoped(scope, run)?;
        running.join().unwrap_or_else(|_| Err(io::Error::other("the thread has panicked")))
    })
}
