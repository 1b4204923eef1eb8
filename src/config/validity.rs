//! When a secret counts: from a moment, up to a moment, so that two can be valid at once and nobody needs an
//! appointment to change one for the other.
//!
//! Owns: how dates are written, and what they mean. Must not know: what o'clock it is; whoever asks says so.

use std::fmt;

use chrono::{DateTime, SecondsFormat};

use crate::env::Timestamp;

use super::problem::Problem;
use super::source::Source;

/// From `not_before`, itself included, up to `not_after`, itself excluded: two that meet at one moment don't overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Validity {
    pub not_before: Option<Timestamp>,
    pub not_after: Option<Timestamp>,
}

/// Where a moment lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    NotYet,
    Valid,
    Over,
}

impl Validity {
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Standing {
        if self.not_before.is_some_and(|begin| now < begin) {
            Standing::NotYet
        } else if self.not_after.is_some_and(|end| end <= now) {
            Standing::Over
        } else {
            Standing::Valid
        }
    }

    /// Reads the two dates that stand below `key`.
    pub fn read(
        source: &Source,
        key: &str,
        not_before: Option<&str>,
        not_after: Option<&str>,
    ) -> Result<Self, Problem> {
        Self::between(("not_before", not_before), ("not_after", not_after))
            .map_err(|flaw| source.problem(&format!("{key}.{}", flaw.key), flaw.what, flaw.mend))
    }

    /// Reads two dates, each with the name that it is written under.
    pub fn between(begin: (&str, Option<&str>), end: (&str, Option<&str>)) -> Result<Self, Flaw> {
        let moment = |(name, text): (&str, Option<&str>)| {
            let mend = "write a date, a time and a zone, as 2027-03-01T00:00:00Z or 2027-03-01T00:00:00+01:00";
            let unreadable = || Flaw::new(name, "is not a moment with a time zone", mend);
            text.map(|text| parse(text).ok_or_else(unreadable)).transpose()
        };
        let validity = Self { not_before: moment(begin)?, not_after: moment(end)? };
        match (validity.not_before, validity.not_after) {
            (Some(from), Some(to)) if to <= from => {
                let what = "ends before it begins, so that it is never valid";
                Err(Flaw::new(end.0, what, format!("write a moment later than {}", begin.0)))
            }
            _ => Ok(validity),
        }
    }
}

/// A fault in what was written, before it is known where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// `until`, `message.fr`.
    pub key: String,
    pub what: String,
    pub mend: String,
}

impl Flaw {
    pub fn new(key: impl Into<String>, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { key: key.into(), what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; mend: {}", self.key, self.what, self.mend)
    }
}

/// A moment as these dates are written.
#[must_use]
pub fn in_rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// The first of them at whose beginning more than `most` are valid.
pub fn first_beyond(most: usize, validities: &[Validity]) -> Option<usize> {
    // Validity only grows where one begins, so it is enough to look there.
    let crowded = |at: Timestamp| {
        validities.iter().filter(|other| other.at(at) == Standing::Valid).count() > most
    };
    validities.iter().position(|one| crowded(one.not_before.unwrap_or_default()))
}

/// RFC 3339, and TOML's way to write it with a blank; nothing before 1970.
fn parse(text: &str) -> Option<Timestamp> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    u64::try_from(moment.timestamp_millis()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Timestamp = Timestamp::from_seconds;

    fn between(begin: Option<u64>, end: Option<u64>) -> Validity {
        Validity { not_before: begin.map(AT), not_after: end.map(AT) }
    }

    #[test]
    fn the_beginning_belongs_to_it_and_the_end_does_not() {
        let validity = between(Some(10), Some(20));
        let just_before = |seconds: u64| Timestamp::from_millis(seconds * 1000 - 1);
        for (now, standing) in [
            (just_before(10), Standing::NotYet),
            (AT(10), Standing::Valid),
            (just_before(20), Standing::Valid),
            (AT(20), Standing::Over),
        ] {
            assert_eq!(validity.at(now), standing, "{now:?}");
        }
        assert_eq!(Validity::default().at(AT(0)), Standing::Valid);
        assert_eq!(between(None, Some(20)).at(AT(0)), Standing::Valid);
        assert_eq!(between(Some(10), None).at(AT(u64::MAX)), Standing::Valid);
    }

    #[test]
    fn two_may_be_valid_at_once_and_not_three() {
        let open = Validity::default();
        assert_eq!(first_beyond(2, &[open, open]), None);
        assert_eq!(first_beyond(2, &[open, open, open]), Some(0));
        let chain = [
            between(None, Some(20)),
            between(Some(10), Some(30)),
            between(Some(20), Some(40)),
            between(Some(30), None),
        ];
        assert_eq!(first_beyond(2, &chain), None, "each begins where another ends");
        let crowded =
            [between(None, Some(21)), between(Some(10), Some(30)), between(Some(20), None)];
        assert_eq!(first_beyond(2, &crowded), Some(2));
    }

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        for millis in [0, 10_250, 1_800_000_000_000, 4_102_444_800_001] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(parse(&in_rfc3339(at)), Some(at));
        }
        assert_eq!(in_rfc3339(AT(1_800_000_000)), "2027-01-15T08:00:00Z");
    }

    #[test]
    fn a_moment_needs_its_zone() {
        assert_eq!(parse("1970-01-01T01:00:10+01:00"), Some(AT(10)));
        assert_eq!(parse("1970-01-01 00:00:10.250Z"), Some(Timestamp::from_millis(10_250)));
        for bad in [
            "1970-01-01T00:00:10",
            "1970-01-01",
            "00:00:10",
            "1969-12-31T23:59:59Z",
            "2027-02-30T00:00:00Z",
            "soon",
            "",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
