//! OAuth 2.0 kind: identity providers without OpenID Connect, such as GitHub (RFC 6749 §4.1; RFC
//! 7636; RFC 9207; RFC 9700).
//!
//! There is no ID token. The proof is userinfo, fetched over TLS from the endpoint in the file with
//! the access token of the user's code. So there is no `acr`: the level is `assumed_level`. There
//! is no `auth_time`: `reauthentication_params` are always sent, and the time of the callback is
//! used.

mod diagnose;
mod settings;
mod settings_checks;

use std::sync::Arc;

use async_trait::async_trait;
use openidconnect::core::CoreClient;
use openidconnect::{
    AuthType, AuthUrl, ClientId, ClientSecret, IssuerUrl, JsonWebKeySet, PkceCodeChallenge,
    PkceCodeVerifier, TokenUrl,
};
use serde_json::{Map, Value};
use url::Url;

use self::settings::{Oauth2Kind, SecretMethod};
use super::ConfiguredConnector;
use super::clock_skew::{ClockSkew, MeasuredSkew};
use super::code_flow::{self, OauthClient, TokenRequestProofs};
use super::diagnostic::{CheckDiagnostic, DiagnosisContext, HubEndpoints, RegistrationParameter};
use super::error::ConnectorError;
use super::http_clients::{HttpClientOptions, read_ca_bundle};
use super::kind_settings::{
    ConnectorKind, ConnectorKindFormat, acr_policy_from_file, connector_kind,
};
use super::port::{Connector, ConnectorContext};
use super::userinfo_request::UserinfoRequest;
use crate::unusable_settings::{forbidden_address, missing_secret, not_absolute};
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_federation::assurance::acr::AcrPolicy;
use passerelle_federation::identity::mapping::ClaimPath;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_protocol::json;
use passerelle_settings::FieldDiagnostic;

/// Size limit of userinfo, in bytes.
const MAX_USERINFO_BYTES: usize = 64 * 1024;

/// Size limit of a subject, in characters (OpenID Connect Core 1.0 §2).
const MAX_SUBJECT_CHARS: usize = 255;

/// The kind of `[kind.oauth2]`.
pub const KIND: ConnectorKindFormat =
    connector_kind::<Oauth2Kind>("oauth2", "OAuth 2.0 without OpenID Connect.");

impl ConnectorKind for Oauth2Kind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(Oauth2Connector::new(self, configured, context)?))
    }

    fn registration(&self, hub: &HubEndpoints) -> Vec<RegistrationParameter> {
        vec![RegistrationParameter { name: "redirect_uris", value: hub.redirect_uri.clone() }]
    }
}

/// Connector to an OAuth 2.0 provider.
pub struct Oauth2Connector {
    id: ConnectorId,
    kind: Oauth2Kind,
    subject_claim: ClaimPath,
    authorization: Url,
    userinfo: Url,
    client: OauthClient,
    env: Env,
    http: SafeHttpClient,
    /// Authorities that may issue its certificate; `None` for the system's.
    ca_bundle: Option<CaBundle>,
    /// Client for probes, without connection reuse.
    probe_http: SafeHttpClient,
    acr_policy: AcrPolicy,
    clock_skew: ClockSkew,
}

impl Oauth2Connector {
    /// Returns a connector. Calls nothing, as all endpoints are in the file.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        kind: &Oauth2Kind,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let Some(client_secret) = configured.client_secret.clone() else {
            return Err(missing_secret("kind.oauth2.client_secret"));
        };
        let ca_bundle = read_ca_bundle("kind.oauth2.ca", kind.ca.as_deref())?;
        let options = HttpClientOptions {
            insecure_http: kind.insecure_http,
            internal_hosts: &kind.internal_hosts,
            ca_bundle: ca_bundle.as_ref(),
            client_identity: None,
        };
        let (http, probe_http) = options.clients("kind.oauth2", &context.http_clients)?;
        let checked_url = |key: &'static str, text: &str| {
            let url = Url::parse(text).map_err(|_| not_absolute(key))?;
            http.check_url(&url).map_err(|error| forbidden_address(key, &error))?;
            Ok::<_, FieldDiagnostic>(url)
        };
        // Opened by the browser. The same rules stop `javascript:` and plain http.
        let authorization =
            checked_url("kind.oauth2.endpoints.authorization", &kind.endpoints.authorization)?;
        let token = checked_url("kind.oauth2.endpoints.token", &kind.endpoints.token)?;
        let userinfo = checked_url("kind.oauth2.endpoints.userinfo", &kind.endpoints.userinfo)?;
        let issuer =
            IssuerUrl::new(kind.issuer.clone()).map_err(|_| not_absolute("kind.oauth2.issuer"))?;
        let client = CoreClient::new(
            ClientId::new(kind.client_id.clone()),
            issuer,
            JsonWebKeySet::default(),
        )
        .set_client_secret(ClientSecret::new(client_secret.into_inner()))
        .set_auth_type(match kind.token_endpoint_auth_method {
            SecretMethod::ClientSecretBasic => AuthType::BasicAuth, // RFC 6749 §2.3.1
            SecretMethod::ClientSecretPost => AuthType::RequestBody,
        })
        .set_auth_uri(AuthUrl::from_url(authorization.clone()))
        .set_token_uri(TokenUrl::from_url(token));
        let acr_policy = acr_policy_from_file(&configured.file);
        Ok(Self {
            id: configured.id.clone(),
            kind: kind.clone(),
            subject_claim: ClaimPath::parse(&kind.subject_claim).map_err(|error| {
                let fix = "write the name of a claim, or a path such as /data/id";
                FieldDiagnostic::new("kind.oauth2.subject_claim", error.to_string(), fix)
            })?,
            authorization,
            userinfo,
            client,
            env: context.env,
            http,
            probe_http,
            ca_bundle,
            acr_policy,
            clock_skew: ClockSkew::default(),
        })
    }

    /// Calls userinfo without an access token, to check that the server responds.
    async fn check_userinfo(&self, http: &SafeHttpClient) -> Result<(), ConnectorError> {
        let request = http::Request::get(self.userinfo.as_str()).body(Vec::new());
        let request = request.map_err(|_| {
            ConnectorError::new(ErrorCode::Internal, "the userinfo endpoint is not a URL")
        })?;
        let sent_at = self.env.now();
        let response = http.send_with_retry(request).await;
        let response = response.inspect_err(|error| self.clock_skew.record_failure(error))?;
        self.clock_skew.record_date(response.headers(), sent_at, self.env.now());
        match response.status() {
            status if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS => {
                Err(ConnectorError::unexpected_status("userinfo", &response))
            }
            _ => Ok(()),
        }
    }

    /// Returns the URL of the authorization request (RFC 6749 §4.1.1; RFC 7636 §4.3). Query
    /// parameters of the endpoint are kept.
    fn authorization_url(
        &self,
        request: &UpstreamAuthorizationRequest,
    ) -> Result<Url, ConnectorError> {
        // RFC 7636 §4.1. The crate panics on another length.
        if !(43..=128).contains(&request.verifier.reveal().len()) {
            return Err(ConnectorError::new(
                ErrorCode::Internal,
                "the PKCE verifier has an invalid length",
            ));
        }
        let verifier = PkceCodeVerifier::new(request.verifier.reveal().clone());
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
        let mut url = self.authorization.clone();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.kind.client_id)
            .append_pair("redirect_uri", &request.redirect_uri)
            .append_pair("state", &request.state)
            .append_pair("code_challenge", challenge.as_str())
            .append_pair("code_challenge_method", challenge.method().as_str());
        let scopes: Vec<&str> =
            self.kind.scopes.iter().map(passerelle_protocol::ids::Scope::as_str).collect();
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        query
            .extend_pairs(&self.kind.authorize_params)
            .extend_pairs(&self.kind.reauthentication_params)
            .extend_pairs(request.forwarded_beside(&self.authorization));
        drop(query);
        Ok(url)
    }
}

#[async_trait]
impl Connector for Oauth2Connector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        Ok(AuthorizationRedirect {
            url: self.authorization_url(&request)?.into(),
            issuer: self.kind.issuer.clone(),
            client_id: self.kind.client_id.clone(),
            token_endpoint: self.kind.endpoints.token.clone(),
            iss_expected: self.kind.endpoints.iss_parameter,
            dpop_key: None,
        })
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let code = code_flow::validate_callback(
            &self.kind.issuer,
            &self.kind.client_id,
            &attempt,
            callback,
        )?;
        let proofs = TokenRequestProofs::default();
        let tokens =
            code_flow::redeem_code(&self.client, &self.http, code, &attempt, proofs).await?;
        let auth_time = self.env.now();
        let request = UserinfoRequest {
            method: http::Method::GET,
            endpoint: &self.userinfo,
            accepted: "application/json",
            access_token: &tokens.access_token,
            dpop: None,
        };
        let body = request.fetch(&self.http).await?;
        let claims = parse_userinfo(&body)?;
        let upstream_subject = extract_subject(&claims, &self.subject_claim)?;
        let level =
            self.acr_policy.evaluate(None, self.acr_policy.level_to_request(attempt.request.level));
        let level = level.map_err(|error| ConnectorError::new(error.code(), error.to_string()))?;
        Ok(Authentication {
            auth_time: Some(auth_time),
            claims,
            ..Authentication::new(self.id.clone(), upstream_subject, level)
        })
    }

    /// There is nothing to preload. A rejected call to userinfo without a token shows that the
    /// server works.
    async fn preload(&self) -> Result<(), ConnectorError> {
        self.check_userinfo(&self.http).await
    }

    async fn probe(&self) -> Result<(), ConnectorError> {
        self.check_userinfo(&self.probe_http).await
    }

    fn clock_skew(&self) -> Option<MeasuredSkew> {
        self.clock_skew.measured()
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        diagnose::diagnose(self, context).await
    }
}

/// Parses the user's claims.
///
/// # Errors
/// Returns [`ErrorCode::UserinfoMalformed`] if it is too large, or no JSON object.
pub fn parse_userinfo(body: &[u8]) -> Result<Map<String, Value>, ConnectorError> {
    if body.len() > MAX_USERINFO_BYTES {
        return Err(ConnectorError::new(
            ErrorCode::UserinfoMalformed,
            "userinfo is larger than 64 KiB",
        ));
    }
    json::parse_object(&json::replace_lone_surrogates(body)).map_err(|_| {
        ConnectorError::new(
            ErrorCode::UserinfoMalformed,
            "userinfo is not a JSON object without repeated members",
        )
    })
}

/// Returns the subject. Users without one would all share an identity, so it is required.
///
/// # Errors
/// Returns an error that names the claim if it is missing, empty, too long, or no text or integer.
pub fn extract_subject(
    claims: &Map<String, Value>,
    claim: &ClaimPath,
) -> Result<Secret<String>, ConnectorError> {
    let text = match claim.find(claims) {
        // What is no character would be the same in the subjects of several users.
        Some(Value::String(text)) if !text.contains('\u{ffff}') => Some(text.clone()),
        // Other numbers have several spellings.
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            Some(number.to_string())
        }
        _ => None,
    };
    if let Some(text) = text
        .filter(|text| !text.trim_ascii().is_empty() && text.chars().count() <= MAX_SUBJECT_CHARS)
    {
        Ok(Secret::new(text))
    } else {
        let message = format!(
            "{} is missing, empty, too long, or neither a string nor an integer; check subject_claim",
            claim.as_str()
        );
        Err(ConnectorError::new(ErrorCode::UserinfoSubjectMissing, message))
    }
}

#[cfg(test)]
mod tests;
