//! Faults of a dashboard.

use super::*;

pub(super) fn query_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    let targets = dashboard.shown().flat_map(|panel| {
        let place = format!("panel \"{}\"", panel.title);
        panel.targets.iter().map(move |t| (place.clone(), &t.expr, &t.legend_format))
    });
    let events =
        dashboard.annotations.list.iter().map(|event| {
            (format!("annotation \"{}\"", event.name), &event.expr, &event.title_format)
        });
    for (place, expr, legend) in targets.chain(events) {
        let mut found = unknown_names(expr);
        let names = names(expr);
        // Every program exports `process_…`: without these labels a panel shows other programs
        // too.
        let is_unscoped = |s: &&Selector| {
            !(s.matchers.contains(r#"job=~"$job""#)
                && s.matchers.contains(r#"instance=~"$instance""#))
        };
        let unscoped = names.selectors.iter().filter(is_unscoped);
        found.extend(unscoped.map(|s| {
            format!(r#"asks for `{}` without job=~"$job", instance=~"$instance""#, s.metric)
        }));
        let blank = in_legend(legend).filter(|label| !names.grouped.contains(*label));
        found.extend(
            blank.map(|label| format!("has a legend with `{label}`, by which it is not grouped")),
        );
        faults.extend(
            found.iter().map(|fault| format!("{}, {place}: a query {fault}", dashboard.uid)),
        );
    }
    for (variable, query) in dashboard.variable_queries() {
        let asked = query
            .strip_prefix("label_values(")
            .and_then(|rest| rest.strip_suffix(')')?.rsplit_once(','));
        let found = match asked {
            Some((selector, label)) => {
                unknown_names(&format!("max by ({}) ({selector})", label.trim_ascii()))
            }
            None => vec!["is not label_values(metric, label)".to_owned()],
        };
        faults.extend(found.iter().map(|fault| {
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

pub(super) fn metrics_without_panel(dashboards: &[Dashboard]) -> Vec<String> {
    let targets = dashboards.iter().flat_map(Dashboard::shown).flat_map(|panel| &panel.targets);
    let watched: BTreeSet<String> = targets
        .flat_map(|target| names(&target.expr).selectors)
        .map(|selector| family(&selector.metric).to_owned())
        .collect();
    let declared = declared_labels();
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

pub(super) fn description_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for panel in dashboard.shown() {
        let mut report = |fault: &str| {
            faults.push(format!("{}, panel \"{}\": {fault}", dashboard.uid, panel.title))
        };
        if panel.title.is_empty() || panel.description.is_empty() {
            report("it has no title or no description");
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
            report("it has no unit");
        }
        if panel.targets.is_empty() {
            report("it asks nothing");
        }
        if panel
            .targets
            .iter()
            .any(|target| ["", "__auto"].contains(&target.legend_format.as_str()))
        {
            report("a query has no legend");
        }
        let sources =
            panel.targets.iter().map(|target| &target.datasource).chain([&panel.datasource]);
        if sources.into_iter().any(|source| {
            source.pointer("/uid").and_then(|uid| uid.as_str()) != Some("${datasource}")
        }) {
            report("it is tied to one Grafana's data source; write ${datasource}");
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

pub(super) fn layout_faults(dashboard: &Dashboard) -> Vec<String> {
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

/// Labels with a value for each file of the configuration: 300 identity providers are 300 series.
const LABELS_OF_FILES: [&str; 4] = ["client", "connector", "data_provider", "service_provider"];

/// Returns the charts that would draw a series for each file, and those of durations that begin
/// below zero.
pub(super) fn chart_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for panel in dashboard.shown().filter(|panel| panel.kind != "table") {
        let is_bounded = |target: &Target| {
            target.expr.contains("topk(10, ")
                || target.expr.contains("topk(20, ")
                || target.expr.starts_with("bottomk(")
        };
        let has_many = |target: &&Target| {
            in_legend(&target.legend_format).any(|label| LABELS_OF_FILES.contains(&label))
        };
        if !panel.targets.iter().filter(has_many).all(is_bounded) {
            faults.push(format!(
                "{}, panel \"{}\": draws a series for each file; use topk",
                dashboard.uid, panel.title
            ));
        }
        let default = |name: &str| panel.field_config.pointer(&format!("/defaults/{name}"));
        let is_signed = panel.title == "Clock skew";
        let is_duration = default("unit").is_some_and(|unit| unit == "s");
        if panel.kind == "timeseries"
            && is_duration
            && !is_signed
            && default("min").is_none_or(|min| min != 0)
        {
            faults.push(format!(
                "{}, panel \"{}\": the axis of a duration begins below 0",
                dashboard.uid, panel.title
            ));
        }
    }
    faults
}

/// Returns the panels that show outcomes in other colours than `colours`.
pub(super) fn colour_faults(dashboard: &Dashboard, colours: &serde_json::Value) -> Vec<String> {
    let shows_outcomes = |panel: &&Panel| {
        panel.targets.iter().any(|target| {
            in_legend(&target.legend_format).any(|label| ["outcome", "result"].contains(&label))
        })
    };
    let is_other = |panel: &&Panel| panel.field_config.get("overrides") != Some(colours);
    dashboard
        .shown()
        .filter(|panel| panel.kind != "table")
        .filter(shows_outcomes)
        .filter(is_other)
        .map(|panel| {
            format!("{}, panel \"{}\": other colours of outcomes", dashboard.uid, panel.title)
        })
        .collect()
}
