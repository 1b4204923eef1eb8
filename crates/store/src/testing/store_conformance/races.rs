//! Tests the rules that only concurrent callers can break.

use std::future::Future;
use std::sync::{Arc, Barrier};

use super::{ample_capacities, at, code, key, new_record, new_record_in_family, take, value};
use crate::{
    Capacities, Family, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError,
};

const THREADS: usize = 8;

/// Runs the same work on several threads, started at the same moment. Returns the results.
async fn race<T, F>(work: impl Fn(usize) -> F + Clone + Send + 'static) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let start = Arc::new(Barrier::new(THREADS));
    let runner = |n: usize| {
        let (work, start, runtime) =
            (work.clone(), Arc::clone(&start), tokio::runtime::Handle::current());
        tokio::task::spawn_blocking(move || {
            start.wait();
            runtime.block_on(work(n))
        })
    };
    let running: Vec<_> = (0..THREADS).map(runner).collect();
    let mut results = Vec::new();
    for thread in running {
        results.push(thread.await.unwrap());
    }
    results
}

pub async fn many_redeem_one_code_and_one_wins<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    for round in 0..300 {
        let name = code(&round.to_string());
        store.insert(name.clone(), new_record("claims", at(30)), at(0)).await.unwrap();
        let redeeming = Arc::clone(&store);
        let answers = race(move |n| {
            let (store, name) = (Arc::clone(&redeeming), name.clone());
            async move { (n, take(&store, &name, &format!("by {n}"), at(90), at(1)).await) }
        })
        .await;
        let winners: Vec<_> =
            answers.iter().filter(|(_, answer)| answer == "taken claims").collect();
        let [(winner, _)] = winners[..] else { panic!("round {round}: {answers:?}") };
        let losers = answers
            .iter()
            .filter(|(_, answer)| *answer == format!("already taken by {winner}"))
            .count();
        assert_eq!(losers, THREADS - 1, "round {round}: {answers:?}");
    }
}

pub async fn many_use_one_assertion_and_one_is_first<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    for round in 0..300 {
        let name = key(RecordKind::USED_JTI, &round.to_string());
        let using = Arc::clone(&store);
        let answers = race(move |_| {
            let (store, name) = (Arc::clone(&using), name.clone());
            async move { store.insert(name, new_record("", at(30)), at(0)).await }
        })
        .await;
        let first = answers.iter().filter(|answer| answer.is_ok()).count();
        let late = answers.iter().filter(|answer| **answer == Err(StoreError::Exists)).count();
        assert_eq!((first, late), (1, THREADS - 1), "round {round}: {answers:?}");
        // Make room for the ids of the next round.
        store.remove(&key(RecordKind::USED_JTI, &round.to_string())).await.unwrap();
    }
}

pub async fn many_replace_and_none_is_lost<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    const EACH: u64 = 300;
    let store = make(ample_capacities()).await;
    let name = key(RecordKind::LOGIN, "counter");
    store.insert(name.clone(), new_record("0", at(30)), at(0)).await.unwrap();
    let counting = (Arc::clone(&store), name.clone());
    race(move |_| {
        let (store, name) = counting.clone();
        async move {
            for _ in 0..EACH {
                while !count_one_up(&store, &name).await {}
            }
        }
    })
    .await;
    let record = store.load(&name, at(1)).await.unwrap().unwrap();
    let total = THREADS as u64 * EACH;
    assert_eq!(
        (&*record.value, record.version),
        (total.to_string().as_bytes(), RecordVersion(total + 1))
    );
    assert_eq!(store.count(RecordKind::LOGIN), 1);
}

async fn count_one_up(store: &Arc<dyn Store>, name: &RecordKey) -> bool {
    let seen = store.load(name, at(1)).await.unwrap().unwrap();
    let number: u64 = std::str::from_utf8(&seen.value).unwrap().parse().unwrap();
    let next = (number + 1).to_string().into_bytes();
    matches!(
        store.replace(name, seen.version, next, at(30), at(1)).await.unwrap(),
        ReplaceOutcome::Replaced(_)
    )
}

pub async fn many_insert_and_capacity_holds<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities().with_records(RecordKind::SESSION, 50)).await;
    let inserting = Arc::clone(&store);
    let answers = race(move |n| {
        let store = Arc::clone(&inserting);
        async move {
            let mut admitted = Vec::new();
            for i in 0..40 {
                let name = key(RecordKind::SESSION, &format!("{n}/{i}"));
                match store.insert(name.clone(), new_record("1", at(30)), at(0)).await {
                    Ok(_) => admitted.push(name),
                    Err(error) => assert_eq!(error, StoreError::Full),
                }
            }
            admitted
        }
    })
    .await;
    let admitted: Vec<_> = answers.into_iter().flatten().collect();
    assert_eq!((admitted.len(), store.count(RecordKind::SESSION)), (50, 50));
    for name in admitted {
        assert!(value(&store, &name, at(1)).await.is_some());
    }
}

pub async fn revocation_applies_to_concurrent_insertions<F: Future<Output = Arc<dyn Store>>>(
    make: impl Fn(Capacities) -> F,
) {
    let store = make(ample_capacities()).await;
    for round in 0..100 {
        let family = Family(round.to_string().into());
        let (racing, revoked) = (Arc::clone(&store), family.clone());
        race(move |n| {
            let (store, family) = (Arc::clone(&racing), revoked.clone());
            async move {
                if n == 0 {
                    return store.revoke(&family, at(90), at(1)).await.unwrap();
                }
                let inserted = store
                    .insert(
                        code(&format!("{round}/{n}")),
                        new_record_in_family("1", at(30), &family.0),
                        at(1),
                    )
                    .await;
                assert!(matches!(inserted, Ok(_) | Err(StoreError::Revoked)), "{inserted:?}");
            }
        })
        .await;
        for n in 1..THREADS {
            assert_eq!(
                value(&store, &code(&format!("{round}/{n}")), at(2)).await,
                None,
                "round {round}"
            );
        }
    }
}
