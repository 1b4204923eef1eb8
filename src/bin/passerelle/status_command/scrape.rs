//! Two readings of a hub, and what happened between them.

use std::collections::BTreeMap;
use std::time::Duration;

use passerelle::actor::registry::ConnectorRow;
use passerelle::app::administer::{AdministerFault, Administration};
use passerelle::web::private::CheckRow;
use passerelle::web::window::{LiveTold, Status, StoreRow};
use serde::Serialize;
use tokio::time::Instant;

/// The metrics that are read: a test holds them against those that there are.
pub const OUTCOMES: &str = "passerelle_login_outcomes_total";
pub const DURATIONS: &str = "passerelle_http_request_duration_seconds";

/// One look at a hub.
#[derive(Clone)]
pub struct Reading {
    at: Instant,
    status: std::sync::Arc<Status>,
    /// By outcome, since the hub began.
    outcomes: BTreeMap<String, f64>,
    /// By endpoint of the public listener.
    durations: BTreeMap<String, Histogram>,
}

/// Upper bounds and how many stayed within, each counted with those before it.
type Histogram = Vec<(f64, f64)>;

/// What is told, and what `--json` prints.
#[derive(Serialize)]
pub struct Told {
    /// Seconds that rates and durations are of.
    pub over_seconds: f64,
    pub version: String,
    pub issuer: String,
    pub at: String,
    pub ready: bool,
    pub checks: Vec<CheckRow>,
    /// Logins that ended, however.
    pub logins_per_second: f64,
    /// By outcome, in the time that is told of.
    pub outcomes: BTreeMap<String, u64>,
    pub live: LiveTold,
    pub endpoints: Vec<Endpoint>,
    pub connectors: Vec<ConnectorRow>,
    pub store: Vec<StoreRow>,
}

#[derive(Serialize)]
pub struct Endpoint {
    pub endpoint: String,
    pub per_second: f64,
    /// Half of the answers came within.
    pub p50_seconds: Option<f64>,
    pub p99_seconds: Option<f64>,
}

impl Reading {
    pub async fn of(hub: &Administration) -> Result<Self, AdministerFault> {
        let (status, text) = (hub.status().await?, hub.metrics().await?);
        Ok(Self::read(Instant::now(), status, &text))
    }

    fn read(at: Instant, status: Status, text: &str) -> Self {
        let mut outcomes = BTreeMap::new();
        let mut durations: BTreeMap<String, Histogram> = BTreeMap::new();
        let bucket = format!("{DURATIONS}_bucket");
        for (name, labels, value) in text.lines().filter_map(sample) {
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

impl Told {
    /// Between `since` and `now`.
    pub fn of(since: &Reading, now: Reading) -> Self {
        let over =
            now.at.saturating_duration_since(since.at).max(Duration::from_millis(1)).as_secs_f64();
        let grown = |name: &String, count: &f64| {
            (count - since.outcomes.get(name).copied().unwrap_or_default()).max(0.0)
        };
        let outcomes: BTreeMap<String, f64> =
            now.outcomes.iter().map(|(name, count)| (name.clone(), grown(name, count))).collect();
        let mut endpoints: Vec<Endpoint> = now
            .durations
            .iter()
            .map(|(endpoint, histogram)| {
                endpoint_of(
                    endpoint,
                    &between(since.durations.get(endpoint), histogram),
                    histogram,
                    over,
                )
            })
            .collect();
        endpoints.sort_by(|a, b| {
            b.per_second.total_cmp(&a.per_second).then_with(|| a.endpoint.cmp(&b.endpoint))
        });
        let status = now.status;
        Self {
            over_seconds: over,
            version: status.version.clone(),
            issuer: status.issuer.clone(),
            at: status.at.clone(),
            ready: status.ready,
            checks: status.checks.clone(),
            logins_per_second: outcomes.values().fold(0.0, |all, count| all + count) / over,
            outcomes: outcomes.into_iter().map(|(name, count)| (name, whole(count))).collect(),
            live: status.live,
            endpoints,
            connectors: status.connectors.clone(),
            store: status.store.clone(),
        }
    }
}

/// `whole` says how long it took since the start, where nobody asked between the two readings.
fn endpoint_of(endpoint: &str, grown: &Histogram, whole: &Histogram, over: f64) -> Endpoint {
    let all = grown.last().map_or(0.0, |(_, count)| *count);
    let quantile = |part| quantile(grown, part).or_else(|| quantile(whole, part));
    Endpoint {
        endpoint: endpoint.to_owned(),
        per_second: all / over,
        p50_seconds: quantile(0.5),
        p99_seconds: quantile(0.99),
    }
}

/// A counter that went down belongs to a hub that was restarted: all of it is new.
fn between(before: Option<&Histogram>, now: &Histogram) -> Histogram {
    let before_at =
        |place: usize| before.and_then(|before| before.get(place)).map_or(0.0, |(_, count)| *count);
    let is_younger = now.iter().enumerate().any(|(place, (_, count))| *count < before_at(place));
    let grown = |(place, (bound, count)): (usize, &(f64, f64))| {
        (*bound, if is_younger { *count } else { count - before_at(place) })
    };
    now.iter().enumerate().map(grown).collect()
}

/// As Prometheus' `histogram_quantile`: within its bucket evenly spread; beyond the last bound, that bound.
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
fn whole(count: f64) -> u64 {
    count.max(0.0).round() as u64
}

/// A line of the Prometheus text format as this hub writes it.
type Sample<'t> = (&'t str, Vec<(&'t str, &'t str)>, f64);

fn sample(line: &str) -> Option<Sample<'_>> {
    let (series, value) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))?;
    let value = value.replace("+Inf", "inf").parse().ok()?;
    let Some((name, labels)) = series.split_once('{') else {
        return Some((series, Vec::new(), value));
    };
    // No label that is looked at has a quote or a comma in it.
    let labels = labels.strip_suffix('}')?.split("\",").filter_map(|pair| pair.split_once("=\""));
    Some((name, labels.map(|(key, value)| (key, value.trim_end_matches('"'))).collect(), value))
}

#[cfg(test)]
pub mod tests {
    use passerelle::env::Timestamp;
    use passerelle::protocol::acr::Platform;
    use passerelle::telemetry::{Listener, Metrics, Outcome};

    use super::*;

    pub fn status() -> Status {
        Status {
            version: "1".into(),
            platform: Platform::Standard,
            issuer: "https://hub.example/api/v2".into(),
            at: "2027-01-01T00:00:00Z".into(),
            ready: true,
            checks: Vec::new(),
            live: LiveTold { choosing: 3, ..LiveTold::default() },
            store: Vec::new(),
            connectors: Vec::new(),
            orphaned_blocks: Vec::new(),
        }
    }

    fn reading(metrics: &Metrics, at: Instant) -> Reading {
        Reading::read(at, status(), &metrics.render())
    }

    #[test]
    fn what_happened_between_two_readings_is_told() {
        let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
        let ask = |millis: u64| {
            metrics.http_request(
                Listener::Public,
                "/api/v2/token",
                200,
                Duration::from_millis(millis),
            )
        };
        (0..50).for_each(|_| ask(4000));
        metrics.login_ended(Outcome::Granted, &"sp".into(), None, 1);
        let begin = Instant::now();
        let before = reading(&metrics, begin);
        (0..99).for_each(|_| ask(2));
        ask(700);
        metrics.http_request(Listener::Private, "/metrics", 200, Duration::from_millis(1));
        (0..20).for_each(|_| metrics.login_ended(Outcome::Granted, &"sp".into(), None, 1));
        let told = Told::of(&before, reading(&metrics, begin + Duration::from_secs(10)));
        assert_eq!(
            told.outcomes,
            BTreeMap::from([("abandoned".to_owned(), 0), ("granted".to_owned(), 20)])
        );
        assert!((told.logins_per_second - 2.0).abs() < 1e-9);
        let [token] = told.endpoints.as_slice() else { panic!("{}", told.endpoints.len()) };
        assert!((token.per_second - 10.0).abs() < 1e-9);
        assert!(
            token.p50_seconds.unwrap() < 0.005 && token.p99_seconds.unwrap() < 0.1,
            "{:?}",
            token.p99_seconds
        );
    }

    #[test]
    fn a_hub_that_was_restarted_is_counted_anew() {
        let (old, young) =
            (vec![(0.1, 50.0), (f64::INFINITY, 60.0)], vec![(0.1, 5.0), (f64::INFINITY, 6.0)]);
        assert_eq!(between(Some(&old), &young), young);
        assert_eq!(quantile(&vec![(0.1, 0.0), (f64::INFINITY, 6.0)], 0.5), Some(0.1));
        assert_eq!(quantile(&vec![(0.1, 0.0), (f64::INFINITY, 0.0)], 0.5), None);
    }

    #[test]
    fn every_metric_that_is_read_is_one_that_the_hub_has() {
        let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
        for name in [OUTCOMES, DURATIONS] {
            assert!(metrics.declared().iter().any(|declared| declared.name == name), "{name}");
        }
    }
}
