//! Times and durations of XML Schema.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat};
use passerelle_protocol::env::Timestamp;

const DAY: u64 = 24 * 60 * 60;

/// Reads a time with its zone; `None` for any other form. The zone should be UTC (SAML V2.0 Core
/// §1.3.3), but some peers write an offset.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    let is_xml_form = text.get(10..11) == Some("T");
    let time = DateTime::parse_from_rfc3339(text).ok().filter(|_| is_xml_form)?;
    u64::try_from(time.timestamp_millis()).ok().map(Timestamp::from_millis)
}

/// Writes a time in UTC with seconds.
pub(crate) fn format_time(time: Timestamp) -> String {
    let seconds = i64::try_from(time.seconds()).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Reads a duration such as `PT6H` (XML Schema Part 2 §3.2.6), a year as 365 and a month as 30
/// days; `None` if it is negative or malformed.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.strip_prefix('P')?;
    let (date, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let date = sum(date, &[('Y', 365 * DAY), ('M', 30 * DAY), ('W', 7 * DAY), ('D', DAY)])?;
    let time = sum(time, &[('H', 3600), ('M', 60), ('S', 1)])?;
    date.checked_add(time).map(Duration::from_secs)
}

fn sum(mut text: &str, units: &[(char, u64)]) -> Option<u64> {
    let mut total: u64 = 0;
    for (unit, seconds) in units {
        let Some((number, rest)) = text.split_once(*unit) else { continue };
        let whole = number.split_once('.').map_or(number, |(whole, _)| whole);
        let count: u64 = whole.parse().ok()?;
        total = total.checked_add(count.checked_mul(*seconds)?)?;
        text = rest;
    }
    text.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_every_zone_are_read_and_those_without_are_refused() {
        let time = parse_time("2026-11-29T17:00:00.5Z").unwrap();
        assert_eq!(time.millis(), 1_795_971_600_500);
        assert_eq!(format_time(time), "2026-11-29T17:00:00Z");
        for text in [
            "2026-11-29T17:00:00.500000000000Z",
            "2026-11-29T17:00:00.5+00:00",
            "2026-11-29T18:30:00.5+01:30",
        ] {
            assert_eq!(parse_time(text), Some(time), "{text}");
        }
        for text in ["2026-11-29T17:00:00", "2026-11-29 17:00:00Z", "2026-11-29T17:00:00+01", ""] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_malformed_ones_refused() {
        for (text, seconds) in [
            ("PT6H", 21_600),
            ("P1D", 86_400),
            ("P1DT1M1.5S", 86_461),
            ("P1M", 2_592_000),
            ("PT0S", 0),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "P", "PT", "-PT1H", "PT1", "P1H", "PT1S1H", "P99999999999999999999D"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
