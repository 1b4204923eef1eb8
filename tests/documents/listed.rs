//! A page that lists rules and the tests that hold them: its cells, and whether the tests that it
//! names exist. A test is written `file::name`; of the `.mjs` files by how its title begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// Reads files of the repository, each once.
pub fn reader() -> impl FnMut(&str) -> Option<String> {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    move |file| {
        let read = || fs::read_to_string(repository().join(file)).ok();
        texts.entry(file.to_owned()).or_insert_with(read).clone()
    }
}

/// The tests that a cell names.
pub fn tests(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// What a cell says beside them.
pub fn remarks(cell: &str) -> BTreeSet<&str> {
    let outside = cell
        .split('`')
        .step_by(2)
        .flat_map(|part| part.split(", "))
        .map(|part| part.trim_matches([' ', ',']));
    outside.filter(|remark| !remark.is_empty()).collect()
}

/// Whether `file::name` is a test: a function of that name, or a `test('…')` whose title begins so.
pub fn exists(test: &str, read: &mut impl FnMut(&str) -> Option<String>) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let Some(text) = read(file) else { return false };
    match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => text.contains(&format!("fn {name}(")),
        Some("mjs") => {
            ["'", "`", "\""].iter().any(|quote| text.contains(&format!("test({quote}{name}")))
        }
        _ => false,
    }
}
