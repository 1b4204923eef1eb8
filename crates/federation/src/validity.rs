//! Parses validity periods of secrets, blocks and notices. Periods may overlap, so that a secret
//! can be replaced without coordination.
//!
//! Does not read the clock: callers pass the current time.

use chrono::{DateTime, SecondsFormat};

use passerelle_protocol::env::Timestamp;
use passerelle_settings::{Diagnostic, FieldDiagnostic, SourceFile};

/// A period from `not_before` (inclusive) to `not_after` (exclusive).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Validity {
    /// Start, inclusive; `None` for no start.
    pub not_before: Option<Timestamp>,
    /// End, exclusive; `None` for no end.
    pub not_after: Option<Timestamp>,
}

/// Position of a time relative to a validity period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValidityStatus {
    NotYetValid,
    Valid,
    Expired,
}

impl Validity {
    /// Returns the status at `now`.
    pub fn status_at(&self, now: Timestamp) -> ValidityStatus {
        if self.not_before.is_some_and(|begin| now < begin) {
            ValidityStatus::NotYetValid
        } else if self.not_after.is_some_and(|end| end <= now) {
            ValidityStatus::Expired
        } else {
            ValidityStatus::Valid
        }
    }

    /// Parses `not_before` and `not_after` below `key`.
    ///
    /// # Errors
    /// Returns a diagnostic if a date is malformed, or the end is not after the start.
    pub(crate) fn parse_dates(
        source: &SourceFile,
        key: &str,
        not_before: Option<&str>,
        not_after: Option<&str>,
    ) -> Result<Self, Diagnostic> {
        Self::parse_range(("not_before", not_before), ("not_after", not_after))
            .map_err(|diagnostic| source.locate(diagnostic.within(key)))
    }

    /// Parses two dates, each given with its key.
    ///
    /// # Errors
    /// Returns a diagnostic if a date is malformed, or the end is not after the start.
    pub(crate) fn parse_range(
        begin: (&str, Option<&str>),
        end: (&str, Option<&str>),
    ) -> Result<Self, FieldDiagnostic> {
        let moment = |(name, text): (&str, Option<&str>)| {
            let fix = "write a date, a time and a time zone, for example 2027-03-01T00:00:00Z or 2027-03-01T00:00:00+01:00";
            let unreadable =
                || FieldDiagnostic::new(name, "is not a date and time with a time zone", fix);
            text.map(|text| parse_rfc3339(text).ok_or_else(unreadable)).transpose()
        };
        let validity = Self { not_before: moment(begin)?, not_after: moment(end)? };
        match (validity.not_before, validity.not_after) {
            (Some(from), Some(to)) if to <= from => {
                let message = "is not after the start, so the period is empty";
                Err(FieldDiagnostic::new(end.0, message, format!("write a time after {}", begin.0)))
            }
            _ => Ok(validity),
        }
    }
}

/// Formats a time in RFC 3339.
pub fn format_rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.millis()).unwrap_or(i64::MAX);
    DateTime::from_timestamp_millis(millis)
        .map_or_else(|| millis.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
}

/// Returns the index of the first period at whose start more than `most` are valid.
pub fn first_exceeding(most: usize, validities: &[Validity]) -> Option<usize> {
    // The number of valid periods only grows at a start, so no other time needs a check.
    let exceeds = |at: Timestamp| {
        validities.iter().filter(|other| other.status_at(at) == ValidityStatus::Valid).count()
            > most
    };
    validities.iter().position(|one| exceeds(one.not_before.unwrap_or_default()))
}

/// Parses RFC 3339, also with a space as TOML allows; rejects dates before 1970.
pub fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    u64::try_from(moment.timestamp_millis()).ok().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Timestamp = Timestamp::from_seconds;

    fn validity_between(begin: Option<u64>, end: Option<u64>) -> Validity {
        Validity { not_before: begin.map(AT), not_after: end.map(AT) }
    }

    #[test]
    fn the_start_of_a_period_is_included_and_its_end_is_not() {
        let validity = validity_between(Some(10), Some(20));
        let just_before = |seconds: u64| Timestamp::from_millis(seconds * 1000 - 1);
        for (now, standing) in [
            (just_before(10), ValidityStatus::NotYetValid),
            (AT(10), ValidityStatus::Valid),
            (just_before(20), ValidityStatus::Valid),
            (AT(20), ValidityStatus::Expired),
        ] {
            assert_eq!(validity.status_at(now), standing, "{now:?}");
        }
        assert_eq!(Validity::default().status_at(AT(0)), ValidityStatus::Valid);
        assert_eq!(validity_between(None, Some(20)).status_at(AT(0)), ValidityStatus::Valid);
        assert_eq!(validity_between(Some(10), None).status_at(AT(u64::MAX)), ValidityStatus::Valid);
    }

    #[test]
    fn two_may_be_valid_at_once_and_not_three() {
        let open = Validity::default();
        assert_eq!(first_exceeding(2, &[open, open]), None);
        assert_eq!(first_exceeding(2, &[open, open, open]), Some(0));
        let chain = [
            validity_between(None, Some(20)),
            validity_between(Some(10), Some(30)),
            validity_between(Some(20), Some(40)),
            validity_between(Some(30), None),
        ];
        assert_eq!(first_exceeding(2, &chain), None, "each begins where another ends");
        let crowded = [
            validity_between(None, Some(21)),
            validity_between(Some(10), Some(30)),
            validity_between(Some(20), None),
        ];
        assert_eq!(first_exceeding(2, &crowded), Some(2));
    }

    #[test]
    fn a_moment_is_read_as_it_is_written() {
        for millis in [0, 10_250, 1_800_000_000_000, 4_102_444_800_001] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(parse_rfc3339(&format_rfc3339(at)), Some(at));
        }
        assert_eq!(format_rfc3339(AT(1_800_000_000)), "2027-01-15T08:00:00Z");
    }

    #[test]
    fn a_moment_needs_its_zone() {
        assert_eq!(parse_rfc3339("1970-01-01T01:00:10+01:00"), Some(AT(10)));
        assert_eq!(parse_rfc3339("1970-01-01 00:00:10.250Z"), Some(Timestamp::from_millis(10_250)));
        for bad in [
            "1970-01-01T00:00:10",
            "1970-01-01",
            "00:00:10",
            "1969-12-31T23:59:59Z",
            "2027-02-30T00:00:00Z",
            "soon",
            "",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
