//! Fake OpenID provider for tests, whose responses a test scripts, with a connector to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use serde_json::{Value, json};

use crate::oidc::OidcConnector;
use crate::testing::connectors;
use crate::{Connector, ConnectorContext};
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer, ReceivedRequest};
use passerelle_federation::assurance::Level;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::dpop_proof::DpopProof;
use passerelle_jose::testing::sample_keys::KEYS;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_settings::FieldDiagnostic;

pub const NOW: u64 = 1_700_000_000;
pub const SECRET: &str = "a client secret of thirty-two chars";

/// Responses of the fake identity provider, which a test changes before a call.
pub struct IdpScript {
    pub base: String,
    pub key: Jwk,
    /// Keys of the key set.
    pub published: Vec<Value>,
    pub discovery: Value,
    pub cache_control: Option<&'static str>,
    /// Replace the whole response.
    pub discovery_response: Option<FakeResponse>,
    pub jwks_response: Option<FakeResponse>,
    /// Paths whose next call gets no response, as the connection is closed.
    pub closed_paths: Vec<&'static str>,
    pub header: Value,
    pub claims: Value,
    pub signer: Option<Box<dyn JwsSigner>>,
    /// Replaces the whole compact ID token.
    pub id_token: Option<Value>,
    /// Replaces the token response.
    pub token_response: Option<FakeResponse>,
    pub userinfo: Value,
    /// Claims of a signed userinfo response.
    pub userinfo_jwt: Option<Value>,
    /// Encrypt a signed ID token, and signed userinfo, before they are sent.
    pub encrypt_id_token: Option<fn(&str) -> String>,
    pub encrypt_userinfo: Option<fn(&str) -> String>,
    pub userinfo_status: u16,
    /// Type of the access tokens.
    pub token_type: &'static str,
    /// Nonces that the DPoP proofs for these paths must have.
    pub dpop_nonces: Vec<(&'static str, &'static str)>,
    /// How it writes the scheme of its challenge.
    pub dpop_scheme: &'static str,
    /// Response to a pushed request.
    pub push_response: FakeResponse,
    pub log: Vec<ReceivedRequest>,
}

pub fn ec_key(kid: &str) -> (Jwk, Value) {
    let mut jwk = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    jwk.set_key_id(kid);
    let mut public = serde_json::to_value(jwk.to_public_key().unwrap()).unwrap();
    public["kid"] = json!(kid);
    (jwk, public)
}

impl IdpScript {
    pub fn new(base: String) -> Self {
        let (key, public) = ec_key("k1");
        Self {
            key,
            published: vec![public],
            discovery: json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize?tenant=1"), "token_endpoint": format!("{base}/token"),
                "userinfo_endpoint": format!("{base}/userinfo"), "jwks_uri": format!("{base}/jwks"),
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                // Must have no effect, as only the registered algorithm is accepted.
                "id_token_signing_alg_values_supported": ["HS256", "none", "ES256"],
                "authorization_response_iss_parameter_supported": true,
            }),
            cache_control: None,
            discovery_response: None,
            jwks_response: None,
            closed_paths: vec![],
            header: json!({ "alg": "ES256", "kid": "k1", "typ": "JWT" }),
            claims: json!({
                "iss": base, "sub": "s-1", "aud": "hub", "exp": NOW + 60, "iat": NOW, "nonce": "the nonce", "auth_time": NOW - 5,
                "acr": "low", "amr": ["pwd"], "email": "from-id-token@example.org", "given_name": "Ada",
            }),
            signer: None,
            id_token: None,
            token_response: None,
            userinfo: json!({ "sub": "s-1", "email": "from-userinfo@example.org" }),
            userinfo_jwt: None,
            encrypt_id_token: None,
            encrypt_userinfo: None,
            userinfo_status: 200,
            token_type: "Bearer",
            dpop_nonces: vec![],
            dpop_scheme: "DPoP",
            push_response: FakeResponse::json(
                &json!({ "request_uri": "urn:example:1", "expires_in": 60 }),
            ),
            log: vec![],
            base,
        }
    }

    pub fn sign(&self, claims: &Value) -> String {
        let own = ES256.signer_from_jwk(&self.key).unwrap();
        let signer = self.signer.as_deref().unwrap_or(&own);
        let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
        let message = format!("{}.{}", part(&self.header), part(claims));
        let signature = signer.sign(message.as_bytes()).unwrap();
        format!("{message}.{}", digest::base64url(&signature))
    }

    pub fn respond(&mut self, request: ReceivedRequest) -> FakeResponse {
        let path = request.target.clone();
        self.log.push(request);
        if let Some(index) = self.closed_paths.iter().position(|closed| *closed == path) {
            self.closed_paths.remove(index);
            return FakeResponse::connection_closed();
        }
        if let Some(response) = self.nonce_demand(&path) {
            return response;
        }
        if let Some(response) = match path.as_str() {
            "/.well-known/openid-configuration" => self.discovery_response.clone(),
            "/jwks" => self.jwks_response.clone(),
            _ => None,
        } {
            return response;
        }
        match path.as_str() {
            "/.well-known/openid-configuration" => self.document(&self.discovery),
            "/jwks" => self.document(&json!({ "keys": self.published })),
            "/token" => self.token_response.clone().unwrap_or_else(|| {
                let encrypted = |jws: String| self.encrypt_id_token.map_or_else(|| jws.clone(), |encrypt| encrypt(&jws));
                let id_token = self.id_token.clone().unwrap_or_else(|| json!(encrypted(self.sign(&self.claims))));
                FakeResponse::json(&json!({ "access_token": "at-1", "token_type": self.token_type, "expires_in": "odd", "id_token": id_token }))
            }),
            "/par" => self.push_response.clone(),
            "/userinfo" if self.userinfo_status != 200 => FakeResponse::status(self.userinfo_status),
            "/userinfo" => match &self.userinfo_jwt {
                Some(claims) => FakeResponse {
                    status: 200,
                    headers: vec![("content-type", "application/jwt".into())],
                    body: {
                        let jws = self.sign(claims);
                        self.encrypt_userinfo.map_or_else(|| jws.clone(), |encrypt| encrypt(&jws)).into_bytes()
                    },
                },
                None => FakeResponse::json(&self.userinfo),
            },
            _ => FakeResponse::status(404),
        }
    }

    /// RFC 9449 §8 and §9: the answer to a proof without the nonce.
    fn nonce_demand(&self, path: &str) -> Option<FakeResponse> {
        let (_, nonce) = self.dpop_nonces.iter().find(|(demanding, _)| *demanding == path)?;
        let sent = self.log.last().and_then(|request| Some(verified_proof(request)?.1));
        let is_sent = sent.is_some_and(|claims| claims["nonce"] == *nonce);
        (!is_sent).then(|| FakeResponse {
            status: if path == "/userinfo" { 401 } else { 400 },
            headers: vec![
                ("content-type", "application/json".into()),
                ("dpop-nonce", (*nonce).into()),
                ("www-authenticate", format!("{} error=\"use_dpop_nonce\"", self.dpop_scheme)),
            ],
            body: json!({ "error": "use_dpop_nonce" }).to_string().into_bytes(),
        })
    }

    pub fn document(&self, value: &Value) -> FakeResponse {
        let mut response = FakeResponse::json(value);
        response
            .headers
            .extend(self.cache_control.map(|control| ("cache-control", control.to_owned())));
        response
    }

    pub fn calls(&self, path: &str) -> usize {
        self.log.iter().filter(|request| request.target == path).count()
    }
}

/// Returns the thumbprint of the key of a request's DPoP proof, and its verified claims.
pub fn verified_proof(request: &ReceivedRequest) -> Option<(String, Value)> {
    let mut lines = request.headers.lines();
    let proof = lines.find_map(|line| line.strip_prefix("dpop: "))?;
    let proof = DpopProof::parse(proof).unwrap();
    proof.verify().unwrap();
    Some((proof.thumbprint(), Value::Object(proof.unverified_claims().clone())))
}

/// Connector under test and its fake identity provider.
pub struct OidcFixture {
    pub script: Arc<Mutex<IdpScript>>,
    pub clock: Arc<ManualClock>,
    pub connector: OidcConnector,
    /// The hub's keys, which a test may rotate.
    pub keys: Arc<ArcSwap<RelyingPartyKeys>>,
    pub server: FakeServer,
}

impl OidcFixture {
    /// Returns the measured skew of the fake's clock in seconds.
    pub fn clock_skew_seconds(&self) -> Option<i64> {
        self.connector.clock_skew().map(|measured| measured.seconds)
    }

    pub async fn new() -> Self {
        Self::with("").await
    }

    /// Returns a fixture with additional lines of `[kind.oidc]`.
    pub async fn with(more: &str) -> Self {
        Self::with_levels(LEVELS, more).await
    }

    /// Returns a fixture with these lines about levels.
    pub async fn with_levels(levels: &str, more: &str) -> Self {
        // The script needs the address of the running server, so it is set afterwards.
        let shared: Arc<std::sync::OnceLock<Arc<Mutex<IdpScript>>>> = Arc::default();
        let shared_script = Arc::clone(&shared);
        let server = FakeServer::start(move |request| {
            shared_script.get().unwrap().lock().unwrap().respond(request)
        })
        .await;
        let script = Arc::new(Mutex::new(IdpScript::new(server.base())));
        assert!(shared.set(Arc::clone(&script)).is_ok());
        let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(NOW)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(3)));
        let keys = Arc::new(ArcSwap::new(Arc::clone(&KEYS)));
        let context =
            ConnectorContext { upstream_keys: Arc::clone(&keys), ..connectors::context(env) };
        let connector = build_connector(
            &server.base(),
            levels,
            more,
            "internal_hosts = [\"127.0.0.1\"]",
            context,
        )
        .unwrap();
        Self { script, clock, connector, keys, server }
    }

    pub fn script(&self) -> MutexGuard<'_, IdpScript> {
        self.script.lock().unwrap()
    }

    pub async fn attempt(&self) -> LoginAttempt {
        let request = authorization_request();
        let redirect = self.connector.begin_login(request.clone()).await.unwrap();
        attempt(request, redirect)
    }

    pub fn callback(&self) -> CallbackParams {
        CallbackParams {
            code: Some(Secret::new("c-1".into())),
            iss: Some(self.server.base()),
            ..CallbackParams::default()
        }
    }

    pub async fn complete_login(&self) -> Result<Authentication, ErrorCode> {
        let attempt = self.attempt().await;
        self.complete_login_with(attempt).await
    }

    pub async fn complete_login_with(
        &self,
        attempt: LoginAttempt,
    ) -> Result<Authentication, ErrorCode> {
        self.connector.complete_login(attempt, self.callback()).await.map_err(|error| {
            for secret in ["at-1", "c-1", SECRET, "the nonce", "s-1", "example.org", "Ada", "eyJ"] {
                assert!(!error.detail.contains(secret), "{secret} leaks: {}", error.detail);
            }
            error.code
        })
    }
}

pub fn connector(
    issuer: &str,
    more: &str,
    internal: &str,
    env: Env,
) -> Result<OidcConnector, FieldDiagnostic> {
    let keys = Arc::new(ArcSwap::new(Arc::clone(&KEYS)));
    build_connector(
        issuer,
        LEVELS,
        more,
        internal,
        ConnectorContext { upstream_keys: keys, ..connectors::context(env) },
    )
}

const LEVELS: &str = "levels = { lowest = \"eidas1\", highest = \"eidas2\" }\nacr = { eidas1 = [\"low\"], eidas2 = [\"substantial\"] }";

fn build_connector(
    issuer: &str,
    levels: &str,
    more: &str,
    internal: &str,
    context: ConnectorContext,
) -> Result<OidcConnector, FieldDiagnostic> {
    let with_secret = !more.contains("private_key_jwt") && !more.contains("tls_client_auth\"");
    let secret = if with_secret { "client_secret = { env = \"X\" }" } else { "" };
    let text = format!(
        r#"
        name = {{ en = "Fake" }}
        {levels}
        amr = ["pin"]
        [kind.oidc]
        issuer = "{issuer}"
        client_id = "hub"
        {secret}
        insecure_http = true
        {internal}
        {more}
        "#
    );
    let configured = connectors::configured("fake", &text, with_secret.then_some(SECRET));
    OidcConnector::new(configured.kind.downcast_ref().unwrap(), &configured, context)
}

pub fn authorization_request() -> UpstreamAuthorizationRequest {
    UpstreamAuthorizationRequest {
        state: "the state".into(),
        nonce: "the nonce".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/fake".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: Some("ada@example.org".into()),
        forwarded: BTreeMap::new(),
        requester: None,
        ui_locales: Some("fr en".into()),
    }
}

pub fn attempt(
    request: UpstreamAuthorizationRequest,
    redirect: AuthorizationRedirect,
) -> LoginAttempt {
    LoginAttempt {
        connector: "fake".into(),
        request,
        redirected_at: Timestamp::from_seconds(NOW - 30),
        redirect,
    }
}
