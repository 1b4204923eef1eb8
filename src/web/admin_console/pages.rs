//! The pages of the admin console, in English. They work without script; the templates escape every
//! value.

use askama::Template;
use serde_json::Value;

use super::views::{ConfigurationView, HubStatus, LoginView};
use crate::actor::registry::{ConnectorCondition, ConnectorRow};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::{CatalogueEntry, ErrorCode};
use crate::web::pages::render_template;
use crate::web::readiness::CheckState;

/// Renders the overview.
pub(super) fn overview_page(status: &HubStatus, nonce: &str) -> String {
    render_template(&OverviewTemplate { nonce, status })
}

/// Renders the configuration in use.
pub(super) fn configuration_page(configuration: &ConfigurationView, nonce: &str) -> String {
    let mut settings = Vec::new();
    flatten_settings("", &configuration.settings, &mut settings);
    render_template(&ConfigurationTemplate { nonce, configuration, settings })
}

/// Renders one login.
pub(super) fn login_page(login: &LoginView, nonce: &str) -> String {
    render_template(&LoginTemplate { nonce, login })
}

/// Renders the page for an unknown or malformed support id.
pub(super) fn not_found_page(code: ErrorCode, nonce: &str) -> String {
    render_template(&NotFoundTemplate {
        nonce,
        entry: code.entry(),
        is_malformed: code == ErrorCode::SupportIdMalformed,
    })
}

/// Renders the sign-in form. `refused` is the error of a token that was sent.
pub(in crate::web) fn sign_in_page(next: &str, refused: Option<ErrorCode>, nonce: &str) -> String {
    render_template(&SignInTemplate { nonce, next, refused: refused.map(ErrorCode::entry) })
}

const fn platform_name(platform: Platform) -> &'static str {
    match platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    }
}

/// Appends the value of each key with the key's full path.
fn flatten_settings(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten_settings(&key, value, rows);
            }
        }
        Value::Null => rows.push((prefix.to_owned(), "not set".to_owned())),
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        other => rows.push((prefix.to_owned(), other.to_string())),
    }
}

#[derive(Template)]
#[template(path = "admin_overview.html")]
struct OverviewTemplate<'a> {
    nonce: &'a str,
    status: &'a HubStatus,
}

impl OverviewTemplate<'_> {
    fn platform(&self) -> &'static str {
        platform_name(self.status.platform)
    }

    /// Returns the overall state in one word.
    fn overall_state(&self) -> &'static str {
        match self.status.checks.iter().map(|check| check.state).max() {
            _ if !self.status.ready => "not ready",
            Some(CheckState::Degraded | CheckState::NotReady) => "degraded",
            Some(CheckState::Ok) | None => "healthy",
        }
    }
}

impl OverviewTemplate<'_> {
    fn state_class(&self, row: &ConnectorRow) -> &'static str {
        match row.condition() {
            ConnectorCondition::Well => "",
            ConnectorCondition::Down => " error",
            ConnectorCondition::Failing
            | ConnectorCondition::Recovering
            | ConnectorCondition::Off
            | ConnectorCondition::Blocked => " warning",
        }
    }
}

impl ConnectorRow {
    fn english_name(&self) -> &str {
        crate::config::text_in_language(&self.name, "en")
    }

    /// Returns failures and latency of the calls in the last minute.
    fn recent_calls(&self) -> String {
        let Some(health) = &self.health else { return String::new() };
        let within = health
            .p99_seconds
            .map(|seconds| format!(", 99 % within {seconds:.3} s"))
            .unwrap_or_default();
        format!("{:.0} % failed{within}", health.failure_ratio * 100.0)
    }

    /// Returns why calls failed in the last minute, and the clock skew.
    fn findings(&self) -> String {
        let Some(health) = &self.health else { return String::new() };
        let mut findings: Vec<String> =
            health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")).collect();
        findings.extend(
            health
                .skew_seconds
                .filter(|skew| skew.abs() > 2)
                .map(|skew| format!("clock skew {skew:+} s")),
        );
        if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
    }
}

#[derive(Template)]
#[template(path = "admin_config.html")]
struct ConfigurationTemplate<'a> {
    nonce: &'a str,
    configuration: &'a ConfigurationView,
    settings: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "admin_login.html")]
struct LoginTemplate<'a> {
    nonce: &'a str,
    login: &'a LoginView,
}

impl LoginTemplate<'_> {
    fn platform(&self) -> &'static str {
        platform_name(self.login.platform)
    }

    fn state_class(&self) -> &'static str {
        match self.login.state.as_str() {
            "refused" | "failed" | "no login" => " error",
            "granted" => "",
            _ if self.login.refusal.is_some() || self.login.state == "expired" => " warning",
            _ => "",
        }
    }

    /// Removes the Markdown code marks of the catalogue's sentences.
    fn without_code_marks(&self, sentence: &str) -> String {
        sentence.replace('`', "")
    }
}

#[derive(Template)]
#[template(path = "admin_not_found.html")]
struct NotFoundTemplate<'a> {
    nonce: &'a str,
    entry: &'static CatalogueEntry,
    is_malformed: bool,
}

#[derive(Template)]
#[template(path = "admin_sign_in.html")]
struct SignInTemplate<'a> {
    nonce: &'a str,
    next: &'a str,
    refused: Option<&'static CatalogueEntry>,
}
