use super::*;
use passerelle_protocol::env::Timestamp;
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

fn notice(client_id: &str) -> LogoutNotice {
    LogoutNotice {
        client_id: client_id.into(),
        subject: "s".into(),
        sid: "sid".to_owned(),
        support_id: None,
    }
}

fn queued(client_id: &str, id: &str, now: Timestamp) -> QueuedNotice {
    QueuedNotice::new(notice(client_id), id.to_owned(), now, false)
}

fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(ample_capacities()))
}

#[test]
fn a_sid_reveals_neither_the_session_nor_the_sid_of_another_service_provider() {
    let (one, other) = (ClientId::from("one"), ClientId::from("other"));
    let sid = derive_sid("lineage", &one);
    assert_eq!((sid.len(), &sid), (22, &derive_sid("lineage", &one)));
    assert_ne!(sid, derive_sid("lineage", &other));
    assert_ne!(sid, derive_sid("another", &one));
}

#[test]
fn retries_become_rarer_and_end() {
    let delays: Vec<u64> = (1..8).map(|attempts| retry_delay(attempts).as_secs()).collect();
    assert_eq!(delays, [5, 15, 45, 135, 405, 600, 600]);
    assert_eq!(retry_delay(u32::MAX), MAX_RETRY_DELAY);
}

#[tokio::test]
async fn one_service_provider_fills_half_of_the_queue_at_most() {
    let store = store();
    let queue = NoticeQueue::new(store.clone(), 320);
    let many = (0..12).map(|n| queued("one", &n.to_string(), at(0))).collect();
    let (bucket, rejected) = queue.insert(&[0; 32], many, at(0)).await.unwrap();
    assert_eq!((bucket, rejected.len()), (0, 7));
    let many = (20..32).map(|n| queued("other", &n.to_string(), at(0))).collect();
    let (_, rejected) = queue.insert(&[0; 32], many, at(0)).await.unwrap();
    assert_eq!(rejected.len(), 7, "the queue is full");
    assert_eq!(queue.load_all(at(0)).await.unwrap()[0].entries.len(), 10);
}

#[tokio::test]
async fn one_of_two_hubs_claims_a_notice_until_its_lease_ends() {
    let store = store();
    let (one, other) = (NoticeQueue::new(store.clone(), 320), NoticeQueue::new(store.clone(), 320));
    let slots: Arc<DeliverySlots> = Arc::default();
    let reserve = |client_id: &ClientId| slots.reserve(client_id);
    one.insert(&[7; 32], vec![queued("sp", "a", at(0))], at(0)).await.unwrap();
    let (mut seen_by_one, mut seen_by_other) =
        (one.load_all(at(0)).await.unwrap(), other.load_all(at(0)).await.unwrap());
    let claimed = one.claim(seen_by_one.remove(0), reserve, at(0)).await;
    assert_eq!((claimed.len(), claimed[0].0.attempts), (1, 1));
    assert!(other.claim(seen_by_other.remove(0), reserve, at(0)).await.is_empty(), "stale");
    let look = async |now: Timestamp| {
        let bucket = other.load_all(now).await.unwrap().remove(0);
        other.claim(bucket, reserve, now).await.len()
    };
    assert_eq!(look(at(29)).await, 0);
    // The first hub has stopped.
    drop(claimed);
    assert_eq!(look(at(30)).await, 1);
}

#[tokio::test]
async fn a_delivered_notice_is_removed_and_a_retry_is_due_later() {
    let store = store();
    let queue = NoticeQueue::new(store.clone(), 320);
    let both = vec![queued("sp", "a", at(0)), queued("sp", "b", at(0))];
    let (bucket, _) = queue.insert(&[7; 32], both, at(0)).await.unwrap();
    let settled = vec![
        ("a".to_owned(), Settlement::Remove),
        ("b".to_owned(), Settlement::RetryAt(at(50))),
        ("unknown".to_owned(), Settlement::RetryAt(at(50))),
    ];
    queue.apply_settlements(bucket, settled, at(1)).await.unwrap();
    let left = queue.load_all(at(1)).await.unwrap().remove(0).entries;
    assert_eq!((left.len(), left[0].due_at), (1, at(50)));
    queue
        .apply_settlements(bucket, vec![("b".to_owned(), Settlement::Remove)], at(2))
        .await
        .unwrap();
    assert!(queue.load_all(at(2)).await.unwrap().remove(0).entries.is_empty());
}

#[tokio::test]
async fn concurrent_hubs_lose_no_notice() {
    let store = store();
    let inserts = (0..10).map(|n| {
        let queue = NoticeQueue::new(store.clone(), 3200);
        async move {
            let notice = queued(&format!("sp-{n}"), &n.to_string(), at(0));
            queue.insert(&[7; 32], vec![notice], at(0)).await.unwrap();
        }
    });
    futures_util::future::join_all(inserts).await;
    let queue = NoticeQueue::new(store.clone(), 3200);
    assert_eq!(queue.load_all(at(0)).await.unwrap().remove(0).entries.len(), 10);
}

#[test]
fn service_providers_whose_logout_tokens_wait_for_long_are_reported_most_tokens_first() {
    let mut entries: Vec<QueuedNotice> = Vec::new();
    for (client_id, count) in [("a", 1), ("b", 4), ("c", 2), ("d", 3), ("e", 1)] {
        let own = (0..count).map(|n| queued(client_id, &format!("{client_id}{n}"), at(100)));
        entries.extend(own);
    }
    entries.push(queued("new", "n", at(130)));
    let report = |seconds| find_backlog(entries.iter(), at(seconds)).map(|found| found.message);
    assert_eq!(report(159), None, "the first failures are often passing ones");
    assert_eq!(
        report(160).as_deref(),
        Some(
            "11 logout tokens have waited for more than a minute, so users who signed out stay signed in at b (4), d (3), c (2) and 2 more"
        )
    );
}
