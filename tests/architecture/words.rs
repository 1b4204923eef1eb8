//! Words that the project's texts avoid, and references that a reader can't open.

use std::fs;
use std::path::{Path, PathBuf};

use crate::assert_none;
use crate::source::{files_under, relative};

/// Words with a plainer one: see the section on English in CONTRIBUTING.md.
const AVOIDED: &[&str] =
    &["mend", "mends", "mended", "mending", "told", "somebody", "nobody", "whoever", "anew"];

/// Extensions of the files that are read.
const TEXTS: &[&str] = &[
    "rs", "md", "toml", "template", "html", "ftl", "json", "yaml", "yml", "txt", "css", "csv",
    "mjs", "py", "go", "java",
];

/// Folders that are read.
const FOLDERS: &[&str] = &[
    "src",
    "crates",
    "docs",
    "config",
    "benches",
    "connectors",
    "dashboards",
    "deploy",
    "examples",
    "fuzz",
    "packaging",
    "tests",
];

/// Files in the root of the repository that are read. `CHANGELOG.md` names former identifiers.
const ROOT_FILES: &[&str] =
    &["Cargo.toml", "CONTRIBUTING.md", "README.md", "SECURITY.md", "build.rs"];

/// Folders of dependencies, of build output and of fuzzing input, and `tests/architecture`, which
/// names the avoided words.
const EXCLUDED: &[&str] = &["node_modules", ".venv", "target", "corpus", "seeds", "architecture"];

struct Text {
    /// Path in the repository, with forward slashes.
    path: String,
    text: String,
}

fn read_texts() -> Vec<Text> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = ROOT_FILES.iter().map(|name| root.join(name)).collect();
    for folder in FOLDERS {
        paths.extend(files_under(&root.join(folder), TEXTS));
    }
    paths.retain(|path| !relative(path, root).split('/').any(|part| EXCLUDED.contains(&part)));
    let read = |path: &PathBuf| Text {
        path: relative(path, root),
        text: fs::read_to_string(path).unwrap(),
    };
    paths.iter().map(read).collect()
}

/// Returns the lines that hold an avoided word, also inside an identifier, quotations exempt.
///
/// A quotation is a line of Markdown that begins with `>`.
#[expect(clippy::disallowed_methods, reason = "documentation is text that people write")]
fn avoided_words(texts: &[Text]) -> Vec<String> {
    let mut findings = Vec::new();
    for (text, number, line) in lines(texts).filter(|(_, _, line)| !line.starts_with('>')) {
        let lower = line.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphabetic());
        if let Some(word) = words.find(|word| AVOIDED.contains(word)) {
            findings.push(format!("{}:{number}: `{word}`", text.path));
        }
    }
    findings
}

/// Returns the lines that cite a page which is not in the repository.
fn dead_references(texts: &[Text], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (text, number, line) in lines(texts) {
        for page in ["decisions", "architecture", "pages", "crates", "spec"] {
            if let Some((_, rest)) = line.split_once(&format!("{page} "))
                && rest.starts_with(|c: char| c.is_ascii_digit())
            {
                findings.push(format!("{}:{number}: cites `{page}` by number", text.path));
            }
        }
        let mut rest = line;
        while let Some(at) = rest.find("docs/") {
            let end = rest[at..].find(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c)));
            let page = &rest[at..end.map_or(rest.len(), |end| at + end)];
            rest = &rest[at + "docs/".len()..];
            if page.ends_with(".md") && !exists(page) {
                findings.push(format!("{}:{number}: no page `{page}`", text.path));
            }
        }
    }
    findings
}

fn lines(texts: &[Text]) -> impl Iterator<Item = (&Text, usize, &str)> {
    texts
        .iter()
        .flat_map(|text| text.text.lines().enumerate().map(move |(at, line)| (text, at + 1, line)))
}

#[test]
fn texts_use_plain_words() {
    assert_none(&avoided_words(&read_texts()));
}

#[test]
fn references_can_be_opened() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_none(&dead_references(&read_texts(), |page| root.join(page).exists()));
}

#[test]
fn forged_texts_are_found() {
    let text = |text: &str| [Text { path: "docs/a.md".into(), text: text.into() }];
    for forged in ["It is told.", "fn userinfo_told()", "Nobody can.", "How to mend it"] {
        assert_eq!(avoided_words(&text(forged)).len(), 1, "{forged}");
    }
    for fine in ["> \"Nobody\" is quoted.", "The amendment holds.", "plain words"] {
        assert_none(&avoided_words(&text(fine)));
    }
    for dead in ["see decisions 12", "(spec 4.9)"] {
        assert_eq!(dead_references(&text(dead), |_| true).len(), 1, "{dead}");
    }
    assert_eq!(
        dead_references(&text("see docs/none.md, docs/a.md"), |p| p == "docs/a.md").len(),
        1
    );
}
