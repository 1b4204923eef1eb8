//! Parses untrusted JSON: rejects or drops duplicate members, which parsers resolve differently,
//! and rejects deep nesting.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Why a text was rejected. Contains nothing of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonError {
    #[error("not a JSON object, a repeated member, or nested too deeply")]
    Malformed,
}

const MAX_DEPTH: u8 = 16;
/// Bytes of the pointers to the repeated members of one document.
const MAX_POINTER_BYTES: usize = 64 * 1024;

/// A JSON object without the members that it repeats.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ObjectWithoutRepeated {
    pub members: Map<String, Value>,
    /// JSON Pointers to the members that the text repeats (RFC 6901 §3), in order.
    pub repeated: BTreeSet<String>,
}

/// Parses one JSON object of at most 16 levels, at any depth without the members that it repeats:
/// none of their values counts. The caller refuses the repeated members that it needs.
///
/// # Errors
/// `Malformed` for anything else, and if the pointers to the repeated members exceed 64 KiB.
pub fn parse_object_without_repeated(text: &[u8]) -> Result<ObjectWithoutRepeated, JsonError> {
    let repeated = RefCell::<RepeatedMembers>::default();
    match parse_value(text, Some(&repeated))? {
        Value::Object(members) => {
            Ok(ObjectWithoutRepeated { members, repeated: repeated.into_inner().pointers })
        }
        _ => Err(JsonError::Malformed),
    }
}

/// Parses one JSON object of at most 16 levels without repeated members.
///
/// # Errors
/// `Malformed` for anything else.
pub fn parse_object(text: &[u8]) -> Result<Map<String, Value>, JsonError> {
    match parse_value(text, None)? {
        Value::Object(members) => Ok(members),
        _ => Err(JsonError::Malformed),
    }
}

/// Replaces each escaped half of a surrogate pair, for which parsers refuse the whole text, with the
/// noncharacter U+FFFF (RFC 8259 §8.2). Different texts become equal, so a value with U+FFFF must
/// identify nothing.
pub fn replace_lone_surrogates(text: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Cow::Borrowed(text);
    let mut at = 0;
    let next_escape = |from: usize| text.get(from..)?.iter().position(|byte| *byte == b'\\');
    while let Some(skipped) = next_escape(at) {
        at += skipped;
        at += match (escaped_code(text, at), escaped_code(text, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                if let Some(digits) = replaced.to_mut().get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"ffff");
                }
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
    }
    replaced
}

/// Returns the UTF-16 code of an escape `\uXXXX` at this place.
fn escaped_code(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    u16::from_str_radix(str::from_utf8(digits).ok().filter(|_| is_hex)?, 16).ok()
}

/// Parses one JSON array by the same rules.
///
/// # Errors
/// `Malformed` for anything else.
pub fn parse_array(text: &[u8]) -> Result<Vec<Value>, JsonError> {
    match parse_value(text, None)? {
        Value::Array(elements) => Ok(elements),
        _ => Err(JsonError::Malformed),
    }
}

fn parse_value(
    text: &[u8],
    repeated: Option<&RefCell<RepeatedMembers>>,
) -> Result<Value, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let reader = ValueReader { depth: MAX_DEPTH, place: Place::Root, repeated };
    let value = reader.deserialize(&mut deserializer).map_err(|_| JsonError::Malformed)?;
    deserializer.end().map_err(|_| JsonError::Malformed)?;
    Ok(value)
}

#[derive(Default)]
struct RepeatedMembers {
    pointers: BTreeSet<String>,
    bytes: usize,
}

/// Where a value is in the text.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

/// The JSON Pointer (RFC 6901 §3).
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(parent, name) => {
                write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
            }
            Self::Item(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// Reads a value. Without `repeated`, a repeated member is an error.
struct ValueReader<'a> {
    depth: u8,
    place: Place<'a>,
    repeated: Option<&'a RefCell<RepeatedMembers>>,
}

impl ValueReader<'_> {
    fn nested<'a, E: Error>(&'a self, place: Place<'a>) -> Result<ValueReader<'a>, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom("nested too deeply"))?;
        Ok(ValueReader { depth, place, repeated: self.repeated })
    }

    fn record_repeated<E: Error>(&self, name: &str) -> Result<(), E> {
        let repeated = self.repeated.ok_or_else(|| E::custom("repeated member"))?;
        let RepeatedMembers { pointers, bytes } = &mut *repeated.borrow_mut();
        let pointer = Place::Member(&self.place, name).to_string();
        *bytes += pointer.len();
        pointers.insert(pointer);
        if *bytes > MAX_POINTER_BYTES {
            return Err(E::custom("too many repeated members"));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ValueReader<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueReader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }
    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) =
            seq.next_element_seed(self.nested(Place::Item(&self.place, items.len()))?)?
        {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let (mut members, mut repeated) = (Map::new(), BTreeSet::new());
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(self.nested(Place::Member(&self.place, &name))?)?;
            match members.entry(name) {
                Entry::Vacant(entry) => _ = entry.insert(value),
                Entry::Occupied(entry) => {
                    self.record_repeated(entry.key())?;
                    repeated.insert(entry.key().clone());
                }
            }
        }
        members.retain(|name, _| !repeated.contains(name));
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_member_is_refused_at_any_depth() {
        assert!(parse_object(br#"{"a":1,"a":1}"#).is_err());
        assert!(parse_object(br#"{"a":[{"b":1,"b":2}]}"#).is_err());
        assert!(parse_object(br#"{"a":[{"b":1},{"b":2}], "c":null, "d":-1.5}"#).is_ok());
    }

    #[test]
    fn bottomless_nesting_and_trailing_text_are_refused() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(1000), "]".repeat(1000));
        assert!(parse_object(deep.as_bytes()).is_err());
        assert!(parse_object(b"{} {}").is_err());
        assert!(parse_object(b"[]").is_err());
    }

    #[test]
    fn a_repeated_member_is_dropped_whole_and_named_at_any_depth() {
        let text =
            br#"{"a":1,"b":{"c":1,"c":2,"d":3},"a":2,"e":[{"f/~":1,"f/~":1},{"g":1}],"a":3}"#;
        let object = parse_object_without_repeated(text).unwrap();
        let members = serde_json::json!({ "b": { "d": 3 }, "e": [{}, { "g": 1 }] });
        assert_eq!(Value::Object(object.members), members);
        assert_eq!(object.repeated, ["/a", "/b/c", "/e/0/f~1~0"].map(str::to_owned).into());
        let none = parse_object_without_repeated(br#"{"a":1}"#).unwrap();
        assert!(none.repeated.is_empty());
    }

    #[test]
    fn only_a_lone_surrogate_becomes_a_noncharacter() {
        for (text, parsed) in [
            (r#"\ud800"#, "\u{ffff}"),
            (r#"\uDFFFa"#, "\u{ffff}a"),
            (r#"\ud83d\ude00"#, "\u{1f600}"),
            (r#"\ud83d\ud83d\ude00"#, "\u{ffff}\u{1f600}"),
            (r#"\ude00\ud83d"#, "\u{ffff}\u{ffff}"),
            (r#"\\ud800"#, "\\ud800"),
            (r#"\\\ud800\u00e9é"#, "\\\u{ffff}éé"),
        ] {
            let text = format!(r#"{{"name":"{text}"}}"#);
            let object = parse_object(&replace_lone_surrogates(text.as_bytes())).unwrap();
            assert_eq!(object["name"], parsed, "{text}");
        }
        for malformed in [r#"{"a":"\ud8"#, r#"{"a":"\ud8zz"}"#, r#"{"a":"\u+800"}"#, "\\"] {
            assert_eq!(replace_lone_surrogates(malformed.as_bytes()), malformed.as_bytes());
        }
    }

    /// Attack: pointers that are much longer together than the text.
    #[test]
    fn the_pointers_to_repeated_members_are_bounded() {
        let inner = |n: usize| format!("\"{n}\":1,\"{n}\":1");
        let members: Vec<String> = (0..100).map(inner).collect();
        let text = |name: &str| format!("{{\"{name}\":{{{}}}}}", members.join(","));
        let short = parse_object_without_repeated(text("a").as_bytes()).unwrap();
        assert_eq!(short.repeated.len(), 100);
        let long = text(&"a".repeat(1000));
        assert_eq!(parse_object_without_repeated(long.as_bytes()), Err(JsonError::Malformed));
    }
}
