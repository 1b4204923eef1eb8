//! The refresh request (RFC 6749 §6).

use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::params::Params;
use crate::ids::Secret;

/// The scope that asks for a refresh token (OpenID Connect Core 1.0 §11).
pub const OFFLINE_ACCESS: &str = "offline_access";
/// The `grant_type` of a refresh request.
pub const GRANT_TYPE: &str = "refresh_token";

/// A refresh token, unchecked, and the scopes that its access token shall have.
#[derive(Clone, Debug)]
pub struct RefreshTokenGrant {
    pub refresh_token: Secret<String>,
    /// The requested scopes; empty for those of the grant.
    pub scope: Vec<String>,
}

impl RefreshTokenGrant {
    pub(super) fn parse(body: &Params) -> Result<Self, ErrorCode> {
        let token = body.required(RequiredParam::RefreshToken)?.to_owned();
        let scope = body.once(Param::RefreshScope)?.unwrap_or_default();
        let scope = scope.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
        Ok(Self { refresh_token: Secret::new(token), scope })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{RefreshTokenSupport, TokenGrant, parse_request};

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
    const GOOD: &str = "grant_type=refresh_token&client_id=sp&client_secret=s&refresh_token=T";

    fn read(body: &str) -> Result<RefreshTokenGrant, ErrorCode> {
        read_as(FORM, body)
    }

    fn read_as(content_type: Option<&str>, body: &str) -> Result<RefreshTokenGrant, ErrorCode> {
        let params = Params::decode(body.as_bytes());
        let request = parse_request(content_type, &[], &params, RefreshTokenSupport::On)?;
        match request.grant {
            TokenGrant::RefreshToken(grant) => Ok(grant),
            TokenGrant::AuthorizationCode(_) => panic!("a code"),
        }
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
        assert_eq!(read_as(None, GOOD).unwrap_err(), ErrorCode::TokenNotForm);
    }
}
