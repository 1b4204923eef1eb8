//! Warns about files in the folders of connectors and clients that no hub reads.

use std::path::Path;

use super::{data_providers, service_providers};
use passerelle_settings::{Diagnostic, SourceFile, file_diagnostic};

/// The files of the configuration folder that may be absent, and the one that may have variables in
/// its place.
const FILES: [&str; 3] = ["passerelle", "scopes", "notices"];

/// Returns a warning about each file whose extension is that of another syntax, or `TOML` in
/// capitals. Skips those that a key of `read` names, such as the key set of a client.
pub(crate) fn ignored_file_warnings(
    folder: &Path,
    connectors: &Path,
    read: &[&SourceFile],
) -> Vec<Diagnostic> {
    let named: Vec<String> = read.iter().flat_map(|source| source.all_texts()).collect();
    let clients = [service_providers::FOLDER, data_providers::FOLDER].map(|name| folder.join(name));
    let mut warnings = Vec::new();
    for place in [folder, connectors].into_iter().chain(clients.iter().map(AsRef::as_ref)) {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            let (Some(name), Some(stem), Some(extension)) =
                (path.file_name(), path.file_stem(), path.extension())
            else {
                continue;
            };
            let (name, stem) = (name.to_string_lossy(), stem.to_string_lossy());
            let is_other = ["yaml", "yml", "json", "tml", "toml"]
                .iter()
                .any(|other| extension.eq_ignore_ascii_case(other) && extension != "toml");
            let is_settings = place != folder || FILES.contains(&&*stem);
            let is_named = named.iter().any(|text| Path::new(text).ends_with(&*name));
            if is_other && is_settings && !is_named && path.is_file() && !name.starts_with('.') {
                let message = "is ignored: only files with the extension .toml are read";
                let fix = format!("rename it to {stem}.toml, or move it out of the folder");
                warnings.push(file_diagnostic(&path, message, fix));
            }
        }
    }
    warnings.sort();
    warnings
}
