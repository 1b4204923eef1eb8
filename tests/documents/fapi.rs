//! `docs/fapi.md` against the code: every requirement of the profile has tests that exist.

use crate::test_tables::{exists, page, reader, tests};

/// Sections of FAPI 2.0 Security Profile and of Message Signing (MS) that the page covers.
const SECTIONS: [&str; 10] = [
    "5.3.2.1", "5.3.2.2", "5.3.4", "5.4.1", "5.4.2", "5.4.3", "MS 5.3.1", "MS 5.4.1", "MS 5.5.1",
    "5.2",
];

fn faults(page: &str) -> Vec<String> {
    let mut read = reader();
    let mut faults = Vec::new();
    let table = page.lines().skip_while(|line| !line.starts_with("| section |")).skip(2);
    let rows: Vec<&str> = table.take_while(|line| line.starts_with("| ")).collect();
    for row in &rows {
        let named: Vec<_> = tests(row).into_iter().filter(|test| test.contains("::")).collect();
        if named.is_empty() {
            faults.push(format!("no test: {row}"));
        }
        faults.extend(
            named
                .into_iter()
                .filter(|test| !exists(test, &mut read))
                .map(|test| format!("there is no test {test}")),
        );
    }
    let occurs_once = |section: &str| {
        let is_row = rows.iter().any(|row| row.starts_with(&format!("| {section} |")));
        is_row || (section == "5.2" && page.contains("(5.2)"))
    };
    let missing = SECTIONS.iter().filter(|section| !occurs_once(section));
    faults.extend(missing.map(|section| format!("section {section} is missing")));
    faults
}

#[test]
fn every_requirement_has_tests_that_exist() {
    let faults = faults(&page("fapi.md"));
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn forged_pages_are_detected() {
    let page = page("fapi.md");
    for (from, to, fault) in [
        ("fapi.rs::a_request_that", "fapi.rs::no_request_that", "there is no test"),
        ("| 5.4.3 |", "| 5.4.2 |", "section 5.4.3 is missing"),
    ] {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replace(from, to));
        assert!(found.iter().any(|found| found.contains(fault)), "{from}: {found:?}");
    }
}
