//! Tests of codes and tokens with the real store and real keys, a manual clock and a fake gate.

mod assertion;
mod client;
mod code;
mod dpop;
mod encryption;
mod hint;
mod introspection;
mod logout;
mod pushed_request;
mod refresh;
mod session;
mod session_index;
mod token;
mod withdrawn;

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;

use super::auth_failures::{AuthFailureLimiter, FailureLimits};
use super::client_keys::KeyDirectory;
use super::lifetimes::TokenLifetimes;
use super::subjects::SubjectDeriver;
use super::{
    DpopNonces, Gate, GrantDependencies, GrantServices, HubCore, TokenLifetimesByRules,
    UserinfoResponse,
};
use passerelle_federation::assurance::{AcrCheck, Level, Platform};
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::connector_rules::AllowedConnectors;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::identity::SubjectSource;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::identity::sub::SubjectKeys;
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_federation::testing::samples::{
    OPENED, SP_CALLBACK, authorization_request, identified_user, registration,
};
use passerelle_federation::validity::Validity;
use passerelle_federation::{
    ClientAuthentication, Federation, ServiceProvider, UnavailableDisplay,
};
use passerelle_jose::testing::sample_keys::RING;
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_auth::Credentials;
use passerelle_protocol::digest;
use passerelle_protocol::env::{Clock as _, Env, Timestamp};
use passerelle_protocol::ids::{ClientId, ConnectorId, Secret, SupportId};
use passerelle_protocol::sender_constraint::ProofOfPossession;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_protocol::token::{AuthorizationCodeGrant, TokenGrant, TokenRequest};
use passerelle_protocol::userinfo::{BearerLocation, PresentedToken, TokenScheme};
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{Capacities, Store};

const CODE_LIFE: Duration = Duration::from_secs(30);
const TOKEN_LIFE: Duration = Duration::from_secs(60);
const ID_TOKEN_LIFE: Duration = Duration::from_secs(90);
const OPENID_TOKEN_LIFE: Duration = Duration::from_secs(300);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Few enough to be exceeded by a test, enough for all others.
const ALLOWED: FailureLimits = FailureLimits {
    failed_authentications: NonZeroU32::new(40).unwrap(),
    inactive_introspections: NonZeroU32::new(40).unwrap(),
};

fn subject_keys() -> SubjectKeys {
    SubjectKeys::new([(1, Secret::new(vec![7; 32]))], "99100").unwrap()
}

/// Returns a preset result, and records its calls.
#[derive(Default)]
struct FakeGate {
    closed: Mutex<Option<ErrorCode>>,
    asked: Mutex<Vec<(ClientId, ConnectorId, AcrCheck)>>,
}

impl Gate for FakeGate {
    fn check_access(
        &self,
        client_id: &ClientId,
        connector: &ConnectorId,
        at: AcrCheck,
    ) -> Result<(), ErrorCode> {
        self.asked.lock().unwrap().push((client_id.clone(), connector.clone(), at));
        self.closed.lock().unwrap().map_or(Ok(()), Err)
    }
}

struct Hub {
    grants: GrantServices,
    core: Arc<HubCore>,
    store: Arc<dyn Store>,
    client_keys: Arc<KeyDirectory>,
    clock: Arc<ManualClock>,
    gate: Arc<FakeGate>,
}

impl Hub {
    /// Requests userinfo with the token in the header; returns the response, signed or not.
    async fn userinfo(&self, token: &str) -> Result<String, ErrorCode> {
        let bearer = PresentedToken {
            token: Secret::new(token.into()),
            location: BearerLocation::Header,
            scheme: TokenScheme::Bearer,
            proof_of_possession: ProofOfPossession::default(),
        };
        let answer =
            self.grants.access_tokens.userinfo(&bearer).await.map_err(|refusal| refusal.code)?;
        Ok(match answer {
            UserinfoResponse::Jwt(token) => token,
            UserinfoResponse::Json(claims) => String::from_utf8(claims).unwrap(),
        })
    }
}

/// A service provider whose secrets are `<id>'s secret` and `<id>'s next secret`.
fn service(client_id: &str, active: bool, alg: SigningAlg) -> ServiceProvider {
    let mut registration = registration(client_id);
    registration.active = active;
    ServiceProvider {
        registration,
        name: [("en".to_owned(), client_id.to_owned())].into(),
        sector: client_id.into(),
        subject_key_version: 1,
        authentication: ClientAuthentication::SecretPost(
            ["secret", "next secret"]
                .map(|secret| dated(&format!("{client_id}'s {secret}"), Validity::default()))
                .to_vec(),
        ),
        id_token_signed_response_alg: alg,
        userinfo_signed_response_alg: Some(alg),
        allowed_connectors: AllowedConnectors::All,
        order: Arc::default(),
        logo: None,
        status_page: false,
        class: None,
        keys: KeySource::None,
        encryption: Default::default(),
        logout_endpoint: None,
        logins_per_minute: None,
        id_token_claims: false,
        access_token_lifetime: None,
        cors_origins: Vec::new(),
        token_binding: Default::default(),
        refresh_tokens: None,
        mail_code: false,
    }
}

/// An active service provider with these keys.
pub(super) fn service_with(client_id: &str, keys: KeySource) -> ServiceProvider {
    ServiceProvider { keys, ..service(client_id, true, SigningAlg::ES256) }
}

fn dated(secret: &str, validity: Validity) -> DatedSecret {
    DatedSecret { sha256: digest::sha256(secret.as_bytes()), validity }
}

fn by_post(client_id: &str, secret: &str) -> Credentials {
    Credentials::SecretPost { client_id: client_id.into(), secret: Secret::new(secret.into()) }
}

fn federation(sp_is_active: bool) -> Federation {
    let mut headed = service("headed", true, SigningAlg::ES256);
    headed.authentication =
        ClientAuthentication::SecretBasic(vec![dated("headed's secret", Validity::default())]);
    federation_with([
        service("sp", sp_is_active, SigningAlg::ES256),
        service("other", true, SigningAlg::RS256),
        service("off", false, SigningAlg::ES256),
        headed,
    ])
}

fn federation_with(services: impl IntoIterator<Item = ServiceProvider>) -> Federation {
    Federation::new(services, ScopeTable::default(), UnavailableDisplay::Disabled)
}

impl Hub {
    fn new() -> Self {
        Self::with(ample_capacities())
    }

    fn with(capacities: Capacities) -> Self {
        Self::build(capacities, |_| ())
    }

    /// Creates a hub with changed dependencies.
    fn build(capacities: Capacities, change: impl FnOnce(&mut GrantDependencies)) -> Self {
        // Between two whole seconds, so that rounding errors become visible.
        let clock = Arc::new(ManualClock::at(OPENED + Duration::from_millis(700)));
        let gate = Arc::new(FakeGate::default());
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let core = Arc::new(HubCore::for_tests(env, federation(true).into()));
        let mut dependencies = GrantDependencies {
            store: Arc::new(MemoryStore::new(capacities.clone())),
            capacities,
            logout_token_capacity: 100,
            signer: Arc::clone(&RING) as _,
            gate: Arc::clone(&gate) as _,
            client_keys: Arc::new(
                KeyDirectory::new(&core.federation.load(), &core.metrics).unwrap(),
            ),
            dpop_nonces: DpopNonces::from_secret(b"shared by the hubs"),
            certificate_authorities: None,
            indexes_sessions: false,
            subjects: SubjectDeriver { source: SubjectSource::Pivot, keys: subject_keys() },
            auth_failures: AuthFailureLimiter::new(ALLOWED, &core.env),
            own_keys: Arc::new(ArcSwap::from_pointee(
                VerificationKeys::from_jwks(&RING.verification_jwks(OPENED)).unwrap(),
            )),
            lifetimes: TokenLifetimesByRules {
                federation: TokenLifetimes {
                    code: CODE_LIFE,
                    access_token: TOKEN_LIFE,
                    id_token: ID_TOKEN_LIFE,
                },
                openid: TokenLifetimes {
                    code: 2 * CODE_LIFE,
                    access_token: OPENID_TOKEN_LIFE,
                    id_token: OPENID_TOKEN_LIFE,
                },
            },
            core,
        };
        change(&mut dependencies);
        Self {
            core: Arc::clone(&dependencies.core),
            store: Arc::clone(&dependencies.store),
            client_keys: Arc::clone(&dependencies.client_keys),
            grants: GrantServices::new(dependencies),
            clock,
            gate,
        }
    }

    /// Replaces the federation, as a reload does.
    fn set_federation(&self, federation: Federation) {
        self.client_keys.prepare(&federation).unwrap();
        self.core.federation.replace(federation);
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The grant of a login for this request: a new session `<code>'s session`, no consent
    /// remembered.
    fn grant(&self, code: &str, changes: &[(&str, &str)]) -> CodeGrant {
        let request = authorization_request(changes);
        CodeGrant {
            code: Secret::new(code.into()),
            scopes: request.scopes.clone(),
            request,
            user: identified_user("idp", Level::Eidas1),
            login: "hash".into(),
            support_id: SupportId::new("0123456789AB"),
            consented: false,
            session: SessionUse::New {
                cookie: Secret::new(format!("{code}'s session")),
                replaced: None,
            },
            granted_at: self.now(),
        }
    }

    /// Issues this code for a request of `sp` with these changes.
    async fn issue(&self, code: &str, changes: &[(&str, &str)]) {
        self.grants.codes.issue(&self.grant(code, changes)).await.unwrap();
    }

    /// Redeems correctly; returns the response as JSON.
    async fn redeem(&self, code: &str) -> Result<Value, ErrorCode> {
        let answer = self
            .grants
            .token_endpoint
            .answer(&token_request(code))
            .await
            .map_err(|refusal| refusal.code)?;
        Ok(serde_json::to_value(answer).unwrap())
    }

    /// Returns the error of this request.
    async fn refusal(&self, request: &TokenRequest) -> Option<ErrorCode> {
        self.grants.token_endpoint.answer(request).await.err().map(|refusal| refusal.code)
    }

    /// Returns the client that these credentials authenticate.
    async fn authenticated(&self, offered: &Credentials) -> Result<String, ErrorCode> {
        let client = self
            .grants
            .token_endpoint
            .authenticator
            .authenticate(offered)
            .await
            .map_err(|refusal| refusal.code)?;
        Ok(client.registration.client_id.to_string())
    }

    /// Returns an access token of `sp` and its ID token.
    async fn tokens(&self, code: &str, changes: &[(&str, &str)]) -> (String, String) {
        self.issue(code, changes).await;
        let answer = self.redeem(code).await.unwrap();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (text("access_token"), text("id_token"))
    }

    async fn validate(&self, access_token: &str) -> Result<(), ErrorCode> {
        self.grants.access_tokens.validate(access_token).await.map(drop)
    }
}

/// `sp`'s token request for a code without PKCE.
fn token_request(code: &str) -> TokenRequest {
    TokenRequest {
        credentials: by_post("sp", "sp's secret"),
        grant: TokenGrant::AuthorizationCode(AuthorizationCodeGrant {
            redirect_uri: SP_CALLBACK.into(),
            code: Secret::new(code.into()),
            code_verifier: None,
        }),
        proof_of_possession: ProofOfPossession::default(),
    }
}

/// Returns the code of a request, and what it is bound to.
fn code_grant(request: &mut TokenRequest) -> &mut AuthorizationCodeGrant {
    match &mut request.grant {
        TokenGrant::AuthorizationCode(grant) => grant,
        TokenGrant::RefreshToken(_) => panic!("a refresh token"),
    }
}

fn with_verifier(mut request: TokenRequest, verifier: &str) -> TokenRequest {
    code_grant(&mut request).code_verifier = Some(Secret::new(verifier.to_owned()));
    request
}

/// Returns header and claims of a JWS without verifying it.
fn read(jws: &str) -> (Value, Value) {
    let mut parts = jws.split('.').map(|part| digest::from_base64url(part).unwrap());
    let mut object = || serde_json::from_slice(&parts.next().unwrap()).unwrap();
    (object(), object())
}
