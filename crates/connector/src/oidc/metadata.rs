//! Metadata of an identity provider, from discovery or from the endpoints of the connector's file
//! (OpenID Connect Discovery 1.0, RFC 8414, RFC 9207).

use std::collections::BTreeSet;
use std::sync::Arc;

use openidconnect::core::CoreClient;
use openidconnect::{
    AuthType, AuthUrl, ClientId, ClientSecret, IssuerUrl, JsonWebKeySet, TokenUrl,
};
use serde_json::{Map, Value};
use url::Url;

use super::documents::DocumentClient;
use super::fapi2;
use super::malformed_metadata::{
    MalformedMember, find_malformed_members, format_repeated, needed_url, optional_url,
};
use super::settings::{OidcKind, UpstreamAuthMethod, UpstreamFeature};
use crate::code_flow::OauthClient;
use crate::error::ConnectorError;
use passerelle_egress::cached_document::{FetchedDocument, cache_lifetime};
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_jose::dpop_key::DPOP_CLIENT_ALG;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;

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
    /// Members of the configuration document that are malformed, and that no login needs.
    pub malformed_members: Vec<MalformedMember>,
    /// Every address, as announced.
    pub addresses: Arc<[String]>,
}

/// Fetches the metadata, or takes the endpoints of the file.
///
/// # Errors
/// Returns an error if the document can't be fetched or parsed, names another issuer, or an address
/// that must not be called.
pub(crate) async fn fetch_provider(
    kind: &OidcKind,
    secret: Option<&Secret<String>>,
    documents: DocumentClient<'_>,
) -> Result<FetchedDocument<ResolvedProvider>, ConnectorError> {
    let http = documents.http;
    let Some(endpoints) = &kind.endpoints else {
        // Discovery 1.0 §4.1: a trailing slash is removed before the path is appended.
        let url = format!("{}/.well-known/openid-configuration", kind.issuer.trim_end_matches('/'));
        let response = documents.get(&url).await?;
        let value = parse_provider(kind, secret, http, response.body())?;
        return Ok(FetchedDocument { value, lifetime: cache_lifetime(response.headers()) });
    };
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
    let value = endpoints.resolve(kind, secret, http)?;
    Ok(FetchedDocument { value, lifetime: std::time::Duration::from_secs(86_400) })
}

/// Parses a fetched configuration document. A malformed or repeated member that no login needs
/// counts as absent.
///
/// # Errors
/// Returns the errors of `fetch_provider`, except those of fetching.
pub fn parse_provider(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    http: &SafeHttpClient,
    body: &[u8],
) -> Result<ResolvedProvider, ConnectorError> {
    let text = json::replace_lone_surrogates(body);
    let document = json::parse_object_without_repeated(&text).map_err(|_| {
        let message = "the configuration document is not a JSON object";
        ConnectorError::new(ErrorCode::IdpDiscovery, message)
    })?;
    refuse_needed_repeated(kind, &document.repeated)?;
    let members = &document.members;
    let resolve = || {
        check_document(kind, members)?;
        EndpointTexts::from_document(members, kind)?.resolve(kind, client_secret, http)
    };
    let provider = resolve().map_err(|error| name_repeated(error, &document.repeated))?;
    Ok(ResolvedProvider { malformed_members: find_malformed_members(&document), ..provider })
}

/// Refuses a repeated member from which the hub takes the issuer or an address: it can't know which
/// value is meant.
///
/// # Errors
/// `IdpDiscovery` with the names of the members.
pub(crate) fn refuse_needed_repeated(
    kind: &OidcKind,
    repeated: &BTreeSet<String>,
) -> Result<(), ConnectorError> {
    let is_needed = |pointer: &String| match pointer.split('/').nth(1) {
        Some(
            "issuer"
            | "authorization_endpoint"
            | "token_endpoint"
            | "userinfo_endpoint"
            | "jwks_uri",
        ) => true,
        Some("pushed_authorization_request_endpoint") => {
            kind.pushed_authorization_requests != UpstreamFeature::Off
        }
        Some("mtls_endpoint_aliases") => {
            kind.token_endpoint_auth_method.uses_certificate()
                || kind.tls_client_certificate_bound_access_tokens != UpstreamFeature::Off
        }
        _ => false,
    };
    let needed: BTreeSet<String> =
        repeated.iter().filter(|pointer| is_needed(pointer)).cloned().collect();
    if needed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the configuration document repeats {}, which logins need; ask the identity provider to publish each member once",
        format_repeated(&needed)
    );
    Err(ConnectorError::new(ErrorCode::IdpDiscovery, message))
}

/// Adds the repeated members, which count as absent, to an error that one of them may explain.
fn name_repeated(error: ConnectorError, repeated: &BTreeSet<String>) -> ConnectorError {
    if repeated.is_empty() || error.code != ErrorCode::IdpDiscovery {
        return error;
    }
    let detail = format!("{}; the document repeats {}", error.detail, format_repeated(repeated));
    ConnectorError { detail, ..error }
}

fn check_document(kind: &OidcKind, members: &Map<String, Value>) -> Result<(), ConnectorError> {
    let issuer = kind.issuer.as_str();
    let unusable = |message: &str| ConnectorError::new(ErrorCode::IdpDiscovery, message);
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
        fapi2::check_document(kind, members)?;
    }
    Ok(())
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
    fn from_metadata(
        kind: &OidcKind,
        metadata: &Map<String, Value>,
    ) -> Result<Self, ConnectorError> {
        let refuse = |message: &str| Err(ConnectorError::new(ErrorCode::IdpDiscovery, message));
        let algs = metadata.get("dpop_signing_alg_values_supported").and_then(Value::as_array);
        let signs = algs.map(|algs| algs.iter().any(|alg| alg == DPOP_CLIENT_ALG.as_str()));
        if kind.dpop == UpstreamFeature::On && signs == Some(false) {
            return refuse(
                "its metadata has no ES256 in dpop_signing_alg_values_supported, but dpop is \"on\"",
            );
        }
        let binds = is_true(metadata, "tls_client_certificate_bound_access_tokens");
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
        members: &'a Map<String, Value>,
        kind: &OidcKind,
    ) -> Result<Self, ConnectorError> {
        let needed = |name: &str| {
            needed_url(members, name).map_err(|why| {
                let message = format!("the configuration document is unusable: {why}");
                ConnectorError::new(ErrorCode::IdpDiscovery, message)
            })
        };
        // Where the file relies on it, a malformed one must not count as absent.
        let unless_needed = |is_needed: bool, name: &str| {
            if is_needed { needed(name).map(Some) } else { Ok(optional_url(members, name)) }
        };
        let sender_constraint = SenderConstraint::from_metadata(kind, members)?;
        // RFC 8705 §5: a client with a certificate uses the aliases where there are any.
        let aliases = members.get("mtls_endpoint_aliases");
        let alias = |is_used: bool, name: &str| {
            aliases.and_then(|aliases| aliases.get(name)?.as_str()).filter(|_| is_used)
        };
        let authenticates = sender_constraint.presents_certificate;
        let userinfo =
            unless_needed(kind.userinfo_signed_response_alg.is_some(), "userinfo_endpoint")?;
        let pushes = kind.pushed_authorization_requests == UpstreamFeature::On;
        let pushed_request = "pushed_authorization_request_endpoint";
        Ok(Self {
            authorization: needed("authorization_endpoint")?,
            token: alias(authenticates, "token_endpoint")
                .map_or_else(|| needed("token_endpoint"), Ok)?,
            userinfo: alias(sender_constraint.binds_to_certificate, "userinfo_endpoint")
                .or(userinfo),
            jwks: needed("jwks_uri")?,
            end_session: optional_url(members, "end_session_endpoint"),
            iss_expected: is_true(members, "authorization_response_iss_parameter_supported"),
            pushed_request: match alias(authenticates, pushed_request) {
                Some(alias) => Some(alias),
                None => unless_needed(pushes, pushed_request)?,
            },
            supports_claims_parameter: is_true(members, "claims_parameter_supported"),
            requires_request_objects: is_true(members, "require_signed_request_object"),
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
            malformed_members: Vec::new(),
            addresses: [self.authorization, self.token, self.jwks]
                .into_iter()
                .chain([self.userinfo, self.end_session, self.pushed_request].into_iter().flatten())
                .map(str::to_owned)
                .collect(),
        })
    }
}

fn is_true(members: &Map<String, Value>, name: &str) -> bool {
    members.get(name) == Some(&Value::Bool(true))
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
