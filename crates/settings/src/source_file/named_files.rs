//! What the texts of a file name: files and certificates, by the types of their keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::value::Value;

use super::{SourceFile, visit_table};
use crate::FileRole;
use crate::schema_node::SchemaNode;

/// A file that another one names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReferencedFile {
    /// Its path, absolute or relative to the working directory.
    pub path: PathBuf,
    /// What it is to the file that names it.
    pub role: FileRole,
}

/// Where certificates are that a setting names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CertificateLocation {
    /// In a file, relative to the configuration folder.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
}

impl SourceFile {
    /// Sets the schema of the file, whose types say what its texts name.
    #[must_use]
    pub fn with_schema(self, schema: Arc<serde_json::Value>) -> Self {
        Self { schema, ..self }
    }

    /// Returns the files that keys of the types in `file_path` name. `folder` is the configuration
    /// folder.
    pub fn named_files(&self, folder: &Path) -> Vec<ReferencedFile> {
        let mut named = Vec::new();
        self.visit_typed_texts(|_, name, node| {
            let Some(role) = node.file_role() else { return };
            let own_folder = self.file.parent().unwrap_or(folder);
            let folder = if role == FileRole::Logo { own_folder } else { folder };
            named.push(ReferencedFile { path: folder.join(name), role });
        });
        named
    }

    /// Returns the secret files that the file and its overlay name, as written, each with its key.
    pub fn secret_files(&self) -> Vec<(String, PathBuf)> {
        let mut named = Vec::new();
        self.visit_typed_texts(|key, text, node| {
            if node.file_role().is_some_and(FileRole::is_secret) {
                named.push((key.to_owned(), PathBuf::from(text)));
            }
        });
        named
    }

    /// Returns where the certificates are that the file and its overlay name, by key.
    pub fn certificates(&self) -> BTreeMap<String, CertificateLocation> {
        let mut named = BTreeMap::new();
        // The overlay comes last, and overrides the file.
        self.visit_typed_texts(|key, text, node| {
            let location = if node.file_role().is_some_and(FileRole::has_certificates) {
                CertificateLocation::File(PathBuf::from(text))
            } else if node.is_certificate_variable() {
                CertificateLocation::Variable(text.to_owned())
            } else {
                return;
            };
            named.insert(key.to_owned(), location);
        });
        named
    }

    /// Calls `each` with every text of the file, then of its overlay, its key and its schema.
    fn visit_typed_texts<'s>(&'s self, mut each: impl FnMut(&str, &str, SchemaNode<'s>)) {
        for values in [&self.values, &self.overlay.values] {
            visit_table(values, SchemaNode::root(&self.schema), "", &mut |key, value, node| {
                if let Value::String(_, text) = value {
                    each(key, text, node);
                }
            });
        }
    }
}
