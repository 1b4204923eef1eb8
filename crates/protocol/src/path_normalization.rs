//! Percent-encoded unreserved characters (RFC 3986 §2.3 and §6.2.2.2).

use std::borrow::Cow;

/// Returns true for a letter, a digit, or one of `-._~`.
pub const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Decodes the percent-encoded unreserved characters of a path, and leaves all other sequences.
pub fn decode_unreserved(path: &str) -> Cow<'_, str> {
    let mut parts = path.split('%');
    let first = parts.next().unwrap_or_default();
    if first.len() == path.len() {
        return Cow::Borrowed(path);
    }
    let mut decoded = first.to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = byte.filter(|byte| is_unreserved(*byte)) {
            decoded.push(char::from(byte));
            decoded.push_str(part.get(2..).unwrap_or_default());
        } else {
            decoded.push('%');
            decoded.push_str(part);
        }
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sequences_of_unreserved_characters_are_decoded() {
        for (path, decoded) in [
            ("/api/v2/token", "/api/v2/token"),
            ("/user%69nfo%2D%7e", "/userinfo-~"),
            ("/a%2Fb%20%c3%a9", "/a%2Fb%20%c3%a9"),
            ("/%%36%", "/%6%"),
            ("/%+6%é", "/%+6%é"),
        ] {
            assert_eq!(decode_unreserved(path), decoded);
        }
    }
}
