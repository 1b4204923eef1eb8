//! Verifies `id_token_hint`: an ID token of this hub (OpenID Connect Core §3.1.2.1; RP-Initiated
//! Logout §2).

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::{Map, Value};

use super::HubCore;
use passerelle_jose::verify::{
    CLOCK_SKEW_TOLERANCE, JwsError, VerificationKeys, names_audience, numeric_date, verify_jws,
};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ClientId, Subject};
use passerelle_protocol::logout::LogoutHint;

/// Why a text is not an ID token of this hub.
enum HintError {
    /// A JWE: on the high platform the service provider must decrypt it first (R175).
    Encrypted,
    Invalid,
}

/// Verifies ID tokens that come back as hints.
pub struct IdTokenHints {
    pub(super) core: Arc<HubCore>,
    /// The hub's own public keys, current and retired.
    pub(super) own_keys: Arc<ArcSwap<VerificationKeys>>,
}

impl IdTokenHints {
    /// Returns the users that a request asks for: the subject of `id_token_hint`, and the value of
    /// a requested `sub`.
    ///
    /// # Errors
    /// `IdTokenHintInvalid` for anything but an ID token of this hub for this service provider.
    pub(super) fn requested_subjects(
        &self,
        request: &AuthorizationRequest,
    ) -> Result<Vec<Subject>, ErrorCode> {
        let mut required = Vec::new();
        if let Some(hint) = &request.id_token_hint {
            required.push(self.hinted_subject(hint.reveal(), &request.client_id)?);
        }
        required.extend(request.claims.sub.as_ref().map(|sub| Subject::new(sub.reveal().as_str())));
        Ok(required)
    }

    /// Returns the user of a logout hint and the service provider that the ID token was issued to.
    ///
    /// # Errors
    /// `LogoutHintEncrypted`, `LogoutHintInvalid`.
    pub fn verify_logout_hint(&self, hint: &str) -> Result<LogoutHint, ErrorCode> {
        let (user, claims) = self.verify_own_id_token(hint).map_err(|error| match error {
            HintError::Encrypted => ErrorCode::LogoutHintEncrypted,
            HintError::Invalid => ErrorCode::LogoutHintInvalid,
        })?;
        // The hub issues a single audience, as a string (R034).
        let audience =
            claims.get("aud").and_then(Value::as_str).ok_or(ErrorCode::LogoutHintInvalid)?;
        Ok(LogoutHint { audience: audience.into(), user })
    }

    fn hinted_subject(&self, hint: &str, client_id: &ClientId) -> Result<Subject, ErrorCode> {
        match self.verify_own_id_token(hint) {
            Ok((user, claims)) if names_audience(&claims, client_id.as_str()) => Ok(user),
            Ok(_) | Err(HintError::Encrypted | HintError::Invalid) => {
                Err(ErrorCode::IdTokenHintInvalid)
            }
        }
    }

    /// Verifies an ID token of this hub and returns its subject and claims. The expiry is ignored:
    /// a hint identifies a user, it does not prove their presence.
    fn verify_own_id_token(&self, hint: &str) -> Result<(Subject, Map<String, Value>), HintError> {
        let keys = self.own_keys.load();
        let jws = match verify_jws(hint, SigningAlg::ES256, &keys) {
            Err(JwsError::Algorithm) => verify_jws(hint, SigningAlg::RS256, &keys),
            outcome => outcome,
        };
        let jws = jws.map_err(|error| match error {
            JwsError::Encrypted => HintError::Encrypted,
            _ => HintError::Invalid,
        })?;
        let claims = jws.claims;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let is_ours = text("iss").is_some_and(|iss| {
            digest::constant_time_eq(iss.as_bytes(), self.core.issuer.as_bytes())
        });
        // Userinfo and introspection responses are signed with the same keys. They have no `acr`,
        // and introspection responses have another `typ` (RFC 9701 §5).
        let is_id_token =
            claims.contains_key("acr") && jws.header.get("typ").is_none_or(|typ| typ == "JWT");
        let is_issued = numeric_date(&claims, "iat").is_ok_and(|iat| {
            iat.is_some_and(|iat| iat <= self.core.env.now() + CLOCK_SKEW_TOLERANCE)
        });
        match text("sub") {
            Some(sub) if is_ours && is_id_token && is_issued => Ok((Subject::new(sub), claims)),
            Some(_) | None => Err(HintError::Invalid),
        }
    }
}
