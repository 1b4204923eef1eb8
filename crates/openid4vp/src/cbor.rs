//! Parses untrusted CBOR strictly (RFC 8949).
//!
//! Refuses what two parsers may read differently, or what costs more than it says: repeated keys,
//! indefinite lengths, trailing bytes, deep nesting, floods of items. ciborium accepts them all.

use std::collections::BTreeSet;

use ciborium::Value;
use ciborium_ll::{Decoder, Header, simple, tag};

/// Deepest accepted nesting: mdocs need eight levels.
const MAX_DEPTH: u8 = 16;
/// Maximum number of items in one input.
const MAX_ITEMS: usize = 20_000;
/// Tag of encoded CBOR in a byte string (RFC 8949 §3.4.5.1).
const ENCODED_CBOR: u64 = 24;

/// Why a text is not acceptable CBOR. Contains nothing of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CborError {
    #[error("truncated, followed by bytes, with a repeated key, or of indefinite length")]
    Malformed,
    #[error("nested too deeply, or of too many items")]
    TooComplex,
}

/// Parses one CBOR item of at most 16 levels. Keys are texts or integers, and none is repeated.
///
/// # Errors
/// `TooComplex` beyond the limits, `Malformed` for anything else.
pub fn parse_cbor(text: &[u8]) -> Result<Value, CborError> {
    let mut reader = Reader { rest: text, items_left: MAX_ITEMS };
    let value = reader.item(MAX_DEPTH)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(CborError::Malformed) }
}

/// Returns the encoding of a value.
pub fn encode_cbor(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A vector takes every byte, and every value can be written.
    let _written = ciborium::into_writer(value, &mut bytes);
    bytes
}

/// Wraps encoded CBOR in a byte string with tag 24, as ISO/IEC 18013-5 hashes and signs it.
pub fn encoded_cbor_item(encoded: &[u8]) -> Value {
    Value::Tag(ENCODED_CBOR, Box::new(Value::Bytes(encoded.to_vec())))
}

/// Returns the bytes inside a byte string with tag 24.
pub fn embedded_cbor(item: &Value) -> Option<&[u8]> {
    match item {
        Value::Tag(ENCODED_CBOR, inner) => inner.as_bytes().map(Vec::as_slice),
        _ => None,
    }
}

/// Returns the member of a map with this text key.
pub fn member<'a>(map: &'a Value, key: &str) -> Option<&'a Value> {
    let entries = map.as_map()?;
    entries.iter().find(|(k, _)| k.as_text() == Some(key)).map(|(_, value)| value)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum MapKey {
    Integer(i128),
    Text(String),
}

struct Reader<'a> {
    rest: &'a [u8],
    items_left: usize,
}

impl<'a> Reader<'a> {
    fn item(&mut self, depth: u8) -> Result<Value, CborError> {
        self.items_left = self.items_left.checked_sub(1).ok_or(CborError::TooComplex)?;
        let mut decoder = Decoder::from(self.rest);
        let header = decoder.pull().map_err(|_| CborError::Malformed)?;
        self.take(decoder.offset())?;
        let nested = || depth.checked_sub(1).ok_or(CborError::TooComplex);
        match header {
            Header::Positive(number) => Ok(Value::from(number)),
            Header::Negative(number) => Ok(negative(number)),
            Header::Float(number) => Ok(Value::Float(number)),
            Header::Simple(simple::FALSE) => Ok(Value::Bool(false)),
            Header::Simple(simple::TRUE) => Ok(Value::Bool(true)),
            Header::Simple(simple::NULL) => Ok(Value::Null),
            Header::Bytes(Some(length)) => Ok(Value::Bytes(self.take(length)?.to_vec())),
            Header::Text(Some(length)) => {
                let text = std::str::from_utf8(self.take(length)?);
                text.map(Value::from).map_err(|_| CborError::Malformed)
            }
            Header::Array(Some(length)) => self.array(length, nested()?),
            Header::Map(Some(length)) => self.map(length, nested()?),
            // Numbers beyond 64 bits have no place in a credential.
            Header::Tag(tag::BIGPOS | tag::BIGNEG) => Err(CborError::Malformed),
            Header::Tag(tag) => Ok(Value::Tag(tag, Box::new(self.item(nested()?)?))),
            Header::Bytes(None)
            | Header::Text(None)
            | Header::Array(None)
            | Header::Map(None)
            | Header::Simple(_)
            | Header::Break => Err(CborError::Malformed),
        }
    }

    fn array(&mut self, length: usize, depth: u8) -> Result<Value, CborError> {
        let mut elements = Vec::new();
        for _ in 0..length {
            elements.push(self.item(depth)?);
        }
        Ok(Value::Array(elements))
    }

    fn map(&mut self, length: usize, depth: u8) -> Result<Value, CborError> {
        let (mut entries, mut seen) = (Vec::new(), BTreeSet::new());
        for _ in 0..length {
            let key = self.item(depth)?;
            let identity = match &key {
                Value::Text(text) => MapKey::Text(text.clone()),
                Value::Integer(number) => MapKey::Integer((*number).into()),
                _ => return Err(CborError::Malformed),
            };
            if !seen.insert(identity) {
                return Err(CborError::Malformed);
            }
            entries.push((key, self.item(depth)?));
        }
        Ok(Value::Map(entries))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], CborError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CborError::Malformed)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// The header has the bits of a negative number inverted.
fn negative(inverted: u64) -> Value {
    let number = -1 - i128::from(inverted);
    ciborium::value::Integer::try_from(number).map_or(Value::Null, Value::Integer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_items_are_read() {
        let text = [0xa2, 0x61, b'a', 0x82, 0x01, 0x20, 0x01, 0xd8, 0x18, 0x42, 0x81, 0xf6];
        let expected = Value::Map(vec![
            ("a".into(), Value::Array(vec![1.into(), (-1).into()])),
            (1.into(), encoded_cbor_item(&[0x81, 0xf6])),
        ]);
        assert_eq!(parse_cbor(&text), Ok(expected));
    }

    #[test]
    fn ambiguous_cbor_is_refused() {
        for (what, text) in [
            ("empty", &[][..]),
            ("trailing bytes", &[0x01, 0x01]),
            ("truncated text", &[0x63, b'a']),
            ("no UTF-8", &[0x61, 0xff]),
            ("repeated text key", &[0xa2, 0x61, b'a', 1, 0x61, b'a', 2]),
            ("repeated integer key, in another length", &[0xa2, 0x01, 1, 0x18, 0x01, 2]),
            ("array as key", &[0xa1, 0x80, 1]),
            ("indefinite bytes", &[0x5f, 0x41, 1, 0xff]),
            ("indefinite text", &[0x7f, 0x61, b'a', 0xff]),
            ("indefinite array", &[0x9f, 0x01, 0xff]),
            ("indefinite map", &[0xbf, 0x01, 0x01, 0xff]),
            ("break alone", &[0xff]),
            ("undefined", &[0xf7]),
            ("big number", &[0xc2, 0x41, 1]),
            ("array longer than its text", &[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            (
                "bytes longer than their text",
                &[0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ),
        ] {
            assert_eq!(parse_cbor(text), Err(CborError::Malformed), "{what}");
        }
    }

    #[test]
    fn deep_nesting_and_floods_of_items_are_refused() {
        let deep = |opening: u8, levels: usize| [vec![opening; levels], vec![0x01]].concat();
        assert!(parse_cbor(&deep(0x81, 16)).is_ok());
        for opening in [0x81, 0xd8] {
            assert_eq!(parse_cbor(&deep(0x81, 17)), Err(CborError::TooComplex), "{opening}");
        }
        assert_eq!(parse_cbor(&[0xc6; 100_000]), Err(CborError::TooComplex));
        let flood = [vec![0x9a, 0, 1, 0, 0], vec![0; 65_536]].concat();
        assert_eq!(parse_cbor(&flood), Err(CborError::TooComplex));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = parse_cbor(&bytes) {
                prop_assert!(parse_cbor(&encode_cbor(&value)).is_ok());
            }
        }
    }
}
