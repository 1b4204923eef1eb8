//! Generates the JSON Schema of a line from its type.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::chain::AuditLine;

/// File name in `config/schemas`.
pub const SCHEMA: &str = "audit-line.schema.json";

/// Returns the schema of a line.
pub fn schema() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<AuditLine<'_>>()
        .to_value()
}

/// Writes the schema to a folder.
///
/// # Errors
/// Returns an error if the file can't be written.
pub fn write_schema(folder: &Path) -> std::io::Result<()> {
    std::fs::write(folder.join(SCHEMA), rendered_schema())
}

/// Returns the schema as the text of its file.
pub fn rendered_schema() -> String {
    format!("{:#}\n", schema())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;

    #[test]
    fn every_field_of_the_table_is_one_of_the_line() {
        let schema = schema();
        for name in EventKind::all() {
            for field in name.fields() {
                assert!(schema["properties"].get(*field).is_some(), "{name:?} has `{field}`");
            }
        }
    }
}
