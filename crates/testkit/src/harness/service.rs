//! A service provider: its authorization requests, the responses, and the redemption of codes.

use std::collections::BTreeMap;

use actix_web::test::TestRequest;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::SigningAlg;
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::federation::{BASE, SCOPES, SECRET, redirect_uri};
use super::hub::{Answer, TestHub};

pub const STATE: &str = "state-of-the-service-provider-0123456789";
const NONCE: &str = "nonce-of-the-service-provider-0123456789";

/// The parameters of an authorization request, in order.
#[derive(Clone)]
pub struct Authorize(Vec<(String, String)>);

/// The authorization response at the redirect URI of a service provider.
#[derive(Clone, PartialEq, Debug)]
pub struct Received {
    /// The URL without the parameters that the hub added.
    pub to: String,
    pub fields: BTreeMap<String, String>,
}

/// A token response, with the verified claims of its ID token.
pub struct Tokens {
    pub access_token: String,
    pub raw_id_token: String,
    pub id_token: Map<String, Value>,
}

impl Authorize {
    /// Returns the usual request of a service provider of the federation.
    pub fn by(service: &str) -> Self {
        let pairs = [
            ("client_id", service),
            ("redirect_uri", &redirect_uri(service)),
            ("response_type", "code"),
            ("scope", SCOPES),
            ("acr_values", "eidas1"),
            ("state", STATE),
            ("nonce", NONCE),
        ];
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    /// Returns a request with only the parameters that OpenID Connect requires.
    pub fn minimal(service: &str, scope: &str) -> Self {
        let pairs = [
            ("client_id", service),
            ("redirect_uri", &redirect_uri(service)),
            ("response_type", "code"),
            ("scope", scope),
        ];
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    /// Sets a parameter, replacing its value.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut pairs = self.0.clone();
        match pairs.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => value.clone_into(known),
            None => pairs.push((name.to_owned(), value.to_owned())),
        }
        Self(pairs)
    }

    /// Adds a parameter, even if it is present.
    pub fn and(&self, name: &str, value: &str) -> Self {
        let mut pairs = self.0.clone();
        pairs.push((name.to_owned(), value.to_owned()));
        Self(pairs)
    }

    pub fn url(&self) -> String {
        format!("/api/v2/authorize?{}", self.encoded())
    }

    pub fn encoded(&self) -> String {
        Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}

impl Received {
    #[track_caller]
    pub fn code(&self) -> &str {
        self.fields.get("code").unwrap_or_else(|| panic!("no code but {:?}", self.fields))
    }

    /// Asserts that it is this hub's error response to the usual request, and returns the `error`.
    #[track_caller]
    pub fn error_at(&self, service: &str) -> &str {
        self.belongs_to(service);
        assert!(!self.fields.contains_key("code"), "an error and a code");
        assert!(self.fields.contains_key("error_description"));
        &self.fields["error"]
    }

    /// Asserts that it is this hub's response to the usual request.
    #[track_caller]
    pub fn belongs_to(&self, service: &str) {
        assert_eq!(self.to, redirect_uri(service));
        assert_eq!(self.fields["state"], STATE);
        assert_eq!(self.fields["iss"], format!("{BASE}/api/v2")); // RFC 9207
    }
}

impl TestHub {
    /// Sends a code to the token endpoint.
    pub async fn redeem(&self, service: &str, code: &str) -> Answer {
        self.redeem_at(service, &redirect_uri(service), code).await
    }

    pub async fn redeem_at(&self, service: &str, redirect_uri: &str, code: &str) -> Answer {
        let body = Serializer::new(String::new())
            .extend_pairs([
                ("grant_type", "authorization_code"),
                ("client_id", service),
                ("client_secret", SECRET),
                ("redirect_uri", redirect_uri),
                ("code", code),
            ])
            .finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.send(TestRequest::post().uri("/api/v2/token").insert_header(form).set_payload(body))
            .await
    }

    /// Redeems the code, and verifies the ID token.
    pub async fn tokens(&self, service: &str, received: &Received) -> Tokens {
        let answer = self.redeem(service, received.code()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        let raw_id_token = body["id_token"].as_str().unwrap().to_owned();
        let id_token = self.verified_claims(&raw_id_token).await;
        assert_eq!(
            (&id_token["aud"], &id_token["nonce"]),
            (&Value::from(service), &Value::from(NONCE))
        );
        Tokens {
            access_token: body["access_token"].as_str().unwrap().to_owned(),
            raw_id_token,
            id_token,
        }
    }

    /// Returns the response of the userinfo endpoint.
    pub async fn get_userinfo(&self, access_token: &str) -> Answer {
        let bearer = ("authorization", format!("Bearer {access_token}"));
        self.send(TestRequest::get().uri("/api/v2/userinfo").insert_header(bearer)).await
    }

    /// Returns the verified claims of the userinfo response.
    pub async fn userinfo(&self, access_token: &str) -> Map<String, Value> {
        let answer = self.get_userinfo(access_token).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.verified_claims(&answer.body).await
    }

    /// Redeems the code, and returns the family name from userinfo.
    pub async fn family_name(&self, service: &str, received: &Received) -> String {
        let tokens = self.tokens(service, received).await;
        self.userinfo(&tokens.access_token).await["family_name"].as_str().unwrap().to_owned()
    }

    /// Verifies a JWT with the hub's published keys, and returns its claims.
    pub async fn verified_claims(&self, token: &str) -> Map<String, Value> {
        let keys = self.send(TestRequest::get().uri("/api/v2/jwks")).await;
        let keys = VerificationKeys::from_jwks(keys.body.as_bytes()).unwrap();
        verify_jws(token, SigningAlg::ES256, &keys).unwrap().claims
    }
}
