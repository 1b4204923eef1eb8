//! Faults of a dashboard.

use super::*;

pub(super) fn query_faults(dashboard: &Dashboard) -> Vec<String> {
    let mut faults = Vec::new();
    for panel in dashboard.shown() {
        for target in &panel.targets {
            let mut found = unknown_names(&target.expr);
            let names = names(&target.expr);
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
            let blank =
                in_legend(&target.legend_format).filter(|label| !names.grouped.contains(*label));
            found.extend(
                blank.map(|label| {
                    format!("has a legend with `{label}`, by which it is not grouped")
                }),
            );
            faults.extend(found.iter().map(|fault| {
                format!("{}, panel \"{}\": a query {fault}", dashboard.uid, panel.title)
            }));
        }
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
