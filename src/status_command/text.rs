//! Renders the output of `passerelle status` as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use passerelle_admin::console::HubStatus;
use passerelle_admin::{fold_problems, readable};
use passerelle_hub::registry::ConnectorRow;

use super::StatusView;

/// Maximum number of rows shown; unhealthy connectors come first.
const MAX_CONNECTORS: usize = 12;

/// Renders the status without control characters.
pub(super) fn render_status(view: &StatusView) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ok = write_status(&mut text, view);
    // Names come from files and must not send escape sequences to the terminal.
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn write_status(text: &mut String, view: &StatusView) -> std::fmt::Result {
    let status = &view.status;
    writeln!(text, "passerelle {} · {} · {}", status.version, status.issuer, status.at)?;
    writeln!(
        text,
        "{}. Ended logins cover the last {:.0} s.",
        status.headline(),
        view.interval_seconds
    )?;
    write_problems(text, status)?;
    writeln!(text, "\nLogins           {:>8.1}/s", view.logins_per_second)?;
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for (outcome, count) in view.recent_logins.values().flatten() {
        *outcomes.entry(outcome).or_default() += count;
    }
    let outcomes: Vec<String> =
        outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let ended = if outcomes.is_empty() { "none yet".to_owned() } else { outcomes.join(" · ") };
    writeln!(text, "  ended          {ended}")?;
    let rows: Vec<String> =
        status.live.rows().iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(text, "  in progress    {}", rows.join(" · "))?;
    write_connectors(text, view)?;
    writeln!(text, "\n{:<44} {:>13} {:>13} {:>6}", "Store", "used", "capacity", "full")?;
    for row in &status.store {
        writeln!(
            text,
            "{:<44} {:>13} {:>13} {:>4} %",
            row.records,
            row.used_text(),
            row.capacity_text(),
            row.percent_used()
        )?;
    }
    for table in &status.extensions {
        writeln!(text, "\n{}", table.heading)?;
        for row in &table.rows {
            writeln!(text, "  {}", row.join("  "))?;
        }
        writeln!(text, "  {}", table.advice)?;
    }
    Ok(())
}

/// Writes the problems in the words and the order of the console.
fn write_problems(text: &mut String, status: &HubStatus) -> std::fmt::Result {
    let (shown, folded) = fold_problems(&status.problems);
    for problem in shown {
        let since = readable::relative_time(&problem.since, &status.at);
        write!(
            text,
            "  {} {}: {} (began {since}",
            problem.check,
            problem.state.as_str(),
            problem.finding
        )?;
        if !problem.cost().is_empty() {
            write!(text, "; {}", problem.cost())?;
        }
        writeln!(text, ")")?;
    }
    if !folded.is_empty() {
        writeln!(text, "  … and {} more problems: `passerelle status --json`", folded.len())?;
    }
    Ok(())
}

fn write_connectors(text: &mut String, view: &StatusView) -> std::fmt::Result {
    writeln!(
        text,
        "\n{:<32} {:<11} {:>9} {:>9} {:>12} {:>10}  findings",
        "Identity provider", "state", "logins/s", "failed", "calls failed", "p99"
    )?;
    let mut rows: Vec<&ConnectorRow> = view.status.connectors.iter().collect();
    rows.sort_by_key(|row| (row.is_healthy(), row.id.clone()));
    for row in rows.iter().take(MAX_CONNECTORS) {
        let health = row.health.as_ref();
        let calls_failed = health
            .map_or_else(String::new, |health| format!("{:.0} %", health.failure_ratio * 100.0));
        let (rate, failed) = login_figures(view, row);
        let p99 = format_seconds(health.and_then(|health| health.p99_seconds));
        let reasons = health.map(|health| {
            health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")).collect()
        });
        let reasons: Vec<String> = reasons.unwrap_or_default();
        let reasons: Vec<String> = row.invalid_file.iter().cloned().chain(reasons).collect();
        writeln!(
            text,
            "{:<32} {:<11} {rate:>9.1} {failed:>9} {calls_failed:>12} {p99:>10}  {}",
            row.id.as_str(),
            row.state.as_str(),
            reasons.join(", ")
        )?;
    }
    if rows.len() > MAX_CONNECTORS {
        writeln!(text, "… and {} more: `passerelle idp list`", rows.len() - MAX_CONNECTORS)?;
    }
    Ok(())
}

/// Returns the rate of a connector's ended logins, and the number that ended with an error.
fn login_figures(view: &StatusView, row: &ConnectorRow) -> (f64, u64) {
    let Some(outcomes) = view.recent_logins.get(row.id.as_str()) else { return (0.0, 0) };
    let failed = ["failed", "refused"].iter().filter_map(|outcome| outcomes.get(*outcome)).sum();
    #[expect(clippy::cast_precision_loss, reason = "logins of a minute")]
    let ended = outcomes.values().sum::<u64>() as f64;
    (ended / view.interval_seconds, failed)
}

fn format_seconds(within: Option<f64>) -> String {
    match within {
        None => "–".to_owned(),
        Some(within) if within < 1.0 => format!("{:.1} ms", within * 1000.0),
        Some(within) => format!("{within:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use passerelle_admin::Problem;
    use passerelle_admin::readiness::{CheckFinding, CheckState};

    use super::super::tests;
    use super::*;

    fn view() -> StatusView {
        tests::view(&[], &[("a", "granted", 120), ("b", "failed", 3), ("(none)", "granted", 1)])
    }

    fn config_problem(finding: CheckFinding) -> Problem {
        Problem {
            check: "config".into(),
            state: CheckState::Degraded,
            finding,
            since: "2026-12-31T23:49:00Z".into(),
            lost_logins_per_minute: Some(12.4),
        }
    }

    #[test]
    fn the_text_begins_with_the_state_of_the_hub() {
        let text = render_status(&view());
        assert!(
            text.contains("The hub is healthy.")
                && text.contains("12.4/s")
                && text.contains("ended          failed 3 · granted 121")
                && text.contains("choosing 3"),
            "{text}"
        );
        let finding = CheckFinding::new("connectors/a.toml is invalid", "correct it");
        let mut view = view();
        view.status.problems = vec![config_problem(finding)];
        let text = render_status(&view);
        assert!(
            text.contains("The hub is degraded.")
                && text.contains(
                    "config degraded: connectors/a.toml is invalid; fix: correct it \
                     (began 11 minutes ago; about 12 logins per minute are missing)"
                ),
            "{text}"
        );
        view.status.ready = false;
        assert!(render_status(&view).contains("The hub is not ready."));
        let refused = CheckFinding::no_login_admitted("the disk is full", "free space");
        view.status.problems.push(config_problem(refused));
        let text = render_status(&view);
        assert!(
            text.contains("\nNo login is admitted. Ended")
                && text.contains("No login is admitted: the disk is full; fix: free space"),
            "{text}"
        );
    }

    #[test]
    fn escape_sequences_in_names_do_not_reach_the_terminal() {
        let finding = CheckFinding::new("\x1b]0;owned\x07\x1b[2J\r\u{9b}31m", "\x1b[2J");
        let mut view = view();
        view.status.problems = vec![config_problem(finding)];
        let text = render_status(&view);
        assert!(
            text.contains("owned") && !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
}
