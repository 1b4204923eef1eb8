//! The refresh request (RFC 6749 §6).

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::client_auth::{self, Credentials};
use super::params::{Params, is_form_urlencoded};
use super::sender_constraint::ProofOfPossession;
use crate::ids::Secret;

/// The scope that asks for a refresh token (OpenID Connect Core 1.0 §11).
pub const OFFLINE_ACCESS: &str = "offline_access";
/// The `grant_type` of a refresh request.
pub const GRANT_TYPE: &str = "refresh_token";

/// A well-formed refresh request with an unauthenticated client and an unchecked token.
#[derive(Clone, Debug)]
pub struct RefreshRequest {
    pub credentials: Credentials,
    pub refresh_token: Secret<String>,
    /// The requested scopes; empty for those of the grant.
    pub scope: Vec<String>,
    /// Empty until [`RefreshRequest::with_proof_of_possession`].
    pub proof_of_possession: ProofOfPossession,
}

impl RefreshRequest {
    /// Adds the request's proof of possession of a key.
    #[must_use]
    pub fn with_proof_of_possession(self, proof_of_possession: ProofOfPossession) -> Self {
        let credentials =
            self.credentials.with_certificate(proof_of_possession.certificate.as_ref());
        Self { credentials, proof_of_possession, ..self }
    }
}

/// Reads a refresh request. `authorization` holds every `Authorization` header, `body` the decoded
/// form.
///
/// # Errors
/// The first failed check, as for a code.
pub fn parse_request(
    content_type: Option<&str>,
    authorization: &[&[u8]],
    body: &Params,
) -> Result<RefreshRequest, ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(ErrorCode::TokenNotForm);
    }
    body.check_repeated(&[Param::TokenGrantType])?;
    body.check_repeated(Param::REFRESH)?;
    let credentials = client_auth::read_credentials(body, authorization)?;
    let token = body.required(RequiredParam::RefreshToken)?.to_owned();
    let scope = body.once(Param::RefreshScope)?.unwrap_or_default();
    let scope = scope.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    Ok(RefreshRequest {
        credentials,
        refresh_token: Secret::new(token),
        scope,
        proof_of_possession: ProofOfPossession::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    const GOOD: &str = "grant_type=refresh_token&client_id=sp&client_secret=s&refresh_token=T";

    fn read(body: &str) -> Result<RefreshRequest, ErrorCode> {
        parse_request(FORM, &[], &Params::decode(body.as_bytes()))
    }

    #[test]
    fn a_whole_request_is_read_and_its_token_is_not_printed() {
        let request = read(&format!("{GOOD}&scope=openid++email")).unwrap();
        assert_eq!(request.refresh_token.reveal(), "T");
        assert_eq!(request.scope, ["openid", "email"]);
        assert!(!format!("{request:?}").contains("\"T\""));
        assert!(read(GOOD).unwrap().scope.is_empty());
    }

    #[test]
    fn each_finding_has_its_code() {
        for (body, code) in [
            (GOOD.replace("=T", "="), ErrorCode::Missing(RequiredParam::RefreshToken)),
            (format!("{GOOD}&refresh_token=T"), ErrorCode::Repeated(Param::RefreshToken)),
            (format!("{GOOD}&scope=a&scope=b"), ErrorCode::Repeated(Param::RefreshScope)),
            (format!("{GOOD}&grant_type=x"), ErrorCode::Repeated(Param::TokenGrantType)),
            (GOOD.replace("client_id", "x"), ErrorCode::Missing(RequiredParam::TokenClientId)),
        ] {
            assert_eq!(read(&body).unwrap_err(), code, "{body}");
        }
        assert_eq!(
            parse_request(None, &[], &Params::decode(GOOD.as_bytes())).unwrap_err(),
            ErrorCode::TokenNotForm
        );
    }
}
