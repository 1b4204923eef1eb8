//! `passerelle status`: shows the status of the running hub.

mod text;

use std::time::Duration;

use clap::Args;
use passerelle_admin::console::HubStatus;
use passerelle_server::admin_client::{AdminClient, AdminClientError};
use passerelle_telemetry::EndedLogins;
use serde::Serialize;
use tokio::time::Instant;

use super::hub_options::HubOptions;
use super::output::out;
use super::{CommandResult, print_json};

/// Interval between the two readings.
const READ_INTERVAL: Duration = Duration::from_secs(1);

/// Measures for a second and prints the result. Exit codes: 0 success; 1 rejected, with the reason;
/// 3 the hub does not answer; 4 missing or wrong token; 64 wrong option.
#[derive(Args)]
pub(crate) struct StatusCommand {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubOptions,
}

/// Output of the command; `--json` prints it.
#[derive(Serialize)]
struct StatusView {
    /// Seconds that the rate and `recent_logins` cover.
    interval_seconds: f64,
    /// Rate of ended logins.
    logins_per_second: f64,
    /// Logins that ended in the interval.
    recent_logins: EndedLogins,
    #[serde(flatten)]
    status: HubStatus,
}

/// Logins that had ended at a time.
struct EndedLoginsSample(Instant, EndedLogins);

impl EndedLoginsSample {
    async fn fetch(hub: &AdminClient) -> Result<(Self, HubStatus), AdminClientError> {
        let status = hub.status().await?;
        Ok((Self(Instant::now(), status.ended_logins.clone()), status))
    }

    /// Computes the view for the interval up to `now`.
    fn view_until(&self, now: Instant, status: HubStatus) -> StatusView {
        let mut recent_logins = status.ended_logins.clone();
        for (connector, outcomes) in &mut recent_logins {
            for (outcome, count) in outcomes {
                let earlier = self.1.get(connector).and_then(|outcomes| outcomes.get(outcome));
                // Smaller than before if the hub was restarted.
                *count = count.saturating_sub(earlier.copied().unwrap_or_default());
            }
        }
        let interval = now.saturating_duration_since(self.0).max(Duration::from_millis(1));
        let interval_seconds = interval.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "logins of a minute")]
        let ended =
            recent_logins.values().flat_map(|outcomes| outcomes.values()).sum::<u64>() as f64;
        StatusView {
            interval_seconds,
            logins_per_second: ended / interval_seconds,
            recent_logins,
            status,
        }
    }
}

impl StatusCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the hub rejects the request or does not answer.
    pub(crate) async fn run(self) -> CommandResult<()> {
        let hub = self.hub.connect()?;
        let (first, _) = EndedLoginsSample::fetch(&hub).await?;
        tokio::time::sleep(READ_INTERVAL).await;
        let (last, status) = EndedLoginsSample::fetch(&hub).await?;
        let view = first.view_until(last.0, status);
        if self.json {
            print_json(&view)?;
        } else {
            out!("{}", text::render_status(&view));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use passerelle_admin::console::LiveLogins;
    use passerelle_protocol::acr::Platform;

    use super::*;

    pub(super) fn ended(counts: &[(&str, &str, u64)]) -> EndedLogins {
        let mut ended = EndedLogins::new();
        for (connector, outcome, count) in counts {
            ended.entry((*connector).into()).or_default().insert((*outcome).into(), *count);
        }
        ended
    }

    pub(super) fn view(before: &[(&str, &str, u64)], now: &[(&str, &str, u64)]) -> StatusView {
        let status = HubStatus {
            version: "1".into(),
            node: "hub-1".into(),
            platform: Platform::Standard,
            issuer: "https://hub.example/api/v2".into(),
            at: "2027-01-01T00:00:00Z".into(),
            ready: true,
            drained: false,
            checks: Vec::new(),
            problems: Vec::new(),
            live: LiveLogins { choosing: 3, ..LiveLogins::default() },
            ended_logins: ended(now),
            last_hour: Vec::new(),
            store: Vec::new(),
            connectors: Vec::new(),
            orphaned_blocks: Vec::new(),
            pending_registrations: Vec::new(),
            extensions: Vec::new(),
        };
        let begin = Instant::now();
        EndedLoginsSample(begin, ended(before)).view_until(begin + Duration::from_secs(10), status)
    }

    #[test]
    fn rates_are_computed_between_two_readings() {
        let before = [("a", "granted", 5), ("b", "failed", 1)];
        let now = [("a", "granted", 20), ("b", "failed", 3), ("c", "refused", 3)];
        let view = view(&before, &now);
        assert_eq!(
            view.recent_logins,
            ended(&[("a", "granted", 15), ("b", "failed", 2), ("c", "refused", 3)])
        );
        assert!((view.logins_per_second - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_restarted_hub_raises_no_rate() {
        let view = view(&[("a", "granted", 50)], &[("a", "granted", 5)]);
        assert_eq!(view.recent_logins, ended(&[("a", "granted", 0)]));
    }
}
