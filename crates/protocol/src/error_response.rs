//! JSON error responses, with their HTTP status and `WWW-Authenticate` challenge (RFC 6749, RFC
//! 6750, RFC 9449).

use serde_json::{Value, json};

use super::catalogue::{CatalogueEntry, ErrorCode};
use super::userinfo::TokenScheme;

/// Variable parts of a JSON error response; always `application/json; charset=utf-8` and
/// uncacheable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorResponse {
    pub status: u16,
    /// Value of `WWW-Authenticate`.
    pub www_authenticate: Option<&'static str>,
    /// `{"error": …, "error_description": …}` (RFC 6749 §5.2).
    pub body: String,
}

/// Returns the JSON text of an error.
fn json_body(error: &str, error_description: &str, error_uri: Option<&str>) -> String {
    let mut body = json!({ "error": error, "error_description": error_description });
    if let (Some(uri), Value::Object(members)) = (error_uri, &mut body) {
        members.insert("error_uri".to_owned(), uri.into());
    }
    body.to_string()
}

/// Where a client sent its credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthLocation {
    /// The form body, or nothing.
    Body,
    /// The `Authorization` header.
    Header,
}

impl ErrorResponse {
    /// Creates the response to a client that may have failed to authenticate.
    pub fn for_client(code: ErrorCode, used: AuthLocation) -> Self {
        let mut response = Self::from(code);
        // RFC 6749 §5.2: only if the client used the header. RFC 7617 §2: a realm is required.
        if used == AuthLocation::Header && code.entry().oauth == "invalid_client" {
            response.www_authenticate = Some("Basic realm=\"token\"");
        }
        response
    }

    /// Creates the response to a client that sent an access token with this scheme.
    pub fn for_access_token(code: ErrorCode, used: TokenScheme) -> Self {
        let entry = code.entry();
        let response = Self::from(code);
        let is_dpop = entry.code.starts_with("Y0460") || used == TokenScheme::Dpop;
        let has_challenge = entry.code.starts_with("Y0460") || response.www_authenticate.is_some();
        if !is_dpop || !has_challenge || entry.status >= 500 {
            return response;
        }
        // RFC 9449 §7.1: a challenge answers a proof that is refused.
        let status = if entry.oauth == "invalid_request" { entry.status } else { 401 };
        Self { status, www_authenticate: Some(dpop_challenge(entry.oauth)), ..response }
    }

    /// Creates the response to a program that sends a bearer token of its own kind, or should have.
    /// `description` replaces that of the code.
    pub fn with_description(code: ErrorCode, description: Option<&str>, has_token: bool) -> Self {
        let entry = code.entry();
        let error_description = description.unwrap_or(entry.description);
        let body = json_body(entry.oauth, error_description, None);
        // RFC 6750 §3.1: a request without a token gets no error code in the challenge.
        let challenge = if has_token { "Bearer error=\"invalid_token\"" } else { "Bearer" };
        let www_authenticate = (entry.status == 401).then_some(challenge);
        Self { www_authenticate, body, ..Self::from(code) }
    }

    /// Adds the address of a page about the error (RFC 6749 §5.2).
    #[must_use]
    pub fn with_error_uri(self, code: ErrorCode, uri: &str) -> Self {
        let CatalogueEntry { oauth, description, .. } = code.entry();
        Self { body: json_body(oauth, description, Some(uri)), ..self }
    }
}

impl From<ErrorCode> for ErrorResponse {
    fn from(code: ErrorCode) -> Self {
        let entry = code.entry();
        Self {
            status: entry.status,
            www_authenticate: www_authenticate_challenge(entry),
            body: json_body(entry.oauth, entry.description, None),
        }
    }
}

/// Returns a DPoP challenge with the algorithms of proofs (RFC 9449 §7.1).
fn dpop_challenge(error: &str) -> &'static str {
    macro_rules! challenge {
        ($error:literal) => {
            concat!("DPoP error=\"", $error, "\", algs=\"ES256 PS256 RS256 EdDSA Ed25519\"")
        };
    }
    match error {
        "invalid_token" => challenge!("invalid_token"),
        "use_dpop_nonce" => challenge!("use_dpop_nonce"),
        "invalid_dpop_proof" => challenge!("invalid_dpop_proof"),
        _ => challenge!("invalid_request"),
    }
}

/// Returns the challenge of the userinfo endpoint's errors (RFC 6750 §3).
fn www_authenticate_challenge(entry: &CatalogueEntry) -> Option<&'static str> {
    // Y0461: a token that is bound to a certificate is a bearer token (RFC 8705 §3).
    let is_bearer = entry.code.starts_with("Y0430") || entry.code == "Y046103";
    is_bearer.then_some(match entry.oauth {
        "invalid_token" => "Bearer error=\"invalid_token\"",
        _ => "Bearer error=\"invalid_request\"",
    })
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::RequiredParam;
    use super::*;

    #[test]
    fn the_body_is_the_two_members_of_rfc_6749() {
        let answer = ErrorResponse::from(ErrorCode::Missing(RequiredParam::TokenCode));
        assert_eq!(answer.status, 400);
        assert_eq!(answer.www_authenticate, None);
        assert_eq!(
            answer.body,
            r#"{"error":"invalid_request","error_description":"The parameter code is missing or empty."}"#
        );
    }

    #[test]
    fn an_error_uri_is_the_third_member() {
        let code = ErrorCode::CodeReused;
        let answer = ErrorResponse::from(code).with_error_uri(code, "https://hub.example/e\"");
        assert!(
            answer.body.ends_with(r#","error_uri":"https://hub.example/e\""}"#),
            "{}",
            answer.body
        );
        assert_eq!(answer.status, 400);
    }

    #[test]
    fn a_failed_client_is_challenged_only_where_it_used_the_header() {
        let by_body =
            ErrorResponse::for_client(ErrorCode::ClientAuthentication, AuthLocation::Body);
        let by_header =
            ErrorResponse::for_client(ErrorCode::ClientAuthentication, AuthLocation::Header);
        assert_eq!((by_body.status, by_body.www_authenticate), (401, None));
        assert_eq!(
            (by_header.status, by_header.www_authenticate),
            (401, Some("Basic realm=\"token\""))
        );
        assert_eq!(by_body.body, by_header.body, "they read the same");
        assert_eq!(
            ErrorResponse::for_client(
                ErrorCode::Missing(RequiredParam::TokenCode),
                AuthLocation::Header
            )
            .www_authenticate,
            None
        );
    }

    #[test]
    fn an_unauthenticated_client_gets_the_same_error_for_every_cause() {
        for code in [
            ErrorCode::ClientHeaderMalformed,
            ErrorCode::ClientUnknown,
            ErrorCode::ClientOtherMethod,
            ErrorCode::ClientSecretNotYet,
            ErrorCode::ClientSecretExpired,
            ErrorCode::ClientAssertionTypeUnsupported,
            ErrorCode::AssertionUnproven,
        ] {
            for used in [AuthLocation::Body, AuthLocation::Header] {
                let wrong_secret = ErrorResponse::for_client(ErrorCode::ClientAuthentication, used);
                assert_eq!(ErrorResponse::for_client(code, used), wrong_secret, "{code:?}");
            }
        }
    }

    #[test]
    fn a_refused_proof_is_answered_by_a_challenge_with_the_algorithms() {
        use super::super::sender_constraint::DPOP_SIGNING_ALGS;
        let algs = format!("algs=\"{}\"", DPOP_SIGNING_ALGS.join(" "));
        for (code, scheme, status, error) in [
            (ErrorCode::DpopProofUri, TokenScheme::Dpop, 401, "invalid_dpop_proof"),
            (ErrorCode::DpopNonceRequired, TokenScheme::Dpop, 401, "use_dpop_nonce"),
            (ErrorCode::BoundTokenAsBearer, TokenScheme::Bearer, 401, "invalid_token"),
            (ErrorCode::AccessTokenInvalid, TokenScheme::Dpop, 401, "invalid_token"),
            (ErrorCode::BearerTwice, TokenScheme::Dpop, 400, "invalid_request"),
        ] {
            let answer = ErrorResponse::for_access_token(code, scheme);
            let challenge = format!("DPoP error=\"{error}\", {algs}");
            assert_eq!(answer.www_authenticate, Some(challenge.as_str()), "{code:?}");
            assert_eq!(answer.status, status, "{code:?}");
        }
        for code in [ErrorCode::StoreUnavailable, ErrorCode::TooManyDpopProofs] {
            let answer = ErrorResponse::for_access_token(code, TokenScheme::Dpop);
            assert_eq!((answer.status, answer.www_authenticate), (503, None));
        }
        let bearer = ErrorCode::AccessTokenInvalid;
        let answer = ErrorResponse::for_access_token(bearer, TokenScheme::Bearer);
        assert_eq!(answer, ErrorResponse::from(bearer));
        assert_eq!(ErrorResponse::from(ErrorCode::DpopProofUri).status, 400, "the token endpoint");
    }

    #[test]
    fn every_userinfo_error_carries_a_bearer_challenge_with_its_own_error() {
        let userinfo = |code: &&ErrorCode| code.entry().code.starts_with("Y0430");
        assert!(ErrorCode::all().iter().filter(userinfo).count() >= 6);
        for code in ErrorCode::all().iter().filter(userinfo) {
            let expected = format!("Bearer error=\"{}\"", code.entry().oauth);
            assert_eq!(
                ErrorResponse::from(*code).www_authenticate,
                Some(expected.as_str()),
                "{code:?}"
            );
        }
    }
}
