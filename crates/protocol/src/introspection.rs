//! The introspection request and response (RFC 7662 §2; RFC 9701 §5;
//! `docs/data-providers.md`).
//!
//! Responsible for reading the credentials and the token of a request, for the error codes, and for
//! the members of a response. Does not depend on who the data provider is, or which tokens are
//! live.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::acr::Level;
use super::catalogue::{ErrorCode, RequiredParam};
use super::params::Params;
use super::sender_constraint::Confirmation;
use crate::ids::{ClientId, Secret};

/// `typ` of a signed response (RFC 9701 §5).
pub const JWT_TYPE: &str = "token-introspection+jwt";
/// Media type of a signed response.
pub const JWT_MEDIA_TYPE: &str = "application/token-introspection+jwt";

/// An unverified introspection request. The token is checked only after the data provider is
/// authenticated (R183).
#[derive(Debug)]
pub struct IntrospectionRequest {
    /// Claimed client id, if any.
    pub claimed: Option<ClientId>,
    /// The secret; an error if it is not sent in the only supported way.
    pub secret: Result<Secret<String>, ErrorCode>,
    pub token: Result<Secret<String>, ErrorCode>,
}

impl IntrospectionRequest {
    /// Reads a request. `authorization` holds every `Authorization` header, `body` the decoded
    /// form.
    pub fn read(authorization: &[&[u8]], body: &Params) -> Self {
        let claimed = body.get("client_id");
        let secret = match (authorization, claimed, body.get("client_secret")) {
            // R204: in the body only. A second method beside it is one too many (RFC 6749 §2.3).
            ([_, ..], ..) => Err(ErrorCode::DataProviderHeader),
            ([], Some(_), Some(secret)) => Ok(Secret::new(secret.to_owned())),
            ([], ..) => Err(ErrorCode::DataProviderCredentials),
        };
        let token = body
            .required(RequiredParam::IntrospectionToken)
            .map(|token| Secret::new(token.to_owned()));
        Self { claimed: claimed.map(ClientId::from), secret, token }
    }
}

/// State of a token (RFC 7662 §2.2). Serializes to the JSON response.
#[derive(Debug)]
pub enum Introspection<'a> {
    Active(Box<ActiveToken<'a>>),
    /// Unknown, expired, revoked or not shared with this data provider: all read the same.
    Inactive,
}

impl Introspection<'_> {
    /// Returns true for a live token.
    pub const fn is_active(&self) -> bool {
        matches!(self, Self::Active(_))
    }
}

impl Serialize for Introspection<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            active: bool,
            #[serde(flatten)]
            token: Option<&'a ActiveToken<'a>>,
        }
        let token = match self {
            Self::Active(token) => Some(token.as_ref()),
            Self::Inactive => None,
        };
        Members { active: token.is_some(), token }.serialize(serializer)
    }
}

/// Members of the response for a live token. Never the token itself, an e-mail address or
/// authentication methods.
/// `Debug` prints no identity.
#[serde_with::skip_serializing_none]
#[derive(Serialize, derive_more::Debug)]
#[debug("ActiveToken(for {aud})")]
pub struct ActiveToken<'a> {
    pub iss: &'a str,
    /// Pairwise identifier for the data provider.
    pub sub: &'a str,
    /// The data provider.
    pub aud: &'a str,
    /// The service provider that the token was issued to.
    pub client_id: &'a str,
    /// The token's scopes that the data provider shares, separated by spaces.
    pub scope: String,
    /// Level achieved.
    pub acr: Level,
    /// Unix seconds.
    pub iat: u64,
    /// Unix seconds.
    pub exp: u64,
    /// Type of a token that is bound to a key (RFC 9449 §6.2).
    pub token_type: Option<&'static str>,
    /// The key that the token is bound to; who accepts the token must check it.
    pub cnf: Option<&'a Confirmation>,
    /// Claims of those scopes.
    #[serde(flatten)]
    pub claims: Map<String, Value>,
}

/// Payload of a signed response: exactly these members (RFC 9701 §5), so that it is neither an ID
/// token nor an access token.
#[derive(Serialize, Debug)]
pub struct SignedIntrospection<'a> {
    pub iss: &'a str,
    /// The data provider.
    pub aud: &'a str,
    /// Unix seconds.
    pub iat: u64,
    pub token_introspection: &'a Introspection<'a>,
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Param;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const GOOD: &str = "client_id=dp&client_secret=s3cret&token=T";

    fn read(body: &str, headers: &[&str]) -> IntrospectionRequest {
        let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
        IntrospectionRequest::read(&headers, &Params::decode(body.as_bytes()))
    }

    // R180, R204
    #[test]
    fn a_whole_request_is_read() {
        let request = read(&format!("{GOOD}&token_type_hint=access_token&token_type_hint=x"), &[]);
        assert_eq!(request.claimed.unwrap().as_str(), "dp");
        assert_eq!(request.secret.unwrap().reveal(), "s3cret");
        assert_eq!(request.token.unwrap().reveal(), "T");
    }

    // R182, R206
    #[test]
    fn every_failed_client_authentication_has_the_same_invalid_client_response() {
        let body = crate::error_response::ErrorResponse::from(ErrorCode::DataProviderUnknown);
        for (sent, headers, code) in [
            ("token=T", &[][..], ErrorCode::DataProviderCredentials),
            ("client_id=dp&token=T", &[], ErrorCode::DataProviderCredentials),
            ("client_id=dp&client_secret=&token=T", &[], ErrorCode::DataProviderCredentials),
            ("client_secret=s3cret&token=T", &[], ErrorCode::DataProviderCredentials),
            ("client_id=&client_secret=s3cret&token=T", &[], ErrorCode::DataProviderCredentials),
            (
                "client_id=dp&client_id=dp&client_secret=s3cret&token=T",
                &[],
                ErrorCode::DataProviderCredentials,
            ),
            (
                "client_id=dp&client_secret=s3cret&client_secret=&token=T",
                &[],
                ErrorCode::DataProviderCredentials,
            ),
            ("token=T", &["Basic ZHA6czNjcmV0"], ErrorCode::DataProviderHeader),
            (GOOD, &["Basic ZHA6czNjcmV0"], ErrorCode::DataProviderHeader),
            (GOOD, &["Bearer T"], ErrorCode::DataProviderHeader),
            (GOOD, &[""], ErrorCode::DataProviderHeader),
        ] {
            assert_eq!(read(sent, headers).secret.unwrap_err(), code, "{sent} {headers:?}");
            assert_eq!(crate::error_response::ErrorResponse::from(code), body, "{code:?}");
        }
        assert_eq!(body.status, 401);
        assert_eq!(
            body.body,
            r#"{"error":"invalid_client","error_description":"Client authentication failed."}"#
        );
    }

    #[test]
    fn a_missing_empty_or_repeated_token_is_named() {
        for (sent, code) in [
            (
                "client_id=dp&client_secret=s3cret",
                ErrorCode::Missing(RequiredParam::IntrospectionToken),
            ),
            (
                "client_id=dp&client_secret=s3cret&token=",
                ErrorCode::Missing(RequiredParam::IntrospectionToken),
            ),
            (
                "client_id=dp&client_secret=s3cret&token=T&token=T",
                ErrorCode::Repeated(Param::IntrospectionToken),
            ),
            (
                "client_id=dp&client_secret=s3cret&token=T&token=",
                ErrorCode::Repeated(Param::IntrospectionToken),
            ),
        ] {
            let request = read(sent, &[]);
            assert!(request.secret.is_ok());
            assert_eq!(request.token.unwrap_err(), code, "{sent}");
            assert_eq!((code.entry().status, code.entry().oauth), (400, "invalid_request"));
        }
    }

    #[test]
    fn neither_secret_nor_token_nor_identity_is_printed() {
        let printed = format!("{:?}", read(GOOD, &[]));
        assert!(!printed.contains("s3cret") && !printed.contains("\"T\""), "{printed}");
        let claims = json!({ "family_name": "DUBOIS" }).as_object().unwrap().clone();
        assert!(!format!("{:?}", active_token(claims)).contains("DUBOIS"));
    }

    fn active_token(claims: Map<String, Value>) -> Introspection<'static> {
        Introspection::Active(Box::new(ActiveToken {
            iss: "https://hub.example/api/v2",
            sub: "pairwise",
            aud: "dp",
            client_id: "sp",
            scope: "openid family_name".into(),
            acr: Level::Eidas1,
            iat: 1,
            exp: 61,
            token_type: None,
            cnf: None,
            claims,
        }))
    }

    proptest! {
        #[test]
        fn any_body_and_header_is_read(body in "([a-z_]{0,12}=?[ -~]{0,8}&?){0,8}", headers in proptest::collection::vec("(Basic )?\\PC{0,24}", 0..3)) {
            let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
            for body in [body.clone(), format!("{GOOD}&{body}")] {
                let request = read(&body, &headers);
                prop_assert!(headers.is_empty() || request.secret.is_err());
                if let Err(code) = request.secret {
                    prop_assert_eq!(code.entry().status, 401);
                }
            }
        }
    }

    // R184, R185
    #[test]
    fn an_answer_has_exactly_its_members() {
        let claims = json!({ "family_name": "DUBOIS" }).as_object().unwrap().clone();
        let expected = json!({
            "active": true, "iss": "https://hub.example/api/v2", "sub": "pairwise", "aud": "dp", "client_id": "sp",
            "scope": "openid family_name", "acr": "eidas1", "iat": 1, "exp": 61, "family_name": "DUBOIS",
        });
        assert_eq!(serde_json::to_value(active_token(claims)).unwrap(), expected);
        assert_eq!(serde_json::to_string(&Introspection::Inactive).unwrap(), r#"{"active":false}"#);
        let signed = SignedIntrospection {
            iss: "i",
            aud: "dp",
            iat: 1,
            token_introspection: &Introspection::Inactive,
        };
        let expected = json!({ "iss": "i", "aud": "dp", "iat": 1, "token_introspection": { "active": false } });
        assert_eq!(serde_json::to_value(signed).unwrap(), expected);
    }
}
