//! `id_token_hint`: one of our own ID tokens that comes back (decisions 12; Core, 3.1.2.1).

use super::Grants;
use crate::digest;
use crate::ids::{ClientId, Subject};
use crate::protocol::alg::SigningAlg;
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::token::verify::{OpenFault, names_audience, open_jws};

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

    /// Whose ID token this is. Its expiry isn't looked at: it says who, not that they are here.
    fn hinted(&self, hint: &str, client_id: &ClientId) -> Result<Subject, ErrorCode> {
        let keys = self.own_keys.load();
        let opened = match open_jws(hint, SigningAlg::ES256, &keys) {
            Err(OpenFault::Algorithm) => open_jws(hint, SigningAlg::RS256, &keys),
            outcome => outcome,
        };
        let claims = opened.map_err(|_| ErrorCode::IdTokenHintInvalid)?.claims;
        let text = |name: &str| claims.get(name).and_then(serde_json::Value::as_str);
        let is_ours = text("iss").is_some_and(|iss| digest::equal(iss.as_bytes(), self.issuer.as_bytes()));
        // `auth_time` tells an ID token from a userinfo answer, which is signed with the same keys.
        let is_id_token = claims.contains_key("auth_time");
        match text("sub") {
            Some(sub) if is_ours && is_id_token && names_audience(&claims, client_id.as_str()) => Ok(Subject::new(sub)),
            Some(_) | None => Err(ErrorCode::IdTokenHintInvalid),
        }
    }
}
