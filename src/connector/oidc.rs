//! The OpenID Connect kind: any identity provider that speaks the code flow (decisions 8 and 10).
//!
//! Owns: one identity provider's client, metadata, keys and every check on its answers. Must not know: service
//! providers, sessions, pages. OpenID Connect Core 1.0 (3.1, 5.3), Discovery 1.0; RFC 6749, 7636, 9207, 9700.
//!
//! `openidconnect` builds the authorization URL, exchanges the code and judges the ID token's claims; signatures are
//! opened by `token::verify`, seals by `token::open`, calls go through [`crate::egress::guard`].

mod assertion;
mod departure;
mod examine;
mod exchange;
pub(super) mod id_token;
mod keys;
mod metadata;
mod sealed;
mod userinfo;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use serde_json::{Map, Value};
use url::Url;

use self::exchange::Granted;
use self::metadata::Provider;
use self::sealed::Answer;
use super::finding::{Examination, Finding};
use super::{Connector, ConnectorFault, ConnectorRefused, ConnectorContext, code_flow};
use crate::assurance::Level;
use crate::assurance::acr::{Agreement, LevelFault};
use crate::assurance::amr::Told;
use crate::config::mapping::PROTOCOL_CLAIMS;
use crate::config::model::{AuthTimeSource, ConnectorFile, OidcKind, UpstreamAuthMethod};
use crate::egress::authorities::Authorities;
use crate::egress::guard::{Guard, Schemes};
use crate::egress::kept::{Fetched, Kept, Standing};
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;
use crate::token::verify::{self, VerificationKeys};

pub struct OidcConnector {
    upstream: Arc<Upstream>,
}

/// One identity provider, as its file describes it and its documents complete it.
struct Upstream {
    id: ConnectorId,
    kind: OidcKind,
    client_secret: Option<Secret<String>>,
    /// The hub's own.
    own_keys: Arc<ArcSwap<UpstreamKeys>>,
    env: Env,
    guard: Guard,
    /// The only authorities that its certificate may come from; `None`: those of the machine.
    authorities: Option<Authorities>,
    /// For probes.
    probe_guard: Guard,
    agreement: Agreement,
    provider: Kept<Provider, ConnectorFault>,
    keys: Kept<VerificationKeys, ConnectorFault>,
    skew: Mutex<Option<i64>>,
}

impl OidcConnector {
    /// Nothing is called yet: a dead identity provider does not stop the start.
    ///
    /// # Errors
    /// The file can't work; which key, and how to mend it.
    pub fn new(
        id: ConnectorId,
        file: &ConnectorFile,
        kind: &OidcKind,
        client_secret: Option<Secret<String>>,
        means: ConnectorContext,
    ) -> Result<Self, ConnectorRefused> {
        if client_secret.is_none()
            && kind.token_endpoint_auth_method != UpstreamAuthMethod::PrivateKeyJwt
        {
            return Err(ConnectorRefused::new(
                "kind.oidc.client_secret",
                "it is missing; name the secret's file or variable",
            ));
        }
        let schemes = if kind.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
        let authorities = super::authorities("kind.oidc.ca", kind.ca.as_deref())?;
        let guard = means.guards.of(schemes, &kind.internal_hosts, authorities.as_ref()).map_err(
            |fault| {
                ConnectorRefused::new(
                    "kind.oidc",
                    format!("no TLS client can be made; are ca-certificates installed? ({fault})"),
                )
            },
        )?;
        let probe_guard = means
            .guards
            .connecting_anew(schemes, &kind.internal_hosts, authorities.as_ref())
            .map_err(|fault| ConnectorRefused::new("kind.oidc", fault.to_string()))?;
        let issuer = url::Url::parse(&kind.issuer).map_err(|_| {
            ConnectorRefused::new(
                "kind.oidc.issuer",
                "it is not an absolute URL; write it as the identity provider does",
            )
        })?;
        guard
            .admit(&issuer)
            .map_err(|fault| ConnectorRefused::new("kind.oidc.issuer", fault.to_string()))?;
        Ok(Self {
            upstream: Arc::new(Upstream {
                id,
                kind: kind.clone(),
                client_secret,
                own_keys: means.keys,
                env: means.env,
                guard,
                authorities,
                probe_guard,
                agreement: super::agreement(file),
                provider: Kept::default(),
                keys: Kept::default(),
                skew: Mutex::default(),
            }),
        })
    }
}

#[async_trait]
impl Connector for OidcConnector {
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        let upstream = &self.upstream;
        let provider = upstream.provider().await?;
        let url = departure::url(&provider, &upstream.kind, &upstream.agreement, &departure)?;
        Ok(AuthorizationRedirect {
            url: url.into(),
            issuer: upstream.kind.issuer.clone(),
            client_id: upstream.kind.client_id.clone(),
            token_endpoint: provider.token_endpoint.clone(),
            iss_expected: provider.iss_expected,
        })
    }

    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault> {
        let upstream = &self.upstream;
        let code = code_flow::judge_arrival(
            &upstream.kind.issuer,
            &upstream.kind.client_id,
            &attempt,
            arrival,
        )?;
        let provider = upstream.provider().await?;
        let assertion = upstream.assertion(&attempt.left.token_endpoint).await?;
        let granted =
            exchange::exchange(&provider, &upstream.guard, code, &attempt, assertion).await?;
        let granted = Granted { id_token: upstream.unsealed(granted.id_token)?, ..granted };
        let id_token = upstream.proven_id_token(&provider, &granted, &attempt).await?;
        let now = upstream.env.now();
        let auth_time = match upstream.kind.auth_time {
            AuthTimeSource::Claim => {
                let asked_login =
                    departure::asks_login(&upstream.kind, attempt.reauthenticate, attempt.max_age);
                id_token::authenticated_at(&id_token, &attempt, asked_login, now)?
            }
            AuthTimeSource::Callback => now,
        };
        let level = upstream.level(&id_token, attempt.level)?;
        let userinfo = upstream.userinfo(&provider, &granted, &id_token).await?;
        Ok(Authentication {
            connector: upstream.id.clone(),
            upstream_subject: Secret::new(
                id_token.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned(),
            ),
            level,
            amr: Told::by_claim(id_token.get("amr")),
            auth_time,
            claims: identity_claims(id_token, userinfo),
            id_token: Some(granted.id_token),
        })
    }

    async fn end(&self, farewell: Farewell) -> Result<Option<Url>, ConnectorFault> {
        let provider = self.upstream.provider().await?;
        Ok(provider
            .end_session_endpoint
            .as_ref()
            .map(|endpoint| departure::end_session_url(endpoint, &farewell)))
    }

    async fn warm(&self) -> Result<(), ConnectorFault> {
        let provider = self.upstream.provider().await?;
        self.upstream.keys(&provider).await.map(|_| ())
    }

    async fn examine(&self, examination: &Examination) -> Vec<Finding> {
        examine::examine(&self.upstream, examination).await
    }

    async fn probe(&self) -> Result<(), ConnectorFault> {
        let upstream = &self.upstream;
        // What comes is kept as well; a fault is told by whoever probes, and once.
        let guard = &upstream.probe_guard;
        let fetch_keys = |provider: Arc<Provider>| async move {
            upstream.keys.fetch(&upstream.env, keys::fetch(&provider.jwks_uri, guard)).await
        };
        let known = upstream.provider.latest();
        let documents = metadata::fetch(&upstream.kind, upstream.client_secret.as_ref(), guard);
        let documents = upstream.provider.fetch(&upstream.env, documents);
        // Side by side, so that a slow identity provider is not taken for a dead one.
        let (provider, keys) = match known.clone() {
            Some(known) => tokio::join!(documents, async { Some(fetch_keys(known).await) }),
            None => (documents.await, None),
        };
        let provider = provider?;
        match keys.filter(|_| known.is_some_and(|known| known.jwks_uri == provider.jwks_uri)) {
            Some(keys) => keys.map(|_| ()),
            None => fetch_keys(provider).await.map(|_| ()),
        }
    }

    async fn probe_login(&self, redirect_uri: &str) -> Result<(), ConnectorFault> {
        let upstream = &self.upstream;
        let provider = upstream.provider().await?;
        let assertion = upstream.assertion(&provider.token_endpoint).await?;
        let proof = exchange::proof(assertion);
        code_flow::redeem_made_up_code(
            &provider.client,
            &upstream.probe_guard,
            redirect_uri,
            &upstream.env,
            proof,
        )
        .await
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.upstream.keys.fetched_at()
    }

    fn skew_seconds(&self) -> Option<i64> {
        *self.upstream.skew.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// What the ID token's `acr` is worth, where `asked` was wanted.
    fn level(&self, id_token: &Map<String, Value>, asked: Level) -> Result<Level, ConnectorFault> {
        // What is no text is a value all the same, and in no table: only an absent `acr` may count as the assumed level.
        let returned = id_token
            .get("acr")
            .filter(|acr| !acr.is_null())
            .map(|acr| acr.as_str().unwrap_or_default());
        let judged = self.agreement.judge(returned, self.agreement.to_ask(asked));
        judged.map_err(|fault| match (fault, returned) {
            (LevelFault::Unlisted, Some(value)) if self.agreement.refuses_value(value) => {
                id_token::unlisted_acr(value, &self.agreement)
            }
            _ => ConnectorFault::new(fault.code(), fault.to_string()),
        })
    }

    async fn provider(self: &Arc<Self>) -> Result<Arc<Provider>, ConnectorFault> {
        match self.provider.standing(self.env.now()) {
            Standing::Fresh(provider) => Ok(provider),
            Standing::Aging(provider) => {
                let upstream = Arc::clone(self);
                // Beside the login; a fault is logged where it is fetched, and the copy goes on serving.
                tokio::spawn(async move { upstream.fetch_provider().await.map(|_| ()) });
                Ok(provider)
            }
            Standing::Stale(provider) => Ok(self.fetch_provider().await.unwrap_or(provider)),
            Standing::Absent => self.fetch_provider().await,
        }
    }

    async fn fetch_provider(&self) -> Result<Arc<Provider>, ConnectorFault> {
        let fetch = metadata::fetch(&self.kind, self.client_secret.as_ref(), &self.guard);
        self.provider.fetch(&self.env, self.told(&self.provider, fetch)).await
    }

    async fn keys(
        self: &Arc<Self>,
        provider: &Arc<Provider>,
    ) -> Result<Arc<VerificationKeys>, ConnectorFault> {
        match self.keys.standing(self.env.now()) {
            Standing::Fresh(keys) => Ok(keys),
            Standing::Aging(keys) => {
                let (upstream, provider) = (Arc::clone(self), Arc::clone(provider));
                tokio::spawn(async move { upstream.fetch_keys(&provider).await.map(|_| ()) });
                Ok(keys)
            }
            Standing::Stale(keys) => Ok(self.fetch_keys(provider).await.unwrap_or(keys)),
            Standing::Absent => self.fetch_keys(provider).await,
        }
    }

    async fn fetch_keys(
        &self,
        provider: &Provider,
    ) -> Result<Arc<VerificationKeys>, ConnectorFault> {
        self.keys
            .fetch(&self.env, self.told(&self.keys, keys::fetch(&provider.jwks_uri, &self.guard)))
            .await
    }

    /// A failed fetch ends no login while there is a copy, so it is told here; without one it is told with the login.
    async fn told<T>(
        &self,
        kept: &Kept<T, ConnectorFault>,
        fetch: impl Future<Output = Result<Fetched<T>, ConnectorFault>>,
    ) -> Result<Fetched<T>, ConnectorFault> {
        fetch.await.inspect_err(|fault| {
            if kept.latest().is_some() {
                tracing::warn!(connector = %self.id, %fault, "an identity provider's document can't be had; the last good copy serves");
            }
        })
    }

    /// Runs a check with the keys at hand, and once more with newer ones if it fails for want of a key, or if the key of
    /// that name may be another by now.
    async fn with_keys<T>(
        self: &Arc<Self>,
        provider: &Arc<Provider>,
        outdated: [ErrorCode; 2],
        check: impl Fn(&VerificationKeys) -> Result<T, ConnectorFault>,
    ) -> Result<T, ConnectorFault> {
        let keys = self.keys(provider).await?;
        let fault = match check(&keys) {
            Err(fault) if outdated.contains(&fault.code) => fault,
            outcome => return outcome,
        };
        let fetch = self.told(&self.keys, keys::fetch(&provider.jwks_uri, &self.guard));
        match self.keys.fetch_ahead(&keys, &self.env, fetch).await {
            Ok(newer) if !Arc::ptr_eq(&newer, &keys) => check(&newer),
            _ => Err(fault),
        }
    }

    /// Where the hub has no secret: a signed proof instead, for this one request.
    async fn assertion(
        &self,
        token_endpoint: &str,
    ) -> Result<Option<Secret<String>>, ConnectorFault> {
        match self.kind.token_endpoint_auth_method {
            UpstreamAuthMethod::ClientSecretPost | UpstreamAuthMethod::ClientSecretBasic => {
                Ok(None)
            }
            UpstreamAuthMethod::PrivateKeyJwt => {
                let keys = self.own_keys.load_full();
                assertion::sign(&self.kind, token_endpoint, &keys, &self.env).await.map(Some)
            }
        }
    }

    /// The ID token as it was signed. It is this that may go back as a hint: the seal was made for the hub's eyes.
    fn unsealed(&self, id_token: Secret<String>) -> Result<Secret<String>, ConnectorFault> {
        match Answer::IdToken.sealing(&self.kind) {
            Some(sealing) => Answer::IdToken.open(
                id_token.reveal(),
                sealing,
                &self.own_keys.load(),
                self.env.now(),
            ),
            None => Ok(id_token),
        }
    }

    async fn proven_id_token(
        self: &Arc<Self>,
        provider: &Arc<Provider>,
        granted: &Granted,
        attempt: &Attempt,
    ) -> Result<Map<String, Value>, ConnectorFault> {
        let now = self.env.now();
        let expected = id_token::Expected {
            issuer: &provider.issuer,
            client_id: &self.kind.client_id,
            alg: self.kind.id_token_signed_response_alg,
            nonce: &attempt.nonce,
            access_token: &granted.access_token,
            now,
        };
        let check =
            |keys: &VerificationKeys| id_token::verify(granted.id_token.reveal(), keys, &expected);
        let claims = self
            .with_keys(provider, [ErrorCode::IdTokenKey, ErrorCode::IdTokenSignature], check)
            .await?;
        self.observe_skew(&claims, now);
        Ok(claims)
    }

    fn observe_skew(&self, claims: &Map<String, Value>, now: Timestamp) {
        if let Ok(Some(issued_at)) = verify::numeric_date(claims, "iat") {
            let seconds = |at: Timestamp| i64::try_from(at.seconds()).unwrap_or(i64::MAX);
            let skew = seconds(issued_at).saturating_sub(seconds(now));
            *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        }
    }

    /// Nothing when the identity provider has no such endpoint: then all claims are in the ID token.
    async fn userinfo(
        self: &Arc<Self>,
        provider: &Arc<Provider>,
        granted: &Granted,
        id_token: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ConnectorFault> {
        let Some(endpoint) = &provider.userinfo_endpoint else { return Ok(Map::new()) };
        let body = code_flow::userinfo(
            endpoint,
            "application/json, application/jwt",
            &granted.access_token,
            &self.guard,
        )
        .await?;
        let claims = match self.kind.userinfo_signed_response_alg {
            None => userinfo::plain(&body)?,
            Some(alg) => {
                let now = self.env.now();
                let body = match Answer::Userinfo.sealing(&self.kind) {
                    Some(sealing) => Answer::Userinfo.open(
                        userinfo::compact(&body)?,
                        sealing,
                        &self.own_keys.load(),
                        now,
                    )?,
                    None => Secret::new(userinfo::compact(&body)?.to_owned()),
                };
                let expected = userinfo::Expected {
                    issuer: &self.kind.issuer,
                    client_id: &self.kind.client_id,
                    now,
                };
                let check =
                    |keys: &VerificationKeys| userinfo::signed(body.reveal(), alg, keys, &expected);
                self.with_keys(
                    provider,
                    [ErrorCode::UserinfoKey, ErrorCode::UserinfoSignature],
                    check,
                )
                .await?
            }
        };
        userinfo::check_subject(&claims, id_token)?;
        Ok(claims)
    }
}

/// Userinfo's claims over those of the ID token.
fn identity_claims(
    mut id_token: Map<String, Value>,
    userinfo: Map<String, Value>,
) -> Map<String, Value> {
    id_token.extend(userinfo);
    id_token.retain(|name, _| !PROTOCOL_CLAIMS.contains(&name.as_str()));
    id_token
}

#[cfg(test)]
pub(in crate::connector) mod fake_idp;
#[cfg(test)]
mod tests;
