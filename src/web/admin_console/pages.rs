//! The window's pages, for operators, in English. Each is whole without script; every value is escaped by its template.

use askama::Template;
use serde_json::Value;

use super::{Configuration, LoginTold, Status};
use crate::actor::registry::{ConnectorRow, ConnectorStanding};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::{Entry, ErrorCode};
use crate::web::private::CheckState;

pub(super) fn overview(status: &Status, nonce: &str) -> String {
    draw(&OverviewPage { nonce, status })
}

pub(super) fn configuration(told: &Configuration, nonce: &str) -> String {
    let mut settings = Vec::new();
    flatten("", &told.settings, &mut settings);
    draw(&ConfigurationPage { nonce, told, settings })
}

pub(super) fn login(told: &LoginTold, nonce: &str) -> String {
    draw(&LoginPage { nonce, told })
}

pub(super) fn not_found(code: ErrorCode, nonce: &str) -> String {
    draw(&NotFoundPage {
        nonce,
        entry: code.entry(),
        is_malformed: code == ErrorCode::SupportIdMalformed,
    })
}

/// `refused` of a token that was sent.
pub(in crate::web) fn sign_in(next: &str, refused: Option<ErrorCode>, nonce: &str) -> String {
    draw(&SignInPage { nonce, next, refused: refused.map(ErrorCode::entry) })
}

fn draw(template: &impl Template) -> String {
    // Only a formatter of ours could fail.
    template
        .render()
        .unwrap_or_else(|error| format!("<!doctype html><title>Y000500</title><p>Y000500: {error}"))
}

const fn platform(platform: Platform) -> &'static str {
    match platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    }
}

/// By the path of each key, what it holds.
fn flatten(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, value, rows);
            }
        }
        Value::Null => rows.push((prefix.to_owned(), "not set".to_owned())),
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        other => rows.push((prefix.to_owned(), other.to_string())),
    }
}

#[derive(Template)]
#[template(path = "admin_overview.html")]
struct OverviewPage<'a> {
    nonce: &'a str,
    status: &'a Status,
}

impl OverviewPage<'_> {
    fn platform(&self) -> &'static str {
        platform(self.status.platform)
    }

    /// In one word.
    fn verdict(&self) -> &'static str {
        match self.status.checks.iter().map(|check| check.state).max() {
            _ if !self.status.ready => "not ready",
            Some(CheckState::Degraded | CheckState::NotReady) => "degraded",
            Some(CheckState::Ok) | None => "well",
        }
    }
}

impl OverviewPage<'_> {
    fn class(&self, row: &ConnectorRow) -> &'static str {
        match row.standing() {
            ConnectorStanding::Well => "",
            ConnectorStanding::Down => " ill",
            ConnectorStanding::Failing
            | ConnectorStanding::Tried
            | ConnectorStanding::Off
            | ConnectorStanding::Blocked => " odd",
        }
    }
}

impl ConnectorRow {
    fn english_name(&self) -> &str {
        crate::config::in_language(&self.name, "en")
    }

    /// The calls of the last minute.
    fn calls(&self) -> String {
        let Some(health) = &self.health else { return String::new() };
        let within = health
            .p99_seconds
            .map(|seconds| format!(", 99 % within {seconds:.3} s"))
            .unwrap_or_default();
        format!("{:.0} % failed{within}", health.failure_ratio * 100.0)
    }

    /// Why calls failed in the last minute, and how far its clock is away.
    fn findings(&self) -> String {
        let Some(health) = &self.health else { return String::new() };
        let mut told: Vec<String> =
            health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")).collect();
        told.extend(
            health
                .skew_seconds
                .filter(|skew| skew.abs() > 2)
                .map(|skew| format!("its clock is {skew:+} s away")),
        );
        if told.is_empty() { "none".to_owned() } else { told.join(", ") }
    }
}

#[derive(Template)]
#[template(path = "admin_config.html")]
struct ConfigurationPage<'a> {
    nonce: &'a str,
    told: &'a Configuration,
    settings: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "admin_login.html")]
struct LoginPage<'a> {
    nonce: &'a str,
    told: &'a LoginTold,
}

impl LoginPage<'_> {
    fn platform(&self) -> &'static str {
        platform(self.told.platform)
    }

    fn class(&self) -> &'static str {
        match self.told.state.as_str() {
            "refused" | "failed" | "no login" => " ill",
            "granted" => "",
            _ if self.told.refusal.is_some() || self.told.state == "expired" => " odd",
            _ => "",
        }
    }

    /// The catalogue's sentences mark code as Markdown does.
    fn plain(&self, sentence: &str) -> String {
        sentence.replace('`', "")
    }
}

#[derive(Template)]
#[template(path = "admin_not_found.html")]
struct NotFoundPage<'a> {
    nonce: &'a str,
    entry: &'static Entry,
    is_malformed: bool,
}

#[derive(Template)]
#[template(path = "admin_sign_in.html")]
struct SignInPage<'a> {
    nonce: &'a str,
    next: &'a str,
    refused: Option<&'static Entry>,
}
