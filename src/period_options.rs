//! The options that say when a block or a notice is in force.

use std::time::Duration;

use clap::Args;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Env;

#[derive(Args)]
pub(crate) struct PeriodOptions {
    /// Start, as 2027-03-01T00:00:00Z. Default: now.
    #[arg(long)]
    pub from: Option<String>,
    /// End. Default: until an operator ends it.
    #[arg(long)]
    until: Option<String>,
    /// Instead of --from and --until: duration from now, as 90s, 30m, 2h or 7d.
    #[arg(long = "for", value_name = "TIME", conflicts_with_all = ["until", "from"], value_parser = parse_duration)]
    lasting: Option<Duration>,
}

impl PeriodOptions {
    /// Returns the end, if there is one.
    pub(crate) fn end(&self) -> Option<String> {
        let end = |lasting| format_rfc3339(Env::system().now() + lasting);
        self.lasting.map(end).or_else(|| self.until.clone())
    }
}

/// Parses a duration such as `90s`, `30m`, `2h` or `7d`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let seconds = |unit| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3600),
        'd' => Some(86_400),
        _ => None,
    };
    let parsed = text.chars().next_back().and_then(seconds).and_then(|unit: u64| {
        let number: u64 = text.get(..text.len().saturating_sub(1))?.parse().ok()?;
        number.checked_mul(unit).filter(|seconds| (1..=366 * 86_400).contains(seconds))
    });
    parsed.map(Duration::from_secs).ok_or_else(|| {
        "write a number and a unit, such as 90s, 30m, 2h or 7d; at most a year".to_owned()
    })
}
