//! Paths into an identity provider's claims.

use serde_json::{Map, Value};

/// The name of a claim, which may contain dots; or, if it begins with `/`, a JSON Pointer into the
/// claims (RFC 6901).
///
/// Names with dots and slashes are common (`https://idp.example.org/claims/country`), so a dot is
/// not a separator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimPath {
    written: String,
    /// At least one.
    steps: Vec<String>,
}

/// Why a text is not a path.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimPathError {
    #[error("is empty")]
    Empty,
    #[error("is longer than 512 characters, or has more than 16 steps")]
    TooLong,
    #[error("has a ~ that is neither ~0 (for ~) nor ~1 (for /)")]
    Escape,
}

impl ClaimPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The first rule that the text breaks.
    pub fn parse(written: &str) -> Result<Self, ClaimPathError> {
        if written.is_empty() {
            return Err(ClaimPathError::Empty);
        }
        let steps = match written.strip_prefix('/') {
            None => vec![written.to_owned()],
            Some(pointer) => pointer.split('/').map(unescape).collect::<Result<Vec<_>, _>>()?,
        };
        if written.len() > 512 || steps.len() > 16 {
            return Err(ClaimPathError::TooLong);
        }
        Ok(Self { written: written.to_owned(), steps })
    }

    /// Returns the path as written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Returns the names on the path, at least one.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }

    /// Returns the name of the top-level claim.
    pub fn claim(&self) -> &str {
        self.steps.first().map_or("", String::as_str)
    }

    /// Returns the value at the path. `null` and the empty text count as absent, as in the identity
    /// rules. A text is the item 0 of itself, so that a path into a list finds the same value where
    /// one value is sent without a list.
    pub fn find<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        let (first, rest) = self.steps.split_first()?;
        let found = rest.iter().try_fold(claims.get(first)?, |value, step| match value {
            Value::Object(members) => members.get(step),
            Value::Array(items) => items.get(parse_index(step)?),
            Value::String(_) if step == "0" => Some(value),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })?;
        (!found.is_null() && found.as_str() != Some("")).then_some(found)
    }
}

/// RFC 6901 §4: digits without a leading zero.
fn parse_index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with(['0', '+']);
    plain.then(|| step.parse().ok()).flatten()
}

fn unescape(step: &str) -> Result<String, ClaimPathError> {
    let mut plain = String::with_capacity(step.len());
    let mut parts = step.split('~');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (c, rest) = match (part.strip_prefix('0'), part.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (_, Some(rest)) => ('/', rest),
            (None, None) => return Err(ClaimPathError::Escape),
        };
        plain.push(c);
        plain.push_str(rest);
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_by_table() {
        let claims = json!({
            "name": "a", "address.country": "b", "https://idp.example/c": "c", "/d": "d", "~": "e",
            "address": { "country": "f", "a/b": "g", "lines": ["h", { "x": "i" }], "": "j", "0": "k" },
            "empty": "", "nothing": null,
        });
        for (path, found) in [
            ("name", Some("a")),
            ("address.country", Some("b")),
            ("https://idp.example/c", Some("c")),
            ("/~1d", Some("d")),
            ("/~0", Some("e")),
            ("/address/country", Some("f")),
            ("/address/a~1b", Some("g")),
            ("/address/lines/0", Some("h")),
            ("/address/lines/1/x", Some("i")),
            ("/address/", Some("j")),
            ("/address/0", Some("k")),
            ("/address/lines/00", None),
            ("/address/lines/+0", None),
            ("/address/lines/-", None),
            ("/address/lines/2", None),
            ("/address/lines/99999999999999999999999", None),
            ("/name/0", Some("a")),
            ("/name/1", None),
            ("/address.country/x", None),
            ("/", None),
            ("empty", None),
            ("nothing", None),
            ("__proto__", None),
            ("/constructor/prototype", None),
        ] {
            let value = ClaimPath::parse(path)
                .unwrap()
                .find(claims.as_object().unwrap())
                .and_then(Value::as_str);
            assert_eq!(value, found, "{path}");
        }
    }

    #[test]
    fn an_invalid_path_is_rejected_with_the_reason() {
        let (long, deep) = ("x".repeat(513), "/x".repeat(17));
        for (path, error) in [
            ("", ClaimPathError::Empty),
            ("/a~2", ClaimPathError::Escape),
            ("/a~", ClaimPathError::Escape),
            (&long, ClaimPathError::TooLong),
            (&deep, ClaimPathError::TooLong),
        ] {
            assert_eq!(ClaimPath::parse(path), Err(error), "{path}");
        }
        assert_eq!(ClaimPath::parse("a~2").unwrap().claim(), "a~2", "a name is not unescaped");
    }
}
