//! The token request and response (RFC 6749 §4.1.3 and §5.1).
//!
//! Responsible for their form and for the code of every format error. [`super::client_auth`] reads
//! the credentials. [`super::pkce`] checks the form of the verifier later, with its proof: a
//! malformed verifier must consume the code too.

use serde::Serialize;

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::client_auth::{self, Credentials};
use super::params::{Params, is_form_urlencoded};
use super::refresh::{self, RefreshTokenGrant};
use super::sender_constraint::{Confirmation, ProofOfPossession};
use crate::ids::{Scope, Secret};

/// A well-formed token request with an unauthenticated client and an unchecked grant.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    pub credentials: Credentials,
    pub grant: TokenGrant,
    /// Empty until [`TokenRequest::with_proof_of_possession`].
    pub proof_of_possession: ProofOfPossession,
}

/// What a client exchanges for tokens (RFC 6749 §1.3), by `grant_type`.
#[derive(Clone, Debug)]
pub enum TokenGrant {
    /// `authorization_code`
    AuthorizationCode(AuthorizationCodeGrant),
    /// `refresh_token`
    RefreshToken(RefreshTokenGrant),
}

/// A code, and what it is bound to.
#[derive(Clone, Debug)]
pub struct AuthorizationCodeGrant {
    pub redirect_uri: String,
    pub code: Secret<String>,
    /// As sent; [`super::pkce::proves`] checks it.
    pub code_verifier: Option<Secret<String>>,
}

impl TokenRequest {
    /// Adds the request's proof of possession of a key.
    #[must_use]
    pub fn with_proof_of_possession(self, proof_of_possession: ProofOfPossession) -> Self {
        let credentials =
            self.credentials.with_certificate(proof_of_possession.certificate.as_ref());
        Self { credentials, proof_of_possession, ..self }
    }
}

/// Reads a token request. `authorization` holds every `Authorization` header, `body` the decoded
/// form. Without `refresh_tokens`, that grant type is unsupported.
///
/// # Errors
/// The first failed check; [`super::error_response::ErrorResponse`] is the response to it.
pub fn parse_request(
    content_type: Option<&str>,
    authorization: &[&[u8]],
    body: &Params,
    refresh_tokens: RefreshTokenSupport,
) -> Result<TokenRequest, ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(ErrorCode::TokenNotForm);
    }
    let is_refresh = refresh_tokens == RefreshTokenSupport::On
        && body.get("grant_type") == Some(refresh::GRANT_TYPE);
    let (credentials, grant) = if is_refresh {
        body.check_repeated(&[Param::TokenGrantType])?;
        body.check_repeated(Param::REFRESH)?;
        let credentials = client_auth::read_credentials(body, authorization)?;
        (credentials, TokenGrant::RefreshToken(RefreshTokenGrant::parse(body)?))
    } else {
        body.check_repeated(Param::TOKEN)?;
        let credentials = client_auth::read_credentials(body, authorization)?;
        (credentials, TokenGrant::AuthorizationCode(AuthorizationCodeGrant::parse(body)?))
    };
    Ok(TokenRequest { credentials, grant, proof_of_possession: ProofOfPossession::default() })
}

/// Whether any client may use refresh tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefreshTokenSupport {
    Off,
    On,
}

impl AuthorizationCodeGrant {
    fn parse(body: &Params) -> Result<Self, ErrorCode> {
        if body.required(RequiredParam::TokenGrantType)? != "authorization_code" {
            return Err(ErrorCode::TokenGrantTypeUnsupported);
        }
        let verifier = body.once(Param::TokenCodeVerifier)?;
        Ok(Self {
            redirect_uri: body.required(RequiredParam::TokenRedirectUri)?.to_owned(),
            code: Secret::new(body.required(RequiredParam::TokenCode)?.to_owned()),
            code_verifier: verifier.map(|verifier| Secret::new(verifier.to_owned())),
        })
    }
}

/// The token response (R020), with a refresh token only where the client's file allows it.
/// Serializes to the JSON body in the specification's member order.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct TokenResponse {
    #[serde(serialize_with = "crate::ids::issued_secret")]
    access_token: Secret<String>,
    /// Seconds.
    expires_in: u64,
    #[serde(serialize_with = "crate::ids::issued_secret")]
    id_token: Option<Secret<String>>,
    scope: String,
    token_type: &'static str,
    #[serde(serialize_with = "crate::ids::issued_secret")]
    refresh_token: Option<Secret<String>>,
}

impl TokenResponse {
    /// Creates a response. `expires_in` is the access token's lifetime in seconds, `scopes` what
    /// was granted and consented to.
    pub fn new(access_token: String, expires_in: u64, id_token: String, scopes: &[Scope]) -> Self {
        Self::refreshed(access_token, expires_in, scopes).with_id_token(Some(id_token))
    }

    /// Adds an ID token, if there is one.
    #[must_use]
    pub fn with_id_token(self, id_token: Option<String>) -> Self {
        Self { id_token: id_token.map(Secret::new), ..self }
    }

    /// Creates the response to a refresh, without an ID token.
    pub fn refreshed(access_token: String, expires_in: u64, scopes: &[Scope]) -> Self {
        let scope = scopes.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ");
        Self {
            access_token: Secret::new(access_token),
            expires_in,
            id_token: None,
            scope,
            token_type: "Bearer",
            refresh_token: None,
        }
    }

    /// Adds a refresh token, if there is a new one.
    #[must_use]
    pub fn with_refresh_token(self, refresh_token: Option<Secret<String>>) -> Self {
        Self { refresh_token, ..self }
    }

    /// Names the type of an access token that is bound to this key (RFC 9449 §5).
    #[must_use]
    pub fn bound_to(self, key: Option<&Confirmation>) -> Self {
        Self { token_type: key.map_or("Bearer", Confirmation::token_type), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    const GOOD: &str = "grant_type=authorization_code&client_id=sp&client_secret=s3cret&redirect_uri=https%3A%2F%2Fsp.example%2Fcb&code=C";

    fn read(body: &str, headers: &[&str]) -> Result<TokenRequest, ErrorCode> {
        let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
        let body = Params::decode(body.as_bytes());
        parse_request(FORM, &headers, &body, RefreshTokenSupport::Off)
    }

    fn code_grant(body: &str) -> AuthorizationCodeGrant {
        match read(body, &[]).unwrap().grant {
            TokenGrant::AuthorizationCode(grant) => grant,
            TokenGrant::RefreshToken(_) => panic!("a refresh token"),
        }
    }

    fn without(name: &str) -> String {
        GOOD.split('&')
            .filter(|pair| !pair.starts_with(&format!("{name}=")))
            .collect::<Vec<_>>()
            .join("&")
    }

    #[test]
    fn a_whole_request_is_read() {
        let request = read(&format!("{GOOD}&code_verifier=v&unknown=1&unknown=2"), &[]).unwrap();
        assert!(matches!(&request.credentials, Credentials::SecretPost { client_id, secret }
            if client_id.as_str() == "sp" && secret.reveal() == "s3cret"));
        let grant = code_grant(&format!("{GOOD}&code_verifier=v&unknown=1&unknown=2"));
        assert_eq!(grant.redirect_uri, "https://sp.example/cb");
        assert_eq!(grant.code.reveal(), "C");
        assert_eq!(grant.code_verifier.unwrap().reveal(), "v");
        assert!(code_grant(GOOD).code_verifier.is_none());
    }

    #[test]
    fn neither_secret_nor_code_is_printed() {
        let printed = format!("{:?}", read(GOOD, &[]).unwrap());
        assert!(!printed.contains("s3cret") && !printed.contains("\"C\""), "{printed}");
        let printed = format!("{:?}", TokenResponse::new("acc3ss".into(), 1, "1dent".into(), &[]));
        assert!(!printed.contains("acc3ss") && !printed.contains("1dent"), "{printed}");
    }

    #[test]
    fn each_parameter_is_named_when_missing_empty_or_twice() {
        for (name, missing, twice) in [
            (
                "grant_type",
                ErrorCode::Missing(RequiredParam::TokenGrantType),
                ErrorCode::Repeated(Param::TokenGrantType),
            ),
            (
                "client_id",
                ErrorCode::Missing(RequiredParam::TokenClientId),
                ErrorCode::Repeated(Param::TokenClientId),
            ),
            (
                "redirect_uri",
                ErrorCode::Missing(RequiredParam::TokenRedirectUri),
                ErrorCode::Repeated(Param::TokenRedirectUri),
            ),
            (
                "code",
                ErrorCode::Missing(RequiredParam::TokenCode),
                ErrorCode::Repeated(Param::TokenCode),
            ),
        ] {
            assert_eq!(read(&without(name), &[]).unwrap_err(), missing);
            assert_eq!(read(&format!("{}&{name}=", without(name)), &[]).unwrap_err(), missing);
            assert_eq!(read(&format!("{GOOD}&{name}="), &[]).unwrap_err(), twice);
            for code in [missing, twice] {
                assert!(code.entry().description.contains(name), "{code:?}");
                assert_eq!(
                    (code.entry().status, code.entry().oauth),
                    (400, "invalid_request"),
                    "{code:?}"
                );
            }
        }
        for (name, twice) in [
            ("code_verifier", ErrorCode::Repeated(Param::TokenCodeVerifier)),
            ("client_secret", ErrorCode::Repeated(Param::TokenClientSecret)),
            ("client_assertion", ErrorCode::Repeated(Param::TokenClientAssertion)),
            ("client_assertion_type", ErrorCode::Repeated(Param::TokenClientAssertionType)),
        ] {
            assert_eq!(read(&format!("{GOOD}&{name}=1&{name}=1"), &[]).unwrap_err(), twice);
        }
    }

    #[test]
    fn another_body_type_is_a_bad_format() {
        for content_type in [None, Some("application/json"), Some("multipart/form-data")] {
            let body = Params::decode(GOOD.as_bytes());
            let answer = parse_request(content_type, &[], &body, RefreshTokenSupport::Off);
            assert_eq!(answer.unwrap_err(), ErrorCode::TokenNotForm);
        }
    }

    #[test]
    fn another_grant_type_is_unsupported_whatever_else_is_missing() {
        for grant_type in ["refresh_token", "client_credentials", "Authorization_code"] {
            let body = format!("grant_type={grant_type}&client_id=sp&client_secret=s3cret");
            assert_eq!(read(&body, &[]).unwrap_err(), ErrorCode::TokenGrantTypeUnsupported);
        }
    }

    #[test]
    fn the_answer_has_the_five_members_of_the_specification() {
        let scopes = ["openid", "email"].map(Scope::from);
        let answer =
            serde_json::to_string(&TokenResponse::new("A".into(), 60, "I".into(), &scopes))
                .unwrap();
        let expected = r#"{"access_token":"A","expires_in":60,"id_token":"I","scope":"openid email","token_type":"Bearer"}"#;
        assert_eq!(answer, expected);
    }

    proptest! {
        #[test]
        fn any_body_and_header_is_answered(body in "([a-z_]{0,12}=?[ -~]{0,8}&?){0,8}", headers in proptest::collection::vec("(Basic )?\\PC{0,24}", 0..3)) {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            for body in [body.clone(), format!("{GOOD}&{body}")] {
                if let Err(code) = read(&body, &headers) {
                    prop_assert!([400, 401].contains(&code.entry().status));
                }
            }
        }
    }
}
