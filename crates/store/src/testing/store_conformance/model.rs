//! Tests random operations at random times against a simple model.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::{ample_capacities, at, code, new_record, new_record_in_family, take};
use crate::{Capacities, Family, RecordVersion, ReplaceOutcome, Store, StoreError};

#[derive(Clone, Copy, Debug)]
enum Verb {
    Insert { life: u64, family: Option<u8> },
    Load,
    Replace { expected: u64, life: u64 },
    Take { tombstone_life: u64 },
    Remove,
    Revoke { family: u8, closed_for: u64 },
}

/// An operation, the name of its record, and the seconds that pass before it.
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
enum ModelRecord {
    Live { version: u64, value: String, until: u64, family: Option<u8> },
    Tombstone { value: String, until: u64 },
}

#[derive(Default)]
struct Model {
    records: HashMap<u8, ModelRecord>,
    closed_until: HashMap<u8, u64>,
}

impl Model {
    /// Applies an operation and returns the expected result as text.
    fn step(&mut self, verb: Verb, name: u8, value: String, now: u64) -> String {
        self.records.retain(|_, cell| match cell {
            ModelRecord::Live { until, .. } | ModelRecord::Tombstone { until, .. } => now < *until,
        });
        let cell = self.records.get(&name).cloned();
        match (verb, cell) {
            (Verb::Insert { family: Some(family), .. }, _)
                if self.closed_until.get(&family).is_some_and(|until| now < *until) =>
            {
                "revoked".into()
            }
            (Verb::Insert { .. }, Some(_)) => "exists".into(),
            (Verb::Insert { life, family }, None) => {
                self.records.insert(
                    name,
                    ModelRecord::Live { version: 1, value, until: now + life, family },
                );
                "version 1".into()
            }
            (Verb::Load, Some(ModelRecord::Live { version, value, .. })) => {
                format!("{version} {value}")
            }
            (Verb::Load, _) => "none".into(),
            (Verb::Replace { expected, life }, Some(ModelRecord::Live { version, family, .. })) => {
                if version != expected {
                    return "stale".into();
                }
                self.records.insert(
                    name,
                    ModelRecord::Live { version: version + 1, value, until: now + life, family },
                );
                format!("done {}", version + 1)
            }
            (Verb::Replace { .. }, _) => "gone".into(),
            (Verb::Take { tombstone_life }, Some(ModelRecord::Live { value: taken, .. })) => {
                self.records
                    .insert(name, ModelRecord::Tombstone { value, until: now + tombstone_life });
                format!("taken {taken}")
            }
            (Verb::Take { .. }, Some(ModelRecord::Tombstone { value, .. })) => {
                format!("already taken {value}")
            }
            (Verb::Take { .. }, None) => "gone".into(),
            (Verb::Remove, _) => {
                self.records.remove(&name);
                String::new()
            }
            (Verb::Revoke { family, closed_for }, _) => {
                self.records.retain(
                    |_, cell| !matches!(cell, ModelRecord::Live { family: Some(member_of), .. } if *member_of == family),
                );
                let until = self.closed_until.entry(family).or_default();
                *until = (*until).max(now + closed_for);
                String::new()
            }
        }
    }
}

async fn apply(store: &Arc<dyn Store>, verb: Verb, name: u8, new: &str, now: u64) -> String {
    let key = code(&name.to_string());
    match verb {
        Verb::Insert { life, family } => {
            let draft = match family {
                Some(family) => new_record_in_family(new, at(now + life), &family.to_string()),
                None => new_record(new, at(now + life)),
            };
            match store.insert(key, draft, at(now)).await {
                Ok(version) => format!("version {}", version.0),
                Err(StoreError::Exists) => "exists".into(),
                Err(StoreError::Revoked) => "revoked".into(),
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
                .replace(&key, RecordVersion(expected), new.into(), at(now + life), at(now))
                .await
                .unwrap()
            {
                ReplaceOutcome::Replaced(version) => format!("done {}", version.0),
                ReplaceOutcome::Stale => "stale".into(),
                ReplaceOutcome::Gone => "gone".into(),
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

/// Returns the first disagreement, if there is one.
async fn find_disagreement(store: &Arc<dyn Store>, steps: &[Step]) -> Option<String> {
    let (mut model, mut now) = (Model::default(), 0);
    for (n, (verb, name, passing)) in steps.iter().enumerate() {
        now += passing;
        let new = format!("value {n}");
        let (answer, expected) = (
            apply(store, *verb, *name, &new, now).await,
            model.step(*verb, *name, new.clone(), now),
        );
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
        let Some(mut found) =
            find_disagreement(&make(ample_capacities()).await, &tree.current()).await
        else {
            continue;
        };
        // Report the smallest run that still disagrees.
        let mut smallest = tree.current();
        let mut smaller = tree.simplify();
        while smaller {
            smaller =
                match find_disagreement(&make(ample_capacities()).await, &tree.current()).await {
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
