//! JSON Schemas of every kind of file, generated from the shapes: for editors, for the reference, and for the text of
//! error messages.

use std::path::Path;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use super::data_providers::DataProvider;
use super::model::{ConnectorFile, ServiceProvider, Settings};
use super::notices::NoticesFile;
use super::scopes::ScopesFile;
use super::theme::ThemeFile;

/// Every schema with the name of its file, as kept in `config/schemas`.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("passerelle.schema.json", of::<Settings>()),
        ("service-provider.schema.json", of::<ServiceProvider>()),
        ("data-provider.schema.json", of::<DataProvider>()),
        ("connector.schema.json", of::<ConnectorFile>()),
        ("scopes.schema.json", of::<ScopesFile>()),
        ("notices.schema.json", of::<NoticesFile>()),
        ("theme.schema.json", of::<ThemeFile>()),
    ]
}

/// Writes every schema into `folder`, which is created if need be.
///
/// # Errors
/// The folder or a file can't be written.
pub fn write_schemas(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, schema) in schemas() {
        std::fs::write(folder.join(name), rendered(&schema))?;
    }
    Ok(())
}

pub(super) fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>().to_value()
}

/// As written to a file: indented, with a line end.
pub(super) fn rendered(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// What a key holds, in an operator's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Integer,
    Boolean,
    /// One of a few words.
    Choice,
    List,
    Table,
}

impl Kind {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "a whole number",
            Self::Boolean => "true or false",
            Self::Choice => "one of a few words",
            Self::List => "a list",
            Self::Table => "a table",
        }
    }
}

/// A place in a schema; references are followed on the way.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    root: &'a Value,
    /// As the field has it, with its own description and default.
    field: &'a Value,
}

impl<'a> Node<'a> {
    pub const fn root(schema: &'a Value) -> Self {
        Self { root: schema, field: schema }
    }

    /// The node of a key of this table, or of an item where this is a list.
    pub fn child(self, key: &str) -> Option<Self> {
        let shape = self.shape();
        let variants = shape.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let own =
            [shape].into_iter().chain(variants).find_map(|table| table.get("properties")?.get(key));
        let field = own.or_else(|| shape.get("additionalProperties").filter(|any| any.is_object()));
        let field = field.or_else(|| shape.get("patternProperties")?.as_object()?.values().next());
        let field = field.or_else(|| shape.get("items").filter(|_| key.parse::<usize>().is_ok()));
        Some(Self { root: self.root, field: field? })
    }

    pub fn at<'k>(self, path: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        path.into_iter().try_fold(self, Self::child)
    }

    /// The named keys of a table; none for a map with free keys.
    pub fn keys(self) -> Vec<&'a str> {
        let shape = self.shape();
        let variants = shape.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let tables = [shape].into_iter().chain(variants);
        let mut keys: Vec<&str> = tables
            .filter_map(|table| table.get("properties")?.as_object())
            .flat_map(|keys| keys.keys().map(String::as_str))
            .collect();
        keys.sort_unstable();
        keys
    }

    pub fn kind(self) -> Kind {
        let shape = self.shape();
        if !self.choices().is_empty() {
            return Kind::Choice;
        }
        if shape.get("oneOf").is_some() {
            return Kind::Table;
        }
        let named =
            shape.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
        match named {
            Some("integer") => Kind::Integer,
            Some("boolean") => Kind::Boolean,
            Some("array") => Kind::List,
            Some("object") => Kind::Table,
            _ => Kind::Text,
        }
    }

    /// The allowed words, where only a few are.
    pub fn choices(self) -> Vec<&'a str> {
        let shape = self.shape();
        let one_of = shape.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        let mut words = Vec::new();
        for part in [shape].into_iter().chain(one_of) {
            words.extend(part.get("const").and_then(Value::as_str));
            words.extend(
                part.get("enum")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str),
            );
        }
        words
    }

    pub fn description(self) -> Option<&'a str> {
        let of = |value: &'a Value| value.get("description").and_then(Value::as_str);
        of(self.field).or_else(|| of(self.shape()))
    }

    pub fn default(self) -> Option<&'a Value> {
        self.field.get("default").filter(|value| !value.is_null())
    }

    pub fn requires(self, key: &str) -> bool {
        let required = self.shape().get("required").and_then(Value::as_array);
        required.is_some_and(|keys| keys.iter().any(|name| name == key))
    }

    /// What to write there, in one line: the allowed words, or the key's description.
    pub fn hint(self) -> String {
        let choices = self.choices();
        if !choices.is_empty() {
            return format!("write one of: {}", choices.join(", "));
        }
        let of = |value: &Value| {
            value.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "))
        };
        match (of(self.field), of(self.shape())) {
            (Some(field), Some(shape)) if field != shape => format!("{field} {shape}"),
            (Some(text), _) | (None, Some(text)) => text,
            (None, None) => format!("write {}", self.kind().in_words()),
        }
    }

    /// The field's schema behind `$ref` and behind "or null".
    fn shape(self) -> &'a Value {
        let mut value = self.field;
        // Depth is bounded by the shapes; the limit only guards against a schema that refers to itself.
        for _ in 0..8 {
            if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
                let Some(target) = self.root.pointer(reference.trim_start_matches('#')) else {
                    break;
                };
                value = target;
            } else if let Some(options) = value.get("anyOf").and_then(Value::as_array) {
                let not_null =
                    |option: &&Value| option.get("type").and_then(Value::as_str) != Some("null");
                let Some(some) = options.iter().find(not_null) else { break };
                value = some;
            } else {
                break;
            }
        }
        value
    }
}
