//! What every configurable part needs to read its own settings: files with the position of each
//! value, [`Diagnostic`]s that say what is wrong and how to fix it, references to files and
//! secrets, the tables of the kinds that a program is built with, and the schema of a key.
//!
//! Knows no file of the hub and no rule about its content: the parts bring their own. Begin with
//! [`source_file`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod address;
pub mod closest_word;
pub mod diagnostic;
pub mod environment;
mod field_digests;
mod file_check;
mod file_path;
mod fluent_file;
mod kind_table;
mod other_syntax;
mod references;
pub mod safe_read;
pub mod schema_node;
mod secret_ref;
pub mod secret_rules;
pub mod secrets;
pub mod settings_overlay;
pub mod source_file;
pub mod toml_folder;
mod toml_values;
mod unknown_key;

pub use diagnostic::{Diagnostic, FieldDiagnostic, ValueError, file_diagnostic};
pub use environment::Environment;
pub use field_digests::FieldDigests;
pub use file_check::{FileCheck, MAX_RATE_PER_MINUTE};
pub use file_path::{
    AuthoritiesPath, CertificatePath, FilePath, FileRole, LogoPath, SecretCertificatePath,
    SecretPath,
};
pub use kind_table::{ConfiguredTable, KindTable, TableKind};
pub use safe_read::FileStamp;
pub use secret_ref::{CertificateRef, SecretLocations, SecretRef};
pub use secret_rules::{SecretContext, SecretOwner, SecretOwnerKind, SecretRules};
pub use source_file::{CertificateLocation, SourceFile};
