//! Links of the documentation: each target is a file of the repository and one of its headings.
//! `docs/SUMMARY.md`, the contents of the book, lists each page once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders whose pages are read, and the pages beside them.
const FOLDERS: [&str; 5] = ["docs", "examples", "connectors", "dashboards", "deploy"];
const PAGES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// Parts of the book, by what a reader wants to do.
const PARTS: [&str; 5] = ["Evaluate", "Integrate", "Operate", "Extend", "Understand"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn markdown_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with(".venv") {
            markdown_under(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Lines outside fenced blocks, without code spans.
fn prose(text: &str) -> Vec<String> {
    let mut fenced = false;
    let visible = text.lines().filter(move |line| {
        let fence = line.trim_ascii_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    visible.map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("``")).collect()
}

/// Targets of the links and pictures of a page.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let ends = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    ends.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()).collect()
}

/// Anchors of a page's headings, as code hosts and mdBook form them.
#[expect(clippy::disallowed_methods, reason = "headings are text that people write")]
fn anchors(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let headings = text.lines().filter_map(|line| {
        fenced ^= line.trim_ascii_start().starts_with("```");
        let rest = line.trim_start_matches('#');
        (!fenced && rest.len() < line.len()).then(|| rest.strip_prefix(' ')).flatten()
    });
    let slug = |heading: &str| {
        let kept = heading.to_lowercase();
        kept.chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    };
    headings.map(|heading| slug(&without_targets(heading))).collect()
}

/// A heading whose links are replaced by their texts.
fn without_targets(heading: &str) -> String {
    let mut parts = heading.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or("", |(_, rest)| rest))
}

/// `path` without `.` and `..`; none if it leaves the repository.
fn resolved(path: &Path) -> Option<PathBuf> {
    path.components().try_fold(PathBuf::new(), |mut path, component| match component {
        Component::ParentDir => path.pop().then_some(path),
        Component::CurDir => Some(path),
        component => Some(path.join(component)),
    })
}

/// What is wrong with the link `target` of `page`; both are paths in the repository.
fn fault(page: &Path, target: &str, read: &impl Fn(&Path) -> Option<String>) -> Option<String> {
    if ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(f, a)| (f, Some(a)));
    let file = match file {
        "" => Some(page.to_owned()),
        file => resolved(&page.parent().unwrap_or(Path::new("")).join(file)),
    };
    let Some(text) = file.and_then(|file| read(&file)) else {
        return Some(format!("{}: no file {target}", page.display()));
    };
    anchor
        .filter(|anchor| !anchors(&text).contains(*anchor))
        .map(|_| format!("{}: no heading {target}", page.display()))
}

fn read(path: &Path) -> Option<String> {
    let path = repository().join(path);
    if path.is_dir() { Some(String::new()) } else { fs::read(path).ok().map(lossy) }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut pages: Vec<PathBuf> = PAGES.map(|page| repository().join(page)).into();
    for folder in FOLDERS {
        markdown_under(&repository().join(folder), &mut pages);
    }
    let faults: Vec<String> = pages
        .iter()
        .map(|page| page.strip_prefix(repository()).unwrap())
        .flat_map(|page| {
            let targets = targets(&read(page).unwrap());
            targets.into_iter().filter_map(|target| fault(page, &target, &read)).collect::<Vec<_>>()
        })
        .collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_book_lists_every_page_once_by_role() {
    let summary = lossy(fs::read(repository().join("docs/SUMMARY.md")).unwrap());
    let listed = targets(&summary);
    let mut pages = Vec::new();
    markdown_under(&repository().join("docs"), &mut pages);
    let names = pages.iter().map(|page| page.strip_prefix(repository().join("docs")).unwrap());
    let unlisted: Vec<_> = names
        .filter(|name| *name != Path::new("SUMMARY.md"))
        .filter(|name| listed.iter().filter(|target| *name == Path::new(target)).count() != 1)
        .collect();
    assert!(unlisted.is_empty(), "docs/SUMMARY.md must list each page once: {unlisted:?}");
    let parts: Vec<&str> = summary.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(parts.get(1..), Some(PARTS.as_slice()));
}

#[test]
fn dead_links_are_found() {
    let page = Path::new("docs/glossary.md");
    let read = |path: &Path| match path.to_str()? {
        "README.md" => Some("# One [two](x)\n```\n# Not this\n```\n## `prompt`, again\n".into()),
        "docs/glossary.md" | "docs/picture.png" => Some("# Own\n".into()),
        _ => None,
    };
    for fine in
        ["../README.md#one-two", "../README.md#prompt-again", "#own", "picture.png", "https://x/"]
    {
        assert_eq!(fault(page, fine, &read), None, "{fine}");
    }
    for dead in ["none.md", "../README.md#not-this", "#none", "../../README.md", "../none/"] {
        assert!(fault(page, dead, &read).is_some(), "{dead}");
    }
    assert_eq!(targets("[a](b) `[c](d)`\n```\n[e](f)\n```\n![g](h)"), ["b", "h"]);
}
