//! Reads client authentication from a request (RFC 6749 §2.3; RFC 7521 §4.2; OpenID Connect Core
//! 1.0 §9).
//!
//! Responsible for the registered names of the methods, and for the method that a request uses.
//! Does not know the client, its registered method, or whether a secret or signature is right.

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
    #[must_use]
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

/// Registered names: of the methods of confidential clients, then of public ones.
const AUTH_METHODS: &[&str] = &[
    AuthMethod::ClientSecretPost.as_str(),
    AuthMethod::ClientSecretBasic.as_str(),
    AuthMethod::PrivateKeyJwt.as_str(),
    AuthMethod::None.as_str(),
];

/// Returns the registered names of the methods that work: `none` only with public clients.
#[must_use]
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
/// No `client_id`, or more than one method; different ids; a missing or repeated parameter; an unreadable
/// header.
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
mod tests {
    use super::*;
    use crate::protocol::error_response::ErrorResponse;
    use proptest::prelude::*;
    use serde_json::json;

    fn offered(body: &str, headers: &[&str]) -> Result<Credentials, ErrorCode> {
        let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
        read_credentials(&Params::decode(body.as_bytes()), &headers)
    }

    fn refusal(body: &str, headers: &[&str]) -> ErrorCode {
        offered(body, headers).unwrap_err()
    }

    fn basic_header(both: &str) -> String {
        format!("Basic {}", STANDARD.encode(both))
    }

    /// A token of this issuer with an invalid signature.
    fn assertion_from(issuer: &str) -> String {
        let part = |value: Value| digest::base64url(value.to_string().as_bytes());
        format!("{}.{}.c2ln", part(json!({ "alg": "ES256" })), part(json!({ "iss": issuer })))
    }

    fn by_assertion(assertion: &str) -> String {
        let pairs =
            [("client_assertion_type", JWT_BEARER_ASSERTION_TYPE), ("client_assertion", assertion)];
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }

    #[test]
    fn each_method_is_known_by_what_it_sends() {
        let Ok(Credentials::SecretPost { client_id, secret }) =
            offered("client_id=sp&client_secret=s+3", &[])
        else {
            panic!()
        };
        assert_eq!((client_id.as_str(), secret.reveal().as_str()), ("sp", "s 3"));
        for body in ["", "client_id=sp", "client_secret="] {
            let Ok(Credentials::SecretBasic { client_id, secret }) =
                offered(body, &[&basic_header("sp:s3")])
            else {
                panic!()
            };
            assert_eq!((client_id.as_str(), secret.reveal().as_str()), ("sp", "s3"));
        }
        for id in ["", "&client_id=sp"] {
            let body = format!("{}{id}", by_assertion(&assertion_from("sp")));
            let Ok(Credentials::Assertion { claimed, .. }) = offered(&body, &[]) else { panic!() };
            assert_eq!(claimed.unwrap().as_str(), "sp");
        }
    }

    /// RFC 6749 §2.3.1 and its appendix B: a `:` in an id, a `+` or `%` in a secret survive.
    #[test]
    fn both_halves_of_the_header_are_form_decoded() {
        for (both, id, expected) in [
            ("s%70:a+b%2Bc%25", "sp", "a b+c%"),
            ("a%3Ab:c:d", "a:b", "c:d"),
            ("sp:", "sp", ""),
            ("sp:%C3%A9=", "sp", "é="),
            ("sp:not%encoded", "sp", "not%encoded"),
        ] {
            let Ok(Credentials::SecretBasic { client_id, secret }) =
                offered("", &[&basic_header(both)])
            else {
                panic!("{both}")
            };
            assert_eq!((client_id.as_str(), secret.reveal().as_str()), (id, expected), "{both}");
        }
        let lower = basic_header("sp:s").replace("Basic ", "bAsIc  ");
        assert!(
            matches!(offered("", &[&lower]), Ok(Credentials::SecretBasic { .. })),
            "the scheme's case is ignored, RFC 9110 §11.1"
        );
    }

    #[test]
    fn a_header_that_can_not_be_read_looks_like_a_wrong_secret() {
        let not_text = format!("Basic {}", STANDARD.encode(b"sp:\xff"));
        for header in [
            "Basic",
            "Basic !",
            "Bearer x",
            "",
            &basic_header("sp"),
            &basic_header(":s"),
            &basic_header("sp&x:s"),
            &basic_header("sp:s&x"),
            &not_text,
        ] {
            assert_eq!(
                refusal("client_id=other", &[header]),
                ErrorCode::ClientHeaderMalformed,
                "{header}"
            );
        }
        let wrong_secret = ErrorResponse::for_client(
            ErrorCode::ClientAuthentication,
            super::super::error_response::AuthLocation::Header,
        );
        assert_eq!(
            ErrorResponse::for_client(
                ErrorCode::ClientHeaderMalformed,
                super::super::error_response::AuthLocation::Header
            ),
            wrong_secret
        );
    }

    #[test]
    fn no_method_is_named_by_the_parameter_that_is_missing() {
        for (body, code) in [
            ("", ErrorCode::Missing(RequiredParam::TokenClientId)),
            ("client_secret=s", ErrorCode::Missing(RequiredParam::TokenClientId)),
            (
                "client_id=sp&client_assertion=j",
                ErrorCode::Missing(RequiredParam::TokenClientAssertionType),
            ),
            (
                "client_id=sp&client_assertion_type=t",
                ErrorCode::Missing(RequiredParam::TokenClientAssertion),
            ),
        ] {
            assert_eq!(refusal(body, &[]), code, "{body}");
            assert_eq!((code.entry().status, code.entry().oauth), (400, "invalid_request"));
        }
        for (code, name) in [
            (ErrorCode::Missing(RequiredParam::TokenClientAssertionType), "client_assertion_type "),
            (ErrorCode::Missing(RequiredParam::TokenClientAssertion), "client_assertion "),
        ] {
            assert!(code.entry().description.contains(name));
        }
    }

    #[test]
    fn an_id_alone_is_what_a_public_client_sends() {
        for body in ["client_id=sp", "client_id=sp&client_secret="] {
            let Ok(Credentials::Public { client_id }) = offered(body, &[]) else { panic!() };
            assert_eq!(client_id.as_str(), "sp");
        }
    }

    #[test]
    fn two_methods_at_once_are_refused() {
        let header = basic_header("sp:s");
        let jwt = by_assertion(&assertion_from("sp"));
        for (body, headers) in [
            ("client_id=sp&client_secret=s", vec![header.as_str()]),
            (&format!("client_id=sp&client_secret=s&{jwt}"), vec![]),
            ("client_id=sp&client_secret=s&client_assertion_type=t", vec![]),
            (&jwt, vec![&header]),
            ("", vec![&header, &header]),
        ] {
            assert_eq!(refusal(body, &headers), ErrorCode::TokenTwoMethods, "{body} {headers:?}");
        }
    }

    #[test]
    fn ids_that_differ_are_refused() {
        assert_eq!(
            refusal("client_id=sp", &[&basic_header("other:s")]),
            ErrorCode::TokenClientIdDiffers
        );
        let body = format!("{}&client_id=other", by_assertion(&assertion_from("sp")));
        assert_eq!(refusal(&body, &[]), ErrorCode::TokenClientIdDiffers);
    }

    #[test]
    fn another_kind_of_assertion_is_an_unsupported_method() {
        let saml = by_assertion(&assertion_from("sp")).replace("jwt-bearer", "saml2-bearer");
        assert_eq!(refusal(&saml, &[]), ErrorCode::ClientAssertionTypeUnsupported);
        assert_eq!(
            ErrorResponse::from(ErrorCode::ClientAssertionTypeUnsupported),
            ErrorResponse::from(ErrorCode::ClientAuthentication)
        );
    }

    #[test]
    fn an_assertion_that_can_not_be_read_claims_no_client() {
        for assertion in ["j", "a.b.c", "..", "a.e30.c", &assertion_from("sp").replace('.', "")] {
            let Ok(Credentials::Assertion { claimed, .. }) = offered(&by_assertion(assertion), &[])
            else {
                panic!()
            };
            assert_eq!(claimed, None, "{assertion}");
        }
    }

    #[test]
    fn nothing_offered_is_printed() {
        let header = basic_header("sp:s3cret");
        for (body, headers) in
            [("client_id=sp&client_secret=s3cret", vec![]), ("", vec![header.as_str()])]
        {
            let printed = format!("{:?}", offered(body, &headers).unwrap());
            assert!(!printed.contains("s3cret"), "{printed}");
        }
        let assertion = assertion_from("sp");
        let printed = format!("{:?}", offered(&by_assertion(&assertion), &[]).unwrap());
        assert!(!printed.contains(&assertion));
    }

    proptest! {
        #[test]
        fn what_a_client_form_encodes_comes_back(id in "[!-~]{1,40}", secret in "\\PC{0,40}") {
            let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let header = basic_header(&format!("{}:{}", encoded(&id), encoded(&secret)));
            let Ok(Credentials::SecretBasic { client_id, secret: read }) = offered("", &[&header]) else { panic!() };
            prop_assert_eq!((client_id.as_str(), read.reveal().as_str()), (id.as_str(), secret.as_str()));
        }
    }
}
