//! Reads files, environment variables and secrets, and describes the files' keys.

pub(super) mod closest_word;
pub(super) mod diagnostic;
pub(super) mod environment;
mod fluent_file;
pub(super) mod folder;
pub(super) mod markdown_reference;
pub(super) mod safe_read;
pub(super) mod schema;
pub(super) mod schema_node;
pub mod secret_rules;
pub(super) mod secrets;
pub(super) mod settings_overlay;
pub(super) mod source_file;
mod toml_values;

pub(super) use diagnostic::{Diagnostic, FieldDiagnostic, MessageAndFix};
pub(super) use environment::Environment;
pub(super) use safe_read::FileStamp;
pub(super) use secret_rules::{SecretContext, SecretOwner, SecretOwnerKind, SecretRules};
pub(super) use source_file::{SourceFile, file_diagnostic};
