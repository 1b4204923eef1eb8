//! What an identity provider says about itself: its configuration document, or the endpoints of the connector's file.
//!
//! Owns: discovery and the trust put in it. Must not know: logins. OpenID Connect Discovery 1.0, RFC 8414, RFC 9207.

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

use crate::config::model::{OidcKind, UpstreamAuthMethod};
use crate::connector::ConnectorFault;
use crate::connector::code_flow::Client;
use crate::egress::guard::Guard;
use crate::egress::kept::{Fetched, life_of};
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;
use crate::telemetry::trace;

/// An identity provider's addresses, admitted by the guard.
pub struct Provider {
    pub issuer: IssuerUrl,
    pub client: Client,
    pub token_endpoint: String,
    pub userinfo_endpoint: Option<Url>,
    pub jwks_uri: Url,
    /// RP-Initiated Logout 1.0, 2.1.
    pub end_session_endpoint: Option<Url>,
    /// It announced that its authorization answers carry `iss` (RFC 9207, 3).
    pub iss_expected: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Announced {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    /// Whatever it is: logins must not depend on it.
    #[serde(default)]
    end_session_endpoint: Value,
}

impl AdditionalProviderMetadata for Announced {}

type Document = ProviderMetadata<
    Announced,
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

/// Discovers the identity provider, or takes the endpoints written in its file.
///
/// # Errors
/// The document can't be had, is unusable, names another issuer, or an address that must not be called.
pub async fn fetch(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    guard: &Guard,
) -> Result<Fetched<Provider>, ConnectorFault> {
    let discovered;
    let (addresses, life) = match &kind.endpoints {
        Some(endpoints) => {
            let addresses = Addresses {
                authorization: &endpoints.authorization,
                token: &endpoints.token,
                userinfo: Some(&endpoints.userinfo),
                jwks: &endpoints.jwks,
                end_session: endpoints.end_session.as_deref(),
                iss_expected: endpoints.iss_parameter,
            };
            (addresses, std::time::Duration::from_secs(86_400))
        }
        None => {
            // Discovery 1.0, 4.1: a terminating slash is removed before the path is appended.
            let url =
                format!("{}/.well-known/openid-configuration", kind.issuer.trim_end_matches('/'));
            let answer = get(guard, &url).await?;
            let life = life_of(answer.headers());
            discovered = document(&kind.issuer, answer.body())?;
            (Addresses::of(&discovered)?, life)
        }
    };
    Ok(Fetched { value: addresses.admitted(kind, client_secret, guard)?, life })
}

/// What a configuration document that is at hand says.
///
/// # Errors
/// As for [`fetch`].
pub fn read(
    kind: &OidcKind,
    client_secret: Option<&Secret<String>>,
    guard: &Guard,
    body: &[u8],
) -> Result<Provider, ConnectorFault> {
    let document = document(&kind.issuer, body)?;
    Addresses::of(&document)?.admitted(kind, client_secret, guard)
}

/// Gets a JSON document; any status but 200 is a fault.
pub async fn get(guard: &Guard, url: &str) -> Result<HttpResponse, ConnectorFault> {
    let request: HttpRequest = http::Request::get(url)
        .header(ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(|_| ConnectorFault::new(ErrorCode::IdpDiscovery, "an address is not a URL"))?;
    let answer = trace::span("idp document").run(guard.send_safe(request)).await?;
    match answer.status().as_u16() {
        200 => Ok(answer),
        status @ 300..=399 => {
            let why = format!(
                "a document was answered with status {status}: redirects are not followed, so name the final address"
            );
            Err(ConnectorFault::new(ErrorCode::IdpStatus, why))
        }
        _ => Err(ConnectorFault::of_status("the document's server", &answer)),
    }
}

fn document(issuer: &str, body: &[u8]) -> Result<Document, ConnectorFault> {
    let unusable = |why: &str| ConnectorFault::new(ErrorCode::IdpDiscovery, why);
    let members = json::parse_object(body)
        .map_err(|_| unusable("it is not a JSON object without repeated members"))?;
    // Discovery 1.0, 4.3: exactly the issuer that was asked for. Stops a document that speaks for somebody else.
    match members.get("issuer").and_then(Value::as_str) {
        Some(named) if named == issuer => {}
        Some(named) => {
            let is_slash = named.trim_end_matches('/') == issuer.trim_end_matches('/');
            let mend = if is_slash {
                "; the document's differs by a slash at the end, which belongs to the name"
            } else {
                ""
            };
            let why = format!("the connector's file says {issuer}{mend}");
            return Err(ConnectorFault::new(ErrorCode::IdpIssuerMismatch, why));
        }
        None => return Err(unusable("it has no issuer")),
    }
    serde_json::from_value(Value::Object(members)).map_err(|error| {
        // serde names the missing or mistyped member; the document is public.
        unusable(&error.to_string())
    })
}

struct Addresses<'a> {
    authorization: &'a str,
    token: &'a str,
    userinfo: Option<&'a str>,
    jwks: &'a str,
    end_session: Option<&'a str>,
    iss_expected: bool,
}

impl<'a> Addresses<'a> {
    fn of(document: &'a Document) -> Result<Self, ConnectorFault> {
        let Some(token) = document.token_endpoint() else {
            return Err(ConnectorFault::new(ErrorCode::IdpDiscovery, "it has no token_endpoint"));
        };
        Ok(Self {
            authorization: document.authorization_endpoint(),
            token,
            userinfo: document.userinfo_endpoint().map(|url| url.as_str()),
            jwks: document.jwks_uri(),
            end_session: document.additional_metadata().end_session_endpoint.as_str(),
            iss_expected: document
                .additional_metadata()
                .authorization_response_iss_parameter_supported,
        })
    }

    fn admitted(
        &self,
        kind: &OidcKind,
        client_secret: Option<&Secret<String>>,
        guard: &Guard,
    ) -> Result<Provider, ConnectorFault> {
        let admit = |name: &str, text: &str| -> Result<Url, ConnectorFault> {
            let url = Url::parse(text).map_err(|_| {
                ConnectorFault::new(
                    ErrorCode::IdpDiscovery,
                    format!("{name} is not an absolute URL"),
                )
            })?;
            guard.admit(&url)?;
            Ok(url)
        };
        let issuer = IssuerUrl::new(kind.issuer.clone()).map_err(|_| {
            ConnectorFault::new(ErrorCode::IdpDiscovery, "the issuer is not an absolute URL")
        })?;
        // The browser goes there, not we; the same rules keep it from `javascript:` and plain http.
        let authorization = admit("authorization_endpoint", self.authorization)?;
        let token = admit("token_endpoint", self.token)?;
        let client = CoreClient::new(
            ClientId::new(kind.client_id.clone()),
            issuer.clone(),
            JsonWebKeySet::default(),
        );
        let client = match client_secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.reveal().clone())),
            None => client,
        };
        let client = client
            .set_auth_type(match kind.token_endpoint_auth_method {
                UpstreamAuthMethod::ClientSecretBasic => AuthType::BasicAuth, // RFC 6749, 2.3.1
                UpstreamAuthMethod::ClientSecretPost | UpstreamAuthMethod::PrivateKeyJwt => {
                    AuthType::RequestBody
                }
            })
            .set_auth_uri(AuthUrl::from_url(authorization))
            .set_token_uri(TokenUrl::from_url(token));
        Ok(Provider {
            issuer,
            client,
            token_endpoint: self.token.to_owned(),
            userinfo_endpoint: self.userinfo.map(|text| admit("userinfo_endpoint", text)).transpose()?,
            jwks_uri: admit("jwks_uri", self.jwks)?,
            end_session_endpoint: self.end_session.and_then(|text| {
                let refused = |fault: &ConnectorFault| {
                    tracing::warn!(issuer = kind.issuer, %fault, "nobody is sent to this identity provider's logout");
                };
                admit("end_session_endpoint", text).inspect_err(refused).ok()
            }),
            iss_expected: self.iss_expected,
        })
    }
}
