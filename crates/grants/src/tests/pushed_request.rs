//! Pushed authorization requests (RFC 9126): their single use, and their share of the store.

use std::time::Duration;

use super::{Hub, service};
use crate::authorization_request::SingleUse;
use crate::error::ParameterSourceError;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::testing::samples::SP_CALLBACK;
use passerelle_federation::{ClientAuthentication, Federation, UnavailableDisplay};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::authorize::pushed;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::ids::InteractionHash;
use passerelle_protocol::params::Params;
use passerelle_protocol::registration::ClientType;
use passerelle_store::RecordKind;
use passerelle_store::testing::store_conformance::ample_capacities;

impl Hub {
    /// Pushes the usual request, and returns its `request_uri`.
    async fn push(&self, client_id: &str, scope: &str) -> Result<String, ErrorCode> {
        let secret = format!("{client_id}'s secret");
        self.push_with(client_id, scope, ("client_secret", &secret), None).await
    }

    /// Pushes a request of about ten kilobytes.
    async fn push_long(&self, client_id: &str) -> Result<String, ErrorCode> {
        let secret = format!("{client_id}'s secret");
        let scope = format!("openid {}", "x".repeat(10_000));
        self.push_with(client_id, &scope, ("client_secret", &secret), None).await
    }

    async fn push_with(
        &self,
        client_id: &str,
        scope: &str,
        credential: (&str, &str),
        stranger: Option<ClientNetwork>,
    ) -> Result<String, ErrorCode> {
        let pairs = [
            ("client_id", client_id),
            credential,
            ("redirect_uri", SP_CALLBACK),
            ("response_type", "code"),
            ("scope", scope),
            ("acr_values", "eidas1"),
            ("state", "0123456789012345678901"),
            ("nonce", "0123456789012345678901"),
            ("code_challenge_method", if credential.0 == "code_challenge" { "S256" } else { "" }),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let form = Some("application/x-www-form-urlencoded");
        let request = pushed::parse_request(form, &[], Params::new(pairs)).unwrap();
        let answer = self
            .grants
            .pushed_request_endpoint
            .push(&request, stranger)
            .await
            .map_err(|error| error.code)?;
        let answer: serde_json::Value = serde_json::to_value(&answer).unwrap();
        Ok(answer["request_uri"].as_str().unwrap().to_owned())
    }

    async fn resolve(&self, client_id: &str, uri: &str) -> Result<SingleUse, ParameterSourceError> {
        let pairs = [("client_id", client_id), ("request_uri", uri)];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let resolved = self
            .grants
            .authorization_requests
            .resolve(&Params::new(pairs))
            .await?
            .single_use
            .unwrap();
        Ok(resolved)
    }
}

#[tokio::test]
async fn one_of_two_concurrent_logins_gets_the_pushed_request() {
    let hub = Hub::new();
    let uri = hub.push("sp", "openid").await.unwrap();
    let (one, other) =
        (hub.resolve("sp", &uri).await.unwrap(), hub.resolve("sp", &uri).await.unwrap());
    let logins = ["one", "other"].map(InteractionHash::from_cookie);
    assert_eq!(hub.grants.authorization_requests.mark_used(&one, &logins[0]).await, Ok(()));
    let used = ParameterSourceError::Used(logins[0].clone(), ErrorCode::RequestUriUsed);
    assert_eq!(
        hub.grants.authorization_requests.mark_used(&other, &logins[1]).await,
        Err(used.clone())
    );
    assert_eq!(hub.resolve("sp", &uri).await.err(), Some(used));
}

#[tokio::test]
async fn one_client_that_floods_the_store_with_requests_does_not_keep_the_others_out() {
    let hub = Hub::with(ample_capacities().with_records(RecordKind::PUSHED_REQUEST, 4));
    for _ in 0..2 {
        hub.push("sp", "openid").await.unwrap();
    }
    assert_eq!(hub.push("sp", "openid").await, Err(ErrorCode::TooManyPushedRequests));
    hub.push("other", "openid").await.unwrap();
    hub.clock.advance(Duration::from_secs(120));
    hub.push("sp", "openid").await.unwrap();
}

#[tokio::test]
async fn one_client_that_floods_the_store_with_long_requests_takes_half_of_its_bytes() {
    let hub = Hub::with(ample_capacities().with_records(RecordKind::PUSHED_REQUEST, 1000));
    let bytes = || hub.store.usage(RecordKind::PUSHED_REQUEST).bytes;
    let refused = loop {
        if let Err(code) = hub.push_long("sp").await {
            break code;
        }
        assert!(bytes() <= 1 << 20, "a flood of bytes was stored");
    };
    assert_eq!(refused, ErrorCode::TooManyPushedRequests);
    assert!((500_000..=1 << 19).contains(&bytes()), "{}", bytes());
    hub.push_long("other").await.unwrap();
    hub.clock.advance(Duration::from_secs(120));
    hub.push_long("sp").await.unwrap();
}

#[tokio::test]
async fn strangers_in_one_network_do_not_use_up_what_a_public_client_may_push() {
    let hub = Hub::with(ample_capacities().with_records(RecordKind::PUSHED_REQUEST, 1000));
    let mut sp = service("sp", true, SigningAlg::ES256);
    sp.authentication = ClientAuthentication::Public;
    sp.registration.client_type = ClientType::Public;
    let (table, unavailable) = (ScopeTable::default(), UnavailableDisplay::Disabled);
    hub.core.federation.replace(Federation::new([sp], table, unavailable));
    let push = async |address: &str| {
        let network = ClientNetwork::containing(address.parse().unwrap());
        let scope = format!("openid {}", "x".repeat(10_000));
        let challenge = ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        hub.push_with("sp", &scope, challenge, Some(network)).await
    };
    let mut stored = 0;
    while push("192.0.2.7").await.is_ok() {
        stored += 1;
        assert!(stored < 100, "one network is not limited");
    }
    assert_eq!(push("192.0.2.8").await, Err(ErrorCode::TooManyPushedRequests), "the same network");
    assert!(push("198.51.100.7").await.is_ok(), "another network");
    for _ in 0..10 {
        assert!(push("10.0.0.7").await.is_ok(), "a proxy that all users share");
    }
}

#[tokio::test]
async fn a_request_that_is_refused_takes_no_place_in_the_store() {
    let hub = Hub::new();
    assert_eq!(hub.push("off", "openid").await, Err(ErrorCode::ClientUnknown));
    assert_eq!(hub.push("sp", "email").await, Err(ErrorCode::ScopeWithoutOpenid));
    assert_eq!(hub.store.count(RecordKind::PUSHED_REQUEST), 0);
}
