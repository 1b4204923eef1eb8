//! Applies `PASSERELLE_…` variables to `passerelle.toml`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::Diagnostic;
use super::environment::{self, Environment};
use super::schema_node::SchemaNode;
use super::source_file::SourceFile;

/// Overrides the settings, which `schema` describes, with environment variables. A variable that the
/// file references is a secret and sets no key.
pub fn apply_environment(
    source: SourceFile,
    environment: &Environment,
    schema: Arc<Value>,
    problems: &mut Vec<Diagnostic>,
) -> SourceFile {
    let mut reserved: BTreeSet<String> = source.referenced_variables().into_iter().collect();
    // `PASSERELLE_SUBJECT_KEY__ENV=NAME` references NAME as a file would.
    let by_reference = ["PASSERELLE_SUBJECT_KEY__ENV", "PASSERELLE_PRIVATE__ADMIN_TOKEN__ENV"];
    reserved.extend(
        by_reference.into_iter().filter_map(|name| environment.var(name)).map(ToOwned::to_owned),
    );
    let overlay =
        environment::read_overlay(environment, &SchemaNode::root(&schema), &reserved, problems);
    source.with_overlay(overlay).with_schema(schema)
}
