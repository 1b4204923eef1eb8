//! Measures how long a register file of a million persons takes to load and to search, and its
//! memory.
//!
//! `cargo bench --bench register`; `-- 100000` for fewer persons. Nothing is asserted: read the
//! figures.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that can't be made should stop"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use passerelle_federation::identity::Identity;
use passerelle_register::RegisterAnswer;
use passerelle_register::file::FileRegister;
use passerelle_register::file::import::{ImportMode, Unobserved, import};
use tokio::time::Instant;

const GIVEN: [&str; 16] = [
    "Angela", "Jean", "Étienne", "Marie", "Claire", "Louise", "Paul", "Odile", "Fernand", "Zoé",
    "Mamadou", "María", "Luc", "Inès", "Noël", "Chloé",
];
const FAMILY: [&str; 16] = [
    "DUBOIS",
    "LEFÈVRE",
    "MARTIN",
    "GARCÍA",
    "DIALLO",
    "MOREL",
    "PERRIN",
    "DE LA TOUR",
    "PETIT",
    "DURAND",
    "N'GUYEN",
    "O'BRIEN",
    "SCHMIDT",
    "BÉRANGER",
    "ROUX",
    "FAURE",
];

fn person(number: usize) -> Identity {
    let pick = |names: &[&'static str; 16], divisor: usize| names[(number / divisor) % 16];
    // A bijection of the number in the names, so that no two persons share a pivot.
    let suffix: String =
        format!("{number:07}").bytes().map(|digit| char::from(digit - b'0' + b'A')).collect();
    Identity {
        given_names: vec![pick(&GIVEN, 1).to_owned(), pick(&GIVEN, 16).to_owned()],
        family_name: Some(format!("{} {suffix}", pick(&FAMILY, 256))),
        birthdate: Some(format!(
            "19{:02}-{:02}-{:02}",
            number % 100,
            number % 12 + 1,
            number % 28 + 1
        )),
        gender: Some(["female", "male"][number % 2].to_owned()),
        birthplace: Some(format!("75{:03}", 100 + number % 20)),
        birthcountry: Some("99100".to_owned()),
        email: None,
        preferred_username: None,
        standard: std::collections::BTreeMap::default(),
        declared: std::collections::BTreeMap::default(),
    }
}

fn csv(persons: usize) -> String {
    let mut text =
        String::from("given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n");
    for number in 0..persons {
        let Identity {
            given_names, family_name, birthdate, gender, birthplace, birthcountry, ..
        } = person(number);
        let cells = [family_name, birthdate, gender, birthplace, birthcountry]
            .map(Option::unwrap_or_default)
            .join(",");
        writeln!(text, "{},{cells},active", given_names.join(" ")).unwrap();
    }
    text
}

/// Returns the resident memory of this process, now and at its peak, in MiB.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mebibytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().unwrap_or_default() / 1024
    };
    (mebibytes("VmRSS:"), mebibytes("VmHWM:"))
}

fn load(path: &Path) -> FileRegister {
    let (before, _) = resident();
    let begun = Instant::now();
    let register = FileRegister::load(path, "99100").unwrap();
    let (after, highest) = resident();
    println!(
        "load       {} persons in {:.2} s; resident {before} MiB before, {after} MiB after, {highest} MiB at most",
        register.len(),
        begun.elapsed().as_secs_f64()
    );
    register
}

fn look_up(register: &FileRegister, persons: usize) {
    let questions: Vec<Identity> = (0..100_000).map(|step| person(step * 7919 % persons)).collect();
    let mut took: Vec<u128> = questions
        .iter()
        .map(|asked| {
            let begun = Instant::now();
            assert!(matches!(black_box(register.find(black_box(asked))), RegisterAnswer::Found(_)));
            begun.elapsed().as_nanos()
        })
        .collect();
    took.sort_unstable();
    let at = |share: usize| took[took.len() * share / 1000];
    println!(
        "look up    {} persons: p50 {} ns, p99 {} ns, p99.9 {} ns",
        questions.len(),
        at(500),
        at(990),
        at(999)
    );
}

fn main() {
    let persons = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("source.csv"), folder.path().join("register.csv"));
    {
        let text = csv(persons);
        println!("file       {} MiB", text.len() >> 20);
        std::fs::write(&source, text).unwrap();
    }
    let register = load(&source);
    look_up(&register, persons);
    drop(register);
    for what in ["import", "again"] {
        let begun = Instant::now();
        let done = import(&source, &target, "99100", ImportMode::Merge, &Unobserved).unwrap();
        println!(
            "{what:10} {done} in {:.2} s; {} MiB at most",
            begun.elapsed().as_secs_f64(),
            resident().1
        );
    }
}
