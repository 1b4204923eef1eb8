//! Runs every target over its committed seeds, over changed seeds and over random bytes: what a
//! machine without an instrumented build can do in seconds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::{FuzzTarget, fuzz_targets};

/// Inputs for each target, beside the seeds.
const CASES: u32 = 300;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn read_inputs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut inputs: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

fn seeds(target: &FuzzTarget) -> Vec<(String, Vec<u8>)> {
    read_inputs(&fuzz_folder().join("seeds").join(target.name))
}

/// Runs a target in a thread with the stack of the test runner, and names it if it panics.
fn assert_takes(target: &FuzzTarget, inputs: Vec<Vec<u8>>) {
    let mut run = target.build();
    for input in inputs {
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&input)));
        assert!(ran.is_ok(), "{} panics on b\"{}\"", target.name, input.escape_ascii());
    }
}

#[test]
fn every_target_has_seeds_and_every_folder_of_seeds_a_target() {
    let targets: BTreeSet<_> = fuzz_targets().iter().map(|one| one.name.to_owned()).collect();
    assert_eq!(targets.len(), fuzz_targets().len(), "two targets have one name");
    let folders = fs::read_dir(fuzz_folder().join("seeds")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(folders.collect::<BTreeSet<_>>(), targets);
}

#[test]
fn the_sources_of_every_target_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for target in fuzz_targets() {
        for source in target.sources {
            assert!(root.join(source).exists(), "{}: no {source}", target.name);
        }
    }
}

/// A seed named `good…` is accepted, one named `bad…` is refused: what a fuzzer starts from
/// reaches the end of its parser.
#[test]
fn seeds_are_accepted_or_refused_as_their_names_say() {
    for target in fuzz_targets() {
        let mut run = target.build();
        let seeds = seeds(&target);
        for (name, input) in &seeds {
            let accepted = run(input);
            assert_eq!(accepted, name.starts_with("good"), "{}/{name}", target.name);
        }
        for kind in ["good", "bad"] {
            let found = seeds.iter().any(|(name, _)| name.starts_with(kind));
            assert!(found, "{} has no {kind} seed", target.name);
        }
    }
}

/// A change of one seed: bytes that are replaced, inserted, removed or repeated.
fn changed_seed(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let change =
        (any::<Index>(), any::<Index>(), 0..4_u8, prop::collection::vec(any::<u8>(), 0..4));
    (prop::sample::select(seeds), prop::collection::vec(change, 1..4)).prop_map(
        |(mut bytes, changes)| {
            for (from, to, kind, new) in changes {
                let from = from.index(bytes.len() + 1);
                let to = from + to.index(bytes.len() + 1 - from).min(16);
                let part = match kind {
                    0 => new,
                    1 => [bytes[from..to].to_vec(), new].concat(),
                    2 => bytes[from..to].repeat(2),
                    _ => Vec::new(),
                };
                bytes.splice(from..to, part);
            }
            bytes
        },
    )
}

/// Draws changed seeds of a target, and now and then random bytes.
fn inputs(target: &FuzzTarget) -> impl Strategy<Value = Vec<u8>> {
    let seeds: Vec<_> = seeds(target).into_iter().map(|(_, bytes)| bytes).collect();
    prop_oneof![
        9 => changed_seed(seeds),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

#[test]
fn every_target_takes_changed_seeds_and_random_bytes() {
    let mut runner = TestRunner::deterministic();
    for target in fuzz_targets() {
        let inputs = inputs(&target);
        let draw = |_| inputs.new_tree(&mut runner).unwrap().current();
        assert_takes(&target, (0..CASES).map(draw).collect());
    }
}

/// As above with other inputs in each run, for `FUZZ_SECONDS` shared by all targets.
#[test]
#[ignore = "tests/run runs it, with FUZZ_SECONDS"]
fn every_target_takes_new_inputs_for_a_while() {
    let seconds: u32 = std::env::var("FUZZ_SECONDS").unwrap().parse().unwrap();
    let targets = fuzz_targets();
    let share = Duration::from_secs(seconds.into()) / u32::try_from(targets.len()).unwrap();
    let mut runner = TestRunner::new(ProptestConfig::default());
    for target in &targets {
        let inputs = inputs(target);
        let (end, mut taken) = (Instant::now() + share, 0);
        while Instant::now() < end {
            let draw = |_| inputs.new_tree(&mut runner).unwrap().current();
            assert_takes(target, (0..CASES).map(draw).collect());
            taken += CASES;
        }
        println!("{}: {taken} inputs", target.name);
    }
}

/// Replays the inputs of a folder, for `fuzz/run --coverage`.
#[test]
#[ignore = "fuzz/run --coverage runs it, with FUZZ_TARGET and FUZZ_CORPUS"]
fn replay_a_corpus() {
    let name = std::env::var("FUZZ_TARGET").unwrap();
    let target = fuzz_targets().into_iter().find(|one| one.name == name).unwrap();
    println!("sources: {}", target.sources.join(" "));
    let mut inputs: Vec<_> = seeds(&target).into_iter().map(|(_, bytes)| bytes).collect();
    if let Ok(corpus) = std::env::var("FUZZ_CORPUS") {
        inputs.extend(read_inputs(Path::new(&corpus)).into_iter().map(|(_, bytes)| bytes));
    }
    assert_takes(&target, inputs);
}
