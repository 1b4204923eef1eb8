//! Says where a key belongs that its table doesn't have.

use super::closest_word::closest_word;
use super::diagnostic::Diagnostic;
use super::schema_node::{SchemaNode, ValueKind};
use super::source_file::SourceFile;
use super::toml_values::key_path;

impl SourceFile {
    /// Describes the key `written` at `path`, whose table has the keys `known`.
    pub(super) fn describe_unknown_key(
        &self,
        schema: SchemaNode<'_>,
        path: &[String],
        written: &str,
        known: &[&str],
    ) -> Diagnostic {
        let key = key_path(path);
        let parents = path.split_last().map_or(path, |(_, parents)| parents);
        if let Some((message, fix)) = self.describe_key_of_outer_table(schema, parents, written) {
            return self.diagnostic(&key, message, fix);
        }
        // The tables of optional crates are in the schema only.
        let more = if parents.is_empty() { schema.keys() } else { Vec::new() };
        let more = more.into_iter().filter(|key| !known.contains(key));
        let known: Vec<&str> = known.iter().copied().chain(more).collect();
        if let Some(meant) = closest_word(written, &known) {
            let fix = format!("did you mean `{meant}`? If not, remove it");
            return self.diagnostic(&key, "is not a known key of this file", fix);
        }
        if let Some(table) = self.find_only_table_with_key(schema, written) {
            let message = format!("is a key of the table [{table}]");
            return self.diagnostic(&key, message, format!("move the line below [{table}]"));
        }
        let fix = format!("remove it, or use one of: {}", known.join(", "));
        self.diagnostic(&key, "is not a known key of this file", fix)
    }

    /// Describes a key of the file, or of an outer table, that stands below the header of an inner
    /// table.
    fn describe_key_of_outer_table(
        &self,
        schema: SchemaNode<'_>,
        parents: &[String],
        written: &str,
    ) -> Option<(String, String)> {
        let table = key_path(parents);
        // A key of an inline table has its line, and so has a dotted key.
        if self.line(&format!("{table}.{written}"))? == self.line(&table)? {
            return None;
        }
        let outer =
            (0..parents.len()).rev().filter_map(|depth| parents.get(..depth)).find(|outer| {
                let node = schema.descend(outer.iter().map(String::as_str));
                node.is_some_and(|node| {
                    node.kind() == ValueKind::Table && node.keys().contains(&written)
                })
            })?;
        let message = format!("is below [{table}], so that TOML takes it for a key of that table");
        let fix = match outer {
            [] => "move the line above the first [table] of the file".into(),
            outer => format!("move the line below [{}]", key_path(outer)),
        };
        Some((message, fix))
    }

    /// Returns the only table that has the key; of several, the only one that is in this file.
    fn find_only_table_with_key(&self, schema: SchemaNode<'_>, key: &str) -> Option<String> {
        let mut tables = schema.tables_with_key(key);
        if tables.len() > 1 {
            tables.retain(|table| self.line(table).is_some());
        }
        tables.pop().filter(|_| tables.is_empty())
    }
}
