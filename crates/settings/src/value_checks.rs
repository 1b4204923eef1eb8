//! Checks single values: numbers against their ranges, and ids of categories.

use super::{Diagnostic, SourceFile};

/// Reports a number that is not from `least` to `most`.
pub fn check_range(
    source: &SourceFile,
    key: &str,
    value: u64,
    (least, most): (u64, u64),
    problems: &mut Vec<Diagnostic>,
) {
    if !(least..=most).contains(&value) {
        problems.push(source.diagnostic(
            key,
            "is out of range",
            format!("write a number from {least} to {most}"),
        ));
    }
}

/// Maximum rate per minute.
const MAX_RATE_PER_MINUTE: u64 = 10_000_000;

/// Reports a rate per minute that is out of range.
pub fn check_rate(
    source: &SourceFile,
    key: &str,
    rate: Option<u32>,
    problems: &mut Vec<Diagnostic>,
) {
    if let Some(rate) = rate {
        check_range(source, key, rate.into(), (1, MAX_RATE_PER_MINUTE), problems);
    }
}

/// Returns true if the text is a valid category id.
#[must_use]
pub fn is_category_id(id: &str) -> bool {
    let charset = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=32).contains(&id.len()) && id.bytes().all(charset)
}
