//! Parts of HTTP field values (RFC 9110 §5.6).
//!
//! The bytes of a protocol are compared as ASCII. A function for Unicode text, for example
//! `str::trim`, would accept values that the sender, a proxy or a browser reads differently: a
//! cookie named U+2000 `__Host-…` would become `__Host-…`, which no other host can set.

/// Removes optional white space, which is space and tab only, from both ends (RFC 9110 §5.6.3).
pub fn trim_ows(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

/// Returns whether `name` is a token (RFC 9110 §5.6.2).
pub fn is_token(name: &str) -> bool {
    let is_tchar = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !name.is_empty() && name.bytes().all(is_tchar)
}

/// Returns whether a `Content-Type` names this media type, in any case and with any parameters
/// (RFC 9110 §8.3.1).
pub fn is_media_type(content_type: Option<&str>, media_type: &str) -> bool {
    let essence = content_type.and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| trim_ows(essence).eq_ignore_ascii_case(media_type))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_space_and_tab_are_optional_white_space() {
        assert_eq!(trim_ows(" \ta b\t "), "a b");
        for other in ["\u{2000}a", "a\u{a0}", "\u{3000}a", "\u{b}a", "a\n", "\u{85}a"] {
            assert_eq!(trim_ows(other), other);
        }
    }

    #[test]
    fn a_name_with_white_space_or_a_separator_is_no_token() {
        for token in ["__Host-hub-session", "a", "x!#$%&'*+-.^_`|~9"] {
            assert!(is_token(token), "{token}");
        }
        for other in ["", "a b", "\u{2000}a", "a\u{a0}", "a\t", "é", "a=b", "a;", "\"a\"", "a\0"] {
            assert!(!is_token(other), "{other:?}");
        }
    }

    #[test]
    fn a_media_type_is_compared_as_ascii() {
        for same in ["application/json", " Application/JSON\t; charset=utf-8"] {
            assert!(is_media_type(Some(same), "application/json"), "{same}");
        }
        for other in
            [None, Some(""), Some("\u{2000}application/json"), Some("application/json\u{a0}; a=b")]
        {
            assert!(!is_media_type(other, "application/json"), "{other:?}");
        }
    }
}
