//! Where in an identity provider's claims a rule looks.

use serde_json::{Map, Value};

/// A claim's name, dots and all; or, where it begins with `/`, a JSON Pointer into the claims (RFC 6901).
///
/// Names with dots and slashes are common (`https://idp.example.org/claims/country`), so a dot can't mean a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    written: String,
    /// At least one.
    steps: Vec<String>,
}

/// Why a text is not a path.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathFault {
    #[error("is empty")]
    Empty,
    #[error("is longer than 512 characters, or has more than 16 steps")]
    TooLong,
    #[error("has a ~ that is neither ~0 (for ~) nor ~1 (for /)")]
    Escape,
}

impl Path {
    /// # Errors
    /// The first rule that the text breaks.
    pub fn parse(written: &str) -> Result<Self, PathFault> {
        if written.is_empty() {
            return Err(PathFault::Empty);
        }
        let steps = match written.strip_prefix('/') {
            None => vec![written.to_owned()],
            Some(pointer) => pointer.split('/').map(unescaped).collect::<Result<Vec<_>, _>>()?,
        };
        if written.len() > 512 || steps.len() > 16 {
            return Err(PathFault::TooLong);
        }
        Ok(Self { written: written.to_owned(), steps })
    }

    /// As the operator wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The claim in which it looks.
    #[must_use]
    pub fn claim(&self) -> &str {
        self.steps.first().map_or("", String::as_str)
    }

    /// The value there. `null` and the empty text count as absent, as they do for the identity rules.
    #[must_use]
    pub fn find<'c>(&self, claims: &'c Map<String, Value>) -> Option<&'c Value> {
        let (first, rest) = self.steps.split_first()?;
        let found = rest.iter().try_fold(claims.get(first)?, |value, step| match value {
            Value::Object(members) => members.get(step),
            Value::Array(items) => items.get(index(step)?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })?;
        (!found.is_null() && found.as_str() != Some("")).then_some(found)
    }
}

/// RFC 6901, 4: digits without a leading zero.
fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || !step.starts_with(['0', '+']);
    plain.then(|| step.parse().ok()).flatten()
}

fn unescaped(step: &str) -> Result<String, PathFault> {
    let mut plain = String::with_capacity(step.len());
    let mut parts = step.split('~');
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (c, rest) = match (part.strip_prefix('0'), part.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (_, Some(rest)) => ('/', rest),
            (None, None) => return Err(PathFault::Escape),
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
            ("/name/0", None),
            ("/address.country/x", None),
            ("/", None),
            ("empty", None),
            ("nothing", None),
            ("__proto__", None),
            ("/constructor/prototype", None),
        ] {
            let value = Path::parse(path)
                .unwrap()
                .find(claims.as_object().unwrap())
                .and_then(Value::as_str);
            assert_eq!(value, found, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_says_why() {
        let (long, deep) = ("x".repeat(513), "/x".repeat(17));
        for (path, fault) in [
            ("", PathFault::Empty),
            ("/a~2", PathFault::Escape),
            ("/a~", PathFault::Escape),
            (&long, PathFault::TooLong),
            (&deep, PathFault::TooLong),
        ] {
            assert_eq!(Path::parse(path), Err(fault), "{path}");
        }
        assert_eq!(Path::parse("a~2").unwrap().claim(), "a~2", "a name is taken as it is");
    }
}
