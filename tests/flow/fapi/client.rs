//! A FAPI 2.0 client: it signs its assertions, its DPoP proofs and, where it must, its requests.

use std::cell::Cell;

use actix_web::test::TestRequest;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::ES256;
use passerelle_protocol::digest;
use passerelle_testkit::dpop_client::{DpopClient, sign};
use serde_json::{Map, Value, json};
use url::form_urlencoded::Serializer;

use crate::federation::{BASE, SCOPES, home_page, redirect_uri};
use crate::hub::{Answer, TestHub};
use crate::service::{Authorize, Received};

pub(super) const ISSUER: &str = "https://hub.example/api/v2";
const VERIFIER: &str = "a-code-verifier-of-at-least-forty-three-characters";

pub(super) struct FapiClient {
    pub id: &'static str,
    pub key: Jwk,
    pub dpop: DpopClient,
    used: Cell<u32>,
}

impl FapiClient {
    pub(super) fn new(id: &'static str) -> Self {
        let key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
        Self { id, key, dpop: DpopClient::default(), used: Cell::new(0) }
    }

    /// Its file, with these lines more.
    pub(super) fn file(&self, profile: &str, more: &str) -> (String, String) {
        let member = |name: &str| self.key.parameter(name).unwrap().clone();
        let key = |purpose: &str| {
            format!(
                "{{ kty = \"EC\", crv = \"P-256\", x = {}, y = {}, kid = \"{purpose}\", use = \"{purpose}\" }}",
                member("x"),
                member("y")
            )
        };
        let scopes = if more.contains("\"openid\"") { "openid profile email" } else { SCOPES };
        let scopes: Vec<_> = scopes.split(' ').map(|scope| format!("\"{scope}\"")).collect();
        let text = format!(
            r#"
client_id = "{id}"
name = {{ en = "The {id}" }}
home_page = "{home}"
redirect_uris = ["{redirect}"]
scopes = [{scopes}]
token_endpoint_auth_method = "private_key_jwt"
jwks = {{ keys = [{sig}, {enc}] }}
{profile}
{more}
"#,
            id = self.id,
            home = home_page(self.id),
            redirect = redirect_uri(self.id),
            scopes = scopes.join(", "),
            sig = key("sig"),
            enc = key("enc"),
        );
        (format!("service-providers/{}.toml", self.id), text)
    }

    fn number(&self) -> u32 {
        self.used.replace(self.used.get() + 1)
    }

    /// Signs these claims with its key.
    pub(super) fn signed(&self, header: Value, claims: &Value) -> String {
        let signer = ES256.signer_from_jwk(&self.key).unwrap();
        sign(&header, claims, &signer)
    }

    /// A client assertion with these claims replaced.
    pub(super) fn assertion(&self, hub: &TestHub, changes: Value) -> String {
        let now = hub.now().seconds();
        let mut claims = json!({
            "iss": self.id, "sub": self.id, "aud": ISSUER, "iat": now, "exp": now + 60,
            "jti": format!("{}-assertion-{}", self.id, self.number()),
        });
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        self.signed(json!({ "alg": "ES256", "typ": "client-authentication+jwt" }), &claims)
    }

    /// A request object of this request, with these claims replaced; null removes one.
    pub(super) fn object(&self, hub: &TestHub, request: &Authorize, changes: Value) -> String {
        let now = hub.now().seconds();
        let mut claims = Map::from_iter(
            request.pairs().iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))),
        );
        let own =
            json!({ "iss": self.id, "aud": ISSUER, "iat": now, "nbf": now, "exp": now + 300 });
        claims.extend(own.as_object().unwrap().clone());
        claims.extend(changes.as_object().unwrap().clone());
        claims.retain(|_, value| !value.is_null());
        self.signed(json!({ "alg": "ES256", "typ": "oauth-authz-req+jwt" }), &Value::Object(claims))
    }

    /// A proof for an endpoint, for this access token.
    pub(super) fn proof(
        &self,
        hub: &TestHub,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> String {
        let mut claims = json!({
            "htm": method, "htu": format!("{BASE}/api/v2/{path}"), "iat": hub.now().seconds(),
            "jti": format!("{}-proof-{}", self.id, self.number()),
        });
        if let Some(token) = token {
            claims["ath"] = digest::sha256_base64url(token).into();
        }
        self.dpop.proof(&claims)
    }

    /// A proof for a POST to an endpoint, with a nonce of the hub.
    pub(super) fn proof_with_nonce(
        &self,
        hub: &TestHub,
        path: &str,
        nonce: Option<&str>,
    ) -> String {
        self.dpop.proof(&json!({
            "htm": "POST", "htu": format!("{BASE}/api/v2/{path}"), "iat": hub.now().seconds(),
            "jti": format!("{}-proof-{}", self.id, self.number()), "nonce": nonce,
        }))
    }

    /// The usual request, with PKCE.
    pub(super) fn request(&self) -> Authorize {
        let challenge = digest::sha256_base64url(VERIFIER);
        let request = Authorize::by(self.id).with("code_challenge", &challenge);
        request.with("code_challenge_method", "S256")
    }

    /// Posts these fields with its own assertion, and the DPoP proof if there is one.
    pub(super) async fn post(
        &self,
        hub: &TestHub,
        path: &str,
        fields: &[(&str, &str)],
        proof: Option<&str>,
    ) -> Answer {
        let assertion = self.assertion(hub, json!({}));
        let credentials = [
            ("client_id", self.id),
            ("client_assertion", assertion.as_str()),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ];
        let fields: Vec<_> = fields.iter().filter(|(name, _)| *name != "client_id").collect();
        let body = Serializer::new(String::new())
            .extend_pairs(credentials)
            .extend_pairs(fields.into_iter().copied())
            .finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let request = TestRequest::post().uri(&format!("/api/v2/{path}")).insert_header(form);
        let request =
            proof.iter().fold(request, |request, proof| request.append_header(("dpop", *proof)));
        hub.send(request.set_payload(body)).await
    }

    /// Pushes a request as it is.
    pub(super) async fn push(&self, hub: &TestHub, request: &Authorize) -> Answer {
        let pairs = request.pairs().iter();
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post(hub, "par", &pairs, None).await
    }

    /// Pushes a request object.
    pub(super) async fn push_object(&self, hub: &TestHub, object: &str) -> Answer {
        self.post(hub, "par", &[("request", object)], None).await
    }

    /// The address that the browser opens after an accepted push.
    #[track_caller]
    pub(super) fn address(&self, pushed: &Answer) -> String {
        assert_eq!(pushed.status, 201, "{}", pushed.body);
        let uri = pushed.json()["request_uri"].as_str().unwrap().to_owned();
        let pairs = [("client_id", self.id), ("request_uri", &uri)];
        let query = Serializer::new(String::new()).extend_pairs(pairs).finish();
        format!("/api/v2/authorize?{query}")
    }

    /// Signs angela in by a pushed request.
    pub(super) async fn sign_in(&self, hub: &TestHub, request: &Authorize) -> Received {
        let address = self.address(&self.push(hub, request).await);
        hub.browser().open(&address).await.finish_as("angela").await
    }

    /// Redeems a code with this verifier and proof.
    pub(super) async fn redeem_with(
        &self,
        hub: &TestHub,
        code: &str,
        verifier: &str,
        proof: Option<&str>,
    ) -> Answer {
        let redirect = redirect_uri(self.id);
        let fields = [
            ("grant_type", "authorization_code"),
            ("redirect_uri", redirect.as_str()),
            ("code", code),
            ("code_verifier", verifier),
        ];
        self.post(hub, "token", &fields, proof).await
    }

    pub(super) async fn redeem(&self, hub: &TestHub, code: &str) -> Answer {
        let proof = self.proof(hub, "POST", "token", None);
        self.redeem_with(hub, code, VERIFIER, Some(&proof)).await
    }

    /// The tokens of a code.
    pub(super) async fn tokens(&self, hub: &TestHub, code: &str) -> Value {
        let answer = self.redeem(hub, code).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Asks userinfo with its own proof.
    pub(super) async fn userinfo(&self, hub: &TestHub, token: &str) -> Answer {
        let proof = self.proof(hub, "GET", "userinfo", Some(token));
        userinfo(hub, &format!("DPoP {token}"), Some(&proof)).await
    }
}

pub(super) async fn userinfo(hub: &TestHub, authorization: &str, proof: Option<&str>) -> Answer {
    let request = TestRequest::get().uri("/api/v2/userinfo");
    let request = request.insert_header(("authorization", authorization));
    let request =
        proof.iter().fold(request, |request, proof| request.append_header(("dpop", *proof)));
    hub.send(request).await
}

/// The status and `error` of a refusal.
#[track_caller]
pub(super) fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"].as_str().unwrap_or_default().to_owned())
}
