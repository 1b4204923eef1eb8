//! For tests: an identity provider that says what a test tells it to, and the connector that talks to it.

use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use serde_json::{Value, json};

use super::OidcConnector;
use crate::assurance::Level;
use crate::config::model::{ConnectorFile, ConnectorKind};
use crate::connector::{Connector, ConnectorRefused, ConnectorContext, Sandbox};
use crate::digest;
use crate::egress::fake::{Asked, FakeServer, Told};
use crate::egress::shared::Guards;
use crate::env::{Env, HandClock, SeededEntropy, Timestamp};
use crate::ids::Secret;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;
use crate::token::upstream_keys::tests::KEYS;

pub const NOW: u64 = 1_700_000_000;
pub const SECRET: &str = "a client secret of thirty-two chars";

/// What the fake identity provider says; a test changes it before it is asked.
pub struct Script {
    pub base: String,
    pub key: Jwk,
    pub published: Vec<Value>,
    pub discovery: Value,
    pub cache_control: Option<&'static str>,
    /// Replace the whole answer.
    pub configuration: Option<Told>,
    pub jwks: Option<Told>,
    /// Paths whose next call gets no answer: the connection is cut.
    pub cut: Vec<&'static str>,
    pub header: Value,
    pub claims: Value,
    pub signer: Option<Box<dyn JwsSigner>>,
    /// Replaces the whole compact ID token.
    pub id_token: Option<Value>,
    /// Status and body of the token answer, over the normal one.
    pub token: Option<Told>,
    pub userinfo: Value,
    /// Claims of a signed userinfo.
    pub userinfo_jwt: Option<Value>,
    /// What becomes of a signed ID token, and of signed userinfo, before they are sent.
    pub seal: Option<fn(&str) -> String>,
    pub seal_userinfo: Option<fn(&str) -> String>,
    pub userinfo_status: u16,
    pub log: Vec<Asked>,
}

pub fn ec_key(kid: &str) -> (Jwk, Value) {
    let mut jwk = Jwk::generate_ec_key(EcCurve::P256).unwrap();
    jwk.set_key_id(kid);
    let mut public = serde_json::to_value(jwk.to_public_key().unwrap()).unwrap();
    public["kid"] = json!(kid);
    (jwk, public)
}

impl Script {
    pub fn new(base: String) -> Self {
        let (key, public) = ec_key("k1");
        Self {
            key,
            published: vec![public],
            discovery: json!({
                "issuer": base, "authorization_endpoint": format!("{base}/authorize?tenant=1"), "token_endpoint": format!("{base}/token"),
                "userinfo_endpoint": format!("{base}/userinfo"), "jwks_uri": format!("{base}/jwks"),
                "response_types_supported": ["code"], "subject_types_supported": ["public"],
                // A lie that must have no effect: the registered algorithm alone counts.
                "id_token_signing_alg_values_supported": ["HS256", "none", "ES256"],
                "authorization_response_iss_parameter_supported": true,
            }),
            cache_control: None,
            configuration: None,
            jwks: None,
            cut: vec![],
            header: json!({ "alg": "ES256", "kid": "k1", "typ": "JWT" }),
            claims: json!({
                "iss": base, "sub": "s-1", "aud": "hub", "exp": NOW + 60, "iat": NOW, "nonce": "the nonce", "auth_time": NOW - 5,
                "acr": "low", "amr": ["pwd"], "email": "from-id-token@example.org", "given_name": "Ada",
            }),
            signer: None,
            id_token: None,
            token: None,
            userinfo: json!({ "sub": "s-1", "email": "from-userinfo@example.org" }),
            userinfo_jwt: None,
            seal: None,
            seal_userinfo: None,
            userinfo_status: 200,
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

    pub fn answer(&mut self, asked: Asked) -> Told {
        let path = asked.target.clone();
        self.log.push(asked);
        if let Some(place) = self.cut.iter().position(|cut| *cut == path) {
            self.cut.remove(place);
            return Told::cut();
        }
        if let Some(told) = match path.as_str() {
            "/.well-known/openid-configuration" => self.configuration.clone(),
            "/jwks" => self.jwks.clone(),
            _ => None,
        } {
            return told;
        }
        match path.as_str() {
            "/.well-known/openid-configuration" => self.document(&self.discovery),
            "/jwks" => self.document(&json!({ "keys": self.published })),
            "/token" => self.token.clone().unwrap_or_else(|| {
                let sealed = |jws: String| self.seal.map_or_else(|| jws.clone(), |seal| seal(&jws));
                let id_token = self.id_token.clone().unwrap_or_else(|| json!(sealed(self.sign(&self.claims))));
                Told::json(&json!({ "access_token": "at-1", "token_type": "Bearer", "expires_in": "odd", "id_token": id_token }))
            }),
            "/userinfo" if self.userinfo_status != 200 => Told::status(self.userinfo_status),
            "/userinfo" => match &self.userinfo_jwt {
                Some(claims) => Told {
                    status: 200,
                    headers: vec![("content-type", "application/jwt".into())],
                    body: {
                        let jws = self.sign(claims);
                        self.seal_userinfo.map_or_else(|| jws.clone(), |seal| seal(&jws)).into_bytes()
                    },
                },
                None => Told::json(&self.userinfo),
            },
            _ => Told::status(404),
        }
    }

    pub fn document(&self, value: &Value) -> Told {
        let mut told = Told::json(value);
        told.headers
            .extend(self.cache_control.map(|control| ("cache-control", control.to_owned())));
        told
    }

    pub fn calls(&self, path: &str) -> usize {
        self.log.iter().filter(|asked| asked.target == path).count()
    }
}

pub struct World {
    pub script: Arc<Mutex<Script>>,
    pub clock: Arc<HandClock>,
    pub connector: OidcConnector,
    /// The hub's keys, for a test to rotate.
    pub keys: Arc<ArcSwap<UpstreamKeys>>,
    pub server: FakeServer,
}

impl World {
    pub async fn new() -> Self {
        Self::with("").await
    }

    /// `more`: further lines of `[kind.oidc]`.
    pub async fn with(more: &str) -> Self {
        Self::with_levels(LEVELS, more).await
    }

    /// `levels`: the lines of the file that concern levels.
    pub async fn with_levels(levels: &str, more: &str) -> Self {
        // The server must run before its address is known, the script needs the address: so it is filled in after.
        let shared: Arc<std::sync::OnceLock<Arc<Mutex<Script>>>> = Arc::default();
        let answering = Arc::clone(&shared);
        let server =
            FakeServer::start(move |asked| answering.get().unwrap().lock().unwrap().answer(asked))
                .await;
        let script = Arc::new(Mutex::new(Script::new(server.base())));
        assert!(shared.set(Arc::clone(&script)).is_ok());
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(NOW)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(3)));
        let keys = Arc::new(ArcSwap::new(Arc::clone(&KEYS)));
        let means = ConnectorContext {
            env,
            keys: Arc::clone(&keys),
            sandbox: Sandbox::Off,
            guards: Guards::default(),
            codes: crate::connector::one_time::in_memory::codes(),
        };
        let connector =
            connector_of(&server.base(), levels, more, "internal_hosts = [\"127.0.0.1\"]", means)
                .unwrap();
        Self { script, clock, connector, keys, server }
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub async fn attempt(&self) -> Attempt {
        let departure = departure();
        let left = self.connector.begin(departure.clone()).await.unwrap();
        attempt(departure, left)
    }

    pub fn arrival(&self) -> Arrival {
        Arrival {
            code: Some(Secret::new("c-1".into())),
            iss: Some(self.server.base()),
            error: None,
            error_description: None,
        }
    }

    pub async fn complete(&self) -> Result<Authentication, ErrorCode> {
        let attempt = self.attempt().await;
        self.complete_as(attempt).await
    }

    pub async fn complete_as(&self, attempt: Attempt) -> Result<Authentication, ErrorCode> {
        self.connector.complete(attempt, self.arrival()).await.map_err(|fault| {
            for secret in ["at-1", "c-1", SECRET, "the nonce", "s-1", "example.org", "Ada", "eyJ"] {
                assert!(!fault.detail.contains(secret), "{secret} leaks: {}", fault.detail);
            }
            fault.code
        })
    }
}

pub fn connector(
    issuer: &str,
    more: &str,
    internal: &str,
    env: Env,
) -> Result<OidcConnector, ConnectorRefused> {
    let keys = Arc::new(ArcSwap::new(Arc::clone(&KEYS)));
    connector_of(
        issuer,
        LEVELS,
        more,
        internal,
        ConnectorContext {
            env,
            keys,
            sandbox: Sandbox::Off,
            guards: Guards::default(),
            codes: crate::connector::one_time::in_memory::codes(),
        },
    )
}

const LEVELS: &str = "levels = { lowest = \"eidas1\", highest = \"eidas2\" }\nacr = { eidas1 = [\"low\"], eidas2 = [\"substantial\"] }";

fn connector_of(
    issuer: &str,
    levels: &str,
    more: &str,
    internal: &str,
    means: ConnectorContext,
) -> Result<OidcConnector, ConnectorRefused> {
    let with_secret = !more.contains("private_key_jwt");
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
    let file: ConnectorFile = toml::from_str(&text).unwrap();
    let ConnectorKind::Oidc(kind) = &file.kind else { panic!("not oidc") };
    OidcConnector::new(
        "fake".into(),
        &file,
        kind,
        with_secret.then(|| Secret::new(SECRET.into())),
        means,
    )
}

pub fn departure() -> Departure {
    Departure {
        state: "the state".into(),
        nonce: "the nonce".into(),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/fake".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        login_hint: Some("ada@example.org".into()),
        ui_locales: Some("fr en".into()),
    }
}

pub fn attempt(departure: Departure, left: AuthorizationRedirect) -> Attempt {
    Attempt {
        connector: "fake".into(),
        state: departure.state,
        nonce: departure.nonce,
        verifier: departure.verifier,
        redirect_uri: departure.redirect_uri,
        level: departure.level,
        reauthenticate: departure.reauthenticate,
        max_age: departure.max_age,
        left_at: Timestamp::from_seconds(NOW - 30),
        left,
    }
}
