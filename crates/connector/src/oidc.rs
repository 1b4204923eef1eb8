//! OpenID Connect kind: identity providers with the authorization code flow (OpenID Connect Core
//! 1.0 §3.1, §5.3; Discovery 1.0; RFC 6749, 7636, 9207, 9700).
//!
//! Responsible for one identity provider's client, metadata and keys, and all checks on its
//! responses (docs/design/upstream-verification.md). `openidconnect` builds the authorization URL,
//! exchanges the code and checks the ID token's claims. [`passerelle_jose::verify`] verifies
//! signatures, [`passerelle_jose::decrypt`] decrypts JWEs, and calls go through
//! [`passerelle_egress::safe_http_client`].

mod authorization_request;
mod claim_groups;
mod client_assertion;
mod code_exchange;
mod diagnose;
mod documents;
mod fapi2;
pub mod id_token;
mod jwe;
mod keys;
pub mod logout_token;
mod malformed_metadata;
pub mod metadata;
mod protected_request;
pub mod settings;
mod settings_checks;
mod signed_response;
mod upstream;
pub mod userinfo;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::Value;
use url::Url;

use self::claim_groups::ClaimGroups;
use self::code_exchange::{CallPurpose, OidcTokens};
use self::metadata::ResolvedProvider;
use self::settings::{AuthTimeSource, OidcKind, UpstreamAuthMethod, UpstreamFeature};
use self::upstream::Upstream;
use super::clock_skew::{ClockSkew, MeasuredSkew};
use super::diagnostic::{CheckDiagnostic, DiagnosisContext, HubEndpoints, RegistrationParameter};
use super::dpop::{DpopSession, ServerNonces};
use super::dropped_claims::{DroppedClaimRow, DroppedClaims};
use super::error::ConnectorError;
use super::http_clients::{HttpClientOptions, read_ca_bundle};
use super::kind_settings::{
    ConnectorKind, ConnectorKindFormat, acr_policy_from_file, connector_kind,
};
use super::port::{Connector, ConnectorContext};
use super::{ConfiguredConnector, code_flow};
use crate::unusable_settings::{forbidden_address, missing_secret, not_absolute};
use passerelle_egress::cached_document::CachedDocument;
use passerelle_egress::certificate_expiry::earliest_expiry;
use passerelle_egress::client_identity::{ClientIdentityPart, check_client_identity};
use passerelle_federation::assurance::amr::UpstreamAmr;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest, UpstreamLogout,
};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_settings::FieldDiagnostic;

/// The kind of `[kind.oidc]`.
pub const KIND: ConnectorKindFormat = connector_kind::<OidcKind>("oidc", "OpenID Connect.");

impl ConnectorKind for OidcKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(OidcConnector::new(self, configured, context)?))
    }

    fn registration(&self, hub: &HubEndpoints) -> Vec<RegistrationParameter> {
        let mut parameters = vec![
            RegistrationParameter { name: "redirect_uris", value: hub.redirect_uri.clone() },
            RegistrationParameter {
                name: "post_logout_redirect_uris",
                value: hub.post_logout_redirect_uri.clone(),
            },
        ];
        if self.backchannel_logout {
            parameters.push(RegistrationParameter {
                name: "backchannel_logout_uri",
                value: hub.backchannel_logout_uri.clone(),
            });
        }
        if self.token_endpoint_auth_method == UpstreamAuthMethod::PrivateKeyJwt
            || self.request_objects != UpstreamFeature::Off
            || self.id_token_encrypted_response_alg.is_some()
            || self.userinfo_encrypted_response_alg.is_some()
            || self.authorization_encrypted_response_alg.is_some()
        {
            parameters
                .push(RegistrationParameter { name: "jwks_uri", value: hub.jwks_uri.clone() });
        }
        parameters
    }
}

/// Connector to an OpenID provider.
pub struct OidcConnector {
    upstream: Arc<Upstream>,
}

impl OidcConnector {
    /// Returns a connector. Calls nothing, so that an unavailable identity provider does not
    /// prevent the start.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &OidcKind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let client_secret = configured.client_secret.clone();
        if client_secret.is_none() && kind.token_endpoint_auth_method.has_secret() {
            return Err(missing_secret("kind.oidc.client_secret"));
        }
        let ca_bundle = read_ca_bundle("kind.oidc.ca", kind.ca.as_deref())?;
        let options = HttpClientOptions {
            insecure_http: kind.insecure_http,
            internal_hosts: &kind.internal_hosts,
            ca_bundle: ca_bundle.as_ref(),
            client_identity: None,
        };
        let (http, probe_http) = options.clients("kind.oidc", &context.http_clients)?;
        let certificate_http = match configured.client_identity.as_ref() {
            None => (http.clone(), probe_http.clone()),
            identity => {
                check_identity(identity, context.env.now())?;
                HttpClientOptions { client_identity: identity, ..options }
                    .clients("kind.oidc.client_certificate", &context.http_clients)?
            }
        };
        let key = "kind.oidc.issuer";
        let issuer = url::Url::parse(&kind.issuer).map_err(|_| not_absolute(key))?;
        http.check_url(&issuer).map_err(|error| forbidden_address(key, &error))?;
        Ok(Self {
            upstream: Arc::new(Upstream {
                id: configured.id.clone(),
                kind: kind.clone(),
                client_secret,
                hub_keys: context.upstream_keys,
                metrics: context.metrics,
                env: context.env,
                http,
                ca_bundle,
                probe_http,
                acr_policy: acr_policy_from_file(&configured.file),
                dropped_claims: DroppedClaims::default(),
                claim_groups: ClaimGroups::new(&configured.mapping.clone().unwrap_or_default()),
                provider: CachedDocument::default(),
                keys: CachedDocument::default(),
                clock_skew: ClockSkew::default(),
                reported: Mutex::default(),
                certificate_http,
                certificate_expires_at: configured
                    .client_identity
                    .as_ref()
                    .and_then(|identity| earliest_expiry(identity.reveal().as_bytes())),
                dpop_nonces: ServerNonces::default(),
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
        let dpop_key = Upstream::new_dpop_key(&provider)?;
        let dpop = upstream.dpop_session(dpop_key.as_ref())?;
        let url = authorization_request::authorization_url(
            &provider,
            &upstream.kind,
            &upstream.acr_policy,
            &request,
            dpop.as_ref().map(DpopSession::thumbprint),
        )?;
        let url = Box::pin(upstream.protect_request(&provider, url)).await?;
        Ok(AuthorizationRedirect {
            url: url.into(),
            issuer: upstream.kind.issuer.clone(),
            client_id: upstream.kind.client_id.clone(),
            token_endpoint: provider.token_endpoint.clone(),
            // A signed response has its issuer inside (RFC 9207 §2.4).
            iss_expected: provider.iss_expected
                && upstream.kind.authorization_signed_response_alg.is_none(),
            dpop_key,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let upstream = &self.upstream;
        let callback = upstream.verified_callback(&attempt, callback).await?;
        let code = code_flow::validate_callback(
            &upstream.kind.issuer,
            &upstream.kind.client_id,
            &attempt,
            callback,
        )?;
        let provider = upstream.provider().await?;
        let dpop = upstream.dpop_session(attempt.redirect.dpop_key.as_ref())?;
        let tokens = upstream
            .exchange_code(&provider, CallPurpose::Login, code, &attempt, dpop.as_ref())
            .await?;
        let tokens =
            OidcTokens { id_token: upstream.decrypt_id_token(tokens.id_token).await?, ..tokens };
        let id_token = upstream.verify_id_token(&provider, &tokens, &attempt).await?;
        let now = upstream.env.now();
        let auth_time = match upstream.kind.auth_time {
            AuthTimeSource::Claim => upstream.verify_auth_time(&id_token, &attempt, now)?,
            AuthTimeSource::Callback => Some(now),
        };
        let level = upstream.check_level(&id_token, attempt.request.level)?;
        let userinfo =
            upstream.fetch_userinfo(&provider, &tokens, dpop.as_ref(), &id_token).await?;
        for claims in [&id_token, &userinfo] {
            upstream.report_aggregated_and_distributed_claims(claims);
        }
        let subject = id_token.get("sub").and_then(Value::as_str).unwrap_or_default();
        let subject = Secret::new(subject.to_owned());
        Ok(Authentication {
            acr: id_token
                .get("acr")
                .and_then(Value::as_str)
                .filter(|_| !upstream.acr_policy.ignores_acr)
                .map(ToOwned::to_owned),
            amr: UpstreamAmr::from_claim(id_token.get("amr")),
            auth_time,
            claims: upstream.claim_groups.merge(id_token, userinfo),
            session_hint: Some(tokens.id_token),
            ..Authentication::new(upstream.id.clone(), subject, level)
        })
    }

    async fn unverified_state(&self, response: &Secret<String>) -> Option<String> {
        self.upstream.unverified_state(response).await
    }

    async fn end_session(&self, request: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        let provider = self.upstream.provider().await?;
        Ok(provider.end_session_endpoint.as_ref().map(|endpoint| {
            authorization_request::end_session_url(endpoint, &self.upstream.kind, &request)
        }))
    }

    async fn verify_logout_token(&self, token: &str) -> Result<UpstreamLogout, ConnectorError> {
        self.upstream.verify_logout_token(token).await
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        let provider = self.upstream.provider().await?;
        self.upstream.keys(&provider).await.map(|_| ())
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        diagnose::diagnose(&self.upstream, context).await
    }

    async fn probe(&self) -> Result<(), ConnectorError> {
        let upstream = &self.upstream;
        // The fetched documents are cached. An error is logged by the caller.
        let http = &upstream.probe_http;
        let fetch_keys = |provider: Arc<ResolvedProvider>| async move {
            upstream.keys.fetch(&upstream.env, upstream.fetch_keys(&provider.jwks_uri, http)).await
        };
        let cached = upstream.provider.latest();
        let documents = upstream.fetch_provider(http);
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

    fn dropped_claims(&self) -> Vec<DroppedClaimRow> {
        self.upstream.dropped_claims.rows()
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.upstream.keys.fetched_at()
    }

    fn published_addresses(&self) -> Arc<[String]> {
        let provider = self.upstream.provider.latest();
        provider.map(|provider| Arc::clone(&provider.addresses)).unwrap_or_default()
    }

    fn clock_skew(&self) -> Option<MeasuredSkew> {
        self.upstream.clock_skew.measured()
    }

    fn certificate_expiries(&self) -> Vec<(&'static str, Timestamp)> {
        let expires_at = self.upstream.certificate_expires_at;
        expires_at.map(|at| ("client_certificate", at)).into_iter().collect()
    }
}

/// Checks the hub's certificate and key.
fn check_identity(
    identity: Option<&Secret<String>>,
    now: Timestamp,
) -> Result<(), FieldDiagnostic> {
    let checked = identity.map_or(Ok(()), |identity| check_client_identity(identity, now));
    checked.map_err(|error| {
        let key = match error.part {
            ClientIdentityPart::Certificate => "kind.oidc.client_certificate",
            ClientIdentityPart::Key => "kind.oidc.client_key",
        };
        FieldDiagnostic::new(key, error.message, error.fix)
    })
}

#[cfg(test)]
mod tests;
