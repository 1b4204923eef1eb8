//! One identity provider: its cached metadata and keys, and the calls and checks of a login.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde_json::{Map, Value};
use url::Url;

use super::claim_groups::ClaimGroups;
use super::code_exchange::OidcTokens;
use super::documents::DocumentClient;
use super::jwe::EncryptedResponse;
use super::malformed_metadata::{MalformedMember, format_repeated};
use super::metadata::{self, ResolvedProvider};
use super::settings::OidcKind;
use super::{authorization_request, id_token, keys, logout_token, userinfo};
use crate::clock_skew::ClockSkew;
use crate::dpop::{DpopSession, ServerNonces};
use crate::dropped_claims::{DroppedClaimRow, DroppedClaims};
use crate::error::ConnectorError;
use crate::userinfo_request::UserinfoRequest;
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::cached_document::{CachedDocument, FetchedDocument};
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_federation::assurance::Level;
use passerelle_federation::assurance::acr::{AcrPolicy, LevelError};
use passerelle_federation::identity::describe_type;
use passerelle_federation::login::upstream::{LoginAttempt, UpstreamLogout};
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::verify::{self, VerificationKeys};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_telemetry::{Metrics, printable_ascii};

/// One identity provider: its file, and the cached metadata and keys.
pub(super) struct Upstream {
    pub(super) id: ConnectorId,
    pub(super) kind: OidcKind,
    pub(super) client_secret: Option<Secret<String>>,
    pub(super) hub_keys: Arc<ArcSwap<RelyingPartyKeys>>,
    pub(super) env: Env,
    /// Client for documents, and for all calls without a client certificate.
    pub(super) http: SafeHttpClient,
    /// Clients that present the hub's certificate, for logins and for probes; those without one if
    /// the file has none.
    pub(super) certificate_http: (SafeHttpClient, SafeHttpClient),
    /// When the hub's certificate for it expires; `None` without one.
    pub(super) certificate_expires_at: Option<Timestamp>,
    /// Authorities that may issue its certificate; `None` for the system's.
    pub(super) ca_bundle: Option<CaBundle>,
    /// Client for probes, without connection reuse.
    pub(super) probe_http: SafeHttpClient,
    pub(super) acr_policy: AcrPolicy,
    pub(super) claim_groups: ClaimGroups,
    pub(super) dropped_claims: DroppedClaims,
    pub(super) provider: CachedDocument<ResolvedProvider, ConnectorError>,
    pub(super) keys: CachedDocument<VerificationKeys, ConnectorError>,
    /// `None` outside a running hub.
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) clock_skew: ClockSkew,
    /// What was reported of its documents last: of the metadata and of the keys.
    pub(super) reported: Mutex<(String, String)>,
    pub(super) dpop_nonces: ServerNonces,
}

impl Upstream {
    /// Returns the level of the ID token's `acr`, which must reach `requested`.
    ///
    /// # Errors
    /// Returns the code of the [`LevelError`].
    pub(super) fn check_level(
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

    /// Verifies the `auth_time` of an ID token, and returns it. Logs and counts one that is unusable
    /// and not needed.
    ///
    /// # Errors
    /// Returns the errors of [`id_token::verify_auth_time`].
    pub(super) fn verify_auth_time(
        &self,
        id_token: &Map<String, Value>,
        attempt: &LoginAttempt,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ConnectorError> {
        let LoginAttempt { request, .. } = attempt;
        let sent_prompt_login = authorization_request::sends_prompt_login(
            &self.kind,
            request.reauthenticate,
            request.max_age,
        );
        let auth_time = id_token::verify_auth_time(id_token, attempt, sent_prompt_login, now)?;
        if auth_time.is_none() && id_token.contains_key("auth_time") {
            let row = DroppedClaimRow {
                claim: "auth_time".to_owned(),
                problem: format!(
                    "must be the time of the authentication in seconds since 1970, and is {}",
                    id_token.get("auth_time").map_or("absent", describe_type)
                ),
                fix: "ask the identity provider to send it as OpenID Connect Core 1.0 §2 says, or to omit it"
                    .to_owned(),
            };
            self.dropped_claims.report(&self.id, self.metrics.as_deref(), "form", row);
        }
        Ok(auth_time)
    }

    /// Returns the metadata of the identity provider. A copy due for a refresh is used while it is
    /// refreshed in the background; an expired copy is used only if its refresh fails.
    ///
    /// # Errors
    /// Returns the error of the fetch if no copy is cached.
    pub(super) async fn provider(
        self: &Arc<Self>,
    ) -> Result<Arc<ResolvedProvider>, ConnectorError> {
        let refresh = || {
            let upstream = Arc::clone(self);
            async move { upstream.refresh_provider().await }
        };
        self.provider.freshness(self.env.now()).or_refresh(refresh).await
    }

    /// Fetches the metadata of the identity provider and caches it.
    ///
    /// # Errors
    /// Returns the error of the fetch. An older copy stays cached.
    pub(super) async fn refresh_provider(&self) -> Result<Arc<ResolvedProvider>, ConnectorError> {
        let fetch = self.fetch_provider(&self.http);
        self.provider.fetch(&self.env, self.log_failed_refresh(&self.provider, fetch)).await
    }

    fn documents<'c>(&'c self, http: &'c SafeHttpClient) -> DocumentClient<'c> {
        DocumentClient { http, env: &self.env, clock_skew: &self.clock_skew }
    }

    /// Fetches the metadata, and reports its malformed members.
    ///
    /// # Errors
    /// As [`metadata::fetch_provider`].
    pub(super) async fn fetch_provider(
        &self,
        http: &SafeHttpClient,
    ) -> Result<FetchedDocument<ResolvedProvider>, ConnectorError> {
        let (kind, secret) = (&self.kind, self.client_secret.as_ref());
        let fetched = metadata::fetch_provider(kind, secret, self.documents(http)).await?;
        self.report_malformed_members(&fetched.value.malformed_members);
        Ok(fetched)
    }

    /// Fetches the keys, and reports malformed ones.
    ///
    /// # Errors
    /// As [`keys::fetch_keys`].
    pub(super) async fn fetch_keys(
        &self,
        jwks_uri: &Url,
        http: &SafeHttpClient,
    ) -> Result<FetchedDocument<VerificationKeys>, ConnectorError> {
        let fetched = keys::fetch_keys(jwks_uri, self.documents(http)).await?;
        let skipped = fetched.value.skipped_by_reason();
        let malformed = skipped.filter(|(reason, _)| reason.is_fault());
        let malformed = malformed.map(|(reason, count)| format!("{count} {reason}"));
        let repeated = fetched.value.dropped_members();
        let repeated = (!repeated.is_empty())
            .then(|| format!("{} repeated and ignored", format_repeated(repeated)));
        let malformed: Vec<String> = malformed.chain(repeated).collect();
        self.report_malformed_keys(&malformed.join(", "));
        Ok(fetched)
    }

    /// Returns the keys of the identity provider, refreshed like its metadata in
    /// [`Self::provider()`].
    ///
    /// # Errors
    /// Returns the error of the fetch if no copy is cached.
    pub(super) async fn keys(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
    ) -> Result<Arc<VerificationKeys>, ConnectorError> {
        let refresh = || {
            let (upstream, provider) = (Arc::clone(self), Arc::clone(provider));
            async move { upstream.refresh_keys(&provider).await }
        };
        self.keys.freshness(self.env.now()).or_refresh(refresh).await
    }

    /// Fetches the keys of the identity provider and caches them.
    ///
    /// # Errors
    /// Returns the error of the fetch. An older copy stays cached.
    pub(super) async fn refresh_keys(
        &self,
        provider: &ResolvedProvider,
    ) -> Result<Arc<VerificationKeys>, ConnectorError> {
        self.keys
            .fetch(
                &self.env,
                self.log_failed_refresh(
                    &self.keys,
                    self.fetch_keys(&provider.jwks_uri, &self.http),
                ),
            )
            .await
    }

    /// Logs a failed fetch if a cached copy serves. Without a copy, the login fails and is logged.
    ///
    /// # Errors
    /// Returns the error of the fetch.
    pub(super) async fn log_failed_refresh<T>(
        &self,
        cached: &CachedDocument<T, ConnectorError>,
        fetch: impl Future<Output = Result<FetchedDocument<T>, ConnectorError>>,
    ) -> Result<FetchedDocument<T>, ConnectorError> {
        fetch.await.inspect_err(|error| {
            if cached.latest().is_some() {
                tracing::warn!(connector = %self.id, %error, "document fetch failed, cached copy in use");
            }
        })
    }

    /// Runs a check with the cached keys. If it fails with one of the codes in `retry_on`, fetches
    /// the keys and runs it again.
    ///
    /// # Errors
    /// Returns the error of the last check, or of the fetch of the keys if none are cached.
    pub(super) async fn verify_with_keys<T>(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        retry_on: &[ErrorCode],
        check: impl Fn(&VerificationKeys) -> Result<T, ConnectorError>,
    ) -> Result<T, ConnectorError> {
        let keys = self.keys(provider).await?;
        let error = match check(&keys) {
            Err(error) if retry_on.contains(&error.code) => error,
            outcome => return outcome,
        };
        let fetch =
            self.log_failed_refresh(&self.keys, self.fetch_keys(&provider.jwks_uri, &self.http));
        match Box::pin(self.keys.fetch_early(&keys, &self.env, fetch)).await {
            Ok(newer) if !Arc::ptr_eq(&newer, &keys) => check(&newer),
            _ => Err(error),
        }
    }

    /// Returns the signed ID token, decrypted if it is a JWE. Only the signed token may be sent as
    /// `id_token_hint`.
    ///
    /// # Errors
    /// Returns an error with a distinct code for each violated rule of the JWE.
    pub(super) async fn decrypt_id_token(
        &self,
        id_token: Secret<String>,
    ) -> Result<Secret<String>, ConnectorError> {
        match EncryptedResponse::IdToken.jwe_algorithms(&self.kind) {
            Some(algorithms) => {
                let keys = self.hub_keys.load_full();
                let now = self.env.now();
                EncryptedResponse::IdToken.decrypt(id_token.reveal(), algorithms, &keys, now).await
            }
            None => Ok(id_token),
        }
    }

    /// Verifies the signed ID token of a login (OpenID Connect Core §3.1.3.7), records the clock skew
    /// that its `iat` shows, and returns its claims.
    ///
    /// # Errors
    /// Returns the error of the first check that fails, or of a fetch of the keys without a cached
    /// copy.
    pub(super) async fn verify_id_token(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        tokens: &OidcTokens,
        attempt: &LoginAttempt,
    ) -> Result<Map<String, Value>, ConnectorError> {
        let now = self.env.now();
        let expected = id_token::IdTokenExpectations {
            issuer: &provider.issuer,
            client_id: &self.kind.client_id,
            trusted_audiences: &self.kind.trusted_audiences,
            alg: self.kind.id_token_signed_response_alg,
            nonce: &attempt.request.nonce,
            access_token: &tokens.access_token,
            now,
        };
        let token = tokens.id_token.reveal();
        let check = |keys: &VerificationKeys| id_token::verify_signature(token, keys, expected.alg);
        let retry_on = [ErrorCode::IdTokenKey, ErrorCode::IdTokenSignature];
        let verified = self.verify_with_keys(provider, &retry_on, check).await?;
        // Before the times are checked, because a wrong clock makes that check fail.
        if let Ok(Some(issued_at)) = verify::numeric_date(&verified.claims, "iat") {
            self.clock_skew.record_issued_at(issued_at, now);
        }
        id_token::check_claims(token, verified, &expected)
    }

    /// Verifies a logout token with the keys of ID tokens, and decrypts it first if it is a JWE.
    ///
    /// # Errors
    /// Returns the error of the first check that fails, or of a fetch without a cached copy.
    pub(super) async fn verify_logout_token(
        self: &Arc<Self>,
        token: &str,
    ) -> Result<UpstreamLogout, ConnectorError> {
        let now = self.env.now();
        let is_encrypted = token.split('.').count() == 5;
        let token = match EncryptedResponse::IdToken.jwe_algorithms(&self.kind) {
            Some(algorithms) if is_encrypted => EncryptedResponse::IdToken
                .decrypt(token, algorithms, &self.hub_keys.load_full(), now)
                .await
                .map_err(|error| match error.code {
                    ErrorCode::KeyDeviceUnavailable => error,
                    _ => ConnectorError { code: ErrorCode::LogoutTokenEncryption, ..error },
                })?,
            _ => Secret::new(token.to_owned()),
        };
        let provider = self.provider().await?;
        let expected = logout_token::LogoutTokenExpectations {
            issuer: &self.kind.issuer,
            client_id: &self.kind.client_id,
            trusted_audiences: &self.kind.trusted_audiences,
            alg: self.kind.id_token_signed_response_alg,
            now,
        };
        let check = |keys: &VerificationKeys| {
            logout_token::verify_logout_token(token.reveal(), keys, &expected)
        };
        self.verify_with_keys(&provider, &[ErrorCode::LogoutTokenUnproven], check).await
    }

    /// Returns the verified claims of userinfo; none if the identity provider has no userinfo
    /// endpoint.
    ///
    /// # Errors
    /// Returns the error of the call, of the decryption or of a failed check; the `sub` must equal
    /// the ID token's.
    pub(super) async fn fetch_userinfo(
        self: &Arc<Self>,
        provider: &Arc<ResolvedProvider>,
        tokens: &OidcTokens,
        dpop: Option<&DpopSession<'_>>,
        id_token: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ConnectorError> {
        let Some(endpoint) = &provider.userinfo_endpoint else { return Ok(Map::new()) };
        let request = UserinfoRequest {
            method: self.kind.userinfo_method.into(),
            endpoint,
            accepted: "application/json, application/jwt",
            access_token: &tokens.access_token,
            dpop,
        };
        let presents = provider.binds_to_certificate;
        let http = if presents { &self.certificate_http.0 } else { &self.http };
        let body = request.fetch(http).await?;
        let claims = match self.kind.userinfo_signed_response_alg {
            None => userinfo::parse_plain(&body)?,
            Some(alg) => {
                let now = self.env.now();
                let body = match EncryptedResponse::Userinfo.jwe_algorithms(&self.kind) {
                    Some(algorithms) => {
                        let (body, keys) =
                            (userinfo::body_as_text(&body)?, self.hub_keys.load_full());
                        EncryptedResponse::Userinfo.decrypt(body, algorithms, &keys, now).await?
                    }
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
                    &[ErrorCode::UserinfoKey, ErrorCode::UserinfoSignature],
                    check,
                )
                .await?
            }
        };
        userinfo::check_subject(&claims, id_token)?;
        Ok(claims)
    }

    /// Logs and counts malformed members of the configuration document, when they change.
    pub(super) fn report_malformed_members(&self, malformed: &[MalformedMember]) {
        let text = malformed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.0 == text {
            return;
        }
        if !text.is_empty() {
            tracing::warn!(connector = %self.id, malformed = text, "malformed metadata ignored: no login needs it");
        }
        reported.0 = text;
        if let Some(metrics) = &self.metrics {
            for member in malformed {
                metrics.record_dropped_metadata(&self.id, member.label());
            }
        }
    }

    /// Logs and counts malformed keys of the key set, when they change.
    pub(super) fn report_malformed_keys(&self, malformed: &str) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.1 == malformed {
            return;
        }
        malformed.clone_into(&mut reported.1);
        if !malformed.is_empty() {
            tracing::warn!(connector = %self.id, malformed, "malformed keys and members of the key set ignored");
            if let Some(metrics) = &self.metrics {
                metrics.record_dropped_metadata(&self.id, "keys");
            }
        }
    }

    /// Logs and counts claims that are only referred to (OpenID Connect Core §5.6.2): aggregated
    /// and distributed claims are not supported, and nothing is fetched because a token names it.
    pub(super) fn report_aggregated_and_distributed_claims(&self, claims: &Map<String, Value>) {
        let Some(referred) = claims.get("_claim_names").and_then(Value::as_object) else { return };
        let names: Vec<&str> = referred.keys().map(String::as_str).collect();
        let claims = printable_ascii(&names.join(", "), 200);
        tracing::warn!(connector = %self.id, claims, "aggregated or distributed claims are not supported, so they are missing");
        if let Some(metrics) = &self.metrics {
            metrics.record_dropped_claim(&self.id, "_claim_names", "not_supported");
        }
    }
}
