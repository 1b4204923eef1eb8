//! Navigates the JSON Schema of a type.

use std::any::TypeId;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::FileRole;
use super::secret_ref::CERTIFICATE_VARIABLE;

/// Returns a generator of schemas.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Returns the JSON Schema of `T`.
pub fn schema_for<T: JsonSchema>() -> Value {
    generator().into_root_schema_for::<T>().to_value()
}

/// Returns the JSON Schema of `T`, which is made once: that takes longer than reading a file.
pub fn shared_schema_for<T: JsonSchema + 'static>() -> Arc<Value> {
    static SCHEMAS: LazyLock<Mutex<HashMap<TypeId, Arc<Value>>>> = LazyLock::new(Mutex::default);
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || Arc::new(schema_for::<T>());
    Arc::clone(schemas.entry(TypeId::of::<T>()).or_insert_with(make))
}

/// Kind of value that a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueKind {
    Text,
    Integer,
    Boolean,
    /// One of several fixed words.
    Choice,
    List,
    Table,
}

impl ValueKind {
    /// Returns the kind as text for operators.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "a whole number",
            Self::Boolean => "true or false",
            Self::Choice => "one of several words",
            Self::List => "a list",
            Self::Table => "a table",
        }
    }
}

/// A node of a schema. Navigation follows `$ref`.
#[derive(Clone, Copy)]
pub struct SchemaNode<'a> {
    root: &'a Value,
    /// The field's own schema, with its description and default.
    field: &'a Value,
}

impl<'a> SchemaNode<'a> {
    /// Returns the root node.
    pub const fn root(schema: &'a Value) -> Self {
        Self { root: schema, field: schema }
    }

    /// Returns the node of a key of this table, or of an item of this list.
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

    /// Returns the node at a path of keys.
    pub fn descend<'k>(self, path: impl IntoIterator<Item = &'k str>) -> Option<Self> {
        path.into_iter().try_fold(self, Self::child)
    }

    /// Returns the keys of a table, sorted; none for a map with free keys.
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

    /// Returns the kind of value.
    pub fn kind(self) -> ValueKind {
        let shape = self.shape();
        if !self.choices().is_empty() {
            return ValueKind::Choice;
        }
        if shape.get("oneOf").is_some() {
            return ValueKind::Table;
        }
        let named =
            shape.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
        match named {
            Some("integer") => ValueKind::Integer,
            Some("boolean") => ValueKind::Boolean,
            Some("array") => ValueKind::List,
            Some("object") => ValueKind::Table,
            _ => ValueKind::Text,
        }
    }

    /// Returns the allowed words of a [`ValueKind::Choice`].
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

    /// Returns the range of a number, if its type states one.
    pub fn range(self) -> Option<RangeInclusive<u64>> {
        let bound = |name: &str| {
            let own = self.field.get(name).or_else(|| self.shape().get(name));
            own?.as_u64()
        };
        Some(bound("minimum")?..=bound("maximum")?)
    }

    /// Returns what the file is whose path this text is; `None` for any other value.
    pub fn file_role(self) -> Option<FileRole> {
        FileRole::from_format(self.format()?)
    }

    /// Returns whether this text is the name of an environment variable that has certificates.
    pub fn is_certificate_variable(self) -> bool {
        self.format() == Some(CERTIFICATE_VARIABLE)
    }

    fn format(self) -> Option<&'a str> {
        self.field.get("format").or_else(|| self.shape().get("format"))?.as_str()
    }

    /// Returns the description.
    pub fn description(self) -> Option<&'a str> {
        let text = |value: &'a Value| value.get("description").and_then(Value::as_str);
        text(self.field).or_else(|| text(self.shape()))
    }

    /// Returns the description in one line without its sentence about the default, and what that
    /// sentence says: `never` for `Default: never.`
    pub fn meaning_and_default(self) -> (String, Option<String>) {
        let text = self.description().unwrap_or_default().replace('\n', " ");
        let Some((before, sentence)) = text.split_once("Default: ") else { return (text, None) };
        let ends = sentence.match_indices(". ").map(|(end, _)| end);
        let is_new_sentence = |end: &usize| {
            let next = sentence.get(end + 2..).and_then(|rest| rest.chars().next());
            next.is_some_and(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '`')
        };
        let (default, after) = match ends.into_iter().find(is_new_sentence) {
            Some(end) => sentence.split_at(end),
            None => (sentence.trim_end_matches('.'), ""),
        };
        let after = after.trim_start_matches(['.', ' ']);
        (format!("{before}{after}").trim_ascii_end().to_owned(), Some(default.to_owned()))
    }

    /// Returns the default value.
    pub fn default(self) -> Option<&'a Value> {
        self.field.get("default").filter(|value| !value.is_null())
    }

    /// Returns the first example of this table.
    pub fn example(self) -> Option<&'a Value> {
        self.shape().get("examples")?.get(0)
    }

    /// Returns true if this table requires `key`.
    pub fn requires(self, key: &str) -> bool {
        let required = self.shape().get("required").and_then(Value::as_array);
        required.is_some_and(|keys| keys.iter().any(|name| name == key))
    }

    /// Returns the paths of the tables that have `key`, such as `lifetimes` for `login_seconds`;
    /// those in lists and in maps with free keys are not among them.
    pub fn tables_with_key(self, key: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.visit_keys("", ".", 8, &mut |path, node| {
            if node.kind() == ValueKind::Table && node.keys().contains(&key) {
                found.push(path.to_owned());
            }
        });
        found
    }

    /// Calls `each` with every key below this table, its path and its schema, at most `depth` levels
    /// down.
    pub fn visit_keys(
        self,
        prefix: &str,
        separator: &str,
        depth: usize,
        each: &mut impl FnMut(&str, Self),
    ) {
        for key in self.keys() {
            let Some(node) = self.child(key).filter(|_| depth > 0) else { continue };
            let path =
                if prefix.is_empty() { key.into() } else { format!("{prefix}{separator}{key}") };
            each(&path, node);
            node.visit_keys(&path, separator, depth - 1, each);
        }
    }

    /// Returns what to type for `key`: `write one of: …`, or an example line of TOML.
    pub fn hint(self, key: &str) -> String {
        let choices = self.choices();
        if !choices.is_empty() {
            return format!("write one of: {}", choices.join(", "));
        }
        // A type with a form of its own says in its description what to write.
        let own = self.shape().get("description").and_then(Value::as_str);
        if let Some(form) = own.and_then(|text| text.strip_prefix("Write ")) {
            return format!("write {}", form.trim_end_matches('.'));
        }
        match self.range() {
            Some(range) => format!("write a number from {} to {}", range.start(), range.end()),
            None if self.kind() == ValueKind::Boolean => "write true or false".into(),
            None => format!("write {}", self.example_line(key)),
        }
    }

    /// Returns an example line: `listen = "127.0.0.1:8080"`.
    pub fn example_line(self, key: &str) -> String {
        format!("{key} = {}", self.example_toml())
    }

    /// Returns an example value in TOML: that of the type, or one of the right form.
    pub fn example_toml(self) -> String {
        self.example_value(4)
    }

    fn example_value(self, depth: usize) -> String {
        let example = |schema: &'a Value| schema.get("examples").and_then(|list| list.get(0));
        let example = example(self.field)
            .or_else(|| example(self.shape()))
            .or_else(|| self.default().filter(|value| value.is_string() || value.is_number()));
        if let Some(example) = example {
            return inline_toml(example);
        }
        if let Some(choice) = self.choices().first() {
            return format!("\"{choice}\"");
        }
        let item = |key: &str| {
            let node = self.child(key).filter(|_| depth > 0);
            node.map_or_else(|| "\"…\"".into(), |node| node.example_value(depth - 1))
        };
        match self.kind() {
            ValueKind::Text | ValueKind::Choice => "\"…\"".into(),
            ValueKind::Integer => self.range().map_or(1, |range| *range.start()).to_string(),
            ValueKind::Boolean => "true".into(),
            ValueKind::List => format!("[{}]", item("0")),
            ValueKind::Table => {
                let known = self.keys();
                let mut keys: Vec<&str> =
                    known.iter().copied().filter(|key| self.requires(key)).collect();
                if keys.is_empty() {
                    keys.push(known.last().copied().unwrap_or("NAME"));
                }
                let members = keys.iter().map(|key| format!("{key} = {}", item(key)));
                format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
            }
        }
    }

    /// Resolves `$ref` and skips "or null".
    fn shape(self) -> &'a Value {
        let mut value = self.field;
        // The limit protects against a schema that refers to itself.
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

/// Writes a JSON value as TOML on one line.
fn inline_toml(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let members =
                table.iter().map(|(key, value)| format!("{key} = {}", inline_toml(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline_toml).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
