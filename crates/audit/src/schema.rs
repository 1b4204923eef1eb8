//! Generates the JSON Schema of a line from its type.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::chain::AuditLine;

/// File name in `config/schemas`.
pub const SCHEMA: &str = "audit-line.schema.json";

/// Returns the schema of a line.
#[must_use]
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
    std::fs::write(folder.join(SCHEMA), rendered())
}

fn rendered() -> String {
    format!("{:#}\n", schema())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EventKind;

    fn read(path: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
            .unwrap_or_default()
    }

    #[test]
    fn the_committed_schema_is_current() {
        let committed = read("config/schemas/audit-line.schema.json");
        assert!(
            committed == rendered(),
            "{SCHEMA} is stale: cargo run -- schemas --write config/schemas"
        );
    }

    #[test]
    fn the_page_documents_every_event_with_its_fields_and_every_field() {
        let page = read("docs/audit.md");
        for name in EventKind::ALL {
            let fields: Vec<_> = name.fields().iter().map(|field| format!("`{field}`")).collect();
            let row = format!("| `{}` | {} |", name.as_str(), fields.join(" "));
            assert!(page.contains(&row), "docs/audit.md lacks a row that begins\n{row}");
        }
        for field in schema()["properties"].as_object().unwrap().keys() {
            assert!(
                page.contains(&format!("| `{field}` |")),
                "docs/audit.md lacks the field {field}"
            );
        }
    }

    #[test]
    fn every_field_of_the_table_is_one_of_the_line() {
        let schema = schema();
        for name in EventKind::ALL {
            for field in name.fields() {
                assert!(schema["properties"].get(*field).is_some(), "{name:?} has `{field}`");
            }
        }
    }
}
