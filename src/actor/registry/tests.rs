use std::path::Path;

use super::*;
use crate::actor::health::Cause;
use crate::config::model::ConnectorFile;
use crate::config::{ConfiguredConnector, Unavailable};
use crate::connector::ConnectorFault;
use crate::env::{HandClock, SeededEntropy, Timestamp};
use crate::identity::scopes::ScopeTable;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};

/// One that is down.
struct Down;

#[async_trait::async_trait]
impl Connector for Down {
    async fn begin(&self, _: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        Err(ConnectorFault::new(ErrorCode::IdpUnreachable, "down"))
    }
    async fn complete(&self, _: Attempt, _: Arrival) -> Result<Authentication, ConnectorFault> {
        Err(ConnectorFault::new(ErrorCode::IdpUnreachable, "down"))
    }
    async fn warm(&self) -> Result<(), ConnectorFault> {
        Ok(())
    }
}

fn registry() -> Registry {
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_700_000_000)));
    let env = Env::new(clock as Arc<_>, Arc::new(SeededEntropy::new(1)));
    let federation = Federation::new([], ScopeTable::default(), Unavailable::Greyed).into();
    let blocks = Blocks::load(Path::new("no state is kept here"), &env).unwrap();
    Registry {
        connectors: Connectors {
            actors: Arc::default(),
            federation,
            blocks,
            way_out: WayOut::default(),
        },
        calls: 8,
        surroundings: Surroundings { metrics: Arc::new(Metrics::new(env.now()).unwrap()), env },
        arbiters: Vec::new(),
    }
}

/// As after a change of its file.
fn apply(registry: &Registry, name: &str) {
    let text = format!(
        "name = {{ en = \"{name}\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n[kind.persona]\n"
    );
    let file: ConnectorFile = toml::from_str(&text).unwrap();
    let id = ConnectorId::from("one");
    let configured = ConfiguredConnector {
        id: id.clone(),
        file,
        client_secret: None,
        logo: None,
        blocks: Vec::new(),
    };
    let facts = Arc::new(ConnectorFacts::of(&configured));
    let federation = Federation::clone(&registry.connectors.federation.load())
        .with_connectors([(id.clone(), facts)]);
    let plan = Plan {
        id,
        connector: Arc::new(Down),
        limits: configured.file.limits,
        fields: Arc::default(),
    };
    registry.switch(Switch { plans: vec![plan], federation });
}

#[actix::test]
async fn what_is_known_of_an_identity_provider_outlives_its_actor_but_not_its_file() {
    let registry = registry();
    let handle = || registry.connectors.handle(&"one".into()).unwrap();
    let fail = || {
        let now = registry.surroundings.env.now();
        handle().health().open(Cause::Documents, now);
    };
    apply(&registry, "One");
    fail();
    assert_eq!(handle().standing(), Standing::Failing);
    let dead = handle();
    dead.kill().await;
    assert!(!dead.is_alive());
    registry.replace_the_dead();
    assert!(handle().is_alive());
    assert_eq!(
        handle().standing(),
        Standing::Failing,
        "its actor was replaced, the identity provider is the same"
    );
    apply(&registry, "Another");
    assert_eq!(handle().standing(), Standing::Well, "its file says something else");
}
