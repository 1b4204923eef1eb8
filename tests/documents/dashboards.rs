//! The dashboards of `dashboards/`, compared with the metrics that the code declares.
//!
//! Checks that each query names existing metrics and labels, that each metric of the hub has a
//! panel, that each panel has a description, and that no panels overlap. [`promql`] reads the
//! queries.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use passerelle_protocol::catalogue::{ErrorCode, render_markdown};
use passerelle_server::{KINDS, declare_metrics, install_extensions};
use passerelle_telemetry::{MetricType, markdown_page};
use serde::Deserialize;
use serde_json::json;

mod faults;
mod model;
mod promql;
mod rules;

use faults::*;
use model::*;
use promql::{Selector, in_legend, matched, names};

/// Metric of Prometheus itself: whether the last scrape succeeded.
const PROMETHEUS_METRIC: &str = "up";

/// Labels that Prometheus adds to every series.
const SCRAPE_LABELS: [&str; 2] = ["instance", "job"];

/// Width of Grafana's grid.
const COLUMNS: u32 = 24;

/// Returns the labels of each metric, by the name that a query uses.
fn declared_labels() -> BTreeMap<String, BTreeSet<String>> {
    let metrics = declare_metrics(KINDS.extensions).unwrap();
    let mut all = BTreeMap::from([(PROMETHEUS_METRIC.to_owned(), BTreeSet::new())]);
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

/// Returns the metric of a series: a histogram has three of them.
fn family(name: &str) -> &str {
    let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
    base.filter(|base| base.ends_with("_seconds")).unwrap_or(name)
}

/// Returns the names in `expression` that don't exist, each with its fault.
fn unknown_names(expression: &str) -> Vec<String> {
    unknown_among(&declared_labels(), expression)
}

fn unknown_among(declared: &BTreeMap<String, BTreeSet<String>>, expression: &str) -> Vec<String> {
    let names = names(expression);
    let mut faults = Vec::new();
    let mut any: BTreeSet<&str> = SCRAPE_LABELS.into();
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
            if !labels.contains(&label) && !SCRAPE_LABELS.contains(&label.as_str()) {
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
    install_extensions();
    let codes = expression.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_code(word));
    let gone = codes.filter(|code| ErrorCode::find(code).is_none());
    faults
        .extend(gone.map(|code| format!("names the error {code}, which is not in the catalogue")));
    faults
}

/// Returns whether `word` is `Y` and six digits.
fn is_code(word: &str) -> bool {
    word.len() == 7
        && word.strip_prefix('Y').is_some_and(|digits| digits.chars().all(|c| c.is_ascii_digit()))
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
fn every_metric_of_the_hub_has_a_panel() {
    assert_none(&metrics_without_panel(&read_dashboards()));
}

#[test]
fn each_panel_has_a_description() {
    assert_none(&read_dashboards().iter().flat_map(description_faults).collect::<Vec<_>>());
}

#[test]
fn panels_do_not_overlap() {
    assert_none(&read_dashboards().iter().flat_map(layout_faults).collect::<Vec<_>>());
}

#[test]
fn charts_stay_readable_with_many_files_and_begin_durations_at_zero() {
    assert_none(&read_dashboards().iter().flat_map(chart_faults).collect::<Vec<_>>());
}

#[test]
fn an_outcome_has_the_same_colour_on_each_dashboard() {
    let dashboards = read_dashboards();
    let of_logins = dashboards
        .iter()
        .flat_map(Dashboard::shown)
        .find(|panel| panel.targets.iter().any(|target| target.legend_format == "{{outcome}}"))
        .unwrap();
    let colours = &of_logins.field_config["overrides"];
    assert!(colours.as_array().is_some_and(|list| list.len() > 2), "{colours}");
    let faults = |dashboard| colour_faults(dashboard, colours);
    assert_none(&dashboards.iter().flat_map(faults).collect::<Vec<_>>());
}

#[test]
fn each_dashboard_marks_the_same_events() {
    let dashboards = read_dashboards();
    assert_eq!(dashboards[0].annotations.list.len(), 4);
    for dashboard in &dashboards {
        assert_eq!(dashboard.annotations, dashboards[0].annotations, "{}", dashboard.uid);
    }
}

#[test]
fn each_dashboard_has_its_own_uid_and_links_to_the_others() {
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
            "{}: a link loses the selected time or variables",
            dashboard.uid
        );
    }
}

#[test]
fn the_reference_is_what_the_program_prints() {
    let metrics = declare_metrics(KINDS.extensions).unwrap();
    let written =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap();
    assert!(
        written == markdown_page(metrics.declared()),
        "docs/metrics.md is outdated: passerelle metrics --markdown > docs/metrics.md"
    );
}

#[test]
fn the_list_of_errors_is_what_the_program_prints() {
    install_extensions();
    let written =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md")).unwrap();
    assert!(
        written == render_markdown(),
        "docs/errors.md is outdated: passerelle errors --markdown > docs/errors.md"
    );
}

/// Checks that each change of a valid dashboard breaks one rule.
#[test]
fn forged_dashboards_are_found() {
    const VALID: &str = r#"{ "title": "T", "uid": "u", "annotations": { "list": [
        { "name": "E", "expr": "up{job=~\"$job\", instance=~\"$instance\"}", "titleFormat": "t" }
    ] }, "templating": { "list": [
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
        let colours = json!([]);
        [
            query_faults(&dashboard),
            description_faults(&dashboard),
            layout_faults(&dashboard),
            chart_faults(&dashboard),
            colour_faults(&dashboard, &colours),
        ]
        .concat()
    };
    assert_none(&faults(VALID));
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
        ("\"stat\"", "\"timeseries\"", "begins below 0"),
        ("{{to}}", "{{connector}}", "draws a series for each file"),
        ("{{to}}", "{{outcome}}", "other colours"),
        ("\"up{job", "\"upp{job", "annotation \"E\": a query names `upp`"),
    ];
    for (from, to, fault) in forged {
        assert!(VALID.contains(from), "{from}");
        let found = faults(&VALID.replace(from, to));
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
    let dashboard: Dashboard = serde_json::from_str(VALID).unwrap();
    let missing = metrics_without_panel(&[dashboard]);
    assert!(
        missing.iter().any(|fault| fault.contains("`passerelle_http_request_duration_seconds`")),
        "{missing:?}"
    );
    assert!(!missing.iter().any(|fault| fault.contains("transitions")), "{missing:?}");
}
