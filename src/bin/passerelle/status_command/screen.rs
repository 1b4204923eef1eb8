//! What `passerelle top` shows, as plain lines.

use std::fmt::Write as _;

use passerelle::actor::registry::{ConnectorRow, ConnectorStanding};
use passerelle::web::private::CheckState;

use super::reading::Told;

/// A screen has room for so many of each; the worst come first.
const CONNECTORS: usize = 12;
const ENDPOINTS: usize = 8;

pub fn draw(told: &Told) -> String {
    let mut text = String::new();
    // Writing to a String can't fail.
    let _ok = write(&mut text, told);
    // Names come from files: none of them speaks to the terminal.
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn write(text: &mut String, told: &Told) -> std::fmt::Result {
    let verdict = match told.checks.iter().map(|check| check.state).max() {
        _ if !told.ready => "NOT READY",
        Some(CheckState::Degraded | CheckState::NotReady) => "DEGRADED",
        Some(CheckState::Ok) | None => "well",
    };
    writeln!(text, "passerelle {} · {} · {}", told.version, told.issuer, told.at)?;
    writeln!(
        text,
        "The hub is {verdict}. Rates are of the last {:.0} s; so are times, or since the start where nobody asked.",
        told.over_seconds
    )?;
    for check in told.checks.iter().filter(|check| check.state != CheckState::Ok) {
        for finding in &check.findings {
            let mend =
                finding.mend.as_ref().map(|mend| format!("; mend: {mend}")).unwrap_or_default();
            writeln!(text, "  {} {}: {}{mend}", check.name, check.state.as_str(), finding.what)?;
        }
    }
    writeln!(text, "\nLogins           {:>8.1}/s", told.logins_per_second)?;
    let outcomes: Vec<String> =
        told.outcomes.iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(
        text,
        "  ended          {}",
        if outcomes.is_empty() { "none yet".to_owned() } else { outcomes.join(" · ") }
    )?;
    let rows: Vec<String> =
        told.live.rows().iter().map(|(name, count)| format!("{name} {count}")).collect();
    writeln!(text, "  on their way   {}", rows.join(" · "))?;
    writeln!(text, "\n{:<44} {:>9} {:>10} {:>10}", "Endpoint", "per s", "p50", "p99")?;
    for one in told.endpoints.iter().take(ENDPOINTS) {
        let (p50, p99) = (seconds(one.p50_seconds), seconds(one.p99_seconds));
        writeln!(text, "{:<44} {:>9.1} {p50:>10} {p99:>10}", one.endpoint, one.per_second)?;
    }
    connectors(text, told)?;
    writeln!(text, "\n{:<44} {:>9} {:>10} {:>10}", "Store", "held", "places", "full")?;
    for row in &told.store {
        writeln!(
            text,
            "{:<44} {:>9} {:>10} {:>8} %",
            row.records,
            row.held,
            row.places,
            row.percent()
        )?;
    }
    Ok(())
}

fn connectors(text: &mut String, told: &Told) -> std::fmt::Result {
    writeln!(
        text,
        "\n{:<32} {:<11} {:>9} {:>10}  findings",
        "Identity provider", "state", "failed", "p99"
    )?;
    let mut rows: Vec<&ConnectorRow> = told.connectors.iter().collect();
    rows.sort_by_key(|row| (row.standing() == ConnectorStanding::Well, row.id.clone()));
    for row in rows.iter().take(CONNECTORS) {
        let health = row.health.as_ref();
        let failed = health
            .map_or_else(String::new, |health| format!("{:.0} %", health.failure_ratio * 100.0));
        let p99 = seconds(health.and_then(|health| health.p99_seconds));
        let reasons = health.map(|health| {
            health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")).collect()
        });
        let reasons: Vec<String> = reasons.unwrap_or_default();
        writeln!(
            text,
            "{:<32} {:<11} {failed:>9} {p99:>10}  {}",
            row.id.as_str(),
            row.standing().as_str(),
            reasons.join(", ")
        )?;
    }
    if rows.len() > CONNECTORS {
        writeln!(text, "… and {} more: `passerelle idp list`", rows.len() - CONNECTORS)?;
    }
    Ok(())
}

fn seconds(within: Option<f64>) -> String {
    match within {
        None => "–".to_owned(),
        Some(within) if within < 1.0 => format!("{:.1} ms", within * 1000.0),
        Some(within) => format!("{within:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use passerelle::web::private::{CheckRow, Finding};

    use super::*;

    fn told() -> Told {
        let reading = super::super::reading::tests::status();
        Told {
            over_seconds: 1.0,
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
    fn a_screen_says_first_whether_it_is_well() {
        let text = draw(&told());
        assert!(
            text.contains("The hub is well.")
                && text.contains("12.3/s")
                && text.contains("choosing 3"),
            "{text}"
        );
        let finding =
            Finding { what: "connectors/a.toml is bad".into(), mend: Some("correct it".into()) };
        let check = CheckRow {
            name: "config".into(),
            state: CheckState::Degraded,
            findings: vec![finding],
        };
        let text = draw(&Told { checks: vec![check], ..told() });
        assert!(
            text.contains("DEGRADED")
                && text.contains("config degraded: connectors/a.toml is bad; mend: correct it"),
            "{text}"
        );
        assert!(draw(&Told { ready: false, ..told() }).contains("NOT READY"));
    }

    #[test]
    fn escape_sequences_in_names_do_not_reach_the_terminal() {
        let finding = Finding { what: "\x1b]0;owned\x07\x1b[2J\r\u{9b}31m".into(), mend: None };
        let check = CheckRow {
            name: "config".into(),
            state: CheckState::Degraded,
            findings: vec![finding],
        };
        let text = draw(&Told { checks: vec![check], ..told() });
        assert!(
            text.contains("owned") && !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
}
