//! Values of data elements as JSON.

use ciborium::Value as Cbor;
use serde_json::{Map, Value};

use crate::connector::openid4vp::cbor::{embedded_cbor, parse_cbor};
use crate::digest;

/// Converts a data element: dates and texts to texts, byte strings to base64url, encoded CBOR to
/// what it encodes.
pub fn to_json(value: &Cbor) -> Value {
    Converter { decodes_embedded: true }.convert(value)
}

/// Encoded CBOR is decoded once: what is encoded inside of it stays a byte string, because nesting
/// would have no limit.
#[derive(Clone, Copy)]
struct Converter {
    decodes_embedded: bool,
}

impl Converter {
    fn convert(self, value: &Cbor) -> Value {
        match value {
            Cbor::Integer(number) => {
                let number = i128::from(*number);
                let signed = i64::try_from(number).map(Value::from);
                signed.or_else(|_| u64::try_from(number).map(Value::from)).unwrap_or_default()
            }
            Cbor::Float(number) => Value::from(*number),
            Cbor::Bool(value) => Value::Bool(*value),
            Cbor::Text(text) => Value::from(text.as_str()),
            Cbor::Bytes(bytes) => Value::from(digest::base64url(bytes)),
            Cbor::Array(elements) => elements.iter().map(|element| self.convert(element)).collect(),
            Cbor::Map(entries) => {
                let member =
                    |(key, value): &(Cbor, Cbor)| Some((key_text(key)?, self.convert(value)));
                Value::Object(entries.iter().filter_map(member).collect::<Map<_, _>>())
            }
            Cbor::Tag(_, inner) => {
                let embedded = embedded_cbor(value).filter(|_| self.decodes_embedded);
                match embedded.map(parse_cbor) {
                    Some(Ok(decoded)) => Self { decodes_embedded: false }.convert(&decoded),
                    _ => self.convert(inner),
                }
            }
            _ => Value::Null,
        }
    }
}

fn key_text(key: &Cbor) -> Option<String> {
    match key {
        Cbor::Text(text) => Some(text.clone()),
        Cbor::Integer(number) => Some(i128::from(*number).to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::connector::openid4vp::cbor::{encode_cbor, encoded_cbor_item};

    #[test]
    fn values_become_what_json_has() {
        let date = Cbor::Tag(1004, Box::new("1964-08-12".into()));
        let portrait = Cbor::Bytes(vec![0xff, 0xd8]);
        let codes =
            Cbor::Array(vec![Cbor::Map(vec![("code".into(), "A".into()), (1.into(), Cbor::Null)])]);
        for (value, expected) in [
            (date, json!("1964-08-12")),
            (portrait, json!("_9g")),
            (codes, json!([{ "code": "A", "1": null }])),
            (Cbor::from(180), json!(180)),
            (Cbor::from(-1), json!(-1)),
            (Cbor::from(u64::MAX), json!(u64::MAX)),
            (Cbor::Bool(true), json!(true)),
            (Cbor::Float(1.5), json!(1.5)),
            (Cbor::Float(f64::NAN), json!(null)),
        ] {
            assert_eq!(to_json(&value), expected);
        }
    }

    #[test]
    fn encoded_cbor_in_encoded_cbor_is_not_followed() {
        let mut value = Cbor::from("end");
        for _ in 0..20_000 {
            value = encoded_cbor_item(&encode_cbor(&Cbor::Array(vec![value])));
            if encode_cbor(&value).len() > 10_000 {
                break;
            }
        }
        assert!(to_json(&value).as_array().unwrap()[0].is_string());
    }
}
