//! Notices to all users, each with a validity period: what an operator may write, in
//! `config/notices.toml` or on the running hub. The file is optional and reloaded while the hub runs.
//!
//! Does not store notices, read the clock or render pages.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::localized_text;
use super::validity::{Validity, ValidityStatus, format_rfc3339};
use passerelle_protocol::env::Timestamp;
use passerelle_settings::{Diagnostic, FieldDiagnostic, FileCheck, SourceFile};

/// Content in place of a missing file.
pub const ABSENT_NOTICES_FILE: &str = "# absent: no notices\n";
const MAX_TEXT_CHARS: usize = 300;
const MAX_LINK_BYTES: usize = 300;
/// Maximum number of notices of the file, and of those that operators publish on the running hub, so
/// that the page's own content stays visible.
pub const MAX_NOTICES: usize = 5;

/// The notices file: `config/notices.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticesFile {
    /// Notices in display order, shown above the choice, sign-in, consent and error pages.
    #[serde(default)]
    pub notice: Vec<NoticeTable>,
}

/// A notice to all users.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
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

/// A notice with checked texts, dates and link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Text, by language.
    pub text: BTreeMap<String, String>,
    /// Severity.
    pub severity: NoticeSeverity,
    /// URL of a page with details.
    pub link: Option<String>,
    /// When it is shown.
    pub validity: Validity,
}

impl Notice {
    /// Checks the fields and creates a notice.
    ///
    /// # Errors
    /// Returns a diagnostic for each invalid field.
    pub fn new(table: NoticeTable) -> Result<Self, Vec<FieldDiagnostic>> {
        let NoticeTable { text, from, until, severity, link } = table;
        let mut diagnostics =
            localized_text::required_text_diagnostics("text", &text, MAX_TEXT_CHARS);
        // Only https: a `javascript:` URL would run on the hub's pages.
        let is_page = |link: &String| {
            link.len() <= MAX_LINK_BYTES
                && Url::parse(link).is_ok_and(|url| url.scheme() == "https")
        };
        if link.as_ref().is_some_and(|link| !is_page(link)) {
            let fix = "start with https:// and a host name";
            diagnostics.push(FieldDiagnostic::new("link", "is not an https URL", fix));
        }
        match Validity::parse_range(("from", from.as_deref()), ("until", until.as_deref())) {
            Ok(validity) if diagnostics.is_empty() => {
                return Ok(Self { text, severity, link, validity });
            }
            Ok(_) => {}
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
        Err(diagnostics)
    }

    /// Returns the fields as an operator writes them.
    #[must_use]
    pub fn to_table(&self) -> NoticeTable {
        NoticeTable {
            text: self.text.clone(),
            from: self.validity.not_before.map(format_rfc3339),
            until: self.validity.not_after.map(format_rfc3339),
            severity: self.severity,
            link: self.link.clone(),
        }
    }

    /// Returns true if the notice is in force.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.validity.status_at(now) == ValidityStatus::Valid
    }

    /// Returns true if the notice will never be in force again.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.validity.status_at(now) == ValidityStatus::Expired
    }
}

/// Loads the file. Returns `None` and reports problems if it is invalid.
pub fn load_notices(
    file: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Option<(SourceFile, Vec<Notice>)> {
    let source = if file.exists() {
        SourceFile::read(file)
    } else {
        SourceFile::parse(file, ABSENT_NOTICES_FILE)
    };
    let source = source.map_err(|problem| problems.push(problem)).ok()?;
    let notices = parse_notices(&mut FileCheck::new(&source, problems))?;
    Some((source, notices))
}

/// Returns the notices of a parsed file. Returns `None` and reports problems if it is invalid.
pub fn parse_notices(check: &mut FileCheck<'_>) -> Option<Vec<Notice>> {
    let NoticesFile { notice: tables } = check.source.deserialize(check.problems)?;
    let before = check.problems.len();
    if tables.len() > MAX_NOTICES {
        check.report(
            "notice",
            format!("has more than {MAX_NOTICES} entries"),
            "remove expired ones",
        );
    }
    let mut notices = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        match Notice::new(table) {
            Ok(notice) => notices.push(notice),
            Err(found) => {
                let mut check = check.table(&format!("notice[{index}]"));
                for one in found {
                    check.add(one);
                }
            }
        }
    }
    (check.problems.len() == before).then_some(notices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<Vec<Notice>, Vec<(String, String)>> {
        let source = SourceFile::parse(Path::new("notices.toml"), text).unwrap();
        let mut problems = Vec::new();
        parse_notices(&mut FileCheck::new(&source, &mut problems))
            .ok_or_else(|| problems.into_iter().map(|one| (one.key, one.message)).collect())
    }

    #[test]
    fn notices_by_table() {
        let good = "[[notice]]\ntext = { fr = \"Ce soir\", en = \"Tonight\" }\nfrom = \"2027-03-01T20:00:00+01:00\"\n\
            until = \"2027-03-01T23:00:00+01:00\"\nseverity = \"warning\"\nlink = \"https://status.example.org/\"\n";
        let notices = parse_text(good).unwrap();
        let from = Timestamp::from_seconds(1_803_927_600);
        assert_eq!((notices.len(), notices[0].severity), (1, NoticeSeverity::Warning));
        assert!(
            notices[0].is_in_force(from)
                && !notices[0].is_in_force(Timestamp::from_millis(from.millis() - 1))
        );
        assert!(!notices[0].is_in_force(Timestamp::from_seconds(from.seconds() + 3 * 3600)));
        assert_eq!(parse_text(ABSENT_NOTICES_FILE), Ok(Vec::new()));
        for (bad, key) in [
            ("[[notice]]\ntext = {}\n", "notice[0].text"),
            ("[[notice]]\ntext = { french = \"x\" }\n", "notice[0].text.french"),
            ("[[notice]]\ntext = { en = \"two\\nlines\" }\n", "notice[0].text.en"),
            (
                "[[notice]]\ntext = { en = \"x\" }\nlink = \"javascript:alert(1)\"\n",
                "notice[0].link",
            ),
            (
                "[[notice]]\ntext = { en = \"x\" }\nlink = \"http://example.org/\"\n",
                "notice[0].link",
            ),
            ("[[notice]]\ntext = { en = \"x\" }\nfrom = \"tonight\"\n", "notice[0].from"),
            ("[[notice]]\ntext = { en = \"x\" }\nseverity = \"red\"\n", "notice[0].severity"),
            ("[[notice]]\ntext = { en = \"x\" }\nhtml = \"x\"\n", "notice[0].html"),
        ] {
            let problems = parse_text(bad).unwrap_err();
            assert!(problems.iter().any(|(at, _)| at.starts_with(key)), "{bad}: {problems:?}");
        }
        assert!(
            parse_text(&"[[notice]]\ntext = { en = \"x\" }\n".repeat(MAX_NOTICES + 1)).is_err()
        );
    }

    #[test]
    fn the_committed_template_is_good_once_switched_on() {
        let text = include_str!("../../../config/notices.toml.template");
        let notices = parse_text(text).unwrap();
        assert_eq!(notices.len(), 1);
    }
}
