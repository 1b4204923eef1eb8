//! Random verbs at random times, against a model so simple that it can be believed.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{ROOMY, at, code, draft, kin, take};
use crate::store::{Capacities, Family, Replaced, Store, StoreFault, Version};

#[derive(Clone, Copy, Debug)]
enum Verb {
    Insert { life: u64, family: Option<u8> },
    Load,
    Replace { expected: u64, life: u64 },
    Take { tombstone_life: u64 },
    Remove,
    Revoke { family: u8, closed_for: u64 },
}

/// A verb, the record that it is about, and the seconds that pass before it.
type Step = (Verb, u8, u64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verb = prop_oneof![
        4 => (0..20u64, prop::option::of(0..2u8)).prop_map(|(life, family)| Verb::Insert { life, family }),
        4 => Just(Verb::Load),
        3 => (1..4u64, 0..20u64).prop_map(|(expected, life)| Verb::Replace { expected, life }),
        3 => (0..20u64).prop_map(|tombstone_life| Verb::Take { tombstone_life }),
        1 => Just(Verb::Remove),
        1 => (0..2u8, 0..10u64).prop_map(|(family, closed_for)| Verb::Revoke { family, closed_for }),
    ];
    prop::collection::vec((verb, 0..3u8, 0..4u64), 1..60)
}

#[derive(Clone)]
enum Cell {
    Live { version: u64, value: String, until: u64, family: Option<u8> },
    Tombstone { value: String, until: u64 },
}

#[derive(Default)]
struct Model {
    cells: HashMap<u8, Cell>,
    closed_until: HashMap<u8, u64>,
}

impl Model {
    /// What the store should answer, in words.
    fn step(&mut self, verb: Verb, name: u8, value: String, now: u64) -> String {
        self.cells.retain(|_, cell| match cell {
            Cell::Live { until, .. } | Cell::Tombstone { until, .. } => now < *until,
        });
        let cell = self.cells.get(&name).cloned();
        match (verb, cell) {
            (Verb::Insert { family: Some(family), .. }, _)
                if self.closed_until.get(&family).is_some_and(|until| now < *until) =>
            {
                "revoked".into()
            }
            (Verb::Insert { .. }, Some(_)) => "exists".into(),
            (Verb::Insert { life, family }, None) => {
                self.cells
                    .insert(name, Cell::Live { version: 1, value, until: now + life, family });
                "version 1".into()
            }
            (Verb::Load, Some(Cell::Live { version, value, .. })) => format!("{version} {value}"),
            (Verb::Load, _) => "none".into(),
            (Verb::Replace { expected, life }, Some(Cell::Live { version, family, .. })) => {
                if version != expected {
                    return "stale".into();
                }
                self.cells.insert(
                    name,
                    Cell::Live { version: version + 1, value, until: now + life, family },
                );
                format!("done {}", version + 1)
            }
            (Verb::Replace { .. }, _) => "gone".into(),
            (Verb::Take { tombstone_life }, Some(Cell::Live { value: taken, .. })) => {
                self.cells.insert(name, Cell::Tombstone { value, until: now + tombstone_life });
                format!("won {taken}")
            }
            (Verb::Take { .. }, Some(Cell::Tombstone { value, .. })) => format!("spent {value}"),
            (Verb::Take { .. }, None) => "gone".into(),
            (Verb::Remove, _) => {
                self.cells.remove(&name);
                String::new()
            }
            (Verb::Revoke { family, closed_for }, _) => {
                self.cells.retain(
                    |_, cell| !matches!(cell, Cell::Live { family: Some(of), .. } if *of == family),
                );
                let until = self.closed_until.entry(family).or_default();
                *until = (*until).max(now + closed_for);
                String::new()
            }
        }
    }
}

async fn ask(store: &Arc<dyn Store>, verb: Verb, name: u8, new: &str, now: u64) -> String {
    let key = code(&name.to_string());
    match verb {
        Verb::Insert { life, family } => {
            let draft = match family {
                Some(family) => kin(new, at(now + life), &family.to_string()),
                None => draft(new, at(now + life)),
            };
            match store.insert(key, draft, at(now)).await {
                Ok(version) => format!("version {}", version.0),
                Err(StoreFault::Exists) => "exists".into(),
                Err(StoreFault::Revoked) => "revoked".into(),
                Err(other) => panic!("{other}"),
            }
        }
        Verb::Load => match store.load(&key, at(now)).await.unwrap() {
            Some(record) => {
                format!("{} {}", record.version.0, String::from_utf8_lossy(&record.value))
            }
            None => "none".into(),
        },
        Verb::Replace { expected, life } => {
            match store
                .replace(&key, Version(expected), new.into(), at(now + life), at(now))
                .await
                .unwrap()
            {
                Replaced::Done(version) => format!("done {}", version.0),
                Replaced::Stale => "stale".into(),
                Replaced::Gone => "gone".into(),
            }
        }
        Verb::Take { tombstone_life } => {
            take(store, &key, new, at(now + tombstone_life), at(now)).await
        }
        Verb::Remove => store.remove(&key).await.map(|()| String::new()).unwrap(),
        Verb::Revoke { family, closed_for } => {
            let family = Family(family.to_string().into());
            store
                .revoke(&family, at(now + closed_for), at(now))
                .await
                .map(|()| String::new())
                .unwrap()
        }
    }
}

/// The first disagreement, if there is one.
async fn disagreement(store: &Arc<dyn Store>, steps: &[Step]) -> Option<String> {
    let (mut model, mut now) = (Model::default(), 0);
    for (n, (verb, name, passing)) in steps.iter().enumerate() {
        now += passing;
        let new = format!("value {n}");
        let (answer, expected) =
            (ask(store, *verb, *name, &new, now).await, model.step(*verb, *name, new.clone(), now));
        if answer != expected {
            return Some(format!(
                "step {n} at {now}, {verb:?} on {name}: {answer:?} instead of {expected:?}"
            ));
        }
    }
    None
}

pub async fn agrees_with_a_simple_model<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let mut tree = steps().new_tree(&mut runner).unwrap();
        let Some(mut found) = disagreement(&make(ROOMY).await, &tree.current()).await else {
            continue;
        };
        // The smallest run that still disagrees is the one worth reading.
        let mut smallest = tree.current();
        let mut smaller = tree.simplify();
        while smaller {
            smaller = match disagreement(&make(ROOMY).await, &tree.current()).await {
                Some(still) => {
                    (found, smallest) = (still, tree.current());
                    tree.simplify()
                }
                None => tree.complicate(),
            };
        }
        panic!("{found}\n{smallest:?}");
    }
}
