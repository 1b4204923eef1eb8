//! Writes times, counts and bytes for people.

use passerelle_federation::validity::parse_rfc3339;

/// Returns how long before or after `now` a time is: `11 minutes ago`, `in 3 days`. Both are RFC
/// 3339; returns `at` itself if one is not.
pub fn relative_time(at: &str, now: &str) -> String {
    let (Some(then), Some(now)) = (parse_rfc3339(at), parse_rfc3339(now)) else {
        return at.to_owned();
    };
    let (ago, ahead) = (now.since(then).as_secs(), then.since(now).as_secs());
    let seconds = ago.max(ahead);
    let (number, unit) = match seconds {
        0 => return "now".to_owned(),
        1..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    let number = count(number);
    if ahead > 0 {
        format!("in {number} {unit}{plural}")
    } else {
        format!("{number} {unit}{plural} ago")
    }
}

/// Returns a count with a comma between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of bytes in the unit that fits, with a power of 1000.
pub fn bytes(number: u64) -> String {
    let (unit, size) = match number {
        0..10_000 => return format!("{} bytes", count(number)),
        10_000..10_000_000 => ("kB", 1_000),
        10_000_000..10_000_000_000 => ("MB", 1_000_000),
        _ => ("GB", 1_000_000_000),
    };
    format!("{} {unit}", count(number / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_to_now() {
        let relative = |at| relative_time(at, "2027-01-10T12:00:00Z");
        for (at, text) in [
            ("2027-01-10T12:00:00Z", "now"),
            ("2027-01-10T11:59:59Z", "1 second ago"),
            ("2027-01-10T11:49:00Z", "11 minutes ago"),
            ("2027-01-09T11:00:00Z", "25 hours ago"),
            ("2026-12-01T12:00:00Z", "40 days ago"),
            ("2027-01-10T13:30:00Z", "in 1 hour"),
            ("2037-01-10T12:00:00Z", "in 3,653 days"),
            ("yesterday", "yesterday"),
        ] {
            assert_eq!(relative(at), text, "{at}");
        }
    }

    #[test]
    fn counts_and_bytes_are_readable() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let sizes = [9_999, 24_000, 24_000_000, 1_200_000_000, 12_000_000_000].map(bytes);
        assert_eq!(sizes, ["9,999 bytes", "24 kB", "24 MB", "1,200 MB", "12 GB"]);
    }
}
