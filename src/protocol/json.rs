//! Parses untrusted JSON: rejects duplicate members, which parsers resolve differently, and deep
//! nesting.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text was rejected. Contains nothing of the text.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonError {
    #[error("not a JSON object, a repeated member, or nested too deeply")]
    Malformed,
}

const MAX_DEPTH: u8 = 16;

/// Parses one JSON object of at most 16 levels without repeated members.
///
/// # Errors
/// `Malformed` for anything else.
pub fn parse_object(text: &[u8]) -> Result<Map<String, Value>, JsonError> {
    match parse_value(text)? {
        Value::Object(members) => Ok(members),
        _ => Err(JsonError::Malformed),
    }
}

/// Parses one JSON array by the same rules.
///
/// # Errors
/// `Malformed` for anything else.
pub fn parse_array(text: &[u8]) -> Result<Vec<Value>, JsonError> {
    match parse_value(text)? {
        Value::Array(elements) => Ok(elements),
        _ => Err(JsonError::Malformed),
    }
}

fn parse_value(text: &[u8]) -> Result<Value, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value =
        StrictValue(MAX_DEPTH).deserialize(&mut deserializer).map_err(|_| JsonError::Malformed)?;
    deserializer.end().map_err(|_| JsonError::Malformed)?;
    Ok(value)
}

struct StrictValue(u8);

impl StrictValue {
    fn nested<E: Error>(&self) -> Result<Self, E> {
        self.0.checked_sub(1).map(Self).ok_or_else(|| E::custom("nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue {
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
    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.nested()?)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(self.nested()?)?;
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("repeated member"));
            }
        }
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
}
