//! Parses `Accept-Language`.

use passerelle_protocol::field_value::trim_ows;

/// Entries that are read: more than any browser sends.
const MAX_LANGUAGE_RANGES: usize = 16;

/// Returns the language ranges by descending weight (RFC 9110 §12.5.4); skips invalid ones.
pub fn tags_by_weight(accept_language: &str) -> impl Iterator<Item = &str> {
    let mut ranges: Vec<(&str, f32)> = accept_language
        .split(',')
        .take(MAX_LANGUAGE_RANGES)
        .filter_map(|range| match range.split_once(';') {
            None => Some((trim_ows(range), 1.0)),
            Some((tag, weight)) => {
                Some((trim_ows(tag), trim_ows(weight).strip_prefix("q=")?.parse().ok()?))
            }
        })
        .filter(|(_, weight)| (0.001..=1.0).contains(weight))
        .collect();
    ranges.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    ranges.into_iter().map(|(tag, _)| tag)
}
