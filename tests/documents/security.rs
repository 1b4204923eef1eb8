//! The pages of `docs/security/` and the table of docs/limits.md against the code: every
//! requirement occurs exactly once, and every test and file that they name exists.

use std::collections::BTreeMap;
use std::path::Path;

use crate::test_tables::{exists, page, reader, tests};

/// Sections of ASVS 5.0.0 in the chapters of the page, with the number of their requirements.
const ASVS_SECTIONS: &[(&str, usize)] = &[
    ("6.1", 3),
    ("6.2", 12),
    ("6.3", 8),
    ("6.4", 6),
    ("6.5", 8),
    ("6.6", 4),
    ("6.7", 2),
    ("6.8", 4),
    ("7.1", 3),
    ("7.2", 4),
    ("7.3", 2),
    ("7.4", 5),
    ("7.5", 3),
    ("7.6", 2),
    ("8.1", 4),
    ("8.2", 4),
    ("8.3", 3),
    ("8.4", 2),
    ("9.1", 3),
    ("9.2", 4),
    ("10.1", 2),
    ("10.2", 3),
    ("10.3", 5),
    ("10.4", 16),
    ("10.5", 5),
    ("10.6", 2),
    ("10.7", 3),
    ("11.1", 4),
    ("11.2", 5),
    ("11.3", 5),
    ("11.4", 4),
    ("11.5", 2),
    ("11.6", 2),
    ("11.7", 2),
    ("13.1", 4),
    ("13.2", 6),
    ("13.3", 4),
    ("13.4", 7),
    ("14.1", 2),
    ("14.2", 8),
    ("14.3", 3),
    ("16.1", 1),
    ("16.2", 5),
    ("16.3", 4),
    ("16.4", 3),
    ("16.5", 4),
];

/// Attacks of RFC 9700, section 4.
const ATTACKS: std::ops::RangeInclusive<usize> = 1..=17;
/// Attackers of the FAPI 2.0 Attacker Model.
const ATTACKERS: [&str; 6] = ["A1", "A1a", "A2", "A3a", "A5", "A7"];

/// Returns the cells of every row of the tables whose first heading is `heading`.
fn rows<'p>(page: &'p str, heading: &str) -> Vec<Vec<&'p str>> {
    let (mut rows, mut is_inside) = (Vec::new(), false);
    for line in page.lines() {
        let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else {
            is_inside &= line.starts_with("|---");
            continue;
        };
        if is_inside {
            rows.push(cells.split(" | ").collect());
        }
        is_inside |= cells.starts_with(&format!("{heading} |"));
    }
    rows
}

/// Returns the names in backquotes that are neither a test nor a file of the repository.
fn missing_references(text: &str) -> Vec<String> {
    let mut read = reader();
    let is_file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(name).exists();
    let named = tests(text).into_iter().filter(|name| name.contains('/') || is_file(name));
    let missing = named.filter(|name| match name.contains("::") {
        true => !exists(name, &mut read),
        false => !is_file(name),
    });
    missing.map(|name| format!("there is no test or file {name}")).collect()
}

/// Returns a fault if a row names neither a test nor a file.
fn without_evidence(cells: &[&str]) -> Option<String> {
    let last = cells.last()?;
    let has_evidence = tests(last).iter().any(|name| name.contains('/') || name.contains('.'));
    (!has_evidence).then(|| format!("{} names neither test nor file", cells[0]))
}

fn asvs_faults(page: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for cells in rows(page, "number") {
        let [number, level, requirement, state, reason] = cells[..] else {
            faults.push(format!("five cells: {cells:?}"));
            continue;
        };
        *seen.entry(number.to_owned()).or_default() += 1;
        if !["1", "2", "3"].contains(&level) || requirement.is_empty() {
            faults.push(format!("{number} has no level or no text"));
        }
        match state {
            "met" => faults.extend(without_evidence(&cells)),
            "not applicable" | "not met" if reason.len() > 10 => {}
            _ => faults.push(format!("{number} is {state:?} without a reason")),
        }
        faults.extend(missing_references(reason));
    }
    let wanted = ASVS_SECTIONS
        .iter()
        .flat_map(|(section, count)| (1..=*count).map(move |last| format!("{section}.{last}")));
    let wanted: Vec<String> = wanted.collect();
    let missing = wanted.iter().filter(|number| seen.get(*number) != Some(&1));
    faults.extend(missing.map(|number| format!("{number} does not occur exactly once")));
    let invented = seen.keys().filter(|number| !wanted.contains(number));
    faults.extend(invented.map(|number| format!("{number} is no requirement")));
    faults.extend(sum_faults(page));
    faults
}

/// Compares the table of sums with the rows.
fn sum_faults(page: &str) -> Vec<String> {
    let states = ["met", "not applicable", "not met"];
    let all = rows(page, "number");
    let count = |chapter: &str, state: &str| {
        let is_in = |number: &str| chapter == "all" || number.starts_with(&format!("{chapter}."));
        all.iter().filter(|cells| is_in(cells[0]) && cells.get(3) == Some(&state)).count()
    };
    let sums = rows(page, "chapter");
    let wrong = sums.iter().filter(|cells| {
        let chapter = cells[0].trim_start_matches('V').split(' ').next().unwrap();
        states.iter().zip(&cells[1..]).any(|(state, sum)| *sum != count(chapter, state).to_string())
    });
    wrong.map(|cells| format!("the sums of {} are wrong", cells[0])).collect()
}

fn attack_faults(page: &str) -> Vec<String> {
    let attacks = rows(page, "section");
    let attackers = rows(page, "attacker");
    let mut faults: Vec<String> = attacks
        .iter()
        .chain(&attackers)
        .flat_map(|cells| {
            missing_references(&cells.join(" ")).into_iter().chain(without_evidence(cells))
        })
        .collect();
    let occurs_once = |rows: &[Vec<&str>], first: &str| {
        rows.iter().filter(|cells| cells[0] == first).count() == 1
    };
    let sections = ATTACKS.map(|number| format!("4.{number}"));
    faults.extend(
        sections
            .filter(|section| !occurs_once(&attacks, section))
            .map(|section| format!("{section} does not occur exactly once")),
    );
    faults.extend(
        ATTACKERS
            .into_iter()
            .filter(|attacker| !occurs_once(&attackers, attacker))
            .map(|attacker| format!("{attacker} does not occur exactly once")),
    );
    faults
}

fn table_faults(page: &str, heading: &str) -> Vec<String> {
    let rows = rows(page, heading);
    let row_faults = |cells: &Vec<&str>| {
        missing_references(cells.last().unwrap())
            .into_iter()
            .chain(without_evidence(cells))
            .collect::<Vec<_>>()
    };
    let faults = rows.iter().flat_map(row_faults);
    faults.chain((rows.len() < 5).then(|| format!("no table of {heading}"))).collect()
}

/// Returns the rows that name no test, and the incidents that occur twice.
fn incident_faults(page: &str) -> Vec<String> {
    let rows = rows(page, "incident");
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for cells in &rows {
        let [incident, _product, _wrong, _here, tests_cell] = cells[..] else {
            faults.push(format!("five cells: {cells:?}"));
            continue;
        };
        *seen.entry(incident).or_default() += 1;
        if !tests(tests_cell).iter().any(|name| name.contains("::")) {
            faults.push(format!("{incident} names no test"));
        }
        faults.extend(missing_references(tests_cell));
    }
    let twice = seen.into_iter().filter(|(_, count)| *count > 1);
    faults.extend(twice.map(|(incident, _)| format!("{incident} occurs twice")));
    faults.extend((rows.len() < 28).then(|| format!("{} incidents", rows.len())));
    faults.extend(
        (!page.contains(&format!("has {} rows", rows.len())))
            .then(|| format!("the page does not say {} rows", rows.len())),
    );
    faults
}

fn assert_found(faults: impl Fn(&str) -> Vec<String>, page: &str, forgeries: &[[&str; 3]]) {
    assert_eq!(faults(page), [""; 0]);
    for [from, to, fault] in forgeries {
        assert!(page.contains(from), "{from}");
        let found = faults(&page.replacen(from, to, 1));
        assert!(found.iter().any(|found| found.contains(fault)), "{from} -> {to}: {found:?}");
    }
}

#[test]
fn every_requirement_of_asvs_has_a_state_and_forged_pages_are_detected() {
    assert_found(
        asvs_faults,
        &(page("security/asvs.md") + &page("../tests/documents/asvs.md")),
        &[
            ["| 6.1.2 |", "| 6.1.1 |", "6.1.2 does not occur exactly once"],
            ["| 16.5.4 |", "| 16.5.5 |", "16.5.5 is no requirement"],
            ["panic_becomes_500", "panic_becomes_200", "there is no test or file"],
            ["`docs/limits.md`", "`deploy/none`", "there is no test or file deploy/none"],
            ["| met | `", "| met | perhaps ", "names neither test nor file"],
            ["| not met | the hub knows", "| met | the hub knows", "sums of"],
            ["| not applicable | the", "| unknown | the", "without a reason"],
        ],
    );
}

#[test]
fn every_connector_kind_is_among_the_documented_ways_to_sign_in() {
    let page = page("levels.md");
    for kind in passerelle_server::KINDS.connectors {
        assert!(page.contains(&format!("| `[kind.{}]` |", kind.name)), "{}", kind.name);
    }
}

#[test]
fn every_attack_of_rfc_9700_has_its_test_and_forged_pages_are_detected() {
    assert_found(
        attack_faults,
        &page("security/rfc9700.md"),
        &[
            ["| 4.12 |", "| 4.11 |", "4.12 does not occur exactly once"],
            ["| A5 |", "| A6 |", "A5 does not occur exactly once"],
            ["no_endpoint_is_an_open", "every_endpoint_is_an_open", "there is no test or file"],
        ],
    );
}

#[test]
fn every_incident_of_others_has_its_test_and_forged_pages_are_detected() {
    assert_found(
        incident_faults,
        &page("security/incidents.md"),
        &[
            ["no_endpoint_is_an_open", "every_endpoint_is_an_open", "there is no test or file"],
            ["::mix_of_loopback_ports_and_hosts_is_stopped", "", "names no test"],
            [" rows; it is not", "0 rows; it is not", "the page does not say"],
            ["| incident | product |", "| thing | product |", "the page does not say"],
        ],
    );
}

#[test]
fn every_resource_that_strangers_use_has_a_bound_and_forged_pages_are_detected() {
    assert_found(
        |page| table_faults(page, "resource"),
        &page("limits.md"),
        &[
            ["floods.rs::a_login_whose_page", "floods.rs::a_login_with_a_page", "there is no test"],
            ["| resource | bound |", "| thing | bound |", "no table"],
        ],
    );
}

#[test]
fn every_attack_on_the_confinement_has_its_test_and_forged_pages_are_detected() {
    assert_found(
        |page| table_faults(page, "attack"),
        &page("security/confinement.md"),
        &[["::every thread is confined", "::no thread is confined", "there is no test"]],
    );
}
