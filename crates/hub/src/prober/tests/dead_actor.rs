//! Tests that a connector whose actor has died still counts, until the registry replaces the actor.

use super::super::tests::{ProberHub, pass};
use super::super::*;
use crate::health::ProbeOutcome;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::{Federation, UnavailableDisplay};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Clock as _, Env};
use passerelle_protocol::testing::env::SeededEntropy;
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;

/// Returns a prober of the hub's connectors whose rounds the test makes.
fn prober_of(hub: &ProberHub) -> Prober {
    let env = Env::new(Arc::clone(&hub.clock) as Arc<_>, Arc::new(SeededEntropy::new(2)));
    let federation = Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled);
    let core = Arc::new(HubCore::for_tests(env, federation.into()));
    let store = Arc::new(MemoryStore::new(ample_capacities()));
    Prober::new(hub.connectors.clone(), store, core)
}

/// Records a failed probe that is enough to open the circuit.
async fn fail_documents(hub: &ProberHub, number: usize) {
    let now = hub.clock.now();
    let fail = move |health: &mut Health| {
        let outcome = ProbeOutcome::Failed(ErrorCode::IdpUnreachable);
        health.record_document_probe(outcome, true, Duration::ZERO, now);
        assert!(health.evidence(now).open_cause.is_some());
    };
    assert!(hub.handle(number).update_health(fail).await.is_some());
}

#[actix::test]
async fn a_dead_actor_does_not_make_another_identity_provider_the_only_one() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    let prober = prober_of(&hub);
    fail_documents(&hub, 0).await;
    hub.handle(1).kill().await;
    prober.due_probes().await;
    assert_eq!(hub.circuit(0), CircuitState::Closed, "opened without a witness");
}

#[actix::test]
async fn a_dead_actor_does_not_end_an_outage_of_the_hubs_network() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    let prober = prober_of(&hub);
    fail_documents(&hub, 0).await;
    fail_documents(&hub, 1).await;
    prober.due_probes().await;
    assert!(hub.connectors.outbound_warning().is_some());
    hub.handle(1).kill().await;
    prober.due_probes().await;
    assert!(hub.connectors.outbound_warning().is_some());
    assert!(hub.handle(0).health().documents.failing.is_some(), "its failures were forgotten");
}

#[actix::test]
async fn a_dead_actor_does_not_end_the_pause_that_its_identity_provider_asked_for() {
    tokio::time::pause();
    let hub = ProberHub::alone(2);
    let prober = prober_of(&hub);
    prober.due_probes().await;
    let start = hub.clock.now();
    let pause = move |health: &mut Health| {
        health.snapshot.documents.pause(Some(Duration::from_secs(86_400)), start);
    };
    hub.handle(1).update_health(pause).await;
    hub.handle(1).kill().await;
    prober.due_probes().await;
    // The registry replaces the actor.
    pass(&hub.clock, 3).await;
    assert!(hub.handle(1).is_alive());
    let paused_until = |seconds| {
        let now = start + Duration::from_secs(seconds);
        hub.handle(1).health().documents.paused_until(now)
    };
    let end = Some(start + Duration::from_secs(300));
    assert_eq!((paused_until(299), paused_until(300)), (end, None), "at most five minutes");
}
