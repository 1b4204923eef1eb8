//! Bounds of the messages that a directory sends (RFC 4511 §5.1: BER with definite lengths).
//!
//! `ldap3` decodes nested elements by recursion and limits neither the depth nor the size of a
//! message. Stops a message that exhausts the stack or the memory of the process.

/// Size limit of a message, in bytes. The values of an entry may have 192 KiB.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;
/// Depth limit of nested elements. The values of an entry are at depth 6.
const MAX_DEPTH: usize = 16;

/// Why a message is not passed on.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageError {
    #[error("a message is larger than 256 KiB")]
    TooLarge,
    #[error("a message has more than 16 levels")]
    TooDeep,
    #[error("a message is not encoded as RFC 4511 §5.1 says")]
    Malformed,
}

/// Header of an element: tag and length.
struct ElementHeader {
    bytes: usize,
    content_bytes: usize,
    is_constructed: bool,
}

/// Returns the length of the first message in bytes; `None` if it is not complete yet.
///
/// # Errors
/// `TooLarge`, `TooDeep`, `Malformed`.
pub fn complete_message(bytes: &[u8]) -> Result<Option<usize>, MessageError> {
    let Some(header) = read_header(bytes)? else { return Ok(None) };
    let length = header.bytes.saturating_add(header.content_bytes);
    if length > MAX_MESSAGE_BYTES {
        return Err(MessageError::TooLarge);
    }
    let Some(message) = bytes.get(..length) else { return Ok(None) };
    check_nesting(message)?;
    Ok(Some(length))
}

/// Returns the header of the first element; `None` if it is not complete yet.
fn read_header(bytes: &[u8]) -> Result<Option<ElementHeader>, MessageError> {
    let [tag, length, rest @ ..] = bytes else { return Ok(None) };
    if tag & 0x1f == 0x1f {
        return Err(MessageError::Malformed);
    }
    let is_constructed = tag & 0x20 != 0;
    let octets = match length {
        0..=0x7f => {
            let content_bytes = usize::from(*length);
            return Ok(Some(ElementHeader { bytes: 2, content_bytes, is_constructed }));
        }
        0x81..=0x84 => usize::from(length & 0x7f),
        _ => return Err(MessageError::Malformed),
    };
    let Some(encoded) = rest.get(..octets) else { return Ok(None) };
    let content_bytes = encoded.iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet));
    Ok(Some(ElementHeader { bytes: 2 + octets, content_bytes, is_constructed }))
}

/// Checks that each element ends within the one that contains it, and how deep they are nested.
fn check_nesting(message: &[u8]) -> Result<(), MessageError> {
    let mut ends = vec![message.len()];
    let mut position = 0;
    while let Some(&end) = ends.last() {
        if position == end {
            ends.pop();
            continue;
        }
        let rest = message.get(position..end).unwrap_or_default();
        let header = read_header(rest)?.ok_or(MessageError::Malformed)?;
        let content = position.saturating_add(header.bytes);
        let content_end = content.saturating_add(header.content_bytes);
        if content_end > end {
            return Err(MessageError::Malformed);
        }
        if !header.is_constructed {
            position = content_end;
            continue;
        }
        if ends.len() > MAX_DEPTH {
            return Err(MessageError::TooDeep);
        }
        ends.push(content_end);
        position = content;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ldap3::asn1::parse_tag;
    use proptest::prelude::*;

    use super::*;

    /// Returns a message of empty sequences, each in the one before.
    fn nested(depth: usize) -> Vec<u8> {
        let mut message = Vec::new();
        for _ in 0..depth {
            let length = u32::try_from(message.len()).unwrap().to_be_bytes();
            message = [&[0x30, 0x84], &length[..], &message[..]].concat();
        }
        message
    }

    #[test]
    fn nested_elements_that_would_exhaust_the_stack_are_refused() {
        assert_eq!(complete_message(&nested(16)), Ok(Some(16 * 6)));
        assert_eq!(complete_message(&nested(17)), Err(MessageError::TooDeep));
        assert_eq!(complete_message(&nested(20_000)), Err(MessageError::TooDeep));
    }

    #[test]
    fn a_message_of_any_announced_size_is_refused_before_it_is_read() {
        assert_eq!(complete_message(b"\x30\x83\x04\x00\x01"), Err(MessageError::TooLarge));
        assert_eq!(complete_message(b"\x30\x84\xff\xff\xff\xff"), Err(MessageError::TooLarge));
        assert_eq!(complete_message(b"\x30\x83\x03\xff\xfb"), Ok(None));
    }

    #[test]
    fn indefinite_lengths_long_tags_and_elements_beyond_their_parent_are_refused() {
        for malformed in [
            &b"\x30\x80\x00\x00"[..],
            b"\x30\x85\x00\x00\x00\x00\x00",
            b"\x3f\x01\x00",
            b"\x30\x02\x04\x01",
            b"\x30\x03\x30\x02\x04",
            b"\x30\x01\x04",
        ] {
            assert_eq!(complete_message(malformed), Err(MessageError::Malformed), "{malformed:?}");
        }
    }

    #[test]
    fn a_message_is_complete_with_its_last_byte() {
        let message = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
        for length in 0..message.len() {
            assert_eq!(complete_message(&message[..length]), Ok(None));
        }
        assert_eq!(complete_message(message), Ok(Some(14)));
        assert_eq!(complete_message(&[message, &b"\x30"[..]].concat()), Ok(Some(14)));
    }

    proptest! {
        #[test]
        fn what_is_passed_on_is_what_ldap3_decodes(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Some(length)) = complete_message(&bytes) {
                let (rest, _) = parse_tag(&bytes).unwrap();
                prop_assert_eq!(bytes.len() - rest.len(), length);
            }
        }
    }
}
