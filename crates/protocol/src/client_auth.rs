//! Reads client authentication from a request (RFC 6749 §2.3; RFC 7521 §4.2; OpenID Connect Core
//! 1.0 §9).
//!
//! Responsible for the registered names of the methods, and for the method that a request uses.
//! Does not depend on the client, its registered method, or whether a secret or signature is right.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::json;
use super::params::Params;
use super::sender_constraint::ForwardedCertificate;
use crate::digest;
use crate::ids::{ClientId, Secret};

/// Client authentication method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMethod {
    /// Id and secret in the form body; the federation's method.
    #[default]
    ClientSecretPost,
    /// Id and secret in the Authorization header, each form-encoded.
    ClientSecretBasic,
    /// A JWT signed with the client's private key (RFC 7523).
    PrivateKeyJwt,
    /// A client certificate of an authority of the hub's operator (RFC 8705 §2.1).
    TlsClientAuth,
    /// A client certificate of the client's own `jwks` (RFC 8705 §2.2).
    SelfSignedTlsClientAuth,
    /// A public client's: its id only. PKCE protects its codes.
    None,
}

impl AuthMethod {
    /// Returns the registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientSecretPost => "client_secret_post",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::TlsClientAuth => "tls_client_auth",
            Self::SelfSignedTlsClientAuth => "self_signed_tls_client_auth",
            Self::None => "none",
        }
    }
}

/// Names of the authentication methods that need no client certificate. `none` is last.
const AUTH_METHODS: &[&str] = &[
    AuthMethod::ClientSecretPost.as_str(),
    AuthMethod::ClientSecretBasic.as_str(),
    AuthMethod::PrivateKeyJwt.as_str(),
    AuthMethod::None.as_str(),
];

/// Returns the names of the supported methods that need no client certificate; `none` only if there
/// are public clients.
pub fn supported_auth_methods(has_public_clients: bool) -> &'static [&'static str] {
    match AUTH_METHODS.split_last() {
        Some((_none, confidential)) if !has_public_clients => confidential,
        _ => AUTH_METHODS,
    }
}

/// `client_assertion_type` of a JWT (RFC 7523 §2.2).
pub const JWT_BEARER_ASSERTION_TYPE: &str =
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Unverified client credentials of a request.
#[derive(Clone, Debug)]
pub enum Credentials {
    SecretPost {
        client_id: ClientId,
        secret: Secret<String>,
    },
    SecretBasic {
        client_id: ClientId,
        secret: Secret<String>,
    },
    Assertion {
        /// Unverified issuer of the assertion; `None` if it can't be read.
        claimed: Option<ClientId>,
        assertion: Secret<String>,
    },
    /// Only a `client_id`: enough for a public client, a missing secret for any other.
    Public {
        client_id: ClientId,
    },
    /// Only a `client_id`, over a connection with a client certificate.
    Certificate {
        client_id: ClientId,
        certificate: ForwardedCertificate,
    },
}

impl Credentials {
    /// Returns the `client_id` that the credentials name, unverified.
    pub const fn claimed_client(&self) -> Option<&ClientId> {
        match self {
            Self::SecretPost { client_id, .. }
            | Self::SecretBasic { client_id, .. }
            | Self::Certificate { client_id, .. }
            | Self::Public { client_id } => Some(client_id),
            Self::Assertion { claimed, .. } => claimed.as_ref(),
        }
    }

    /// Returns whether anyone can send these credentials: a public client's, which libraries also
    /// send as a header with an empty secret.
    pub fn prove_nothing(&self) -> bool {
        match self {
            Self::Public { .. } => true,
            Self::SecretBasic { secret, .. } => secret.reveal().is_empty(),
            Self::SecretPost { .. } | Self::Assertion { .. } | Self::Certificate { .. } => false,
        }
    }

    /// Adds the certificate of the connection, where the request has no other credentials.
    #[must_use]
    pub fn with_certificate(self, certificate: Option<&ForwardedCertificate>) -> Self {
        match (self, certificate) {
            (Self::Public { client_id }, Some(certificate)) => {
                Self::Certificate { client_id, certificate: certificate.clone() }
            }
            (offered, _) => offered,
        }
    }
}

/// Reads the client credentials of a request. `authorization` holds every `Authorization` header,
/// `body` the form.
///
/// # Errors
/// No `client_id`, or more than one method; different ids; a missing or repeated parameter; an
/// unreadable header.
pub fn read_credentials(body: &Params, authorization: &[&[u8]]) -> Result<Credentials, ErrorCode> {
    let client_id = body.once(Param::TokenClientId)?;
    let client_secret = body.once(Param::TokenClientSecret)?;
    let assertion = body.once(Param::TokenClientAssertion)?;
    let assertion_type = body.once(Param::TokenClientAssertionType)?;

    // RFC 6749 §2.3: at most one method per request.
    let by_assertion = assertion.is_some() || assertion_type.is_some();
    let methods =
        usize::from(client_secret.is_some()) + usize::from(by_assertion) + authorization.len();
    if methods > 1 {
        return Err(ErrorCode::TokenTwoMethods);
    }
    if let Some(header) = authorization.first() {
        return credentials_from_header(client_id, header);
    }
    if by_assertion {
        return credentials_from_assertion(client_id, body);
    }
    let client_id = body.required(RequiredParam::TokenClientId)?;
    let client_id = client_id.into();
    Ok(match client_secret {
        Some(secret) => {
            Credentials::SecretPost { client_id, secret: Secret::new(secret.to_owned()) }
        }
        None => Credentials::Public { client_id },
    })
}

fn credentials_from_header(in_body: Option<&str>, header: &[u8]) -> Result<Credentials, ErrorCode> {
    let (client_id, secret) = parse_basic(header).ok_or(ErrorCode::ClientHeaderMalformed)?;
    if in_body.is_some_and(|in_body| in_body != client_id) {
        return Err(ErrorCode::TokenClientIdDiffers);
    }
    Ok(Credentials::SecretBasic {
        client_id: client_id.as_str().into(),
        secret: Secret::new(secret),
    })
}

fn credentials_from_assertion(
    in_body: Option<&str>,
    body: &Params,
) -> Result<Credentials, ErrorCode> {
    let kind = body.required(RequiredParam::TokenClientAssertionType)?;
    let assertion = body.required(RequiredParam::TokenClientAssertion)?;
    if kind != JWT_BEARER_ASSERTION_TYPE {
        return Err(ErrorCode::ClientAssertionTypeUnsupported);
    }
    let claimed = claimed_issuer(assertion);
    // RFC 7521 §4.2: a client_id beside an assertion is optional, and must name the same client.
    if let (Some(in_body), Some(claimed)) = (in_body, &claimed)
        && in_body != claimed
    {
        return Err(ErrorCode::TokenClientIdDiffers);
    }
    let claimed = claimed.map(|claimed| claimed.as_str().into());
    Ok(Credentials::Assertion { claimed, assertion: Secret::new(assertion.to_owned()) })
}

/// Parses a Basic header into the form-decoded id and secret (RFC 6749 §2.3.1; RFC 7617 §2).
fn parse_basic(header: &[u8]) -> Option<(String, String)> {
    let (scheme, credentials) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let credentials =
        String::from_utf8(STANDARD.decode(credentials.trim_matches(' ')).ok()?).ok()?;
    let (client_id, secret) = credentials.split_once(':')?;
    let (client_id, secret) = (form_decode(client_id)?, form_decode(secret)?);
    (!client_id.is_empty()).then_some((client_id, secret))
}

/// Decodes one form value. `None` if it holds a raw `&`, which would end the field and hide the
/// rest.
fn form_decode(half: &str) -> Option<String> {
    if half.contains('&') {
        return None;
    }
    let field = format!("value={half}");
    url::form_urlencoded::parse(field.as_bytes()).next().map(|(_, value)| value.into_owned())
}

/// Returns the unverified `iss` of a compact JWS; it only selects the keys to try.
fn claimed_issuer(assertion: &str) -> Option<String> {
    let payload = assertion.split('.').nth(1).and_then(digest::from_base64url)?;
    let claims = json::parse_object(&payload).ok()?;
    claims.get("iss").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests;
