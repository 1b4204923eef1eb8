//! Counts the logins of a month by service provider, identity provider and level. The result has no
//! personal data: it counts lines and names no person, login or session.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};

use super::lines::for_each_line;

/// Month as `2026-11`, in UTC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Month(String);

impl std::str::FromStr for Month {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_month = text.len() == 7
            && chrono::NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d").is_ok();
        let month = is_month.then(|| Self(text.to_owned()));
        month.ok_or_else(|| "is no month; write it as 2026-11".to_owned())
    }
}

/// Successful logins at one service provider through one identity provider at one level.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LoginCount {
    pub month: String,
    pub service_provider: String,
    pub identity_provider: String,
    pub level: String,
    pub logins: u64,
}

/// Counter of the logins of one month.
#[derive(Debug)]
pub struct LoginStatistics {
    month: Month,
    counts: BTreeMap<[String; 3], u64>,
    /// Lines that are not lines of an audit log.
    malformed: u64,
}

/// Members of a line that are counted.
#[derive(Deserialize)]
struct CountedMembers {
    time: String,
    event: String,
    #[serde(default)]
    sp: String,
    #[serde(default)]
    idp: String,
    #[serde(default)]
    level: String,
}

impl LoginStatistics {
    /// Creates a counter without logins.
    pub const fn new(month: Month) -> Self {
        Self { month, counts: BTreeMap::new(), malformed: 0 }
    }

    /// Counts the logins of a file.
    ///
    /// # Errors
    /// Returns an error if the file can't be read.
    pub fn read_file(&mut self, file: &mut impl BufRead) -> io::Result<()> {
        for_each_line(file, |line| {
            let Ok(members) = serde_json::from_slice::<CountedMembers>(line) else {
                self.malformed += 1;
                return;
            };
            if members.event == "code_issued" && members.time.starts_with(&self.month.0) {
                *self.counts.entry([members.sp, members.idp, members.level]).or_default() += 1;
            }
        })
    }

    /// Returns the number of lines that are not lines of an audit log.
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Returns the counts, ordered by service provider, identity provider and level.
    pub fn counts(self) -> Vec<LoginCount> {
        let row = |(key, logins): ([String; 3], u64)| {
            let [service_provider, identity_provider, level] = key;
            let month = self.month.0.clone();
            LoginCount { month, service_provider, identity_provider, level, logins }
        };
        self.counts.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_the_month_are_counted_and_nothing_else_of_a_line_is_shown() {
        let line = |time: &str, event: &str, sp: &str| {
            format!(
                r#"{{"v":1,"time":"{time}","event":"{event}","sp":"{sp}","idp":"impots","sub":"a-person","level":"eidas1","support_id":"0123456789AB"}}"#
            ) + "\n"
        };
        let text = [
            line("2026-10-31T23:59:59.999Z", "code_issued", "one"),
            line("2026-11-01T00:00:00.000Z", "code_issued", "one"),
            line("2026-11-30T23:59:59.999Z", "code_issued", "one"),
            line("2026-11-05T00:00:00.000Z", "login_refused", "one"),
            line("2026-11-05T00:00:00.000Z", "code_issued", "another"),
            "half a line".to_owned(),
        ]
        .concat();
        let mut statistics = LoginStatistics::new("2026-11".parse().unwrap());
        statistics.read_file(&mut text.as_bytes()).unwrap();
        assert_eq!(statistics.malformed(), 1);
        let json = serde_json::to_value(statistics.counts()).unwrap();
        let row = |sp: &str, logins: u64| {
            serde_json::json!({
                "month": "2026-11", "service_provider": sp, "identity_provider": "impots",
                "level": "eidas1", "logins": logins,
            })
        };
        assert_eq!(json, serde_json::json!([row("another", 1), row("one", 2)]));
    }

    #[test]
    fn a_month_has_a_year_and_a_valid_number() {
        for text in ["2026-13", "2026-1", "11-2026", "2026-11-01", "", "2026-00"] {
            assert!(text.parse::<Month>().is_err(), "{text}");
        }
    }
}
