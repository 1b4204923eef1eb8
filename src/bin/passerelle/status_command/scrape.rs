//! Scrapes a hub, and computes rates between two scrapes.

use std::collections::BTreeMap;
use std::time::Duration;

use passerelle::actor::registry::ConnectorRow;
use passerelle::app::admin_client::{AdminClient, AdminClientError};
use passerelle::web::admin_console::{HubStatus, LiveLogins, StoreUsage};
use passerelle::web::readiness::CheckResult;
use serde::Serialize;
use tokio::time::Instant;

/// Metrics that are used; a test checks that they exist.
pub const OUTCOMES: &str = "passerelle_login_outcomes_total";
/// Histogram of response times.
pub const DURATIONS: &str = "passerelle_http_request_duration_seconds";

/// Status and metrics of a hub at one time.
#[derive(Clone)]
pub struct Scrape {
    at: Instant,
    status: std::sync::Arc<HubStatus>,
    /// Ended logins by outcome, since the start of the hub.
    outcomes: BTreeMap<String, f64>,
    /// Durations by endpoint of the public listener.
    durations: BTreeMap<String, Histogram>,
}

/// Upper bounds of the buckets, with cumulative counts.
type Histogram = Vec<(f64, f64)>;

/// Output of the command; `--json` prints it.
#[derive(Serialize)]
pub struct StatusView {
    /// Seconds that rates and durations cover.
    pub interval_seconds: f64,
    pub version: String,
    pub issuer: String,
    pub at: String,
    pub ready: bool,
    pub checks: Vec<CheckResult>,
    /// Rate of ended logins.
    pub logins_per_second: f64,
    /// Ended logins by outcome, in the interval.
    pub outcomes: BTreeMap<String, u64>,
    pub live: LiveLogins,
    pub endpoints: Vec<EndpointStatus>,
    pub connectors: Vec<ConnectorRow>,
    pub store: Vec<StoreUsage>,
}

/// Rate and response times of one endpoint.
#[derive(Serialize)]
pub struct EndpointStatus {
    pub endpoint: String,
    pub per_second: f64,
    /// Median response time.
    pub p50_seconds: Option<f64>,
    pub p99_seconds: Option<f64>,
}

impl Scrape {
    /// Fetches status and metrics.
    ///
    /// # Errors
    /// Returns an error if the hub does not answer or rejects the token.
    pub async fn fetch(hub: &AdminClient) -> Result<Self, AdminClientError> {
        let (status, text) = (hub.status().await?, hub.metrics().await?);
        Ok(Self::parse(Instant::now(), status, &text))
    }

    fn parse(at: Instant, status: HubStatus, text: &str) -> Self {
        let mut outcomes = BTreeMap::new();
        let mut durations: BTreeMap<String, Histogram> = BTreeMap::new();
        let bucket = format!("{DURATIONS}_bucket");
        for (name, labels, value) in text.lines().filter_map(parse_sample) {
            let label = |wanted: &str| {
                labels.iter().find(|(key, _)| *key == wanted).map(|(_, value)| (*value).to_owned())
            };
            if name == OUTCOMES {
                *outcomes.entry(label("outcome").unwrap_or_default()).or_default() += value;
            } else if name == bucket && label("listener").as_deref() == Some("public") {
                let bound = label("le").and_then(|bound| bound.replace("+Inf", "inf").parse().ok());
                if let (Some(endpoint), Some(bound)) = (label("endpoint"), bound) {
                    durations.entry(endpoint).or_default().push((bound, value));
                }
            }
        }
        Self { at, status: std::sync::Arc::new(status), outcomes, durations }
    }
}

impl StatusView {
    /// Computes the view for the interval between two scrapes.
    pub fn between(since: &Scrape, now: Scrape) -> Self {
        let seconds =
            now.at.saturating_duration_since(since.at).max(Duration::from_millis(1)).as_secs_f64();
        let increase = |name: &String, count: &f64| {
            (count - since.outcomes.get(name).copied().unwrap_or_default()).max(0.0)
        };
        let outcomes: BTreeMap<String, f64> = now
            .outcomes
            .iter()
            .map(|(name, count)| (name.clone(), increase(name, count)))
            .collect();
        let mut endpoints: Vec<EndpointStatus> = now
            .durations
            .iter()
            .map(|(endpoint, histogram)| {
                endpoint_status(
                    endpoint,
                    &histogram_delta(since.durations.get(endpoint), histogram),
                    histogram,
                    seconds,
                )
            })
            .collect();
        endpoints.sort_by(|a, b| {
            b.per_second.total_cmp(&a.per_second).then_with(|| a.endpoint.cmp(&b.endpoint))
        });
        let status = now.status;
        Self {
            interval_seconds: seconds,
            version: status.version.clone(),
            issuer: status.issuer.clone(),
            at: status.at.clone(),
            ready: status.ready,
            checks: status.checks.clone(),
            logins_per_second: outcomes.values().fold(0.0, |all, count| all + count) / seconds,
            outcomes: outcomes
                .into_iter()
                .map(|(name, count)| (name, round_count(count)))
                .collect(),
            live: status.live,
            endpoints,
            connectors: status.connectors.clone(),
            store: status.store.clone(),
        }
    }
}

/// Computes the status of one endpoint. Without requests in the interval, `whole` gives the times
/// since the start.
fn endpoint_status(
    endpoint: &str,
    increase: &Histogram,
    whole: &Histogram,
    seconds: f64,
) -> EndpointStatus {
    let all = increase.last().map_or(0.0, |(_, count)| *count);
    let quantile = |part| quantile(increase, part).or_else(|| quantile(whole, part));
    EndpointStatus {
        endpoint: endpoint.to_owned(),
        per_second: all / seconds,
        p50_seconds: quantile(0.5),
        p99_seconds: quantile(0.99),
    }
}

/// Returns the increase of each bucket. A decreased counter means that the hub was restarted.
fn histogram_delta(before: Option<&Histogram>, now: &Histogram) -> Histogram {
    let before_at =
        |place: usize| before.and_then(|before| before.get(place)).map_or(0.0, |(_, count)| *count);
    let is_younger = now.iter().enumerate().any(|(place, (_, count))| *count < before_at(place));
    let increase = |(place, (bound, count)): (usize, &(f64, f64))| {
        (*bound, if is_younger { *count } else { count - before_at(place) })
    };
    now.iter().enumerate().map(increase).collect()
}

/// Estimates a quantile as Prometheus' `histogram_quantile` does.
fn quantile(histogram: &Histogram, part: f64) -> Option<f64> {
    let all = histogram.last().map(|(_, count)| *count).filter(|all| *all > 0.0)?;
    let rank = part * all;
    let (mut lower, mut below) = (0.0, 0.0);
    for (bound, count) in histogram {
        if *count >= rank {
            let inside = count - below;
            return Some(if bound.is_infinite() || inside <= 0.0 {
                lower
            } else {
                lower + (bound - lower) * (rank - below) / inside
            });
        }
        (lower, below) = (*bound, *count);
    }
    None
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that is not below zero"
)]
fn round_count(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

/// Sample of the Prometheus text format: name, labels, value.
type Sample<'t> = (&'t str, Vec<(&'t str, &'t str)>, f64);

fn parse_sample(line: &str) -> Option<Sample<'_>> {
    let (series, value) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let value = value.replace("+Inf", "inf").parse().ok()?;
    let Some((name, labels)) = series.split_once('{') else {
        return Some((series, Vec::new(), value));
    };
    // No label that is used contains a quote or a comma.
    let labels = labels.strip_suffix('}')?.split("\",").filter_map(|pair| pair.split_once("=\""));
    Some((name, labels.map(|(key, value)| (key, value.trim_end_matches('"'))).collect(), value))
}

#[cfg(test)]
pub mod tests {
    use passerelle::env::Timestamp;
    use passerelle::protocol::acr::Platform;
    use passerelle::telemetry::{Listener, LoginOutcome, Metrics};

    use super::*;

    pub fn status() -> HubStatus {
        HubStatus {
            version: "1".into(),
            platform: Platform::Standard,
            issuer: "https://hub.example/api/v2".into(),
            at: "2027-01-01T00:00:00Z".into(),
            ready: true,
            checks: Vec::new(),
            live: LiveLogins { choosing: 3, ..LiveLogins::default() },
            store: Vec::new(),
            connectors: Vec::new(),
            orphaned_blocks: Vec::new(),
        }
    }

    fn scrape(metrics: &Metrics, at: Instant) -> Scrape {
        Scrape::parse(at, status(), &metrics.render())
    }

    #[test]
    fn rates_are_computed_between_two_scrapes() {
        let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
        let ask = |millis: u64| {
            metrics.record_http_request(
                Listener::Public,
                "/api/v2/token",
                200,
                Duration::from_millis(millis),
            )
        };
        (0..50).for_each(|_| ask(4000));
        metrics.record_login_end(LoginOutcome::Granted, &"sp".into(), None, 1);
        let begin = Instant::now();
        let before = scrape(&metrics, begin);
        (0..99).for_each(|_| ask(2));
        ask(700);
        metrics.record_http_request(Listener::Private, "/metrics", 200, Duration::from_millis(1));
        (0..20)
            .for_each(|_| metrics.record_login_end(LoginOutcome::Granted, &"sp".into(), None, 1));
        let view = StatusView::between(&before, scrape(&metrics, begin + Duration::from_secs(10)));
        assert_eq!(
            view.outcomes,
            BTreeMap::from([("abandoned".to_owned(), 0), ("granted".to_owned(), 20)])
        );
        assert!((view.logins_per_second - 2.0).abs() < 1e-9);
        let [token] = view.endpoints.as_slice() else { panic!("{}", view.endpoints.len()) };
        assert!((token.per_second - 10.0).abs() < 1e-9);
        assert!(
            token.p50_seconds.unwrap() < 0.005 && token.p99_seconds.unwrap() < 0.1,
            "{:?}",
            token.p99_seconds
        );
    }

    #[test]
    fn a_restarted_hub_is_counted_from_zero() {
        let (old, young) =
            (vec![(0.1, 50.0), (f64::INFINITY, 60.0)], vec![(0.1, 5.0), (f64::INFINITY, 6.0)]);
        assert_eq!(histogram_delta(Some(&old), &young), young);
        assert_eq!(quantile(&vec![(0.1, 0.0), (f64::INFINITY, 6.0)], 0.5), Some(0.1));
        assert_eq!(quantile(&vec![(0.1, 0.0), (f64::INFINITY, 0.0)], 0.5), None);
    }

    #[test]
    fn every_metric_that_is_used_exists() {
        let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
        for name in [OUTCOMES, DURATIONS] {
            assert!(metrics.declared().iter().any(|declared| declared.name == name), "{name}");
        }
    }
}
