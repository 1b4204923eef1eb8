//! Defines the claims of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.4).

use serde::Serialize;
use serde_json::{Map, Value};

use super::jwt_signer::unix_seconds;
use passerelle_protocol::env::Timestamp;

/// Value of the header member `typ`, so that no other token is taken for a logout token, nor a
/// logout token for another one (RFC 8725 §3.11).
pub const LOGOUT_TOKEN_TYP: &str = "logout+jwt";

/// Member of `events` that makes a JWT a logout token.
pub const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Claims of a logout token. It never has a `nonce`.
#[derive(Serialize)]
pub struct LogoutTokenClaims<'a> {
    pub iss: &'a str,
    /// The `sub` that the service provider knows.
    pub sub: &'a str,
    /// The client id.
    pub aud: &'a str,
    #[serde(serialize_with = "unix_seconds")]
    pub iat: Timestamp,
    #[serde(serialize_with = "unix_seconds")]
    pub exp: Timestamp,
    pub jti: &'a str,
    /// The `sid` of the service provider's ID tokens.
    pub sid: &'a str,
    pub events: LogoutEvents,
}

/// The `events` member: one event with an empty object.
#[derive(Serialize, Default)]
pub struct LogoutEvents {
    #[serde(rename = "http://schemas.openid.net/event/backchannel-logout")]
    backchannel_logout: Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_an_empty_object_under_its_uri() {
        let events = serde_json::to_value(LogoutEvents::default()).unwrap();
        assert_eq!(events, serde_json::json!({ LOGOUT_EVENT: {} }));
    }
}
