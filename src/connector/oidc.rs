//! OpenID Connect kind: identity providers with the authorization code flow (OpenID Connect Core
//! 1.0 §3.1, §5.3; Discovery 1.0; RFC 6749, 7636, 9207, 9700).
//!
//! Responsible for one identity provider's client, metadata and keys, and all checks on its
//! responses (docs/design/upstream-verification.md). `openidconnect` builds the authorization URL,
//! exchanges the code and checks the ID token's claims. `token::verify` verifies signatures,
//! `token::decrypt` decrypts JWEs, and calls go through [`crate::egress::safe_http_client`].

mod authorization_request;
mod client_assertion;
mod code_exchange;
mod diagnose;
pub(super) mod id_token;
mod jwe;
mod keys;
mod metadata;
mod userinfo;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use serde_json::{Map, Value};
use url::Url;

use self::code_exchange::OidcTokens;
use self::jwe::EncryptedResponse;
use self::metadata::ResolvedProvider;
use super::code_flow;
use super::diagnostic::{ConnectorDiagnostic, DiagnosisContext};
use super::error::{ConnectorConfigError, ConnectorError};
use super::port::{self, Connector, ConnectorContext};
use crate::assurance::Level;
use crate::assurance::acr::{AcrPolicy, LevelError};
use crate::assurance::amr::UpstreamAmr;
use crate::config::mapping::PROTOCOL_CLAIMS;
use crate::config::model::{AuthTimeSource, ConnectorFile, OidcKind, UpstreamAuthMethod};
use crate::egress::ca_bundle::CaBundle;
use crate::egress::cached_document::{CachedDocument, Fetched, Freshness};
use crate::egress::safe_http_client::{AllowedSchemes, SafeHttpClient};
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use crate::protocol::catalogue::ErrorCode;
use crate::token::UpstreamKeys;
use crate::token::verify::{self, VerificationKeys};

/// Connector to an OpenID provider.
pub struct OidcConnector {
    upstream: Arc<Upstream>,
}

/// One identity provider: its file, and the cached metadata and keys.
struct Upstream {
    id: ConnectorId,
    kind: OidcKind,
    client_secret: Option<Secret<String>>,
    hub_keys: Arc<ArcSwap<UpstreamKeys>>,
    env: Env,
    http: SafeHttpClient,
    /// Authorities that may issue its certificate; `None` for the system's.
    ca_bundle: Option<CaBundle>,
    /// Client for probes, without connection reuse.
    probe_http: SafeHttpClient,
    acr_policy: AcrPolicy,
    provider: CachedDocument<ResolvedProvider, ConnectorError>,
    keys: CachedDocument<VerificationKeys, ConnectorError>,
    clock_skew: Mutex<Option<i64>>,
}

impl OidcConnector {
    /// Returns a connector. Calls nothing, so that an unavailable identity provider does not
    /// prevent the start.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        id: ConnectorId,
        file: &ConnectorFile,
        kind: &OidcKind,
        client_secret: Option<Secret<String>>,
        context: ConnectorContext,
    ) -> Result<Self, ConnectorConfigError> {
        if client_secret.is_none()
            && kind.token_endpoint_auth_method != UpstreamAuthMethod::PrivateKeyJwt
        {
            return Err(ConnectorConfigError::new(
                "kind.oidc.client_secret",
                "it is missing; set it to the file or environment variable with the secret",
            ));
        }
        let schemes = if kind.insecure_http {
            AllowedSchemes::HttpAndHttps
        } else {
            AllowedSchemes::HttpsOnly
        };
        let ca_bundle = port::read_ca_bundle("kind.oidc.ca", kind.ca.as_deref())?;
        let http = context.http_clients.client(schemes, &kind.internal_hosts, ca_bundle.as_ref()).map_err(
            |error| {
                ConnectorConfigError::new(
                    "kind.oidc",
                    format!("the TLS client can't be set up; check that ca-certificates is installed ({error})"),
                )
            },
        )?;
        let probe_http = context
            .http_clients
            .client_without_pooling(schemes, &kind.internal_hosts, ca_bundle.as_ref())
            .map_err(|error| ConnectorConfigError::new("kind.oidc", error.to_string()))?;
        let issuer = url::Url::parse(&kind.issuer).map_err(|_| {
            ConnectorConfigError::new(
                "kind.oidc.issuer",
                "it is not an absolute URL; copy it from the identity provider's configuration document",
            )
        })?;
        http.check_url(&issuer)
            .map_err(|error| ConnectorConfigError::new("kind.oidc.issuer", error.to_string()))?;
        Ok(Self {
            upstream: Arc::new(Upstream {
                id,
                kind: kind.clone(),
                client_secret,
                hub_keys: context.upstream_keys,
                env: context.env,
                http,
                ca_bundle,
                probe_http,
                acr_policy: port::acr_policy(file),
                provider: CachedDocument::default(),
                keys: CachedDocument::default(),
                clock_skew: Mutex::default(),
            }),
        })
    }
}

#[async_trait]
impl Connector for OidcConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        let upstream = &self.upstream;
        let provider = upstream.provider().await?;
        let url = authorization_request::authorization_url(
            &provider,
            &upstream.kind,
            &upstream.acr_policy,
            &request,
        )?;
        Ok(AuthorizationRedirect {
            url: url.into(),
            issuer: upstream.kind.issuer.clone(),
            client_id: upstream.kind.client_id.clone(),
            token_endpoint: provider.token_endpoint.clone(),
            iss_expected: provider.iss_expected,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let upstream = &self.upstream;
        let code = code_flow::validate_callback(
            &upstream.kind.issuer,
            &upstream.kind.client_id,
            &attempt,
            callback,
        )?;
        let provider = upstream.provider().await?;
        let assertion = upstream.sign_client_assertion(&attempt.redirect.token_endpoint).await?;
        let tokens =
            code_exchange::exchange_code(&provider, &upstream.http, code, &attempt, assertion)
                .await?;
        let tokens = OidcTokens { id_token: upstream.decrypt_id_token(tokens.id_token)?, ..tokens };
        let id_token = upstream.verify_id_token(&provider, &tokens, &attempt).await?;
        let now = upstream.env.now();
        let auth_time = match upstream.kind.auth_time {
            AuthTimeSource::Claim => {
                let sent_prompt_login = authorization_request::sends_prompt_login(
                    &upstream.kind,
                    attempt.reauthenticate,
                    attempt.max_age,
                );
                id_token::verify_auth_time(&id_token, &attempt, sent_prompt_login, now)?
            }
            AuthTimeSource::Callback => now,
        };
        let level = upstream.check_level(&id_token, attempt.level)?;
        let userinfo = upstream.fetch_userinfo(&provider, &tokens, &id_token).await?;
        Ok(Authentication {
            connector: upstream.id.clone(),
            upstream_subject: Secret::new(
                id_token.get("sub").and_then(Value::as_str).unwrap_or_default().to_owned(),
            ),
            level,
            amr: UpstreamAmr::from_claim(id_token.get("amr")),
            auth_time,
            claims: merge_claims(id_token, userinfo),
            id_token: Some(tokens.id_token),
        })
    }

    async fn end_session(&self, request: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        let provider = self.upstream.provider().await?;
        Ok(provider
            .end_session_endpoint
            .as_ref()
            .map(|endpoint| authorization_request::end_session_url(endpoint, &request)))
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        let provider = self.upstream.provider().await?;
        self.upstream.keys(&provider).await.map(|_| ())
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<ConnectorDiagnostic> {
        diagnose::diagnose(&self.upstream, context).await
    }

    async fn probe(&self) -> Result<(), ConnectorError> {
        let upstream = &self.upstream;
        // The fetched documents are cached. An error is logged by the caller.
        let http = &upstream.probe_http;
        let fetch_keys = |provider: Arc<ResolvedProvider>| async move {
            upstream.keys.fetch(&upstream.env, keys::fetch_keys(&provider.jwks_uri, http)).await
        };
        let cached = upstream.provider.latest();
        let documents =
            metadata::fetch_provider(&upstream.kind, upstream.client_secret.as_ref(), http);
        let documents = upstream.provider.fetch(&upstream.env, documents);
        // Concurrently, so that a slow identity provider does not look unavailable.
        let (provider, keys) = match cached.clone() {
            Some(cached) => tokio::join!(documents, async { Some(fetch_keys(cached).await) }),
            None => (documents.await, None),
        };
        let provider = provider?;
        match keys.filter(|_| cached.is_some_and(|cached| cached.jwks_uri == provider.jwks_uri)) {
            Some(keys) => keys.map(|_| ()),
            None => fetch_keys(provider).await.map(|_| ()),
        }
    }

    async fn probe_login(&self, redirect_uri: &str) -> Result<(), ConnectorError> {
        let upstream = &self.upstream;
        let provider = upstream.provider().await?;
        let assertion = upstream.sign_client_assertion(&provider.token_endpoint).await?;
        let assertion_params = code_exchange::assertion_params(assertion);
        code_flow::redeem_unknown_code(
            &provider.client,
            &upstream.probe_http,
            redirect_uri,
            &upstream.env,
            assertion_params,
        )
        .await
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.upstream.keys.fetched_at()
    }

    fn clock_skew_seconds(&self) -> Option<i64> {
        *self.upstream.clock_skew.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Upstream {
    /// Returns the level of the ID token's `acr`, which must reach `requested`.
    fn check_level(
        &self,
        id_token: &Map<String, Value>,
        requested: Level,
    ) -> Result<Level, ConnectorError> {
        // A value that is not a string counts as unlisted: only an absent `acr` may use the assumed
        // level.
        let returned = id_token
            .get("acr")
            .filter(|acr| !acr.is_null())
            .map(|acr| acr.as_str().unwrap_or_default());
        let level = self.acr_policy.evaluate(returned, self.acr_policy.level_to_request(requested));
        level.map_err(|error| match (error, returned) {
            (LevelError::Unlisted, Some(value)) if self.acr_policy.rejects_acr(value) => {
                id_token::unlisted_acr_error(value, &self.acr_policy)
            }
            _ => ConnectorError::new(error.code(), error.to_string()),
        })
    }

    async fn provider(self: &Arc<Self>) -> Result<Arc<ResolvedProvider>, ConnectorError> {
        match self.provider.freshness(self.env.now()) {
            Freshness::Fresh(provider) => Ok(provider),
            Freshness::RefreshDue(provider) => {
                let upstream = Arc::clone(self);
                // In the background. An error is logged, and the cached copy continues to serve.
                tokio::spawn(async move { upstream.refresh_provider().await.map(|_| ()) });
                Ok(provider)
            }
            Freshness::Stale(provider) => Ok(self.refresh_provider().await.unwrap_or(provider)),
            Freshness::Missing => self.refresh_provider().await,
        }
    }

    async fn refresh_provider(&self) -> Result<Arc<ResolvedProvider>, ConnectorError> {
        let fetch = metadata::fetch_provider(&self.kind, self.client_secret.as_ref(), &self.http);
        self.provider.fetch(&self.env, self.log_failed_refresh(&self.provider, fetch)).await
    }

    async fn keys(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
    ) -> Result<Arc<VerificationKeys>, ConnectorError> {
        match self.keys.freshness(self.env.now()) {
            Freshness::Fresh(keys) => Ok(keys),
            Freshness::RefreshDue(keys) => {
                let (upstream, provider) = (Arc::clone(self), Arc::clone(provider));
                tokio::spawn(async move { upstream.refresh_keys(&provider).await.map(|_| ()) });
                Ok(keys)
            }
            Freshness::Stale(keys) => Ok(self.refresh_keys(provider).await.unwrap_or(keys)),
            Freshness::Missing => self.refresh_keys(provider).await,
        }
    }

    async fn refresh_keys(
        &self,
        provider: &ResolvedProvider,
    ) -> Result<Arc<VerificationKeys>, ConnectorError> {
        self.keys
            .fetch(
                &self.env,
                self.log_failed_refresh(
                    &self.keys,
                    keys::fetch_keys(&provider.jwks_uri, &self.http),
                ),
            )
            .await
    }

    /// Logs a failed fetch if a cached copy serves. Without a copy, the login fails and is logged.
    async fn log_failed_refresh<T>(
        &self,
        cached: &CachedDocument<T, ConnectorError>,
        fetch: impl Future<Output = Result<Fetched<T>, ConnectorError>>,
    ) -> Result<Fetched<T>, ConnectorError> {
        fetch.await.inspect_err(|error| {
            if cached.latest().is_some() {
                tracing::warn!(connector = %self.id, %error, "document fetch failed, cached copy in use");
            }
        })
    }

    /// Runs a check with the cached keys. If it fails with one of the `outdated` codes, fetches the
    /// keys and runs it again.
    async fn verify_with_keys<T>(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        outdated: [ErrorCode; 2],
        check: impl Fn(&VerificationKeys) -> Result<T, ConnectorError>,
    ) -> Result<T, ConnectorError> {
        let keys = self.keys(provider).await?;
        let error = match check(&keys) {
            Err(error) if outdated.contains(&error.code) => error,
            outcome => return outcome,
        };
        let fetch =
            self.log_failed_refresh(&self.keys, keys::fetch_keys(&provider.jwks_uri, &self.http));
        match self.keys.fetch_early(&keys, &self.env, fetch).await {
            Ok(newer) if !Arc::ptr_eq(&newer, &keys) => check(&newer),
            _ => Err(error),
        }
    }

    /// Returns a client assertion for one request, if the hub authenticates by `private_key_jwt`.
    async fn sign_client_assertion(
        &self,
        token_endpoint: &str,
    ) -> Result<Option<Secret<String>>, ConnectorError> {
        match self.kind.token_endpoint_auth_method {
            UpstreamAuthMethod::ClientSecretPost | UpstreamAuthMethod::ClientSecretBasic => {
                Ok(None)
            }
            UpstreamAuthMethod::PrivateKeyJwt => {
                let keys = self.hub_keys.load_full();
                client_assertion::sign_client_assertion(
                    &self.kind,
                    token_endpoint,
                    &keys,
                    &self.env,
                )
                .await
                .map(Some)
            }
        }
    }

    /// Returns the signed ID token, decrypted if it is a JWE. Only the signed token may be sent as
    /// `id_token_hint`.
    fn decrypt_id_token(&self, id_token: Secret<String>) -> Result<Secret<String>, ConnectorError> {
        match EncryptedResponse::IdToken.jwe_algorithms(&self.kind) {
            Some(algorithms) => EncryptedResponse::IdToken.decrypt(
                id_token.reveal(),
                algorithms,
                &self.hub_keys.load(),
                self.env.now(),
            ),
            None => Ok(id_token),
        }
    }

    async fn verify_id_token(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        tokens: &OidcTokens,
        attempt: &LoginAttempt,
    ) -> Result<Map<String, Value>, ConnectorError> {
        let now = self.env.now();
        let expected = id_token::IdTokenExpectations {
            issuer: &provider.issuer,
            client_id: &self.kind.client_id,
            alg: self.kind.id_token_signed_response_alg,
            nonce: &attempt.nonce,
            access_token: &tokens.access_token,
            now,
        };
        let check = |keys: &VerificationKeys| {
            id_token::verify_id_token(tokens.id_token.reveal(), keys, &expected)
        };
        let claims = self
            .verify_with_keys(provider, [ErrorCode::IdTokenKey, ErrorCode::IdTokenSignature], check)
            .await?;
        self.record_clock_skew(&claims, now);
        Ok(claims)
    }

    fn record_clock_skew(&self, claims: &Map<String, Value>, now: Timestamp) {
        if let Ok(Some(issued_at)) = verify::numeric_date(claims, "iat") {
            let seconds = |at: Timestamp| i64::try_from(at.seconds()).unwrap_or(i64::MAX);
            let skew = seconds(issued_at).saturating_sub(seconds(now));
            *self.clock_skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(skew);
        }
    }

    /// Returns the verified claims of userinfo; none if the identity provider has no userinfo
    /// endpoint.
    async fn fetch_userinfo(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        tokens: &OidcTokens,
        id_token: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ConnectorError> {
        let Some(endpoint) = &provider.userinfo_endpoint else { return Ok(Map::new()) };
        let body = code_flow::fetch_userinfo(
            endpoint,
            "application/json, application/jwt",
            &tokens.access_token,
            &self.http,
        )
        .await?;
        let claims = match self.kind.userinfo_signed_response_alg {
            None => userinfo::parse_plain(&body)?,
            Some(alg) => {
                let now = self.env.now();
                let body = match EncryptedResponse::Userinfo.jwe_algorithms(&self.kind) {
                    Some(algorithms) => EncryptedResponse::Userinfo.decrypt(
                        userinfo::body_as_text(&body)?,
                        algorithms,
                        &self.hub_keys.load(),
                        now,
                    )?,
                    None => Secret::new(userinfo::body_as_text(&body)?.to_owned()),
                };
                let expected = userinfo::UserinfoExpectations {
                    issuer: &self.kind.issuer,
                    client_id: &self.kind.client_id,
                    now,
                };
                let check = |keys: &VerificationKeys| {
                    userinfo::verify_signed(body.reveal(), alg, keys, &expected)
                };
                self.verify_with_keys(
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

/// Returns the identity claims of both. Userinfo takes precedence over the ID token.
fn merge_claims(
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
