//! Collects the standard `process_*` metrics from `/proc/self` at each scrape; without `/proc` they
//! are omitted.

use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge, IntGauge};

use crate::env::Timestamp;

/// Unit of `/proc/[pid]/stat` on Linux, on every architecture (`USER_HZ`, proc(5)).
const TICKS_PER_SECOND: f64 = 100.0;

/// Collector of the `process_*` metrics.
#[derive(Clone)]
pub struct ProcessCollector {
    cpu: Counter,
    resident: IntGauge,
    threads: IntGauge,
    open_fds: IntGauge,
    max_fds: IntGauge,
    start: Gauge,
}

impl ProcessCollector {
    /// Creates the collector; `started` is the start time of the process.
    ///
    /// # Errors
    /// Returns an error if a metric name is malformed.
    pub fn new(started: Timestamp) -> prometheus::Result<Self> {
        let start = Gauge::new(
            "process_start_time_seconds",
            "Start time of the process, in seconds since the Unix epoch.",
        )?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "milliseconds since 1970 fit into 53 bits for a long time"
        )]
        start.set(started.millis() as f64 / 1000.0);
        Ok(Self {
            cpu: Counter::new(
                "process_cpu_seconds_total",
                "User and system CPU time spent, in seconds.",
            )?,
            resident: IntGauge::new("process_resident_memory_bytes", "Resident memory, in bytes.")?,
            threads: IntGauge::new("process_threads", "Number of threads.")?,
            open_fds: IntGauge::new("process_open_fds", "Number of open file descriptors.")?,
            max_fds: IntGauge::new("process_max_fds", "Maximum number of open file descriptors.")?,
            start,
        })
    }
}

impl Collector for ProcessCollector {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [&self.resident, &self.threads, &self.open_fds, &self.max_fds];
        let mut all = self.cpu.desc();
        all.extend(self.start.desc());
        all.extend(gauges.into_iter().flat_map(Collector::desc));
        all
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut all = self.start.collect();
        if let Some(seconds) =
            fs::read_to_string("/proc/self/stat").ok().as_deref().and_then(cpu_seconds)
        {
            self.cpu.inc_by((seconds - self.cpu.get()).max(0.0));
            all.extend(self.cpu.collect());
        }
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let descriptors = fs::read_dir("/proc/self/fd")
            .map(|open| i64::try_from(open.count()).unwrap_or(i64::MAX));
        let readings = [
            (&self.resident, number_after(&status, "VmRSS:").map(|kib| kib.saturating_mul(1024))),
            (&self.threads, number_after(&status, "Threads:")),
            (&self.max_fds, number_after(&limits, "Max open files")),
            (&self.open_fds, descriptors.ok()),
        ];
        for (gauge, reading) in readings {
            if let Some(value) = reading {
                gauge.set(value);
                all.extend(gauge.collect());
            }
        }
        all
    }
}

/// Returns the sum of fields 14 and 15 of `stat`; the second field, the name, may hold blanks and
/// parentheses.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

/// Returns the first number on the line that begins with `label`.
fn number_after(text: &str, label: &str) -> Option<i64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_the_name() {
        let stat =
            "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 12345 1000 200";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("42 (short) S 1"), None);
    }

    #[test]
    fn labels_lead_to_their_numbers() {
        assert_eq!(number_after("VmHWM:\t9 kB\nVmRSS:\t  123 kB\n", "VmRSS:"), Some(123));
        assert_eq!(
            number_after(
                "Max open files            1024                 524288               files",
                "Max open files"
            ),
            Some(1024)
        );
        assert_eq!(number_after("Max open files            unlimited", "Max open files"), None);
    }
}
