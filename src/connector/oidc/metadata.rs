//! Metadata of an identity provider, from discovery or from the endpoints of the connector's file
//! (OpenID Connect Discovery 1.0, RFC 8414, RFC 9207).

use http::header::ACCEPT;
use openidconnect::core::{
    CoreAuthDisplay, CoreClaimName, CoreClaimType, CoreClient, CoreClientAuthMethod, CoreGrantType,
    CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm,
    CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AuthType, AuthUrl, ClientId, ClientSecret, HttpRequest,
    HttpResponse, IssuerUrl, JsonWebKeySet, ProviderMetadata, TokenUrl,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::fapi2;
use super::settings::{OidcKind, UpstreamAuthMethod, UpstreamFeature};
use crate::connector::code_flow::OauthClient;
use crate::connector::error::ConnectorError;
use crate::egress::cached_document::{FetchedDocument, cache_lifetime};
use crate::egress::safe_http_client::SafeHttpClient;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;
use crate::telemetry::trace;
use crate::token::dpop_key::DPOP_CLIENT_ALG;

/// Endpoints of an identity provider, which the HTTP client may call.
pub struct ResolvedProvider {
    pub issuer: IssuerUrl,
    pub client: OauthClient,
    pub authorization_endpoint: Url,
    pub token_endpoint: String,
    pub userinfo_endpoint: Option<Url>,
    pub jwks_uri: Url,
    /// RP-Initiated Logout 1.0 §2.1.
    pub end_session_endpoint: Option<Url>,
    /// The metadata announces `iss` in authorization responses (RFC 9207 §3).
    pub iss_expected: bool,
    /// RFC 9126 §5.
    pub pushed_request_endpoint: Option<Url>,
    /// The metadata announces the `claims` parameter (Discovery 1.0 §3).
    pub supports_claims_parameter: bool,
    /// The metadata demands signed request objects (RFC 9101 §10.5).
    pub requires_request_objects: bool,
    /// The tokens of a login are bound to its DPoP key.
    pub uses_dpop: bool,
    /// The hub presents its certificate where it authenticates.
    pub presents_certificate: bool,
    /// The hub presents its certificate at userinfo too, as tokens are bound to it.
    pub binds_to_certificate: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct ExtraMetadata {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    /// Of any type, as logins must not fail because of it.
    #[serde(default)]
    end_session_endpoint: Value,
    #[serde(default)]
    pushed_authorization_request_endpoint: Value,
    #[serde(default)]
    require_signed_request_object: Value,
    #[serde(default)]
    dpop_signing_alg_values_supported: Value,
    #[serde(default)]
    tls_client_certificate_bound_access_tokens: Value,
    #[serde(default)]
    mtls_endpoint_aliases: Value,
}

impl AdditionalProviderMetadata for ExtraMetadata {}

type DiscoveryDocument = ProviderMetadata<
    ExtraMetadata,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

/// Fetches the metadata, or takes the endpoints of the file.
///
/// # Errors
/// Returns an error if the document can't be fetched or parsed, names another issuer, or an address
/// that must not be called.
pub async fn fetch_provider(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    http: &SafeHttpClient,
) -> Result<FetchedDocument<ResolvedProvider>, ConnectorError> {
    let discovered;
    let (endpoints, lifetime) = if let Some(endpoints) = &kind.endpoints {
        let endpoints = EndpointTexts {
            authorization: &endpoints.authorization,
            token: &endpoints.token,
            userinfo: Some(&endpoints.userinfo),
            jwks: &endpoints.jwks,
            end_session: endpoints.end_session.as_deref(),
            iss_expected: endpoints.iss_parameter,
            pushed_request: endpoints.pushed_authorization_request.as_deref(),
            supports_claims_parameter: false,
            requires_request_objects: false,
            sender_constraint: SenderConstraint::from_file(kind),
        };
        (endpoints, std::time::Duration::from_secs(86_400))
    } else {
        // Discovery 1.0 §4.1: a trailing slash is removed before the path is appended.
        let url = format!("{}/.well-known/openid-configuration", kind.issuer.trim_end_matches('/'));
        let response = get_document(http, &url).await?;
        let lifetime = cache_lifetime(response.headers());
        discovered = parse_document(kind, response.body())?;
        (EndpointTexts::from_document(&discovered, kind)?, lifetime)
    };
    Ok(FetchedDocument { value: endpoints.resolve(kind, client_secret, http)?, lifetime })
}

/// Parses a fetched configuration document.
///
/// # Errors
/// Returns the errors of [`fetch_provider`], except those of fetching.
pub fn parse_provider(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    http: &SafeHttpClient,
    body: &[u8],
) -> Result<ResolvedProvider, ConnectorError> {
    let document = parse_document(kind, body)?;
    EndpointTexts::from_document(&document, kind)?.resolve(kind, client_secret, http)
}

/// Fetches a JSON document.
///
/// # Errors
/// Returns an error if the call fails, or the status is not 200.
pub async fn get_document(
    http: &SafeHttpClient,
    url: &str,
) -> Result<HttpResponse, ConnectorError> {
    let request: HttpRequest = http::Request::get(url)
        .header(ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|_| ConnectorError::new(ErrorCode::IdpDiscovery, "the address is not a URL"))?;
    let response = trace::start_span("idp document").run(http.send_with_retry(request)).await?;
    match response.status().as_u16() {
        200 => Ok(response),
        status @ 300..=399 => {
            let message = format!(
                "a document was answered with status {status}: redirects are not followed, so configure the final address"
            );
            Err(ConnectorError::new(ErrorCode::IdpStatus, message))
        }
        _ => Err(ConnectorError::unexpected_status("the document's server", &response)),
    }
}

fn parse_document(kind: &OidcKind, body: &[u8]) -> Result<DiscoveryDocument, ConnectorError> {
    let issuer = kind.issuer.as_str();
    let unusable = |message: &str| ConnectorError::new(ErrorCode::IdpDiscovery, message);
    let members = json::parse_object(body).map_err(|_| {
        unusable("the configuration document is not a JSON object without repeated members")
    })?;
    // Discovery 1.0 §4.3: exactly the configured issuer. Stops impersonation of another issuer.
    match members.get("issuer").and_then(Value::as_str) {
        Some(named) if named == issuer => {}
        Some(named) => {
            let is_slash = named.trim_end_matches('/') == issuer.trim_end_matches('/');
            let hint = if is_slash {
                "; the issuer of the document differs by a trailing slash, which is significant"
            } else {
                ""
            };
            let message = format!("the issuer in the connector's file is {issuer}{hint}");
            return Err(ConnectorError::new(ErrorCode::IdpIssuerMismatch, message));
        }
        None => return Err(unusable("the configuration document has no issuer")),
    }
    if kind.fapi2 {
        fapi2::check_document(kind, &members)?;
    }
    serde_json::from_value(Value::Object(members)).map_err(|error| {
        // The error names the missing or mistyped member. The document is public.
        unusable(&error.to_string())
    })
}

struct EndpointTexts<'a> {
    authorization: &'a str,
    token: &'a str,
    userinfo: Option<&'a str>,
    jwks: &'a str,
    end_session: Option<&'a str>,
    iss_expected: bool,
    pushed_request: Option<&'a str>,
    supports_claims_parameter: bool,
    requires_request_objects: bool,
    sender_constraint: SenderConstraint,
}

/// How the hub's requests and tokens are bound to it at this identity provider.
struct SenderConstraint {
    uses_dpop: bool,
    presents_certificate: bool,
    binds_to_certificate: bool,
}

impl SenderConstraint {
    fn from_file(kind: &OidcKind) -> Self {
        Self::new(
            kind,
            kind.dpop == UpstreamFeature::On,
            kind.tls_client_certificate_bound_access_tokens == UpstreamFeature::On,
        )
    }

    /// # Errors
    /// `IdpDiscovery` if the file switches on what the metadata excludes.
    fn from_metadata(kind: &OidcKind, metadata: &ExtraMetadata) -> Result<Self, ConnectorError> {
        let refuse = |message: &str| Err(ConnectorError::new(ErrorCode::IdpDiscovery, message));
        let algs = metadata.dpop_signing_alg_values_supported.as_array();
        let signs = algs.map(|algs| algs.iter().any(|alg| alg == DPOP_CLIENT_ALG.as_str()));
        if kind.dpop == UpstreamFeature::On && signs == Some(false) {
            return refuse(
                "its metadata has no ES256 in dpop_signing_alg_values_supported, but dpop is \"on\"",
            );
        }
        let binds = metadata.tls_client_certificate_bound_access_tokens == Value::Bool(true);
        let bound = kind.tls_client_certificate_bound_access_tokens;
        // RFC 8705 §3.3: absent means false, and nothing else shows that a token is bound.
        if bound == UpstreamFeature::On && !binds {
            return refuse(
                "its metadata has no tls_client_certificate_bound_access_tokens = true, but the file says \"on\"",
            );
        }
        let dpop = kind.dpop.is_used(signs == Some(true));
        Ok(Self::new(kind, dpop, bound.is_used(binds)))
    }

    fn new(kind: &OidcKind, uses_dpop: bool, binds_to_certificate: bool) -> Self {
        let method = kind.token_endpoint_auth_method;
        let presents_certificate = binds_to_certificate || method.uses_certificate();
        Self { uses_dpop, presents_certificate, binds_to_certificate }
    }
}

impl<'a> EndpointTexts<'a> {
    fn from_document(
        document: &'a DiscoveryDocument,
        kind: &OidcKind,
    ) -> Result<Self, ConnectorError> {
        let Some(token) = document.token_endpoint() else {
            return Err(ConnectorError::new(
                ErrorCode::IdpDiscovery,
                "the configuration document has no token_endpoint",
            ));
        };
        let more = document.additional_metadata();
        let sender_constraint = SenderConstraint::from_metadata(kind, more)?;
        // RFC 8705 §5: a client with a certificate uses the aliases where there are any.
        let alias = |is_used: bool, name: &str| {
            more.mtls_endpoint_aliases.get(name).and_then(Value::as_str).filter(|_| is_used)
        };
        let authenticates = sender_constraint.presents_certificate;
        let userinfo = document.userinfo_endpoint().map(|url| url.as_str());
        Ok(Self {
            authorization: document.authorization_endpoint(),
            token: alias(authenticates, "token_endpoint").unwrap_or(token),
            userinfo: alias(sender_constraint.binds_to_certificate, "userinfo_endpoint")
                .or(userinfo),
            jwks: document.jwks_uri(),
            end_session: more.end_session_endpoint.as_str(),
            iss_expected: more.authorization_response_iss_parameter_supported,
            pushed_request: alias(authenticates, "pushed_authorization_request_endpoint")
                .or(more.pushed_authorization_request_endpoint.as_str()),
            supports_claims_parameter: document.claims_parameter_supported() == Some(true),
            requires_request_objects: more.require_signed_request_object == Value::Bool(true),
            sender_constraint,
        })
    }

    fn resolve(
        &self,
        kind: &OidcKind,
        client_secret: Option<&Secret<String>>,
        http: &SafeHttpClient,
    ) -> Result<ResolvedProvider, ConnectorError> {
        let checked_url = |name: &str, text: &str| -> Result<Url, ConnectorError> {
            let url = Url::parse(text).map_err(|_| {
                ConnectorError::new(
                    ErrorCode::IdpDiscovery,
                    format!("{name} is not an absolute URL"),
                )
            })?;
            http.check_url(&url)?;
            Ok(url)
        };
        let issuer = IssuerUrl::new(kind.issuer.clone()).map_err(|_| {
            ConnectorError::new(ErrorCode::IdpDiscovery, "the issuer is not an absolute URL")
        })?;
        // Opened by the browser. The same rules stop `javascript:` and plain http.
        let authorization = checked_url("authorization_endpoint", self.authorization)?;
        let token = checked_url("token_endpoint", self.token)?;
        let client = oauth_client(kind, client_secret, &issuer)
            .set_auth_uri(AuthUrl::from_url(authorization.clone()))
            .set_token_uri(TokenUrl::from_url(token));
        Ok(ResolvedProvider {
            issuer,
            client,
            authorization_endpoint: authorization,
            token_endpoint: self.token.to_owned(),
            userinfo_endpoint: self
                .userinfo
                .map(|text| checked_url("userinfo_endpoint", text))
                .transpose()?,
            jwks_uri: checked_url("jwks_uri", self.jwks)?,
            end_session_endpoint: self.end_session.and_then(|text| {
                let log = |error: &ConnectorError| {
                    tracing::warn!(issuer = kind.issuer, %error, "end_session_endpoint ignored");
                };
                checked_url("end_session_endpoint", text).inspect_err(log).ok()
            }),
            iss_expected: self.iss_expected,
            // Only where it is used: an unusable address must not make other logins fail.
            pushed_request_endpoint: self
                .pushed_request
                .filter(|_| kind.pushed_authorization_requests != UpstreamFeature::Off)
                .map(|text| checked_url("pushed_authorization_request_endpoint", text))
                .transpose()?,
            supports_claims_parameter: self.supports_claims_parameter,
            requires_request_objects: self.requires_request_objects,
            uses_dpop: self.sender_constraint.uses_dpop,
            presents_certificate: self.sender_constraint.presents_certificate,
            binds_to_certificate: self.sender_constraint.binds_to_certificate,
        })
    }
}

/// Returns the client without its endpoints.
fn oauth_client(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    issuer: &IssuerUrl,
) -> CoreClient {
    let id = ClientId::new(kind.client_id.clone());
    let client = CoreClient::new(id, issuer.clone(), JsonWebKeySet::default());
    let client = match client_secret {
        Some(secret) => client.set_client_secret(ClientSecret::new(secret.reveal().clone())),
        None => client,
    };
    client.set_auth_type(match kind.token_endpoint_auth_method {
        UpstreamAuthMethod::ClientSecretBasic => AuthType::BasicAuth, // RFC 6749 §2.3.1
        UpstreamAuthMethod::ClientSecretPost
        | UpstreamAuthMethod::PrivateKeyJwt
        | UpstreamAuthMethod::TlsClientAuth
        | UpstreamAuthMethod::SelfSignedTlsClientAuth => AuthType::RequestBody,
    })
}
