//! The dashboards of `dashboards/`, held against the metrics that the code declares.
//!
//! Owns: what a dashboard must be to be read at night by a person who did not make it: each query
//! names metrics and labels that exist, each metric of the hub is shown somewhere, each panel says
//! what it shows, and none lies on another. [`promql`] reads the queries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use passerelle::env::Timestamp;
use passerelle::protocol::catalogue::ErrorCode;
use passerelle::telemetry::{MetricType, Metrics, markdown_page};
use serde::Deserialize;

mod promql;
mod rules;

use promql::{Selector, in_legend, matched, names};

#[derive(Deserialize)]
struct Dashboard {
    title: String,
    uid: String,
    panels: Vec<Panel>,
    templating: Templating,
    #[serde(default)]
    links: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    url: String,
    keep_time: bool,
    include_vars: bool,
}

#[derive(Deserialize)]
struct Templating {
    list: Vec<Variable>,
}

#[derive(Deserialize)]
struct Variable {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    /// What Grafana asks: a data source's type, or a query in one of its forms. `definition` is the
    /// query as text.
    query: serde_json::Value,
    definition: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Panel {
    id: u32,
    title: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    description: String,
    grid_pos: Place,
    #[serde(default)]
    datasource: serde_json::Value,
    #[serde(default)]
    targets: Vec<Target>,
    #[serde(default)]
    field_config: serde_json::Value,
    /// Of a row that is folded up.
    #[serde(default)]
    panels: Vec<Panel>,
}

#[derive(Deserialize)]
struct Place {
    x: u32,
    y: u32,
    w: u32,
    h: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    expr: String,
    #[serde(default)]
    legend_format: String,
    #[serde(default)]
    datasource: serde_json::Value,
}

impl Dashboard {
    /// Every panel, those of folded rows too; rows themselves show nothing and are left out.
    fn shown(&self) -> impl Iterator<Item = &Panel> {
        self.panels
            .iter()
            .flat_map(|panel| std::iter::once(panel).chain(&panel.panels))
            .filter(|panel| panel.kind != "row")
    }

    fn variable_queries(&self) -> impl Iterator<Item = (&Variable, &str)> {
        let queries = self.templating.list.iter().filter(|variable| variable.kind == "query");
        queries.map(|variable| (variable, variable.definition.as_deref().unwrap_or_default()))
    }
}

impl Place {
    const fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.w
            && other.x < self.x + self.w
            && self.y < other.y + other.h
            && other.y < self.y + self.h
    }
}

/// Prometheus' own: whether the last scrape worked.
const FROM_PROMETHEUS: &str = "up";

/// Labels that Prometheus gives to everything that it scrapes.
const OF_THE_SCRAPE: [&str; 2] = ["instance", "job"];

/// Width of Grafana's grid.
const COLUMNS: u32 = 24;

/// Each metric's labels, by the name that a query must use.
fn declared() -> BTreeMap<String, BTreeSet<String>> {
    let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
    let mut all = BTreeMap::from([(FROM_PROMETHEUS.to_owned(), BTreeSet::new())]);
    for metric in metrics.declared() {
        let labels: BTreeSet<String> = metric.labels.iter().cloned().collect();
        if metric.metric_type == MetricType::Histogram {
            let of_buckets = labels.iter().cloned().chain(["le".to_owned()]).collect();
            all.insert(format!("{}_bucket", metric.name), of_buckets);
            all.insert(format!("{}_sum", metric.name), labels.clone());
            all.insert(format!("{}_count", metric.name), labels);
        } else {
            all.insert(metric.name.clone(), labels);
        }
    }
    all
}

/// A histogram's three names are one metric.
fn family(name: &str) -> &str {
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
    base.filter(|base| base.ends_with("_seconds")).unwrap_or(name)
}

/// Names in `expression` that lead nowhere, each with what is wrong.
fn unknown_names(expression: &str) -> Vec<String> {
    unknown_among(&declared(), expression)
}

fn unknown_among(declared: &BTreeMap<String, BTreeSet<String>>, expression: &str) -> Vec<String> {
    let names = names(expression);
    let mut faults = Vec::new();
    let mut any: BTreeSet<&str> = OF_THE_SCRAPE.into();
    if names.selectors.is_empty() {
        faults.push("names no metric".to_owned());
    }
    for Selector { metric, matchers } in &names.selectors {
        let Some(labels) = declared.get(metric) else {
            faults.push(format!("names `{metric}`, which the code does not declare"));
            continue;
        };
        any.extend(labels.iter().map(String::as_str));
        for label in matched(matchers) {
            if !labels.contains(&label) && !OF_THE_SCRAPE.contains(&label.as_str()) {
                faults.push(format!(
                    "matches `{metric}` by `{label}`, a label that it does not have"
                ));
            }
        }
    }
    let lost = names.grouped.iter().filter(|label| !any.contains(label.as_str()));
    faults.extend(
        lost.map(|label| format!("groups by `{label}`, a label that none of its metrics has")),
    );
    let codes = expression.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_code(word));
    let gone = codes.filter(|code| !ErrorCode::ALL.iter().any(|known| known.entry().code == *code));
    faults
        .extend(gone.map(|code| format!("names the error {code}, which is not in the catalogue")));
    faults
}

/// `Y` and six digits.
fn is_code(word: &str) -> bool {
    word.len() == 7
        && word.strip_prefix('Y').is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit()))
}

fn query_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for panel in dashboard.shown() {
        for target in &panel.targets {
            let mut told = unknown_names(&target.expr);
            let names = names(&target.expr);
            // `process_…` is counted by everybody: without these a panel shows the neighbours too.
            let everybody = |s: &&Selector| {
                !(s.matchers.contains(r#"job=~"$job""#)
                    && s.matchers.contains(r#"instance=~"$instance""#))
            };
            let everybodys = names.selectors.iter().filter(everybody);
            told.extend(everybodys.map(|s| {
                format!(r#"asks for `{}` without job=~"$job", instance=~"$instance""#, s.metric)
            }));
            let blank =
                in_legend(&target.legend_format).filter(|label| !names.grouped.contains(*label));
            told.extend(
                blank.map(|label| {
                    format!("has a legend with `{label}`, by which it is not grouped")
                }),
            );
            faults.extend(told.iter().map(|fault| {
                format!("{}, panel \"{}\": a query {fault}", dashboard.uid, panel.title)
            }));
        }
    }
    for (variable, query) in dashboard.variable_queries() {
        let asked = query
            .strip_prefix("label_values(")
            .and_then(|rest| rest.strip_suffix(')')?.rsplit_once(','));
        let told = match asked {
            Some((selector, label)) => {
                unknown_names(&format!("max by ({}) ({selector})", label.trim()))
            }
            None => vec!["is not label_values(metric, label)".to_owned()],
        };
        faults.extend(told.iter().map(|fault| {
            format!("{}, variable {}: its query {fault}", dashboard.uid, variable.name)
        }));
        if variable.query.get("query").and_then(|q| q.as_str()) != Some(query) {
            faults.push(format!(
                "{}, variable {}: `definition` and `query` differ",
                dashboard.uid, variable.name
            ));
        }
    }
    faults
}

fn unwatched(dashboards: &[Dashboard]) -> Vec<String> {
    let targets = dashboards.iter().flat_map(Dashboard::shown).flat_map(|panel| &panel.targets);
    let watched: BTreeSet<String> = targets
        .flat_map(|target| names(&target.expr).selectors)
        .map(|selector| family(&selector.metric).to_owned())
        .collect();
    let declared = declared();
    let ours: BTreeSet<&str> = declared
        .keys()
        .filter(|name| name.starts_with("passerelle_"))
        .map(|name| family(name))
        .collect();
    ours.into_iter()
        .filter(|name| !watched.contains(*name))
        .map(|name| format!("`{name}` is shown by no panel"))
        .collect()
}

fn reading_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for panel in dashboard.shown() {
        let mut complain = |fault: &str| {
            faults.push(format!("{}, panel \"{}\": {fault}", dashboard.uid, panel.title))
        };
        if panel.title.is_empty() || panel.description.is_empty() {
            complain("it has no title or no description");
        }
        // Text asks nothing.
        if panel.kind == "text" {
            continue;
        }
        if panel
            .field_config
            .pointer("/defaults/unit")
            .and_then(|unit| unit.as_str())
            .unwrap_or_default()
            .is_empty()
        {
            complain("it has no unit");
        }
        if panel.targets.is_empty() {
            complain("it asks nothing");
        }
        if panel
            .targets
            .iter()
            .any(|target| ["", "__auto"].contains(&target.legend_format.as_str()))
        {
            complain("a query has no legend");
        }
        let sources =
            panel.targets.iter().map(|target| &target.datasource).chain([&panel.datasource]);
        if sources.into_iter().any(|source| {
            source.pointer("/uid").and_then(|uid| uid.as_str()) != Some("${datasource}")
        }) {
            complain("it is tied to one Grafana's data source; write ${datasource}");
        }
    }
    let is_source =
        |v: &&Variable| v.name == "datasource" && v.kind == "datasource" && v.query == "prometheus";
    if dashboard.title.is_empty() || dashboard.templating.list.iter().find(is_source).is_none() {
        faults.push(format!(
            "{}: it has no title, or no variable `datasource` of type prometheus",
            dashboard.uid
        ));
    }
    faults
}

fn place_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, panel) in dashboard.panels.iter().enumerate() {
        let place = &panel.grid_pos;
        if place.w == 0 || place.h == 0 || place.x + place.w > COLUMNS {
            faults.push(format!(
                "{}: \"{}\" does not fit the grid of {COLUMNS} columns",
                dashboard.uid, panel.title
            ));
        }
        let twins = dashboard.panels.iter().skip(at + 1).filter(|other| panel.id == other.id);
        faults.extend(twins.map(|other| {
            format!("{}: \"{}\" and \"{}\" share an id", dashboard.uid, panel.title, other.title)
        }));
        let under =
            dashboard.panels.iter().skip(at + 1).filter(|other| place.overlaps(&other.grid_pos));
        faults.extend(under.map(|other| {
            format!("{}: \"{}\" and \"{}\" overlap", dashboard.uid, panel.title, other.title)
        }));
    }
    faults
}

fn read_dashboards() -> Vec<Dashboard> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let parsed = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            serde_json::from_str(&fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        });
    let dashboards: Vec<Dashboard> = parsed.collect();
    assert_eq!(
        dashboards.len(),
        5,
        "each question has its dashboard, and docs and links name five"
    );
    dashboards
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn queries_name_only_what_the_code_declares() {
    assert_none(&read_dashboards().iter().flat_map(query_faults).collect::<Vec<_>>());
}

#[test]
fn every_metric_of_the_hub_is_shown() {
    assert_none(&unwatched(&read_dashboards()));
}

#[test]
fn panels_say_what_they_show() {
    assert_none(&read_dashboards().iter().flat_map(reading_faults).collect::<Vec<_>>());
}

#[test]
fn panels_lie_side_by_side() {
    assert_none(&read_dashboards().iter().flat_map(place_faults).collect::<Vec<_>>());
}

#[test]
fn each_dashboard_has_an_address_of_its_own_and_leads_to_the_others() {
    let dashboards = read_dashboards();
    let uids: BTreeSet<String> =
        dashboards.iter().map(|dashboard| format!("/d/{}", dashboard.uid)).collect();
    assert_eq!(uids.len(), dashboards.len());
    for dashboard in &dashboards {
        let mut reached: BTreeSet<String> =
            dashboard.links.iter().map(|link| link.url.clone()).collect();
        reached.insert(format!("/d/{}", dashboard.uid));
        assert_eq!(reached, uids, "{}", dashboard.uid);
        assert!(
            dashboard.links.iter().all(|link| link.keep_time && link.include_vars),
            "{}: a link loses what was chosen",
            dashboard.uid
        );
    }
}

#[test]
fn the_reference_is_what_the_program_prints() {
    let metrics = Metrics::new(Timestamp::from_seconds(1)).unwrap();
    let written =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap();
    assert!(
        written == markdown_page(metrics.declared()),
        "docs/metrics.md is old: passerelle metrics --markdown > docs/metrics.md"
    );
}

/// The checks above can fail: each change breaks one rule of a dashboard that keeps them all.
#[test]
fn forged_dashboards_are_found() {
    const FINE: &str = r#"{ "title": "T", "uid": "u", "templating": { "list": [
        { "name": "datasource", "type": "datasource", "query": "prometheus" },
        { "name": "job", "type": "query", "definition": "label_values(up, job)", "query": { "query": "label_values(up, job)" } }
    ] }, "panels": [
        { "id": 1, "title": "A", "type": "stat", "description": "d", "gridPos": { "x": 0, "y": 0, "w": 12, "h": 4 },
          "datasource": { "uid": "${datasource}" }, "fieldConfig": { "defaults": { "unit": "s" } }, "targets": [
            { "expr": "sum by (to) (passerelle_login_transitions_total{job=~\"$job\", instance=~\"$instance\", to!=\"Y020020\"})",
              "legendFormat": "{{to}}", "datasource": { "uid": "${datasource}" } } ] },
        { "id": 2, "title": "B", "type": "text", "description": "d", "gridPos": { "x": 12, "y": 0, "w": 12, "h": 4 } }
    ] }"#;
    let faults = |text: &str| {
        let dashboard: Dashboard = serde_json::from_str(text).unwrap();
        [query_faults(&dashboard), reading_faults(&dashboard), place_faults(&dashboard)].concat()
    };
    assert_none(&faults(FINE));
    let forged = [
        ("login_transitions", "login_transition", "does not declare"),
        ("label_values(up, job)", "label_values(upp, job)", "does not declare"),
        (
            "\"definition\": \"label_values(up",
            "\"definition\": \"label_values(process_threads",
            "differ",
        ),
        ("to!=", "from!=", "matches `passerelle_login_transitions_total` by `from`"),
        ("sum by (to)", "sum by (to, from)", "groups by `from`"),
        ("Y020020", "Y999999", "not in the catalogue"),
        ("job=~\\\"$job\\\", ", "", "asks for `passerelle_login_transitions_total` without"),
        ("{{to}}", "{{from}}", "a legend with `from`"),
        ("{{to}}", "", "no legend"),
        ("\"description\": \"d\"", "\"description\": \"\"", "no description"),
        ("\"unit\": \"s\"", "\"decimals\": 1", "no unit"),
        (
            "\"uid\": \"${datasource}\" }, \"fieldConfig\"",
            "\"uid\": \"mine\" }, \"fieldConfig\"",
            "tied to one",
        ),
        ("\"query\": \"prometheus\"", "\"query\": \"loki\"", "no variable `datasource`"),
        ("\"x\": 12", "\"x\": 11", "overlap"),
        ("\"x\": 12", "\"x\": 13", "does not fit"),
        ("\"id\": 2", "\"id\": 1", "share an id"),
    ];
    for (from, to, fault) in forged {
        assert!(FINE.contains(from), "{from}");
        let found = faults(&FINE.replace(from, to));
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
    let dashboard: Dashboard = serde_json::from_str(FINE).unwrap();
    let missing = unwatched(&[dashboard]);
    assert!(
        missing.iter().any(|fault| fault.contains("`passerelle_http_request_duration_seconds`")),
        "{missing:?}"
    );
    assert!(!missing.iter().any(|fault| fault.contains("transitions")), "{missing:?}");
}
