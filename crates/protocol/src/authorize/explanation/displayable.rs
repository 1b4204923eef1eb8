//! Makes values of a request fit for a terminal or a page.

/// Maximum length of a value or name in an explanation, in characters.
const MAX_DISPLAY_CHARS: usize = 200;

/// Returns text for a terminal or a page: bounded, without control characters.
pub(super) fn displayable(text: &str) -> String {
    let visible = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut shown: String = text.chars().take(MAX_DISPLAY_CHARS).map(visible).collect();
    if text.chars().nth(MAX_DISPLAY_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
