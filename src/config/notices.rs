//! `config/notices.toml`: what the operator has to say to everybody who logs in, from a moment to a moment.
//!
//! Owns: what may stand in a notice, and when it is in force. Must not know: what o'clock it is, or where it is shown. The
//! file is followed while the hub runs; without it nothing is said.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::problem::Problem;
use super::source::Source;
use super::text;
use super::validity::{Flaw, Standing, Validity};
use crate::env::Timestamp;

/// In place of a file that is not there.
pub(super) const ABSENT: &str = "# absent: no notices\n";
/// Characters.
const LONGEST: usize = 300;
const LONGEST_LINK: usize = 300;
/// More would push what the person came for off the screen.
const MOST: usize = 5;

/// `config/notices.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticesFile {
    /// Shown in this order, above the choice, sign-in, consent and error pages.
    #[serde(default)]
    pub notice: Vec<NoticeTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoticeTable {
    /// Plain words by language: fr = "…", en = "…"; at most 300 characters each.
    pub text: BTreeMap<String, String>,
    /// Shown from this moment on, as 2027-03-01T20:00:00+01:00; without it at once.
    #[serde(default)]
    pub from: Option<String>,
    /// Shown up to this moment; without it until it is taken out.
    #[serde(default)]
    pub until: Option<String>,
    /// How it looks: a remark, or something to heed.
    #[serde(default)]
    pub severity: Severity,
    /// Absolute https address of a page that says more.
    #[serde(default)]
    pub link: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[default]
    Info,
    Warning,
}

/// A notice that holds: its words, dates and link were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// By language.
    pub text: BTreeMap<String, String>,
    pub severity: Severity,
    pub link: Option<String>,
    pub window: Validity,
}

impl Notice {
    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.window.at(now) == Standing::Valid
    }
}

pub(super) fn load(file: &Path, problems: &mut Vec<Problem>) -> Option<(Source, Vec<Notice>)> {
    let source = if file.exists() { Source::read(file) } else { Source::parse(file, ABSENT) };
    let source = source.map_err(|problem| problems.push(problem)).ok()?;
    let notices = read(&source, problems)?;
    Some((source, notices))
}

/// The notices of a file that was read.
pub(super) fn read(source: &Source, problems: &mut Vec<Problem>) -> Option<Vec<Notice>> {
    let NoticesFile { notice: tables } = source.shape(problems)?;
    let before = problems.len();
    if tables.len() > MOST {
        problems.push(source.problem(
            "notice",
            format!("holds more than {MOST}"),
            "take out those that are over",
        ));
    }
    let mut notices = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        match checked(table) {
            Ok(notice) => notices.push(notice),
            Err(flaws) => problems.extend(flaws.into_iter().map(|Flaw { key, what, mend }| {
                source.problem(&format!("notice[{index}].{key}"), what, mend)
            })),
        }
    }
    (problems.len() == before).then_some(notices)
}

fn checked(table: NoticeTable) -> Result<Notice, Vec<Flaw>> {
    let NoticeTable { text, from, until, severity, link } = table;
    let mut flaws = text::flaws("text", &text, LONGEST);
    if text.is_empty() {
        flaws.push(Flaw::new("text", "has no language", "write { fr = \"…\", en = \"…\" }"));
    }
    // Nobody is to be sent anywhere but to a page, and not without TLS: `javascript:` would run here.
    let is_page = |link: &String| {
        link.len() <= LONGEST_LINK && Url::parse(link).is_ok_and(|url| url.scheme() == "https")
    };
    if link.as_ref().is_some_and(|link| !is_page(link)) {
        flaws.push(Flaw::new(
            "link",
            "is not the https address of a page",
            "begin with https:// and a host name",
        ));
    }
    match Validity::between(("from", from.as_deref()), ("until", until.as_deref())) {
        Ok(window) if flaws.is_empty() => Ok(Notice { text, severity, link, window }),
        Ok(_) => Err(flaws),
        Err(flaw) => {
            flaws.push(flaw);
            Err(flaws)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Result<Vec<Notice>, Vec<(String, String)>> {
        let source = Source::parse(Path::new("notices.toml"), text).unwrap();
        let mut problems = Vec::new();
        read(&source, &mut problems)
            .ok_or_else(|| problems.into_iter().map(|one| (one.key, one.what)).collect())
    }

    #[test]
    fn notices_by_table() {
        let good = "[[notice]]\ntext = { fr = \"Ce soir\", en = \"Tonight\" }\nfrom = \"2027-03-01T20:00:00+01:00\"\n\
            until = \"2027-03-01T23:00:00+01:00\"\nseverity = \"warning\"\nlink = \"https://status.example.org/\"\n";
        let notices = told(good).unwrap();
        let from = Timestamp::from_seconds(1_803_927_600);
        assert_eq!((notices.len(), notices[0].severity), (1, Severity::Warning));
        assert!(
            notices[0].is_in_force(from)
                && !notices[0].is_in_force(Timestamp::from_millis(from.millis() - 1))
        );
        assert!(!notices[0].is_in_force(Timestamp::from_seconds(from.seconds() + 3 * 3600)));
        assert_eq!(told(ABSENT), Ok(Vec::new()));
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
            let problems = told(bad).unwrap_err();
            assert!(problems.iter().any(|(at, _)| at.starts_with(key)), "{bad}: {problems:?}");
        }
        assert!(told(&"[[notice]]\ntext = { en = \"x\" }\n".repeat(MOST + 1)).is_err());
    }

    #[test]
    fn the_committed_template_is_good_once_switched_on() {
        let text = include_str!("../../config/notices.toml.template");
        let notices = told(text).unwrap();
        assert_eq!(notices.len(), 1);
    }
}
