//! `docs/configuration.md`, written from the schemas, so that it can't say what the program doesn't do.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{self, Kind, Node};

const INTRODUCTION: &str = "# Configuration

Generated from the program; don't edit. `passerelle check` validates a folder by the same rules.

Every key of `passerelle.toml` can also be set by an environment variable, which wins: `PASSERELLE_`, then the key in
capitals, `__` between levels (`PASSERELLE_PUBLIC__LISTEN=0.0.0.0:8080`); lists are written with commas. An unknown
variable is refused like an unknown key. A variable that a file refers to, as in `{ env = \"NAME\" }`, is a secret and
no setting, whatever its name. Paths count from the configuration folder. A required key is required within its table.
";

/// The reference page: one table for each kind of file.
#[must_use]
pub fn reference_markdown() -> String {
    let titles = [
        "passerelle.toml",
        "service-providers/*.toml",
        "data-providers/*.toml",
        "connectors/*.toml",
        "scopes.toml",
        "notices.toml",
        "theme file",
    ];
    let mut page = INTRODUCTION.to_owned();
    for (title, (_, schema)) in titles.iter().zip(schema::schemas()) {
        // Writing to a String can't fail.
        let _ = write!(
            page,
            "\n## {title}\n\n| key | value | default | meaning |\n|---|---|---|---|\n"
        );
        for row in rows(Node::root(&schema)) {
            let _ = writeln!(page, "{row}");
        }
    }
    page
}

fn rows(root: Node<'_>) -> Vec<String> {
    let mut rows = Vec::new();
    collect(root, "", &mut rows);
    rows
}

fn collect(table: Node<'_>, prefix: &str, rows: &mut Vec<String>) {
    for name in table.keys() {
        let Some(node) = table.child(name) else { continue };
        let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        if let Some(item) =
            node.child("0").filter(|item| node.kind() == Kind::List && !item.keys().is_empty())
        {
            rows.push(row(table, name, &key, node));
            collect(item, &format!("{key}[]"), rows);
        } else if node.kind() == Kind::Table && !node.keys().is_empty() {
            collect(node, &key, rows);
        } else {
            rows.push(row(table, name, &key, node));
        }
    }
}

fn row(table: Node<'_>, name: &str, key: &str, node: Node<'_>) -> String {
    let choices = node.choices();
    let value = if choices.is_empty() {
        node.kind().in_words().to_owned()
    } else {
        choices.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
    };
    let default = match node.default() {
        Some(default) => format!("`{}`", toml_text(default)),
        None if table.requires(name) => "required".to_owned(),
        None => String::new(),
    };
    let meaning = node.description().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
    format!("| `{key}` | {value} | {default} | {meaning} |")
}

/// A default as it is written in TOML, where the defaults are words, numbers and lists of them.
fn toml_text(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".into(),
        other => other.to_string(),
    }
}
