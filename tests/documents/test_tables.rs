//! Pages with tables of rules and the tests that check them. A test is named `file::name`; in a
//! `.mjs` file, `name` is the beginning of its title.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Reads a page of `docs/`.
pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// Reads files of the repository, each once.
pub(crate) fn reader() -> impl FnMut(&str) -> Option<String> {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    move |file| {
        let read = || fs::read_to_string(repository().join(file)).ok();
        texts.entry(file.to_owned()).or_insert_with(read).clone()
    }
}

/// Returns the names in backquotes of a cell.
pub(crate) fn tests(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Returns the texts of a cell outside backquotes.
pub(crate) fn remarks(cell: &str) -> BTreeSet<&str> {
    let outside = cell
        .split('`')
        .step_by(2)
        .flat_map(|part| part.split(", "))
        .map(|part| part.trim_matches([' ', ',']));
    outside.filter(|remark| !remark.is_empty()).collect()
}

/// Returns whether `file::name` is a test: a function with a test attribute, or a `test('…')` whose
/// title begins with `name`. Commented and ignored tests don't count.
pub(crate) fn exists(test: &str, read: &mut impl FnMut(&str) -> Option<String>) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let Some(text) = read(file) else { return false };
    match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => is_rust_test(&text, name),
        Some("mjs") => text.lines().any(|line| is_script_test(line, name)),
        _ => false,
    }
}

/// Returns whether the function `name` has an attribute of a test, and none that disables it.
fn is_rust_test(text: &str, name: &str) -> bool {
    let declarations = ["fn ", "async fn "].map(|prefix| format!("{prefix}{name}("));
    let lines: Vec<&str> = text.lines().map(str::trim_ascii).collect();
    let is_declaration = |line: &str| declarations.iter().any(|start| line.starts_with(start));
    lines.iter().enumerate().filter(|(_, line)| is_declaration(line)).any(|(at, _)| {
        let above = lines[..at].iter().rev();
        let attributes: Vec<_> =
            above.take_while(|line| line.starts_with("#[") || line.starts_with("//")).collect();
        let has = |start: &str| attributes.iter().any(|line| line.starts_with(start));
        ["#[test]", "#[actix::test]", "#[actix_web::test]", "#[tokio::test"].into_iter().any(has)
            && !has("#[ignore")
    })
}

/// Returns whether the line declares a test, at any indentation, whose title begins with `name`.
fn is_script_test(line: &str, name: &str) -> bool {
    let quotes = ["'", "`", "\""];
    let declares = |call: &str| line.trim_ascii().starts_with(call);
    quotes.iter().any(|quote| {
        ["test(", "await t.test("].iter().any(|call| declares(&format!("{call}{quote}{name}")))
    })
}

#[test]
fn only_enabled_tests_are_recognized() {
    let source = "#[test]\nfn is_test() {}\n\nfn helper() {}\n\n    // #[test]\n// fn commented() {}\n\n\
        #[test]\n#[ignore = \"slow\"]\nfn ignored() {}\n\n/// Doc.\n#[actix_web::test]\nasync fn is_async() {}\n";
    for name in ["is_test", "is_async"] {
        assert!(is_rust_test(source, name), "{name}");
    }
    for name in ["helper", "commented", "ignored", "is_", "absent"] {
        assert!(!is_rust_test(source, name), "{name}");
    }
    assert!(is_script_test("  test('R1: the title', async () => {", "R1: the"));
    assert!(!is_script_test("// test('R1: the title', async () => {", "R1: the"));
    assert!(!is_script_test("test.skip('R1: the title', async () => {", "R1: the"));
}
