//! `docs/requirements.md` against the code: it lists every requirement of the specification,
//! and every test that it names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::test_tables::{exists, reader, remarks, tests};

/// The numbers of all requirements.
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

/// Requirements of one platform only.
const ONLY_STANDARD: &[u16] = &[4, 6, 8, 10];
const ONLY_HIGH: &[u16] = &[5, 7, 9, 41, 42, 175];

struct Row {
    number: u16,
    on_standard: String,
    on_high: String,
}

fn rows(page: &str) -> Vec<Row> {
    let read = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| R")?.strip_suffix(" |")?.split(" | ").collect();
        let [number, _, on_standard, on_high] = cells[..] else { panic!("four cells: {line}") };
        let (on_standard, on_high) = (on_standard.into(), on_high.into());
        Some(Row { number: number.parse().unwrap(), on_standard, on_high })
    };
    page.lines().filter_map(read).collect()
}

fn faults(page: &str, read: &mut impl FnMut(&str) -> Option<String>) -> Vec<String> {
    let rows = rows(page);
    let mut faults = Vec::new();
    let mut seen: BTreeMap<u16, usize> = BTreeMap::new();
    for row in &rows {
        *seen.entry(row.number).or_default() += 1;
        let mut report = |fault: String| faults.push(format!("R{:03}: {fault}", row.number));
        for test in tests(&row.on_standard).into_iter().chain(tests(&row.on_high)) {
            if !exists(test, read) {
                report(format!("there is no test {test}"));
            }
        }
        for (cell, is_high) in [(&row.on_standard, false), (&row.on_high, true)] {
            let remarks = remarks(cell);
            let elsewhere = if is_high { ONLY_STANDARD } else { ONLY_HIGH };
            let applies = !elsewhere.contains(&row.number);
            if tests(cell).is_empty() && remarks.is_empty() {
                report("a cell is empty".into());
            }
            if remarks.contains("-") == applies {
                report("a cell contradicts the platforms that it is for".into());
            }
            for remark in remarks {
                let fits = match remark {
                    "-" => true,
                    "as standard" => is_high && applies,
                    _ => false,
                };
                if !fits {
                    report(format!("{remark:?} is not allowed"));
                }
            }
        }
    }
    let wanted: BTreeSet<u16> = NUMBERS.iter().cloned().flatten().collect();
    faults.extend(
        wanted
            .iter()
            .filter(|number| seen.get(number) != Some(&1))
            .map(|n| format!("R{n:03} does not occur exactly once")),
    );
    faults.extend(
        seen.keys()
            .filter(|number| !wanted.contains(number))
            .map(|n| format!("R{n:03} is no requirement")),
    );
    faults
}

#[test]
fn every_requirement_is_checked_by_tests_that_exist() {
    let faults = faults(&crate::test_tables::page("requirements.md"), &mut reader());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn forged_pages_are_detected() {
    let page = crate::test_tables::page("requirements.md");
    for (from, to, fault) in [
        ("::outgoing_by_table", "::outgoing_by_tables", "there is no test"),
        ("amr/tests.rs::", "amr/none.rs::", "there is no test"),
        ("R131: cancelling", "R131: cancelled", "there is no test"),
        ("| R051 |", "| R052 |", "R051 does not occur exactly once"),
        ("| R051 |", "| R999 |", "R999 is no requirement"),
        ("| as standard |", "| someday |", "is not allowed"),
        ("` | - |", "` | as standard |", "a cell contradicts the platforms"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replacen(from, to, 1), &mut reader());
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}
