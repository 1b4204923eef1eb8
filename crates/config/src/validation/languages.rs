//! Loads the operator's messages: `locales/LANGUAGE.ftl` and `locales/LANGUAGE/*.ftl`. The folder
//! is optional and reloaded while the hub runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use figment::value::Value;

use passerelle_localization::{MessageFile, catalogue};
use passerelle_settings::closest_word::closest_word;
use passerelle_settings::toml_folder::list_files;
use passerelle_settings::{Diagnostic, FieldDiagnostic, SourceFile, file_diagnostic};

/// Folder of the files, in the configuration folder.
pub(crate) const FOLDER: &str = "locales";

/// Lists the files of the folder and of the languages' folders in it, in order of name.
///
/// # Errors
/// Returns a diagnostic with `fix` if a folder can't be read.
pub(crate) fn list_message_files(folder: &Path, fix: &str) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = list_files(folder, "ftl", fix)?;
    for language in language_folders(folder) {
        files.extend(list_files(&language, "ftl", fix)?);
    }
    files.sort();
    Ok(files)
}

/// Returns the folders of languages. Skips hidden ones, which editors and Kubernetes create.
pub(crate) fn language_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.is_dir() && name.is_some_and(|name| !name.starts_with('.'))
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_ours).collect()
}

/// Reads every file and reports those that are invalid.
pub(crate) fn load_languages(
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(SourceFile, Arc<MessageFile>)> {
    if !folder.exists() {
        return Vec::new();
    }
    let fix = "make it readable; it has one .ftl file for each language";
    let files = list_message_files(folder, fix).map_err(|problem| problems.push(problem));
    let load = |path: PathBuf| {
        let source = SourceFile::read_in(folder, &path).map_err(|problem| vec![problem]);
        let checked = source.and_then(|source| Ok((check_source(&source)?, source)));
        checked.map(|(file, source)| (source, file)).map_err(|found| problems.extend(found)).ok()
    };
    files.unwrap_or_default().into_iter().filter_map(load).collect()
}

/// Checks the messages of a parsed file.
///
/// # Errors
/// Returns every message that the pages can't show, or the file if its name is not a language.
pub(crate) fn check_source(source: &SourceFile) -> Result<Arc<MessageFile>, Vec<Diagnostic>> {
    let language = file_language(source.path()).ok_or_else(|| {
        let fix = "name the file or its folder by a language code: de.ftl or de/site.ftl";
        vec![file_diagnostic(source.path(), "is not named by a language", fix)]
    })?;
    let messages = source.values().values().filter_map(Value::as_str);
    let text = messages.collect::<Vec<_>>().join("\n");
    MessageFile::from_text(language, text).map(Arc::new).map_err(|problems| {
        problems.into_iter().map(|problem| to_diagnostic(source, problem)).collect()
    })
}

fn to_diagnostic(source: &SourceFile, problem: FieldDiagnostic) -> Diagnostic {
    let catalogue = catalogue();
    let known: Vec<&str> = catalogue.message_keys().collect();
    let is_known = known.binary_search(&problem.key.as_str()).is_ok();
    let meant = if is_known { None } else { closest_word(&problem.key, &known) };
    let meant = meant.map(|meant| format!("did you mean `{meant}`? If not, ")).unwrap_or_default();
    source.locate(FieldDiagnostic { fix: format!("{meant}{}", problem.fix), ..problem })
}

/// Returns the language of a file: the name of its folder, or its own in the folder `locales`.
fn file_language(path: &Path) -> Option<&str> {
    let parent = path.parent()?.file_name()?;
    let name = if parent == FOLDER { path.file_stem()? } else { parent };
    name.to_str().filter(|name| {
        (2..=3).contains(&name.len()) && name.bytes().all(|c| c.is_ascii_lowercase())
    })
}

/// Returns a diagnostic if the default language is neither built in nor added by a file.
pub(crate) fn default_language_diagnostic(
    source: &SourceFile,
    language: &str,
    files: &[(SourceFile, Arc<MessageFile>)],
) -> Option<Diagnostic> {
    let is_known =
        catalogue().has_language(language) || files.iter().any(|(_, f)| f.language() == language);
    (!is_known).then(|| {
        let fix =
            format!("write the code of a language, or add {FOLDER}/LANGUAGE.ftl with its messages");
        source.diagnostic("default_language", "is not a language of the pages", fix)
    })
}
