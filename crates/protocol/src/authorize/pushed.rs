//! The pushed authorization request (RFC 9126 §2): an authorization request that the client sends
//! itself, authenticated, before the browser does.

use serde::Serialize;

use super::parameter_source::REQUEST_URI_PREFIX;
use crate::catalogue::{ErrorCode, Param};
use crate::client_auth::{self, Credentials};
use crate::ids::{ClientId, Secret};
use crate::params::{Params, is_form_urlencoded};
use crate::sender_constraint::{DpopHeader, ProofOfPossession};

/// An authorization request with an unauthenticated client. Its parameters are not checked yet.
#[derive(Debug)]
pub struct PushedRequest {
    pub credentials: Credentials,
    /// The `DPoP` header.
    pub dpop: Option<DpopHeader>,
    params: Params,
}

/// Reads a request. `authorization` holds every `Authorization` header, `body` the decoded form.
///
/// # Errors
/// `TokenNotForm`; `RequestUriPushed`; the first failed check of the client's credentials.
pub fn parse_request(
    content_type: Option<&str>,
    authorization: &[&[u8]],
    body: Params,
) -> Result<PushedRequest, ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(ErrorCode::TokenNotForm);
    }
    let credentials = client_auth::read_credentials(&body, authorization)?;
    // RFC 9126 §2.1
    if body.contains(Param::RequestUri.name()) {
        return Err(ErrorCode::RequestUriPushed);
    }
    Ok(PushedRequest { credentials, dpop: None, params: body })
}

impl PushedRequest {
    /// Adds the request's proof of possession of a key.
    #[must_use]
    pub fn with_proof_of_possession(self, proof_of_possession: ProofOfPossession) -> Self {
        let credentials =
            self.credentials.with_certificate(proof_of_possession.certificate.as_ref());
        Self { credentials, dpop: proof_of_possession.dpop, ..self }
    }

    /// Returns the parameters of the authorization request of the authenticated client: those that
    /// the hub knows, and those that identity providers may get (`forwarded`), without credentials.
    pub fn authorization_params(&self, client_id: &ClientId, forwarded: &[String]) -> Params {
        let is_known = |name: &str| {
            Param::AUTHORIZATION.iter().any(|param| param.name() == name)
                || forwarded.iter().any(|forwarded| forwarded == name)
        };
        let sent = self.params.pairs().iter().filter(|(name, _)| is_known(name)).cloned();
        let name = Param::ClientId.name();
        // RFC 6749 §2.3.1: with the Authorization header, a client need not repeat its id.
        let missing =
            (!self.params.contains(name)).then(|| (name.to_owned(), client_id.to_string()));
        Params::new(sent.chain(missing).collect())
    }
}

/// The response to a pushed request (RFC 9126 §2.2).
#[derive(Serialize)]
pub struct PushedResponse {
    #[serde(serialize_with = "crate::ids::issued_secret")]
    request_uri: Secret<String>,
    /// Seconds.
    expires_in: u64,
}

impl PushedResponse {
    /// Creates a response; `reference` is the part of the `request_uri` that the hub chose.
    pub fn new(reference: &str, expires_in: u64) -> Self {
        Self { request_uri: Secret::new(format!("{REQUEST_URI_PREFIX}{reference}")), expires_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::RequiredParam;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

    fn read(body: &str) -> Result<PushedRequest, ErrorCode> {
        parse_request(FORM, &[], Params::decode(body.as_bytes()))
    }

    #[test]
    fn no_credential_is_among_the_parameters() {
        let body = "client_id=sp&client_secret=s3cret&scope=openid&scope=email&unknown=1";
        let params = read(body).unwrap().authorization_params(&"sp".into(), &[]);
        let expected = [("client_id", "sp"), ("scope", "openid"), ("scope", "email")];
        assert_eq!(params.pairs(), expected.map(|(name, value)| (name.into(), value.into())));
        assert!(!format!("{:?}", read(body)).contains("s3cret"));
    }

    #[test]
    fn a_client_that_authenticates_by_header_need_not_repeat_its_id() {
        let header: &[u8] = b"Basic c3A6cw=="; // sp:s
        let body = Params::decode(b"scope=openid");
        let request = parse_request(FORM, &[header], body).unwrap();
        assert_eq!(request.authorization_params(&"sp".into(), &[]).get("client_id"), Some("sp"));
    }

    #[test]
    fn a_pushed_request_that_names_another_is_refused() {
        for uri in ["urn:ietf:params:oauth:request_uri:a", "https://evil.example/", ""] {
            let body = format!("client_id=sp&client_secret=s&request_uri={uri}");
            assert_eq!(read(&body).unwrap_err(), ErrorCode::RequestUriPushed, "{uri}");
        }
    }

    #[test]
    fn another_body_type_and_a_missing_client_are_refused() {
        let body = Params::decode(b"client_id=sp");
        let json = parse_request(Some("application/json"), &[], body);
        assert_eq!(json.unwrap_err(), ErrorCode::TokenNotForm);
        let missing = ErrorCode::Missing(RequiredParam::TokenClientId);
        assert_eq!(read("scope=openid").unwrap_err(), missing);
    }

    #[test]
    fn the_answer_has_the_two_members_of_rfc_9126() {
        let answer = serde_json::to_string(&PushedResponse::new("abc", 60)).unwrap();
        let expected = r#"{"request_uri":"urn:ietf:params:oauth:request_uri:abc","expires_in":60}"#;
        assert_eq!(answer, expected);
    }
}
