//! Generates JSON Schemas of every kind of file from their types, for editors, the reference page
//! and diagnostics.

use std::path::Path;

use serde_json::{Value, json};

use crate::kinds::Kinds;
use crate::model::{DataProviderFile, ScopesFile, ServiceProviderFile, Settings};
use passerelle_connector::kind_settings::connector_schema;
use passerelle_extension::SettingsTable;
use passerelle_federation::notices::NoticesFile;
use passerelle_settings::TableKind;
use passerelle_settings::schema_node::{self, schema_for};
use passerelle_web::theme::ThemeFile;

/// Returns the schema of the settings file, with the tables of these kinds.
pub(crate) fn settings_schema(kinds: Kinds) -> Value {
    let mut generator = schema_node::generator();
    let mut schema = generator.root_schema_for::<Settings>().to_value();
    for SettingsTable { kind, .. } in kinds.extension_tables() {
        let mut table = (kind.schema)(&mut generator);
        table.insert("description".to_owned(), kind.summary.into());
        if let Some(Value::Object(keys)) = schema.pointer_mut("/properties") {
            keys.insert(kind.name.to_owned(), table.to_value());
        }
    }
    let mut variants = |kinds: &[TableKind]| {
        let variant = |kind: &TableKind| {
            json!({
                "type": "object",
                "properties": { kind.name: (kind.schema)(&mut generator) },
                "required": [kind.name],
                "additionalProperties": false,
                "description": kind.summary,
            })
        };
        kinds.iter().map(variant).collect::<Value>()
    };
    let tables =
        [("StoreConfig", variants(kinds.stores)), ("RegisterConfig", variants(kinds.registers))];
    let mut definitions = generator.take_definitions(false);
    for (name, variants) in tables {
        if let Some(Value::Object(definition)) = definitions.get_mut(name) {
            let description = definition.remove("description").unwrap_or_default();
            *definition = [("oneOf", variants), ("description", description)]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect();
        }
    }
    if let Some(place) = schema.pointer_mut("/$defs") {
        *place = definitions.into();
    }
    schema
}

/// Returns every schema with its file name in `config/schemas`.
pub fn schemas(kinds: Kinds) -> Vec<(&'static str, Value)> {
    vec![
        ("passerelle.schema.json", settings_schema(kinds)),
        ("service-provider.schema.json", schema_for::<ServiceProviderFile>()),
        ("data-provider.schema.json", schema_for::<DataProviderFile>()),
        ("connector.schema.json", connector_schema(kinds.connectors)),
        ("scopes.schema.json", schema_for::<ScopesFile>()),
        ("notices.schema.json", schema_for::<NoticesFile>()),
        ("theme.schema.json", schema_for::<ThemeFile>()),
    ]
}

/// Writes every schema into `folder`, creating it if necessary.
///
/// # Errors
/// Fails if the folder or a file can't be written.
pub fn write_schemas(folder: &Path, kinds: Kinds) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, schema) in schemas(kinds) {
        std::fs::write(folder.join(name), render_schema(&schema))?;
    }
    Ok(())
}

/// Formats a schema as a file: indented, with a final newline.
pub(crate) fn render_schema(schema: &Value) -> String {
    format!("{schema:#}\n")
}
