//! Makes untrusted text safe to log and to show to an operator.

/// Returns the first `max_chars` characters of untrusted text, with all but printable ASCII
/// replaced.
pub fn printable_ascii(text: &str, max_chars: usize) -> String {
    text.chars()
        .take(max_chars)
        .map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' })
        .collect()
}
