//! Lists the files of a folder, and parses those in TOML.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::diagnostic::Diagnostic;
use super::diagnostic::file_diagnostic;
use super::schema_node::shared_schema_for;
use super::source_file::SourceFile;

/// Parses every file of a folder. Reports those that can't be parsed.
pub fn parse_folder<T: DeserializeOwned + JsonSchema + 'static>(
    folder: &Path,
    fix: &str,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(SourceFile, T)> {
    let files =
        list_toml_files(folder, fix).map_err(|problem| problems.push(problem)).unwrap_or_default();
    let read = |path: PathBuf| {
        let source =
            SourceFile::read_in(folder, &path).map_err(|problem| problems.push(problem)).ok()?;
        let source = source.with_schema(shared_schema_for::<T>());
        let file = source.deserialize(problems)?;
        Some((source, file))
    };
    files.into_iter().filter_map(read).collect()
}

/// Lists the `*.toml` entries of a folder in order of name. Skips hidden ones, which editors and
/// Kubernetes create. An entry may turn out not to be a regular file when it is read.
///
/// # Errors
/// Returns a diagnostic with `fix` if the folder can't be read.
pub fn list_toml_files(folder: &Path, fix: &str) -> Result<Vec<PathBuf>, Diagnostic> {
    list_files(folder, "toml", fix)
}

/// Lists the entries of a folder with this extension, likewise.
///
/// # Errors
/// Returns a diagnostic with `fix` if the folder can't be read.
pub fn list_files(folder: &Path, extension: &str, fix: &str) -> Result<Vec<PathBuf>, Diagnostic> {
    let entries = std::fs::read_dir(folder)
        .map_err(|_| file_diagnostic(folder, "the folder is missing or can't be read", fix))?;
    let is_ours = |path: &PathBuf| {
        let hidden = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_none_or(|name| name.starts_with('.'));
        !hidden && path.extension().is_some_and(|found| found == extension)
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect();
    files.sort();
    Ok(files)
}
