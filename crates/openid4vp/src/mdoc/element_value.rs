//! Values of data elements as JSON.

use chrono::{DateTime, NaiveTime};
use ciborium::Value as Cbor;
use serde_json::{Map, Value};

use crate::cbor::{embedded_cbor, parse_cbor};
use passerelle_protocol::digest;

/// Name of the birth date, in a PID and in a driving licence.
const BIRTH_DATE: &str = "birth_date";

/// Converts a data element with this name. A birth date is a `full-date` (PID rulebook §3.1, ISO/IEC
/// 18013-5 §7.2.1); some issuers write a `tdate` at midnight, which is the same date.
pub(super) fn to_claim(name: &str, value: &Cbor) -> Value {
    let converted = to_json(value);
    let date = converted.as_str().filter(|_| name == BIRTH_DATE).and_then(date_of_midnight);
    date.map_or(converted, Value::from)
}

/// Returns the date of a date-time at midnight, at whatever offset it is written. Another time may
/// be midnight elsewhere, so that the date is not known.
fn date_of_midnight(text: &str) -> Option<String> {
    let written = DateTime::parse_from_rfc3339(text).ok()?.naive_local();
    (written.time() == NaiveTime::MIN).then(|| written.date().to_string())
}

/// Converts a data element: dates and texts to texts, byte strings to base64url, encoded CBOR to
/// what it encodes.
pub(super) fn to_json(value: &Cbor) -> Value {
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
    use crate::cbor::{encode_cbor, encoded_cbor_item};

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
    fn a_birth_date_with_a_time_at_midnight_is_its_date() {
        let tdate = |text: &str| Cbor::Tag(0, Box::new(text.into()));
        for (name, value, expected) in [
            ("birth_date", tdate("1964-08-12T00:00:00Z"), "1964-08-12"),
            ("birth_date", tdate("1964-08-12T00:00:00+02:00"), "1964-08-12"),
            ("birth_date", Cbor::from("1964-08-12T00:00:00Z"), "1964-08-12"),
            ("birth_date", Cbor::Tag(1004, Box::new("1964-08-12".into())), "1964-08-12"),
            // Midnight in Paris or not: the date is not known, and the mapping refuses the claim.
            ("birth_date", tdate("1964-08-11T22:00:00Z"), "1964-08-11T22:00:00Z"),
            ("birth_date", tdate("0000-13-40T00:00:00Z"), "0000-13-40T00:00:00Z"),
            // Another element keeps its time.
            ("issue_date", tdate("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00Z"),
        ] {
            assert_eq!(to_claim(name, &value), json!(expected));
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
