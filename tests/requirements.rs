//! `docs/requirements.md` against the code: every sentence of the specification is listed, and every test that is said
//! to hold one exists.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that can't read the page has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

/// Every number that there is.
const NUMBERS: &[RangeInclusive<u16>] = &[
    1..=13,
    20..=23,
    30..=44,
    50..=54,
    60..=67,
    70..=71,
    100..=101,
    110..=121,
    130..=131,
    140..=140,
    150..=156,
    160..=163,
    170..=178,
    180..=185,
    200..=206,
    220..=223,
];

struct Row {
    number: u16,
    platform: String,
    on_standard: String,
    on_high: String,
}

fn rows(page: &str) -> Vec<Row> {
    let read = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| R")?.strip_suffix(" |")?.split(" | ").collect();
        let [number, platform, _, on_standard, on_high] = cells[..] else { panic!("five cells: {line}") };
        let (platform, on_standard, on_high) = (platform.into(), on_standard.into(), on_high.into());
        Some(Row { number: number.parse().unwrap(), platform, on_standard, on_high })
    };
    page.lines().filter_map(read).collect()
}

/// What a cell says beside the tests that it names.
fn remarks(cell: &str) -> BTreeSet<&str> {
    let outside = cell.split('`').step_by(2).flat_map(|part| part.split(", ")).map(|part| part.trim_matches([' ', ',']));
    outside.filter(|remark| !remark.is_empty()).collect()
}

fn tests(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether `file::name` is a test: a function of that name, or a `test('…')` whose title begins so.
fn exists(test: &str, read: &mut impl FnMut(&str) -> Option<String>) -> bool {
    let Some((file, name)) = test.split_once("::") else { return false };
    let Some(text) = read(file) else { return false };
    match Path::new(file).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => text.contains(&format!("fn {name}(")),
        Some("mjs") => ["'", "`", "\""].iter().any(|quote| text.contains(&format!("test({quote}{name}"))),
        _ => false,
    }
}

fn faults(page: &str, read: &mut impl FnMut(&str) -> Option<String>) -> Vec<String> {
    let rows = rows(page);
    let mut faults = Vec::new();
    let mut seen: BTreeMap<u16, usize> = BTreeMap::new();
    for row in &rows {
        *seen.entry(row.number).or_default() += 1;
        let mut told = |fault: String| faults.push(format!("R{:03}: {fault}", row.number));
        for test in tests(&row.on_standard).into_iter().chain(tests(&row.on_high)) {
            if !exists(test, read) {
                told(format!("there is no test {test}"));
            }
        }
        for (cell, is_high) in [(&row.on_standard, false), (&row.on_high, true)] {
            let remarks = remarks(cell);
            let applies = row.platform == "both" || (row.platform == "high") == is_high;
            if tests(cell).is_empty() && remarks.is_empty() {
                told("a cell is empty".into());
            }
            if remarks.contains("-") == applies {
                told(format!("it is for {}, and a cell says otherwise", row.platform));
            }
            for remark in remarks {
                let fits = match remark {
                    "-" => true,
                    "as standard" => is_high && row.platform == "both",
                    _ => false,
                };
                if !fits {
                    told(format!("{remark:?} may not stand there"));
                }
            }
        }
    }
    let wanted: BTreeSet<u16> = NUMBERS.iter().cloned().flatten().collect();
    faults.extend(wanted.iter().filter(|number| seen.get(number) != Some(&1)).map(|n| format!("R{n:03} is not there once")));
    faults.extend(seen.keys().filter(|number| !wanted.contains(number)).map(|n| format!("R{n:03} is no number")));
    faults
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/requirements.md")).unwrap()
}

fn reader() -> impl FnMut(&str) -> Option<String> {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    move |file| {
        let read = || fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).ok();
        texts.entry(file.to_owned()).or_insert_with(read).clone()
    }
}

#[test]
fn every_sentence_is_held_by_tests_that_exist() {
    let faults = faults(&page(), &mut reader());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_forged_page_is_found_out() {
    let page = page();
    for (from, to, fault) in [
        ("::outgoing_by_table", "::outgoing_by_tables", "there is no test"),
        ("amr/tests.rs::", "amr/none.rs::", "there is no test"),
        ("R131: cancelling", "R131: cancelled", "there is no test"),
        ("| R051 |", "| R052 |", "R051 is not there once"),
        ("| R051 |", "| R999 |", "R999 is no number"),
        ("| as standard |", "| someday |", "may not stand there"),
        ("| R005 | high |", "| R005 | both |", "a cell says otherwise"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replacen(from, to, 1), &mut reader());
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}
