//! Tests hubs that share a store: one of them probes, all know, and one that dies is replaced.

use super::super::tests::{Mode, ProberHub, clock, id, pass};
use super::super::*;
use crate::connector::tests::start_hanging;
use crate::health::ProbeOutcome;
use crate::registry::NotProbedError;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::NewRecord;
use passerelle_store::testing::fake_shared_store::FakeSharedStore;
use passerelle_store::testing::redis_store::{fresh_prefix, shared_server, store_at};
use passerelle_store::testing::store_conformance::ample_capacities;

/// Records a probe whose connection was refused.
async fn fail_probe(handle: &ConnectorHandle, now: Timestamp) {
    let failed = ProbeOutcome::Failed(ErrorCode::IdpUnreachable);
    let fail =
        move |health: &mut Health| health.record_document_probe(failed, false, Duration::ZERO, now);
    handle.update_health(fail).await;
}

fn hubs(count: u64, servers: &Arc<FakeSharedStore>) -> (Arc<ManualClock>, Vec<ProberHub>) {
    let clock = clock();
    let hubs = (1..=count)
        .map(|seed| ProberHub::start(3, Arc::clone(servers) as Arc<_>, Arc::clone(&clock), seed))
        .collect();
    (clock, hubs)
}

fn probes(hub: &ProberHub) -> usize {
    hub.idps.iter().map(|idp| idp.probes()).sum()
}

#[actix::test]
async fn one_hub_probes_for_all_that_share_a_store() {
    tokio::time::pause();
    let servers = FakeSharedStore::new();
    let (clock, hubs) = hubs(3, &servers);
    pass(&clock, 10).await;
    let calls_before = servers.calls();
    pass(&clock, 120).await;
    let probing: Vec<_> = hubs.iter().filter(|hub| probes(hub) > 0).collect();
    assert_eq!(probing.len(), 1);
    let calls = servers.calls() - calls_before;
    assert!(
        calls <= 3 * 60 + 40,
        "{calls} store calls of three hubs in two minutes: a read each two seconds, and heartbeats"
    );
    let gauges: Vec<_> = hubs
        .iter()
        .map(|hub| hub.metrics.render().contains("\npasserelle_connector_probe_leader 1\n"))
        .collect();
    assert_eq!(gauges.iter().filter(|gauge| **gauge).count(), 1);
    // A login on another hub marks the connector as in use.
    let prober = hubs.iter().position(|hub| probes(hub) > 0).unwrap();
    let other = (prober + 1) % 3;
    hubs[other].use_it(0);
    pass(&clock, 6).await;
    let before = hubs[prober].idps[0].probes();
    pass(&clock, 30).await;
    assert_eq!(hubs[prober].idps[0].probes(), before + 3);
    // All hubs learn what the prober finds, within the time that applies to one.
    for hub in hubs.iter() {
        hub.idps[0].set(Mode::Refuses);
    }
    pass(&clock, 20).await;
    assert!(
        hubs.iter()
            .all(|hub| hub.circuit(0) == CircuitState::Open
                && hub.circuit(1) == CircuitState::Closed)
    );
    for hub in hubs.iter() {
        hub.idps[0].set(Mode::Works);
    }
    pass(&clock, 20).await;
    assert!(hubs.iter().all(|hub| hub.circuit(0) == CircuitState::Closed));
}

#[actix::test]
async fn a_probe_that_an_operator_asks_for_at_any_hub_counts_for_all() {
    tokio::time::pause();
    let servers = FakeSharedStore::new();
    let (clock, hubs) = hubs(2, &servers);
    pass(&clock, 10).await;
    hubs.iter().for_each(|hub| hub.idps[0].set(Mode::Refuses));
    pass(&clock, 130).await;
    assert!(hubs.iter().all(|hub| hub.circuit(0) == CircuitState::Open));
    let follower = hubs.iter().find(|hub| probes(hub) == 0).unwrap();
    hubs.iter().for_each(|hub| hub.idps[0].set(Mode::Works));
    assert_eq!(follower.connectors.probe(&id(0), || ()).await, Ok(None));
    pass(&clock, 8).await;
    assert!(hubs.iter().all(|hub| hub.circuit(0) == CircuitState::Closed));
}

/// Returns the prober and the followers of hubs that have just chosen it.
async fn by_role<'a>(
    clock: &ManualClock,
    hubs: &'a [ProberHub],
) -> (&'a ProberHub, Vec<&'a ProberHub>) {
    pass(clock, 70).await;
    let (mut probers, followers): (Vec<_>, Vec<_>) = hubs.iter().partition(|hub| probes(hub) > 0);
    (probers.remove(0), followers)
}

#[actix::test]
async fn no_other_hub_repeats_a_failed_probe_of_an_operator() {
    tokio::time::pause();
    let (clock, hubs) = hubs(3, &FakeSharedStore::new());
    let (prober, followers) = by_role(&clock, &hubs).await;
    pass(&clock, 12).await;
    hubs.iter().for_each(|hub| hub.idps[0].set(Mode::RefusesAccount));
    let before = prober.idps[0].probes();
    for follower in &followers {
        assert_eq!(
            follower.connectors.probe(&id(0), || ()).await,
            Ok(Some(ErrorCode::LdapAccount))
        );
    }
    pass(&clock, 8).await;
    assert_eq!(prober.idps[0].probes(), before);
    // What the prober finds pauses the probes of operators at all hubs.
    pass(&clock, 60).await;
    assert_eq!(prober.idps[0].probes(), before + 1);
    pass(&clock, 240).await;
    for hub in &hubs {
        let paused = hub.connectors.probe(&id(0), || ()).await;
        assert!(matches!(paused, Err(NotProbedError::Paused { .. })), "{paused:?}");
    }
}

#[actix::test]
async fn hubs_that_read_a_corrected_file_again_make_the_prober_probe_once() {
    tokio::time::pause();
    let (clock, hubs) = hubs(3, &FakeSharedStore::new());
    let (prober, followers) = by_role(&clock, &hubs).await;
    hubs.iter().for_each(|hub| hub.idps[0].set(Mode::RefusesAccount));
    pass(&clock, 70).await;
    let before = prober.idps[0].probes();
    // One after the other, as a deployment does.
    for hub in followers.iter().chain([&prober]) {
        hub.connectors.probe_failing_now();
        pass(&clock, 12).await;
    }
    assert_eq!(prober.idps[0].probes(), before + 1);
}

#[actix::test]
async fn the_prober_probes_once_for_operators_of_several_hubs() {
    tokio::time::pause();
    let (clock, hubs) = hubs(3, &FakeSharedStore::new());
    let (prober, followers) = by_role(&clock, &hubs).await;
    pass(&clock, 12).await;
    let before = prober.idps[0].probes();
    for follower in followers {
        assert_eq!(follower.connectors.probe(&id(0), || ()).await, Ok(None));
        pass(&clock, 4).await;
    }
    pass(&clock, 4).await;
    assert_eq!(prober.idps[0].probes(), before + 1);
}

#[actix::test]
async fn a_prober_that_dies_is_replaced() {
    let servers = FakeSharedStore::new();
    let clock = clock();
    tokio::time::pause();
    // The first takes the lease, and never returns.
    let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(99)));
    let dead = ProberLease::new(Arc::clone(&servers) as Arc<_>, &env);
    dead.sync(&[], env.now()).await;
    assert_eq!(dead.role(), ProberRole::Prober);
    let hub = ProberHub::start(3, Arc::clone(&servers) as Arc<_>, Arc::clone(&clock), 1);
    pass(&clock, 10).await;
    assert_eq!(probes(&hub), 0);
    pass(&clock, 70).await;
    assert!(probes(&hub) > 0);
    dead.sync(&[], env.now()).await;
    assert_eq!(
        dead.role(),
        ProberRole::Follower,
        "a prober that was only slow does not notice that it was replaced"
    );
}

#[actix::test]
async fn a_failure_that_the_prober_finds_while_another_hub_writes_reaches_the_others_with_the_next_exchange()
 {
    let servers = FakeSharedStore::new();
    let start = Timestamp::from_seconds(1_700_000_000);
    let hub = |seed| {
        let env = Env::new(Arc::new(ManualClock::at(start)), Arc::new(SeededEntropy::new(seed)));
        (
            ProberLease::new(Arc::clone(&servers) as Arc<_>, &env),
            [(ConnectorId::from("idp"), start_hanging())],
        )
    };
    let ((prober, found), (follower, known)) = (hub(1), hub(2));
    prober.sync(&found, start).await;
    fail_probe(&found[0].1, start).await;
    let mut now = start + Duration::from_secs(2);
    servers.outrun_next_replace();
    prober.sync(&found, now).await;
    assert_eq!(prober.role(), ProberRole::Prober);
    // Sooner than a heartbeat.
    now = now + Duration::from_secs(1);
    prober.sync(&found, now).await;
    follower.sync(&known, now).await;
    assert!(
        follower.role() == ProberRole::Follower && known[0].1.health().documents.failing.is_some()
    );
}

#[actix::test]
async fn without_the_store_each_hub_probes_for_itself() {
    tokio::time::pause();
    let servers = FakeSharedStore::new();
    let (clock, hubs) = hubs(2, &servers);
    pass(&clock, 10).await;
    servers.set_unavailable(true);
    pass(&clock, 70).await;
    assert!(hubs.iter().all(|hub| probes(hub) > 0));
    servers.set_unavailable(false);
    pass(&clock, 20).await;
    let before: Vec<_> = hubs.iter().map(probes).collect();
    pass(&clock, 120).await;
    assert_eq!(hubs.iter().zip(before).filter(|(hub, before)| probes(hub) > *before).count(), 1);
}

/// During an upgrade, the record of a new release can have an error code that this one lacks.
#[actix::test]
async fn a_hub_that_can_not_read_the_record_probes_for_itself_and_leaves_it() {
    let servers = FakeSharedStore::new();
    let start = Timestamp::from_seconds(1_700_000_000);
    let env = Env::new(Arc::new(ManualClock::at(start)), Arc::new(SeededEntropy::new(1)));
    let lease = ProberLease::new(Arc::clone(&servers) as Arc<_>, &env);
    let known = [(ConnectorId::from("idp"), start_hanging())];
    fail_probe(&known[0].1, start).await;
    let value = br#"{"prober":"new","beat":7,"failing":{"idp":{"code":"Y999999"}}}"#;
    let draft = NewRecord::new(value.to_vec(), start + Duration::from_secs(60));
    servers.insert(lease::lease_key(), draft, start).await.unwrap();
    for seconds in [0, 2, 30] {
        let now = start + Duration::from_secs(seconds);
        lease.sync(&known, now).await;
        assert_eq!(lease.role(), ProberRole::Prober);
        let record = servers.load(&lease::lease_key(), now).await.unwrap().unwrap();
        assert_eq!(*record.value, *value);
        assert!(
            known[0].1.health().documents.failing.is_some(),
            "an unreadable record closes no circuit"
        );
    }
    // Its prober has stopped.
    let now = start + Duration::from_secs(61);
    lease.sync(&known, now).await;
    let record = servers.load(&lease::lease_key(), now).await.unwrap().unwrap();
    assert_ne!(*record.value, *value);
}

/// Hubs on one real Redis: at most one of them probes at any time, and one that stops is replaced.
#[actix::test]
async fn on_a_real_redis_one_hub_probes_and_is_replaced_when_it_dies() {
    let prefix = fresh_prefix();
    let start = Timestamp::from_seconds(1_700_000_000);
    let hub = |seed| {
        let env = Env::new(Arc::new(ManualClock::at(start)), Arc::new(SeededEntropy::new(seed)));
        let store = store_at(shared_server(), &prefix, &["key"], ample_capacities());
        (ProberLease::new(Arc::new(store), &env), [(ConnectorId::from("idp"), start_hanging())])
    };
    let hubs = [hub(1), hub(2), hub(3)];
    let probers = |alive: &[bool]| {
        let roles = hubs
            .iter()
            .zip(alive)
            .filter(|(_, is_alive)| **is_alive)
            .map(|((lease, _), _)| lease.role());
        roles.filter(|role| *role == ProberRole::Prober).count()
    };
    let mut alive = [true; 3];
    let mut first = None;
    for second in 0..60 {
        let now = start + Duration::from_secs(second);
        if second == 30 {
            let prober =
                hubs.iter().position(|(lease, _)| lease.role() == ProberRole::Prober).unwrap();
            alive[prober] = false;
            first = Some(prober);
        }
        for ((lease, probed), _) in hubs.iter().zip(alive).filter(|(_, is_alive)| *is_alive) {
            if second % 2 == 0 {
                lease.sync(probed, now).await;
            }
            if second == 10 && lease.role() == ProberRole::Prober {
                fail_probe(&probed[0].1, now).await;
            }
        }
        assert!(probers(&alive) <= 1, "second {second}");
        if second == 20 {
            let found =
                hubs.iter().all(|(_, probed)| probed[0].1.health().documents.failing.is_some());
            assert!(found, "a hub does not know what the prober found");
        }
    }
    assert_eq!(probers(&alive), 1, "another one has taken over from hub {first:?}");
}
