//! What several pages show: numbers, links, and an identity provider in a row of a table.

use std::borrow::Borrow;

use url::form_urlencoded;

use super::PageContext;
use crate::console::english_name;
use crate::readable;
use passerelle_hub::registry::{ConnectorRow, ConnectorState};

/// Methods of the templates, which pass the page to each macro.
#[expect(clippy::unused_self, reason = "a template calls a method of what it has")]
impl PageContext {
    /// Returns a count, readable.
    pub(super) fn count(&self, count: impl Borrow<u64>) -> String {
        readable::count(*count.borrow())
    }

    /// Returns the address of the page of a service provider.
    pub(super) fn service_provider_link(&self, id: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        format!("/admin/service-providers?{}", query.append_pair("client_id", id).finish())
    }

    /// Removes the Markdown code marks of the catalogue's sentences.
    pub(super) fn without_code_marks(&self, sentence: &str) -> String {
        sentence.replace('`', "")
    }

    /// Returns the name for operators.
    pub(super) fn english_name(&self, row: &ConnectorRow) -> String {
        english_name(&row.name)
    }

    /// Returns failures and latency of the calls in the last minute.
    pub(super) fn recent_calls(&self, row: &ConnectorRow) -> String {
        let Some(health) = &row.health else { return String::new() };
        let within = health
            .p99_seconds
            .map(|seconds| format!(", 99 % within {seconds:.3} s"))
            .unwrap_or_default();
        format!("{:.0} % failed{within}", health.failure_ratio * 100.0)
    }

    /// Returns since when the hub can't reach it, if that is so.
    pub(super) fn unreachable_since<'a>(&self, row: &'a ConnectorRow) -> Option<&'a str> {
        Some(row.health.as_ref()?.unreachable.as_ref()?.since.as_str())
    }

    /// Returns what is wrong with the file, whether it is slow, why calls of the last minute failed,
    /// and the clock skew.
    pub(super) fn findings(&self, row: &ConnectorRow) -> String {
        let invalid = row.invalid_file.iter();
        let mut findings: Vec<String> = invalid
            .map(|problem| format!("the last valid version of its file is in use: {problem}"))
            .collect();
        let Some(health) = &row.health else { return findings.concat() };
        findings.extend(row.is_slow().then(|| "half of its calls take more than 3 s".to_owned()));
        let unreachable = health.unreachable.as_ref();
        let others = health
            .reasons
            .iter()
            .filter(|(code, _)| unreachable.is_none_or(|unreachable| unreachable.code != *code));
        findings.extend(others.map(|(code, count)| format!("{code} ×{count}")));
        findings.extend(unreachable.map(|unreachable| {
            let reason = unreachable.reason.trim_end_matches('.');
            let counted = health.reasons.iter().find(|(code, _)| *code == unreachable.code);
            let times = counted.map(|(_, count)| format!(" ×{count}")).unwrap_or_default();
            format!("{reason} ({}{times})", unreachable.code)
        }));
        findings.extend(
            health
                .skew_seconds
                .filter(|skew| skew.abs() > 2)
                .map(|skew| format!("clock skew {skew:+} s")),
        );
        if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
    }

    /// Returns the CSS class of the state.
    pub(super) fn state_class(&self, row: &ConnectorRow) -> &'static str {
        if row.is_healthy() {
            ""
        } else if row.state == ConnectorState::Down {
            " error"
        } else {
            " warning"
        }
    }
}
