use std::sync::Mutex;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use serde_json::{Map, Value, json};

use super::*;
use crate::tests::service_with;
use passerelle_egress::safe_http_client::AllowedSchemes;
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};
use passerelle_federation::client_keys::ResponseEncryptionAlgs;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::{ServiceProvider, UnavailableDisplay};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

/// A key set of one key for encryption, under this `kid`.
fn set(kid: &str) -> Value {
    let public = Jwk::generate_ec_key(EcCurve::P256).unwrap().to_public_key().unwrap();
    let mut jwk: Value = serde_json::to_value(public.as_ref() as &Map<String, Value>).unwrap();
    (jwk["kid"], jwk["use"], jwk["alg"]) = (kid.into(), "enc".into(), "ECDH-ES".into());
    json!({ "keys": [jwk] })
}

/// A service provider's server with a changeable response, and a hub's directory.
struct ClientKeysFixture {
    server: FakeServer,
    answer: Arc<Mutex<FakeResponse>>,
    federation: Federation,
    directory: KeyDirectory,
    metrics: Arc<Metrics>,
    clock: Arc<ManualClock>,
    env: Env,
}

impl ClientKeysFixture {
    async fn with(answer: FakeResponse) -> Self {
        let answer = Arc::new(Mutex::new(answer));
        let response = Arc::clone(&answer);
        let server = FakeServer::start(move |_| response.lock().unwrap().clone()).await;
        let address = JwksUri {
            uri: format!("{}/jwks", server.base()).parse().unwrap(),
            schemes: AllowedSchemes::HttpAndHttps,
            internal_hosts: vec!["127.0.0.1".into()],
        };
        let encryption = ResponseEncryptionAlgs {
            id_token: Some(EncryptionAlg::EcdhEs),
            userinfo: Some(EncryptionAlg::EcdhEs),
        };
        let service = ServiceProvider { encryption, ..service_with("sp", KeySource::Uri(address)) };
        let federation =
            Federation::new([service], ScopeTable::default(), UnavailableDisplay::Disabled);
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_000_000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let metrics = Arc::new(Metrics::new().unwrap());
        let directory = KeyDirectory::new(&federation, &metrics).unwrap();
        Self { server, answer, federation, directory, metrics, clock, env }
    }

    fn set_response(&self, response: FakeResponse) {
        *self.answer.lock().unwrap() = response;
    }

    async fn advance_and_refresh(&self, seconds: u64) -> Option<String> {
        self.clock.advance(Duration::from_secs(seconds));
        self.directory.refresh(&self.env).await;
        self.kid()
    }

    fn kid(&self) -> Option<String> {
        let keys = self.keys()?;
        Some(keys.encryption.select(EncryptionAlg::EcdhEs)?.kid.clone())
    }

    fn source(&self) -> KeySource {
        self.federation.service_provider(&"sp".into()).unwrap().keys.clone()
    }

    fn keys(&self) -> Option<Arc<ClientKeys>> {
        self.directory.keys(&"sp".into(), &self.source())
    }

    async fn refetch_keys(&self, lacking: &Arc<ClientKeys>) -> Arc<ClientKeys> {
        self.directory.refetch_keys(&"sp".into(), &self.source(), lacking, &self.env).await
    }
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new().unwrap())
}

/// A waiting caller may disconnect every minute before the response arrives.
#[tokio::test]
async fn a_caller_that_hangs_up_does_not_take_the_minutes_fetch_from_a_new_key() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    scene.advance_and_refresh(0).await;
    let lacking = scene.keys().unwrap();
    scene.set_response(FakeResponse::json(&set("two")));
    let mut hung_up = Box::pin(scene.refetch_keys(&lacking));
    let first_look = std::future::poll_fn(|context| {
        std::task::Poll::Ready(hung_up.as_mut().poll(context).is_pending())
    });
    assert!(first_look.await);
    drop(hung_up);
    let newer = scene.refetch_keys(&lacking).await;
    assert_eq!(newer.encryption.select(EncryptionAlg::EcdhEs).unwrap().kid, "two");
    assert_eq!(scene.server.request_count(), 2, "and that fetch is the only one");
}

#[tokio::test]
async fn keys_are_fetched_refreshed_early_and_serve_while_their_server_is_down() {
    let scene = ClientKeysFixture::with(FakeResponse::status(503)).await;
    assert_eq!(scene.advance_and_refresh(0).await, None);
    scene.set_response(FakeResponse::json(&set("one")));
    assert_eq!(scene.advance_and_refresh(10).await.as_deref(), Some("one"), "the next round");
    scene.set_response(FakeResponse::json(&set("two")));
    assert_eq!(scene.advance_and_refresh(449).await.as_deref(), Some("one"));
    assert_eq!(scene.server.request_count(), 2, "fresh keys are not fetched");
    assert_eq!(
        scene.advance_and_refresh(1).await.as_deref(),
        Some("two"),
        "before their ten minutes are over"
    );
    scene.set_response(FakeResponse::status(500));
    assert_eq!(
        scene.advance_and_refresh(90_000).await.as_deref(),
        Some("two"),
        "the last good copy, a day later"
    );
    let fetched = || {
        scene.directory.record_fetch_times();
        let metrics = scene.metrics.render();
        metrics.lines().find_map(|line| {
            line.strip_prefix(
                "passerelle_client_keys_last_fetch_timestamp_seconds{client=\"sp\"} ",
            )?
            .parse()
            .ok()
        })
    };
    let kept = scene.env.now().seconds() - 90_000;
    assert_eq!(fetched(), Some(kept), "an operator sees how old it is");
    scene.set_response(FakeResponse::json(&set("three")));
    assert_eq!(scene.advance_and_refresh(31).await.as_deref(), Some("three"));
    assert_eq!(fetched(), Some(scene.env.now().seconds()));
}

#[tokio::test]
async fn an_answer_that_is_no_key_set_leaves_the_last_good_copy() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    scene.advance_and_refresh(0).await;
    let mut leaked = set("two");
    leaked["keys"][0]["d"] = "c2VjcmV0".into();
    let huge =
        json!({ "keys": set("three")["keys"], "more": "x".repeat(FETCH_LIMITS.max_body_bytes) });
    for bad in [
        FakeResponse::json(&leaked),
        FakeResponse::json(&huge),
        FakeResponse::json(&json!({ "keys": [] })),
        FakeResponse::status(302),
    ] {
        scene.set_response(bad);
        assert_eq!(scene.advance_and_refresh(700).await.as_deref(), Some("one"));
    }
}

#[tokio::test]
async fn a_key_that_its_owner_withdrew_is_used_no_more() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    assert_eq!(scene.advance_and_refresh(0).await.as_deref(), Some("one"));
    let mut signs = set("two");
    (signs["keys"][0]["use"], signs["keys"][0]["alg"]) = ("sig".into(), "ES256".into());
    scene.set_response(FakeResponse::json(&signs));
    assert_eq!(scene.advance_and_refresh(700).await, None);
}

#[tokio::test]
async fn a_set_that_lacks_a_key_is_fetched_ahead_of_time_once_a_minute() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    scene.advance_and_refresh(0).await;
    scene.set_response(FakeResponse::json(&set("two")));
    let lacking = scene.keys().unwrap();
    let refetched = scene.refetch_keys(&lacking).await;
    assert_eq!((scene.kid().as_deref(), scene.server.request_count()), (Some("two"), 2));
    scene.refetch_keys(&refetched).await;
    assert_eq!(
        scene.server.request_count(),
        2,
        "an attacker's unknown kid can't make the hub call as often as it likes"
    );
}

#[tokio::test]
async fn a_probe_reports_whether_the_service_provider_can_get_a_response() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    let mut signs = set("two");
    (signs["keys"][0]["use"], signs["keys"][0]["alg"]) = ("sig".into(), "ES256".into());
    for (answer, expected) in [
        (FakeResponse::json(&set("one")), Ok(())),
        (FakeResponse::json(&signs), Err(KeyFetchError::NoEncryptionKey(EncryptionAlg::EcdhEs))),
        (FakeResponse::status(404), Err(KeyFetchError::Status(404))),
    ] {
        scene.set_response(answer);
        assert_eq!(
            scene.directory.check_published_keys(&scene.federation, &|| {}).await,
            [("sp".into(), expected)]
        );
    }
}

#[test]
fn the_keys_of_an_inactive_service_provider_are_not_fetched() {
    let address = JwksUri {
        uri: "https://127.0.0.1/jwks".parse().unwrap(),
        schemes: AllowedSchemes::HttpsOnly,
        internal_hosts: vec![],
    };
    let mut service = service_with("sp", KeySource::Uri(address));
    service.registration.active = false;
    let directory = KeyDirectory::new(
        &Federation::new([service], ScopeTable::default(), UnavailableDisplay::Disabled),
        &metrics(),
    )
    .unwrap();
    assert!(directory.published().is_empty());
}

#[test]
fn an_address_inside_is_refused_before_any_call() {
    for uri in ["https://127.0.0.1/jwks", "https://169.254.169.254/latest", "https://[::1]/"] {
        let address = JwksUri {
            uri: uri.parse().unwrap(),
            schemes: AllowedSchemes::HttpsOnly,
            internal_hosts: vec![],
        };
        let federation = Federation::new(
            [service_with("sp", KeySource::Uri(address))],
            ScopeTable::default(),
            UnavailableDisplay::Disabled,
        );
        let error = KeyDirectory::new(&federation, &metrics()).err().unwrap();
        assert!(error.to_string().contains("internal_hosts"), "{error}");
    }
}

#[tokio::test]
async fn keys_of_an_unchanged_source_survive_another_federation_and_those_of_a_former_one_go() {
    let scene = ClientKeysFixture::with(FakeResponse::json(&set("one"))).await;
    assert_eq!(scene.advance_and_refresh(0).await.as_deref(), Some("one"));
    let KeySource::Uri(address) = scene.source() else { panic!() };
    let elsewhere =
        JwksUri { uri: format!("{}/elsewhere", scene.server.base()).parse().unwrap(), ..address };
    let federation_with =
        |service| Federation::new([service], ScopeTable::default(), UnavailableDisplay::Disabled);

    let same = federation_with(ServiceProvider {
        sector: "another".into(),
        ..service_with("sp", scene.source())
    });
    scene.directory.prepare(&same).unwrap();
    scene.directory.retain(&same);
    assert_eq!((scene.kid().as_deref(), scene.server.request_count()), (Some("one"), 1));

    let moved = federation_with(service_with("sp", KeySource::Uri(elsewhere.clone())));
    scene.directory.prepare(&moved).unwrap();
    assert_eq!(
        scene.kid().as_deref(),
        Some("one"),
        "who holds the former snapshot goes on with its keys"
    );
    let sp = ClientId::from("sp");
    assert!(
        scene.directory.keys(&sp, &KeySource::Uri(elsewhere.clone())).is_none(),
        "and they are not mistaken for the new ones"
    );
    scene.directory.retain(&moved);
    scene.directory.refresh(&scene.env).await;
    assert!(scene.directory.keys(&sp, &KeySource::Uri(elsewhere)).is_some());
    assert_eq!(scene.kid(), None);

    scene.directory.retain(&Federation::new(
        [],
        ScopeTable::default(),
        UnavailableDisplay::Disabled,
    ));
    scene.directory.record_fetch_times();
    assert!(
        !scene.metrics.render().contains("client_keys_fetched_timestamp_seconds{client=\"sp\"}")
    );
}
