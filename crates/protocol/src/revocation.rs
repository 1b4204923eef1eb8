//! The revocation request (RFC 7009 §2.1). The response is an empty 200, whether or not a token was
//! revoked.

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::client_auth::{self, Credentials};
use super::params::Params;
use super::sender_constraint::ProofOfPossession;
use crate::ids::Secret;

/// A well-formed request with an unauthenticated client and an unchecked token.
#[derive(Debug)]
pub struct RevocationRequest {
    pub credentials: Credentials,
    pub token: Secret<String>,
}

impl RevocationRequest {
    /// Adds the certificate of the connection.
    #[must_use]
    pub fn with_proof_of_possession(self, proof_of_possession: &ProofOfPossession) -> Self {
        let credentials =
            self.credentials.with_certificate(proof_of_possession.certificate.as_ref());
        Self { credentials, ..self }
    }
}

/// Reads a request. `authorization` holds every `Authorization` header, `body` the decoded form.
/// `token_type_hint` is ignored: the hub looks the token up among access tokens and refresh tokens
/// (RFC 7009 §2.1).
///
/// # Errors
/// The first failed check, as at the token endpoint.
pub fn parse_request(
    authorization: &[&[u8]],
    body: &Params,
) -> Result<RevocationRequest, ErrorCode> {
    body.check_repeated(Param::REVOCATION)?;
    let credentials = client_auth::read_credentials(body, authorization)?;
    let token = body.required(RequiredParam::RevocationToken)?;
    Ok(RevocationRequest { credentials, token: Secret::new(token.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "client_id=sp&client_secret=s3cret&token=T";

    fn read(body: &str) -> Result<RevocationRequest, ErrorCode> {
        parse_request(&[], &Params::decode(body.as_bytes()))
    }

    #[test]
    fn a_whole_request_is_read_and_its_hint_is_not() {
        for more in [
            "",
            "&token_type_hint=access_token",
            "&token_type_hint=refresh_token",
            "&token_type_hint=a&token_type_hint=b",
        ] {
            let request = read(&format!("{GOOD}{more}")).unwrap();
            assert_eq!(request.token.reveal(), "T");
            let printed = format!("{request:?}");
            assert!(!printed.contains("s3cret") && !printed.contains("\"T\""), "{printed}");
        }
    }

    #[test]
    fn each_finding_has_its_code() {
        for (body, code) in [
            (
                "client_id=sp&client_secret=s3cret",
                ErrorCode::Missing(RequiredParam::RevocationToken),
            ),
            (
                "client_id=sp&client_secret=s3cret&token=",
                ErrorCode::Missing(RequiredParam::RevocationToken),
            ),
            (
                "client_id=sp&client_secret=s3cret&token=T&token=T",
                ErrorCode::Repeated(Param::RevocationToken),
            ),
            ("token=T", ErrorCode::Missing(RequiredParam::TokenClientId)),
            (
                "client_id=sp&client_id=sp&client_secret=s3cret&token=T",
                ErrorCode::Repeated(Param::TokenClientId),
            ),
        ] {
            assert_eq!(read(body).unwrap_err(), code, "{body}");
            assert_eq!((code.entry().status, code.entry().oauth), (400, "invalid_request"));
        }
    }
}
