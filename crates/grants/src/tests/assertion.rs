//! `private_key_jwt` cases that the flow tests do not cover: fetched keys, several clients, a full
//! store (R201; RFC 7523 §3).

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner, RS256};
use serde_json::{Map, Value, json};

use super::{Hub, ample_capacities, federation_with, service_with};
use passerelle_egress::safe_http_client::AllowedSchemes;
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};
use passerelle_federation::client_assertions::{AcceptedAudiences, AssertionRules};
use passerelle_federation::client_keys::{JwksUri, KeySource};
use passerelle_federation::testing::samples::ISSUER;
use passerelle_federation::{ClientAuthentication, ServiceProvider};
use passerelle_jose::ClientKeys;
use passerelle_protocol::alg::{SigningAlg, VerificationAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_store::{Capacities, RecordKind};

static EC: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
static NEXT_EC: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_ec_key(EcCurve::P256).unwrap());
static RSA: LazyLock<Jwk> = LazyLock::new(|| Jwk::generate_rsa_key(2048).unwrap());

fn set(keys: &[(&Jwk, &str)]) -> Value {
    let public = |(jwk, kid): &(&Jwk, &str)| {
        let public = jwk.to_public_key().unwrap();
        let mut members: Map<String, Value> = public.as_ref().clone();
        members.insert("kid".into(), (*kid).into());
        Value::Object(members)
    };
    json!({ "keys": keys.iter().map(public).collect::<Vec<_>>() })
}

fn inline_keys(keys: &[(&Jwk, &str)]) -> KeySource {
    KeySource::Inline(Arc::new(ClientKeys::from_jwks(set(keys).to_string().as_bytes()).unwrap()))
}

fn signing(client_id: &str, alg: SigningAlg, keys: KeySource) -> ServiceProvider {
    let rules = AssertionRules {
        algs: VerificationAlg::from(alg).into(),
        audiences: AcceptedAudiences::IssuerAlone,
        max_lifetime: Duration::from_secs(300),
        rules: ProtocolRules::Federation,
    };
    ServiceProvider {
        authentication: ClientAuthentication::PrivateKeyJwt(rules),
        ..service_with(client_id, keys)
    }
}

impl Hub {
    fn with_signers(capacities: Capacities, services: Vec<ServiceProvider>) -> Self {
        let hub = Self::with(capacities);
        hub.set_federation(federation_with(services));
        hub
    }

    /// Authenticates with a valid assertion of this client, signed with this key under this `kid`.
    async fn assert_as(
        &self,
        client_id: &str,
        alg: SigningAlg,
        (key, kid): (&Jwk, &str),
        jti: &str,
    ) -> Result<String, ErrorCode> {
        let exp = self.now().seconds() + 60;
        let claims =
            json!({ "iss": client_id, "sub": client_id, "aud": ISSUER, "exp": exp, "jti": jti });
        let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
        let input =
            format!("{}.{}", part(&json!({ "alg": alg.as_str(), "kid": kid })), part(&claims));
        let signer: Box<dyn JwsSigner> = match alg {
            SigningAlg::ES256 => Box::new(ES256.signer_from_jwk(key).unwrap()),
            SigningAlg::RS256 => Box::new(RS256.signer_from_jwk(key).unwrap()),
        };
        let assertion =
            format!("{input}.{}", digest::base64url(&signer.sign(input.as_bytes()).unwrap()));
        let offered = Credentials::Assertion {
            claimed: Some(client_id.into()),
            assertion: Secret::new(assertion),
        };
        self.authenticated(&offered).await
    }
}

#[tokio::test]
async fn each_client_signs_with_its_registered_algorithm() {
    let (ec, rsa) = ((&*EC, "ec"), (&*RSA, "rsa"));
    let both = || inline_keys(&[ec, rsa]);
    let services =
        vec![signing("a", SigningAlg::ES256, both()), signing("b", SigningAlg::RS256, both())];
    let hub = Hub::with_signers(ample_capacities(), services);
    assert_eq!(hub.assert_as("a", SigningAlg::ES256, ec, "1").await.as_deref(), Ok("a"));
    assert_eq!(
        hub.assert_as("b", SigningAlg::RS256, rsa, "1").await.as_deref(),
        Ok("b"),
        "its jti is its own"
    );
    assert_eq!(
        hub.assert_as("a", SigningAlg::RS256, rsa, "2").await,
        Err(ErrorCode::AssertionUnproven)
    );
    assert_eq!(
        hub.assert_as("b", SigningAlg::ES256, ec, "2").await,
        Err(ErrorCode::AssertionUnproven)
    );
    assert_eq!(
        hub.assert_as("a", SigningAlg::ES256, ec, "1").await,
        Err(ErrorCode::AssertionReplayed)
    );
}

#[tokio::test]
async fn an_assertion_that_can_not_be_remembered_does_not_count() {
    let ec = (&*EC, "ec");
    let services = ["a", "b"].map(|id| signing(id, SigningAlg::ES256, inline_keys(&[ec]))).to_vec();
    let hub = Hub::with_signers(ample_capacities().with_records(RecordKind::USED_JTI, 1), services);
    hub.assert_as("b", SigningAlg::ES256, ec, "1").await.unwrap();
    assert_eq!(hub.assert_as("a", SigningAlg::ES256, ec, "1").await, Err(ErrorCode::StoreFull));
    hub.clock.advance(Duration::from_secs(120));
    hub.assert_as("a", SigningAlg::ES256, ec, "1").await.unwrap();
}

#[tokio::test]
async fn one_client_that_floods_the_store_with_assertions_does_not_keep_the_others_out() {
    let ec = (&*EC, "ec");
    let services = ["a", "b"].map(|id| signing(id, SigningAlg::ES256, inline_keys(&[ec]))).to_vec();
    let hub = Hub::with_signers(ample_capacities().with_records(RecordKind::USED_JTI, 4), services);
    for jti in ["1", "2"] {
        hub.assert_as("a", SigningAlg::ES256, ec, jti).await.unwrap();
        // Replaying an intercepted assertion does not use up the client's quota.
        hub.assert_as("a", SigningAlg::ES256, ec, "1").await.unwrap_err();
    }
    assert_eq!(
        hub.assert_as("a", SigningAlg::ES256, ec, "3").await,
        Err(ErrorCode::TooManyAssertions)
    );
    hub.assert_as("b", SigningAlg::ES256, ec, "1").await.unwrap();
    hub.clock.advance(Duration::from_secs(180));
    hub.assert_as("a", SigningAlg::ES256, ec, "3").await.unwrap();
}

#[tokio::test]
async fn an_assertion_with_a_forged_signature_is_not_stored() {
    let hub = Hub::with_signers(
        ample_capacities(),
        vec![signing("a", SigningAlg::ES256, inline_keys(&[(&EC, "ec")]))],
    );
    assert_eq!(
        hub.assert_as("a", SigningAlg::ES256, (&NEXT_EC, "ec"), "1").await,
        Err(ErrorCode::AssertionUnproven)
    );
    assert_eq!(hub.store.count(RecordKind::USED_JTI), 0);
}

/// Key rotation needs no coordination or restart: an unknown `kid` causes a fetch, at most once a
/// minute.
#[tokio::test]
async fn a_new_key_is_fetched_at_once_and_unknown_kids_cause_a_bounded_number_of_calls() {
    let answer = Arc::new(Mutex::new(FakeResponse::status(503)));
    let response = Arc::clone(&answer);
    let server = FakeServer::start(move |_| response.lock().unwrap().clone()).await;
    let address = JwksUri {
        uri: format!("{}/jwks", server.base()).parse().unwrap(),
        schemes: AllowedSchemes::HttpAndHttps,
        internal_hosts: vec!["127.0.0.1".into()],
    };
    let hub = Hub::with_signers(
        ample_capacities(),
        vec![signing("a", SigningAlg::ES256, KeySource::Uri(address))],
    );
    let (one, two) = ((&*EC, "one"), (&*NEXT_EC, "two"));
    assert_eq!(
        hub.assert_as("a", SigningAlg::ES256, one, "0").await,
        Err(ErrorCode::ClientKeysUnavailable)
    );
    assert_eq!(
        server.request_count(),
        0,
        "a stranger can't make the hub fetch keys that it has none of: that is its own round's"
    );

    *answer.lock().unwrap() = FakeResponse::json(&set(&[one]));
    hub.client_keys.refresh(&hub.core.env).await;
    hub.assert_as("a", SigningAlg::ES256, one, "1").await.unwrap();
    *answer.lock().unwrap() = FakeResponse::json(&set(&[one, two]));
    hub.assert_as("a", SigningAlg::ES256, two, "2").await.unwrap();
    hub.assert_as("a", SigningAlg::ES256, one, "3").await.unwrap();
    let asked = server.request_count();
    for jti in ["4", "5", "6"] {
        let unknown = hub.assert_as("a", SigningAlg::ES256, (&NEXT_EC, "three"), jti).await;
        assert_eq!(unknown, Err(ErrorCode::AssertionUnproven));
    }
    assert_eq!(server.request_count(), asked);
}
