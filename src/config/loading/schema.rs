//! Generates JSON Schemas of every kind of file from their types, for editors, the reference page
//! and diagnostics.

use std::path::Path;

use serde_json::Value;

use super::schema_node::schema_for;
use crate::config::model::{
    DataProviderFile, NoticesFile, ScopesFile, ServiceProviderFile, Settings, ThemeFile,
};
use crate::config::validation::connector_kind::{ConnectorKindFormat, connector_schema};

/// Returns every schema with its file name in `config/schemas`, for these kinds of connectors.
#[must_use]
pub fn schemas(kinds: &[ConnectorKindFormat]) -> Vec<(&'static str, Value)> {
    vec![
        ("passerelle.schema.json", schema_for::<Settings>()),
        ("service-provider.schema.json", schema_for::<ServiceProviderFile>()),
        ("data-provider.schema.json", schema_for::<DataProviderFile>()),
        ("connector.schema.json", connector_schema(kinds)),
        ("scopes.schema.json", schema_for::<ScopesFile>()),
        ("notices.schema.json", schema_for::<NoticesFile>()),
        ("theme.schema.json", schema_for::<ThemeFile>()),
    ]
}

/// Writes every schema into `folder`, creating it if necessary.
///
/// # Errors
/// Fails if the folder or a file can't be written.
pub fn write_schemas(folder: &Path, kinds: &[ConnectorKindFormat]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, schema) in schemas(kinds) {
        std::fs::write(folder.join(name), render_schema(&schema))?;
    }
    Ok(())
}

/// Formats a schema as a file: indented, with a final newline.
pub fn render_schema(schema: &Value) -> String {
    format!("{schema:#}\n")
}
