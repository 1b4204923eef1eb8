//! Pushed authorization requests (RFC 9126): their single use, and their share of the store.

use std::time::Duration;

use super::Hub;
use crate::grant::authorization_request::{ParameterSourceError, SingleUse};
use crate::ids::InteractionHash;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::Params;
use crate::protocol::pushed_request;
use crate::store::{Capacities, RecordKind};
use crate::testing::samples::SP_CALLBACK;
use crate::testing::store_conformance::AMPLE_CAPACITIES;

impl Hub {
    /// Pushes the usual request, and returns its `request_uri`.
    async fn push(&self, client_id: &str, scope: &str) -> Result<String, ErrorCode> {
        let secret = format!("{client_id}'s secret");
        let pairs = [
            ("client_id", client_id),
            ("client_secret", &secret),
            ("redirect_uri", SP_CALLBACK),
            ("response_type", "code"),
            ("scope", scope),
            ("acr_values", "eidas1"),
            ("state", "0123456789012345678901"),
            ("nonce", "0123456789012345678901"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let form = Some("application/x-www-form-urlencoded");
        let request = pushed_request::parse_request(form, &[], Params::new(pairs)).unwrap();
        let answer = self.token_service.push_request(&request).await.map_err(|error| error.code)?;
        let answer: serde_json::Value = serde_json::to_value(&answer).unwrap();
        Ok(answer["request_uri"].as_str().unwrap().to_owned())
    }

    async fn resolve(&self, client_id: &str, uri: &str) -> Result<SingleUse, ParameterSourceError> {
        let pairs = [("client_id", client_id), ("request_uri", uri)];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let resolved =
            self.token_service.resolve_request(&Params::new(pairs)).await?.single_use.unwrap();
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
    assert_eq!(hub.token_service.mark_request_used(&one, &logins[0]).await, Ok(()));
    let used = ParameterSourceError::Used(logins[0].clone(), ErrorCode::RequestUriUsed);
    assert_eq!(hub.token_service.mark_request_used(&other, &logins[1]).await, Err(used.clone()));
    assert_eq!(hub.resolve("sp", &uri).await.err(), Some(used));
}

#[tokio::test]
async fn one_client_that_floods_the_store_with_requests_does_not_keep_the_others_out() {
    let hub = Hub::with(Capacities { pushed_requests: 4, ..AMPLE_CAPACITIES });
    for _ in 0..2 {
        hub.push("sp", "openid").await.unwrap();
    }
    assert_eq!(hub.push("sp", "openid").await, Err(ErrorCode::TooManyPushedRequests));
    hub.push("other", "openid").await.unwrap();
    hub.clock.advance(Duration::from_secs(120));
    hub.push("sp", "openid").await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_refused_takes_no_place_in_the_store() {
    let hub = Hub::new();
    assert_eq!(hub.push("off", "openid").await, Err(ErrorCode::ClientUnknown));
    assert_eq!(hub.push("sp", "email").await, Err(ErrorCode::ScopeWithoutOpenid));
    assert_eq!(hub.token_service.store.count(RecordKind::PushedRequest), 0);
}
