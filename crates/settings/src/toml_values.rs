//! Walks the values of a parsed TOML file.

use std::collections::BTreeMap;

use figment::value::{Dict, Value};
use toml::de::{DeTable, DeValue};

/// Converts a TOML value to a figment value.
pub(crate) fn figment_value(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(truth) => Value::from(truth),
        toml::Value::Datetime(moment) => Value::from(moment.to_string()),
        toml::Value::Array(items) => {
            Value::from(items.into_iter().map(figment_value).collect::<Vec<_>>())
        }
        toml::Value::Table(table) => Value::from(
            table.into_iter().map(|(key, value)| (key, figment_value(value))).collect::<Dict>(),
        ),
    }
}

/// Adds the line of each key of a table to `lines`.
pub(crate) fn index_table(
    text: &str,
    prefix: &str,
    table: &DeTable<'_>,
    lines: &mut BTreeMap<String, usize>,
) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        lines.insert(path.clone(), line_number(text, key.span().start));
        index_value(text, &path, value.get_ref(), lines);
    }
}

fn index_value(text: &str, path: &str, value: &DeValue<'_>, lines: &mut BTreeMap<String, usize>) {
    if let Some(table) = value.as_table() {
        index_table(text, path, table, lines);
    }
    for (index, item) in value.as_array().into_iter().flat_map(|items| items.iter()).enumerate() {
        let path = format!("{path}[{index}]");
        lines.insert(path.clone(), line_number(text, item.span().start));
        index_value(text, &path, item.get_ref(), lines);
    }
}

/// Returns the line at a byte offset, counted from 1.
pub(crate) fn line_number(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// `["secrets", "0", "env"]` → `secrets[0].env`.
pub(crate) fn key_path(path: &[String]) -> String {
    let mut key = String::new();
    for part in path {
        if part.parse::<usize>().is_ok() {
            key += &format!("[{part}]");
        } else {
            if !key.is_empty() {
                key.push('.');
            }
            key += part;
        }
    }
    key
}

/// Removes the value at a path; returns true if there was one.
pub(crate) fn remove_at_path(values: &mut Dict, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => values.remove(last).is_some(),
        [first, rest @ ..] => {
            values.get_mut(first).is_some_and(|value| remove_in_value(value, rest))
        }
    }
}

fn remove_in_value(value: &mut Value, path: &[String]) -> bool {
    match (value, path) {
        (Value::Dict(_, table), _) => remove_at_path(table, path),
        // Keeps the other items of a list in place, so that indices in later messages stay correct.
        (Value::Array(_, items), [index, rest @ ..]) if !rest.is_empty() => {
            let item = index.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            item.is_some_and(|item| remove_in_value(item, rest))
        }
        _ => false,
    }
}

/// Collects the texts at these keys, at any depth.
pub(crate) fn collect_texts(values: &Dict, keys: &[&str], names: &mut Vec<String>) {
    for (key, value) in values {
        collect_texts_in_value(key, value, keys, names);
    }
}

/// Calls `each` with the key and text of every string below a value.
pub(crate) fn visit_texts(key: &str, value: &Value, each: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(_, text) => each(key, text),
        Value::Dict(_, table) => table
            .iter()
            .for_each(|(name, value)| visit_texts(&format!("{key}.{name}"), value, each)),
        Value::Array(_, items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| visit_texts(&format!("{key}[{index}]"), item, each));
        }
        _ => {}
    }
}

fn collect_texts_in_value(key: &str, value: &Value, keys: &[&str], names: &mut Vec<String>) {
    match value {
        Value::String(_, name) if keys.contains(&key) => names.push(name.clone()),
        Value::Dict(_, table) => collect_texts(table, keys, names),
        Value::Array(_, items) => {
            for item in items {
                collect_texts_in_value("", item, keys, names);
            }
        }
        _ => {}
    }
}
