//! Log lines that a test reads.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::Dispatch;

use crate::{LineFormat, log_dispatch};

/// Captured log lines.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    pub fn dispatch(&self) -> Dispatch {
        self.formatted(LineFormat::Json)
    }

    pub fn formatted(&self, format: LineFormat) -> Dispatch {
        let written = self.clone();
        log_dispatch(move || written.clone(), format, "info").unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub fn json(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
