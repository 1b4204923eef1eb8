//! Defines `notices.toml`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The notices file: `config/notices.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticesFile {
    /// Notices in display order, shown above the choice, sign-in, consent and error pages.
    #[serde(default)]
    pub notice: Vec<NoticeTable>,
}

/// A notice to all users.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeTable {
    /// Plain text by language: fr = "…", en = "…"; at most 300 characters each.
    pub text: BTreeMap<String, String>,
    /// Start, inclusive, for example 2027-03-01T20:00:00+01:00. Default: immediately.
    #[serde(default)]
    pub from: Option<String>,
    /// End, exclusive. Default: until the notice is removed.
    #[serde(default)]
    pub until: Option<String>,
    /// Severity, which determines its look.
    #[serde(default)]
    pub severity: NoticeSeverity,
    /// Absolute https URL of a page with details.
    #[serde(default)]
    pub link: Option<String>,
}

/// Severity of a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoticeSeverity {
    /// Information.
    #[default]
    Info,
    /// Warning.
    Warning,
}
