//! Tests that the counters of every store must pass.

use std::sync::Arc;

use crate::counters::{CounterBatch, CounterKey, Counters, MAX_ADDITIONS_PER_BATCH};

pub const HUBS: [[u8; 8]; 2] = [*b"hub one!", *b"hub two!"];

pub fn batch(
    window: u64,
    hub: usize,
    number: u64,
    additions: &[(&'static str, u8, u32)],
) -> CounterBatch {
    let additions = additions
        .iter()
        .map(|(limit, subject, count)| (counted(limit, *subject), *count))
        .collect();
    CounterBatch { window, hub: HUBS[hub], number, additions }
}

fn counted(limit: &'static str, subject: u8) -> CounterKey {
    CounterKey { limit, subject: [subject; 16] }
}

/// Checks the rules that every adapter must keep.
pub async fn check_counters(counters: Arc<dyn Counters>) {
    let add = async |batch: CounterBatch| counters.add(&batch).await.unwrap();
    assert_eq!(add(batch(7, 0, 1, &[("a", 1, 3), ("a", 2, 1)])).await, [3, 1]);
    assert_eq!(add(batch(7, 1, 1, &[("a", 1, 4)])).await, [7], "the sum of both hubs");
    assert_eq!(
        add(batch(7, 0, 2, &[("b", 1, 1), ("a", 1, 2)])).await,
        [1, 9],
        "limits are counted separately"
    );
    assert_eq!(
        add(batch(7, 0, 2, &[("b", 1, 1), ("a", 1, 2)])).await,
        [1, 9],
        "a repeated batch adds nothing"
    );
    assert_eq!(add(batch(8, 0, 3, &[("a", 1, 1)])).await, [1], "windows are counted separately");
    assert_eq!(add(batch(7, 1, 2, &[("a", 1, 1)])).await, [10], "a hub whose clock is behind");
    assert_eq!(add(batch(8, 1, 3, &[])).await, [0; 0]);
    let many: Vec<_> = (0..MAX_ADDITIONS_PER_BATCH)
        .map(|n| {
            let mut subject = [0; 16];
            subject[..8].copy_from_slice(&n.to_be_bytes());
            (CounterKey { limit: "many", subject }, 2)
        })
        .collect();
    let sums = counters
        .add(&CounterBatch { window: 8, hub: HUBS[0], number: 4, additions: many })
        .await
        .unwrap();
    assert!(sums.len() == MAX_ADDITIONS_PER_BATCH && sums.iter().all(|sum| *sum == 2));
}
