//! The schema of the audit log and its page, compared with the events of the program.

use std::fs;
use std::path::Path;

use passerelle_audit::{EventKind, SCHEMA, rendered_schema, schema};
use passerelle_server::install_extensions;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_committed_schema_is_current() {
    install_extensions();
    assert!(
        read("config/schemas/audit-line.schema.json") == rendered_schema(),
        "{SCHEMA} is stale: cargo run -- schemas --write config/schemas"
    );
}

#[test]
fn the_page_documents_every_event_with_its_fields_and_every_field() {
    install_extensions();
    let page = read("docs/audit.md");
    for event in EventKind::all() {
        let fields: Vec<_> = event.fields().iter().map(|field| format!("`{field}`")).collect();
        let row = format!("| `{}` | {} |", event.as_str(), fields.join(" "));
        assert!(page.contains(&row), "docs/audit.md lacks a row that begins\n{row}");
    }
    for field in schema()["properties"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("| `{field}` |")), "docs/audit.md lacks the field {field}");
    }
}
