//! Overrides `passerelle.toml` with `PASSERELLE_…` environment variables, with `__` between levels.
//!
//! The type of a key comes from the schema, not from the value: `0123` stays a text where the key
//! is a text.

use std::collections::{BTreeMap, BTreeSet};

use figment::value::{Dict, Value};

use super::closest_word::closest_word;
use super::diagnostic::Diagnostic;
use super::schema_node::{SchemaNode, ValueKind};

/// Prefix of the variables that set keys.
pub const PREFIX: &str = "PASSERELLE_";

/// A snapshot of environment variables. `Debug` prints none of them, since any may be a secret.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("Environment(***)")]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// No secret is read; see [`Self::without_secrets`].
    without_secrets: bool,
}

impl Environment {
    /// Returns the variables of this process. Skips those that are not UTF-8.
    pub fn from_process() -> Self {
        let utf8 = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(utf8).collect()
    }

    /// Returns the same variables for checking a configuration where its secrets are not present: no
    /// secret is read, and each reference stands for a made-up text. Nothing may be served with it.
    #[must_use]
    pub fn without_secrets(self) -> Self {
        Self { without_secrets: true, ..self }
    }

    /// Returns true if no secret is read.
    pub const fn is_without_secrets(&self) -> bool {
        self.without_secrets
    }

    /// Returns the value of a variable.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { variables: variables.collect(), without_secrets: false }
    }
}

/// Values set by environment variables.
#[derive(Clone, Default)]
pub struct Overlay {
    /// The values, nested like the file.
    pub values: Dict,
    /// The variable of each key: `public.listen` → `PASSERELLE_PUBLIC__LISTEN`.
    pub variables: BTreeMap<String, String>,
}

/// Reads the overlay for the file that `schema` describes. Skips the variables in `reserved`:
/// secrets that a file references, such as `{ env = "PASSERELLE_SUBJECT_KEY" }`.
pub fn read_overlay(
    environment: &Environment,
    schema: &SchemaNode<'_>,
    reserved: &BTreeSet<String>,
    problems: &mut Vec<Diagnostic>,
) -> Overlay {
    let mut overlay = Overlay::default();
    for (name, value) in environment.variables.iter().filter(|(name, _)| !reserved.contains(*name))
    {
        let Some(key) = name.strip_prefix(PREFIX) else { continue };
        let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
        match parse_value(schema, &path, value) {
            Ok(value) => {
                insert_at_path(&mut overlay.values, &path, value);
                overlay.variables.insert(path.join("."), name.clone());
            }
            Err((message, fix)) => {
                problems.push(Diagnostic {
                    file: "environment".into(),
                    line: None,
                    key: name.clone(),
                    message,
                    fix,
                });
            }
        }
    }
    overlay
}

fn parse_value(
    schema: &SchemaNode<'_>,
    path: &[String],
    text: &str,
) -> Result<Value, (String, String)> {
    let mut node = *schema;
    for name in path {
        let Some(child) = node.child(name) else {
            return Err((
                "is not a setting".into(),
                describe_unknown_variable(schema, path, &node),
            ));
        };
        node = child;
    }
    let wrong = |wanted: &str| {
        let range = node.range().map(|range| format!("from {} to {}", range.start(), range.end()));
        let range = range.unwrap_or_else(|| format!("such as {}", node.example_toml()));
        (format!("must be {wanted}"), format!("write a number {range}"))
    };
    match node.kind() {
        ValueKind::Text | ValueKind::Choice => Ok(Value::from(text)),
        ValueKind::Integer => {
            text.parse::<u64>().map(Value::from).map_err(|_| wrong("a whole number, 0 or more"))
        }
        ValueKind::Boolean => {
            let wrong = |_| ("must be true or false".into(), "write true or false".into());
            text.parse::<bool>().map(Value::from).map_err(wrong)
        }
        ValueKind::List => Ok(Value::from(
            text.split(',')
                .map(str::trim_ascii)
                .filter(|item| !item.is_empty())
                .collect::<Vec<_>>(),
        )),
        ValueKind::Table => {
            let key =
                node.keys().first().map_or_else(|| "KEY".into(), |key| key.to_ascii_uppercase());
            let table = path.join("__").to_ascii_uppercase();
            Err((
                "is a table, which one variable can't set".into(),
                format!("set its keys one by one, for example {PREFIX}{table}__{key}"),
            ))
        }
    }
}

/// Returns what to type instead of a variable that sets nothing: the variable with the same letters
/// or with similar ones, as `PUBLIC_LISTEN` for `PUBLIC__LISTEN`. `table` is the innermost table of
/// the path.
fn describe_unknown_variable(
    schema: &SchemaNode<'_>,
    path: &[String],
    table: &SchemaNode<'_>,
) -> String {
    let mut variables = Vec::new();
    schema.visit_keys("", "__", 8, &mut |path, node| {
        if node.kind() != ValueKind::Table {
            variables.push(path.to_owned());
        }
    });
    let with_single = |name: &str| name.replace("__", "_");
    let written = with_single(&path.join("_"));
    let same = variables.iter().find(|variable| with_single(variable) == written);
    let meant = same.map(String::as_str).or_else(|| {
        closest_word(&written, &variables.iter().map(String::as_str).collect::<Vec<_>>())
    });
    match meant.map(|meant| format!("{PREFIX}{}", meant.to_ascii_uppercase())) {
        Some(variable) if same.is_some() => format!("write {variable}"),
        Some(variable) => format!("did you mean {variable}? If not, unset it"),
        None if path.len() > 1 && !table.keys().is_empty() => {
            format!("unset it; known here: {}", table.keys().join(", ").to_ascii_uppercase())
        }
        None => "unset the variable".into(),
    }
}

fn insert_at_path(values: &mut Dict, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        values.insert(first.clone(), value);
        return;
    }
    let nested = values.entry(first.clone()).or_insert_with(|| Value::from(Dict::new()));
    if let Value::Dict(_, nested) = nested {
        insert_at_path(nested, rest, value);
    }
}
