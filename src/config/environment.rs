//! The environment as configuration: `PASSERELLE_…` variables over `passerelle.toml`, `__` between levels.
//!
//! The type of a key comes from the schema, never from the look of a value: `0123` stays text where text is wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use figment::value::{Dict, Value};

use super::problem::Problem;
use super::schema::{Kind, Node};
use super::source::near_miss;

pub const PREFIX: &str = "PASSERELLE_";

/// A snapshot of environment variables. `Debug` prints none of them: any could be a secret.
#[derive(Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The process's own; variables that are not UTF-8 are left out.
    #[must_use]
    pub fn of_process() -> Self {
        let utf8 = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self(std::env::vars_os().filter_map(utf8).collect())
    }

    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment(***)")
    }
}

/// The values that variables set, and which variable set which key.
#[derive(Default)]
pub struct Overlay {
    pub values: Dict,
    /// `public.listen` → `PASSERELLE_PUBLIC__LISTEN`.
    pub variables: BTreeMap<String, String>,
}

/// Reads the overlay for the file that `schema` describes. `reserved` names variables that hold secrets which a file
/// refers to, as `{ env = "PASSERELLE_SUBJECT_KEY" }`; those are no settings.
pub fn overlay(
    environment: &Environment,
    schema: &Node<'_>,
    reserved: &BTreeSet<String>,
    problems: &mut Vec<Problem>,
) -> Overlay {
    let mut overlay = Overlay::default();
    for (name, value) in environment.0.iter().filter(|(name, _)| !reserved.contains(*name)) {
        let Some(key) = name.strip_prefix(PREFIX) else { continue };
        let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
        match typed(schema, &path, value) {
            Ok(value) => {
                insert(&mut overlay.values, &path, value);
                overlay.variables.insert(path.join("."), name.clone());
            }
            Err((what, mend)) => {
                problems.push(Problem {
                    file: "environment".into(),
                    line: None,
                    key: name.clone(),
                    what,
                    mend,
                });
            }
        }
    }
    overlay
}

fn typed(schema: &Node<'_>, path: &[String], text: &str) -> Result<Value, (String, String)> {
    let mut node = *schema;
    for name in path {
        let Some(child) = node.child(name) else {
            let known = node
                .keys()
                .iter()
                .map(|key| key.to_ascii_uppercase())
                .collect::<Vec<_>>()
                .join(", ");
            let meant = near_miss(name, &node.keys())
                .map(|meant| format!("did you mean {}? If not, ", meant.to_ascii_uppercase()));
            let mend = match known.as_str() {
                "" => "unset the variable".into(),
                known => format!("{}unset it; known here: {known}", meant.unwrap_or_default()),
            };
            return Err(("is not a setting".into(), mend));
        };
        node = child;
    }
    let wrong = |wanted: &str| (format!("must be {wanted}"), node.hint());
    match node.kind() {
        Kind::Text | Kind::Choice => Ok(Value::from(text)),
        Kind::Integer => {
            text.parse::<u64>().map(Value::from).map_err(|_| wrong("a whole number, 0 or more"))
        }
        Kind::Boolean => text.parse::<bool>().map(Value::from).map_err(|_| wrong("true or false")),
        Kind::List => Ok(Value::from(
            text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect::<Vec<_>>(),
        )),
        Kind::Table => Err((
            "is a table, which one variable can't hold".into(),
            "set its keys one by one, with __ between levels".into(),
        )),
    }
}

fn insert(values: &mut Dict, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        values.insert(first.clone(), value);
        return;
    }
    let nested = values.entry(first.clone()).or_insert_with(|| Value::from(Dict::new()));
    if let Value::Dict(_, nested) = nested {
        insert(nested, rest, value);
    }
}
