use std::path::Path;

use super::*;
use crate::health::OpenCause;
use crate::hub_clock::HubClock;
use passerelle_connector::ConnectorError;
use passerelle_connector::testing::connectors::any_connector;
use passerelle_federation::UnavailableDisplay;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_telemetry::Metrics;

/// A connector whose identity provider is down.
struct Down;

#[async_trait::async_trait]
impl Connector for Down {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        Err(ConnectorError::new(ErrorCode::IdpUnreachable, "down"))
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        Err(ConnectorError::new(ErrorCode::IdpUnreachable, "down"))
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }
}

fn registry() -> Registry {
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_700_000_000)));
    let env = Env::new(clock as Arc<_>, Arc::new(SeededEntropy::new(1)));
    let federation = CurrentFederation::new(Federation::new(
        [],
        ScopeTable::default(),
        UnavailableDisplay::Disabled,
    ));
    let blocks = Blocks::load(Path::new("no state is kept here"), &env).unwrap();
    Registry {
        connectors: Connectors {
            invalid_files: Arc::default(),
            actors: Arc::default(),
            federation: federation.clone(),
            blocks,
            outbound: OutboundNetwork::default(),
            clock: HubClock::default(),
            is_probed_elsewhere: Arc::default(),
        },
        default_max_calls: 8,
        actor_deps: ConnectorActorDeps {
            metrics: Arc::new(Metrics::new().unwrap()),
            env,
            clock: HubClock::default(),
            federation,
        },
        arbiters: Vec::new(),
    }
}

/// Applies a changed file.
fn apply(registry: &Registry, name: &str) {
    let id = ConnectorId::from("one");
    let configured = any_connector("one", name);
    let metadata = Arc::new(configured.metadata());
    let federation = Federation::clone(&registry.connectors.federation.load())
        .with_connectors([(id.clone(), metadata)]);
    let spec = ConnectorSpec {
        id,
        connector: Arc::new(Down),
        limits: configured.file.limits,
        fields: Arc::default(),
    };
    registry.apply(ApplyConfig { specs: vec![spec], federation });
}

#[actix::test]
async fn health_outlives_the_actor_but_not_the_file() {
    let registry = registry();
    let handle = || registry.connectors.handle(&"one".into()).unwrap();
    let now = registry.actor_deps.env.now();
    apply(&registry, "One");
    handle().update_health(move |health| health.open_circuit(OpenCause::Documents, now)).await;
    assert_eq!(handle().circuit_state(), CircuitState::Open);
    let dead = handle();
    dead.kill().await;
    assert!(!dead.is_alive());
    registry.replace_dead_actors();
    assert!(handle().is_alive());
    assert_eq!(
        handle().circuit_state(),
        CircuitState::Open,
        "its actor was replaced; the identity provider is the same"
    );
    apply(&registry, "Another");
    assert_eq!(handle().circuit_state(), CircuitState::Closed, "its file has changed");
}
