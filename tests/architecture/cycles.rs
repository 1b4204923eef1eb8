//! Import cycles between the files of one crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::assert_none;
use crate::source::{Source, import_graph, sources};

/// The largest import cycle that a crate may hold: a file and one part of it.
const MAX_FILES_IN_CYCLE: usize = 2;

type Graph = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Returns the cycles of more than [`MAX_FILES_IN_CYCLE`] files of one crate.
fn long_cycles(sources: &[Source]) -> Vec<String> {
    let graph = import_graph(sources);
    let reachable: BTreeMap<_, _> = graph.keys().map(|f| (f, reachable(&graph, f))).collect();
    let mut cycles = BTreeSet::new();
    for (file, reached) in &reachable {
        let in_cycle =
            |other: &&&Vec<String>| reached.contains(**other) && reachable[**other].contains(*file);
        let cycle: Vec<_> = reachable.keys().filter(in_cycle).map(|f| f.join("/")).collect();
        if cycle.len() > MAX_FILES_IN_CYCLE {
            cycles.insert(cycle);
        }
    }
    let describe =
        |c: &Vec<String>| format!("{} files import each other: {}", c.len(), c.join(" "));
    cycles.iter().map(describe).collect()
}

/// Returns the files that `from` imports, directly or through others of the same crate.
fn reachable(graph: &Graph, from: &Vec<String>) -> BTreeSet<Vec<String>> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for target in graph.get(file).into_iter().flatten() {
            if target.first() == from.first() && seen.insert(target.clone()) {
                next.push(target);
            }
        }
    }
    seen
}

#[test]
fn no_crate_has_an_import_cycle_of_more_than_two_files() {
    assert_none(&long_cycles(sources()));
}

#[test]
fn forged_cycles_are_found() {
    let three = [
        Source::new("crates/config/src/a.rs", "use super::b::B;"),
        Source::new("crates/config/src/b.rs", "use crate::{c::C, d};"),
        Source::new("crates/config/src/c.rs", "fn f() { super::a::go() }"),
        Source::new("crates/config/src/d.rs", ""),
    ];
    assert_eq!(long_cycles(&three), ["3 files import each other: config/a config/b config/c"]);
    assert_none(&long_cycles(&three[..2]));
    let through_tests = [
        Source::new("crates/config/src/a.rs", "use super::b::B;"),
        Source::new("crates/config/src/b.rs", "use super::c::C;"),
        Source::new(
            "crates/config/src/c.rs",
            "#[cfg(test)]\nmod tests {\n    use super::super::a::A;\n}\n",
        ),
    ];
    assert_none(&long_cycles(&through_tests));
}
