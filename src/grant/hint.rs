//! `id_token_hint`: one of our own ID tokens that comes back (decisions 12; Core, 3.1.2.1; RP-Initiated Logout, 2).

use std::time::Duration;

use serde_json::{Map, Value};

use super::Grants;
use crate::digest;
use crate::ids::{ClientId, Subject};
use crate::protocol::alg::SigningAlg;
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::logout::Hint;
use crate::token::verify::{OpenFault, names_audience, numeric_date, open_jws};

/// How far the clocks of the hub's own nodes may be apart.
const TOLERANCE: Duration = Duration::from_secs(60);

/// Why a text is no ID token of this hub.
enum HintFault {
    /// It is a JWE: on the high platform the service provider has to decrypt it first (R175).
    Encrypted,
    Invalid,
}

impl Grants {
    /// The users that a request asks for: `id_token_hint`'s, and the value of a requested `sub`.
    ///
    /// # Errors
    /// `IdTokenHintInvalid` for anything but an ID token of ours, for this service provider.
    pub fn wanted(&self, request: &AuthorizationRequest) -> Result<Vec<Subject>, ErrorCode> {
        let mut wanted = Vec::new();
        if let Some(hint) = &request.id_token_hint {
            wanted.push(self.hinted(hint.reveal(), &request.client_id)?);
        }
        wanted.extend(request.claims.sub.as_ref().map(|sub| Subject::new(sub.reveal().as_str())));
        Ok(wanted)
    }

    /// Whom the hint of a logout names, and the service provider that it was issued to.
    ///
    /// # Errors
    /// `LogoutHintEncrypted`, `LogoutHintInvalid`.
    pub fn logout_hint(&self, hint: &str) -> Result<Hint, ErrorCode> {
        let (user, claims) = self.own_id_token(hint).map_err(|fault| match fault {
            HintFault::Encrypted => ErrorCode::LogoutHintEncrypted,
            HintFault::Invalid => ErrorCode::LogoutHintInvalid,
        })?;
        // Ours name one audience, as a string (R034).
        let audience =
            claims.get("aud").and_then(Value::as_str).ok_or(ErrorCode::LogoutHintInvalid)?;
        Ok(Hint { audience: audience.into(), user })
    }

    fn hinted(&self, hint: &str, client_id: &ClientId) -> Result<Subject, ErrorCode> {
        match self.own_id_token(hint) {
            Ok((user, claims)) if names_audience(&claims, client_id.as_str()) => Ok(user),
            Ok(_) | Err(HintFault::Encrypted | HintFault::Invalid) => {
                Err(ErrorCode::IdTokenHintInvalid)
            }
        }
    }

    /// Whose ID token this is. Its expiry isn't looked at: it says who, not that they are here.
    fn own_id_token(&self, hint: &str) -> Result<(Subject, Map<String, Value>), HintFault> {
        let keys = self.own_keys.load();
        let opened = match open_jws(hint, SigningAlg::ES256, &keys) {
            Err(OpenFault::Algorithm) => open_jws(hint, SigningAlg::RS256, &keys),
            outcome => outcome,
        };
        let opened = opened.map_err(|fault| match fault {
            OpenFault::Encrypted => HintFault::Encrypted,
            _ => HintFault::Invalid,
        })?;
        let claims = opened.claims;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let is_ours =
            text("iss").is_some_and(|iss| digest::equal(iss.as_bytes(), self.issuer.as_bytes()));
        // Userinfo and introspection answers are signed with the same keys: they have no `auth_time`, the latter
        // another `typ` as well (RFC 9701, 5).
        let is_id_token = claims.contains_key("auth_time")
            && opened.header.get("typ").is_none_or(|typ| typ == "JWT");
        let is_issued = numeric_date(&claims, "iat")
            .is_ok_and(|iat| iat.is_some_and(|iat| iat <= self.env.now() + TOLERANCE));
        match text("sub") {
            Some(sub) if is_ours && is_id_token && is_issued => Ok((Subject::new(sub), claims)),
            Some(_) | None => Err(HintFault::Invalid),
        }
    }
}
