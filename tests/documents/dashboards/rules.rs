//! Recording rules and alerts, compared with the metrics that the code declares and with the
//! runbooks. `promtool test rules` checks when they fire (tests/peers/prometheus.test.mjs).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{assert_none, declared_labels, family, names, unknown_among};

/// A rule: its `- record:` or `- alert:`, and the keys below it.
struct Rule {
    name: String,
    is_alert: bool,
    expression: String,
    lines: Vec<String>,
}

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Reads the rules of a file. Each rule begins with its name; its expression follows `expr:` or is
/// below `expr: |`.
fn rules(file: &str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut in_expression = false;
    for line in text(file).lines().map(str::trim_ascii).filter(|line| !line.starts_with('#')) {
        let begun = [("- record: ", false), ("- alert: ", true)];
        if let Some((name, is_alert)) =
            begun.iter().find_map(|(key, is)| Some((line.strip_prefix(key)?, *is)))
        {
            in_expression = false;
            rules.push(Rule {
                name: name.to_owned(),
                is_alert,
                expression: String::new(),
                lines: Vec::new(),
            });
            continue;
        }
        let Some(rule) = rules.last_mut() else { continue };
        if let Some(expression) = line.strip_prefix("expr:") {
            in_expression = true;
            rule.expression.push_str(expression.trim_ascii().trim_start_matches('|'));
        } else if in_expression && !["for:", "labels:"].iter().any(|key| line.starts_with(key)) {
            rule.expression.push_str(line);
            rule.expression.push(' ');
        } else {
            in_expression = false;
            rule.lines.push(line.to_owned());
        }
    }
    rules
}

fn all() -> Vec<Rule> {
    ["recording", "alerts"]
        .iter()
        .flat_map(|name| rules(&format!("dashboards/rules/{name}.yaml")))
        .collect()
}

#[test]
fn rules_name_only_what_the_code_declares() {
    let (rules, mut known) = (all(), declared_labels());
    assert!(rules.iter().any(|rule| rule.is_alert) && rules.iter().any(|rule| !rule.is_alert));
    for rule in rules.iter().filter(|rule| !rule.is_alert) {
        known.insert(rule.name.clone(), names(&rule.expression).grouped);
    }
    let faults = |rule: &Rule| {
        unknown_among(&known, &rule.expression)
            .into_iter()
            .map(|fault| format!("{}: {fault}", rule.name))
            .collect::<Vec<_>>()
    };
    assert_none(&rules.iter().flat_map(faults).collect::<Vec<_>>());
    // The check can fail.
    assert!(!unknown_among(&known, "sum by (connector) (passerelle_nothing_total)").is_empty());
}

#[test]
fn each_alert_says_what_is_wrong_has_a_runbook_and_a_test_both_ways() {
    let (runbooks, tests) = (text("docs/runbooks.md"), text("dashboards/rules/tests/alerts.yaml"));
    let headings: BTreeSet<&str> =
        runbooks.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let alerts: Vec<Rule> = all().into_iter().filter(|rule| rule.is_alert).collect();
    let mut faults = Vec::new();
    for Rule { name, lines, .. } in &alerts {
        let has = |key: &str| lines.iter().any(|line| line.starts_with(key));
        let runbook = format!(
            "runbook_url: https://docs.example/runbooks.html#{}",
            name.to_ascii_lowercase()
        );
        let wanted = [
            (has("summary:") && has("description:"), "a summary and a description"),
            (has("severity: critical") || has("severity: warning"), "a severity"),
            (lines.contains(&runbook), "an annotation that leads to its runbook"),
            (headings.contains(name.as_str()), "a section in docs/runbooks.md"),
            (tests.contains(&format!("name: {name} fires")), "a test that it fires"),
            (tests.contains(&format!("name: {name} is silent")), "a test that it is silent"),
        ];
        faults.extend(
            wanted.iter().filter(|(is, _)| !is).map(|(_, what)| format!("{name} lacks {what}")),
        );
    }
    let named: BTreeSet<&str> = alerts.iter().map(|rule| rule.name.as_str()).collect();
    faults.extend(
        headings
            .difference(&named)
            .map(|gone| format!("docs/runbooks.md has a section of {gone}, which is no alert")),
    );
    assert_none(&faults);
}

/// Prometheus would compute an unused recording rule without a purpose.
#[test]
fn recorded_names_are_used_or_shown() {
    let rules = all();
    let used: BTreeSet<String> = rules
        .iter()
        .flat_map(|rule| names(&rule.expression).selectors)
        .map(|s| family(&s.metric).to_owned())
        .collect();
    let idle = rules
        .iter()
        .filter(|rule| !rule.is_alert && !used.contains(&rule.name))
        .map(|rule| rule.name.clone());
    assert_none(&idle.collect::<Vec<_>>());
}
