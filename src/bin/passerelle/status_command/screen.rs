//! Renders the output of `passerelle status` as text.

use std::fmt::Write as _;

use passerelle::actor::registry::{ConnectorCondition, ConnectorRow};
use passerelle::web::readiness::CheckState;

use super::scrape::StatusView;

/// Maximum of rows shown; unhealthy connectors and busy endpoints come first.
const MAX_CONNECTORS: usize = 12;
const MAX_ENDPOINTS: usize = 8;

/// Renders the status without control characters.
pub fn render_screen(view: &StatusView) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ok = write_screen(&mut text, view);
    // Names come from files and must not send escape sequences to the terminal.
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn write_screen(text: &mut String, view: &StatusView) -> std::fmt::Result {
    let state = match view.checks.iter().map(|check| check.state).max() {
        _ if !view.ready => "NOT READY",
        Some(CheckState::Degraded | CheckState::NotReady) => "DEGRADED",
        Some(CheckState::Ok) | None => "healthy",
    };
    writeln!(text, "passerelle {} · {} · {}", view.version, view.issuer, view.at)?;
    writeln!(
        text,
        "The hub is {state}. Rates and times cover the last {:.0} s; times without requests cover the time since the start.",
        view.interval_seconds
    )?;
    for check in view.checks.iter().filter(|check| check.state != CheckState::Ok) {
        for finding in &check.findings {
            let fix = finding.fix.as_ref().map(|fix| format!("; fix: {fix}")).unwrap_or_default();
            writeln!(text, "  {} {}: {}{fix}", check.name, check.state.as_str(), finding.message)?;
        }
    }
    writeln!(text, "\nLogins           {:>8.1}/s", view.logins_per_second)?;
    let outcomes: Vec<String> =
        view.outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(
        text,
        "  ended          {}",
        if outcomes.is_empty() { "none yet".to_owned() } else { outcomes.join(" · ") }
    )?;
    let rows: Vec<String> =
        view.live.rows().iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(text, "  in progress    {}", rows.join(" · "))?;
    writeln!(text, "\n{:<44} {:>9} {:>10} {:>10}", "Endpoint", "per s", "p50", "p99")?;
    for one in view.endpoints.iter().take(MAX_ENDPOINTS) {
        let (p50, p99) = (format_seconds(one.p50_seconds), format_seconds(one.p99_seconds));
        writeln!(text, "{:<44} {:>9.1} {p50:>10} {p99:>10}", one.endpoint, one.per_second)?;
    }
    write_connectors(text, view)?;
    writeln!(text, "\n{:<44} {:>9} {:>10} {:>10}", "Store", "records", "capacity", "used")?;
    for row in &view.store {
        writeln!(
            text,
            "{:<44} {:>9} {:>10} {:>8} %",
            row.records,
            row.used,
            row.capacity,
            row.percent_used()
        )?;
    }
    Ok(())
}

fn write_connectors(text: &mut String, view: &StatusView) -> std::fmt::Result {
    writeln!(
        text,
        "\n{:<32} {:<11} {:>9} {:>10}  findings",
        "Identity provider", "state", "failed", "p99"
    )?;
    let mut rows: Vec<&ConnectorRow> = view.connectors.iter().collect();
    rows.sort_by_key(|row| (row.condition() == ConnectorCondition::Well, row.id.clone()));
    for row in rows.iter().take(MAX_CONNECTORS) {
        let health = row.health.as_ref();
        let failed = health
            .map_or_else(String::new, |health| format!("{:.0} %", health.failure_ratio * 100.0));
        let p99 = format_seconds(health.and_then(|health| health.p99_seconds));
        let reasons = health.map(|health| {
            health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")).collect()
        });
        let reasons: Vec<String> = reasons.unwrap_or_default();
        writeln!(
            text,
            "{:<32} {:<11} {failed:>9} {p99:>10}  {}",
            row.id.as_str(),
            row.condition().as_str(),
            reasons.join(", ")
        )?;
    }
    if rows.len() > MAX_CONNECTORS {
        writeln!(text, "… and {} more: `passerelle idp list`", rows.len() - MAX_CONNECTORS)?;
    }
    Ok(())
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
    use passerelle::web::readiness::{CheckFinding, CheckResult};

    use super::*;

    fn view() -> StatusView {
        let reading = super::super::scrape::tests::status();
        StatusView {
            interval_seconds: 1.0,
            version: reading.version,
            issuer: reading.issuer,
            at: reading.at,
            ready: true,
            checks: Vec::new(),
            logins_per_second: 12.34,
            outcomes: [("granted".to_owned(), 12)].into(),
            live: reading.live,
            endpoints: Vec::new(),
            connectors: Vec::new(),
            store: Vec::new(),
        }
    }

    #[test]
    fn the_screen_begins_with_the_state_of_the_hub() {
        let text = render_screen(&view());
        assert!(
            text.contains("The hub is healthy.")
                && text.contains("12.3/s")
                && text.contains("choosing 3"),
            "{text}"
        );
        let finding = CheckFinding {
            message: "connectors/a.toml is invalid".into(),
            fix: Some("correct it".into()),
        };
        let check = CheckResult {
            name: "config".into(),
            state: CheckState::Degraded,
            findings: vec![finding],
        };
        let text = render_screen(&StatusView { checks: vec![check], ..view() });
        assert!(
            text.contains("DEGRADED")
                && text.contains("config degraded: connectors/a.toml is invalid; fix: correct it"),
            "{text}"
        );
        assert!(render_screen(&StatusView { ready: false, ..view() }).contains("NOT READY"));
    }

    #[test]
    fn escape_sequences_in_names_do_not_reach_the_terminal() {
        let finding =
            CheckFinding { message: "\x1b]0;owned\x07\x1b[2J\r\u{9b}31m".into(), fix: None };
        let check = CheckResult {
            name: "config".into(),
            state: CheckState::Degraded,
            findings: vec![finding],
        };
        let text = render_screen(&StatusView { checks: vec![check], ..view() });
        assert!(
            text.contains("owned") && !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
}
