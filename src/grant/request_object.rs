//! Validates request objects: authorization requests that the client signed (RFC 9101).
//!
//! Responsible for the signature, the times and the single use of an object. Which of its claims
//! are parameters is for [`crate::protocol::authorize::request_object`].

use std::time::Duration;

use serde_json::{Map, Value};

use super::Grants;
use super::assertion::{AssertionError, CLOCK_SKEW_TOLERANCE, has_typ, read_jti};
use super::records::request_object_key;
use crate::config::ServiceProvider;
use crate::config::client_assertions::{AcceptedAudiences, Audience};
use crate::env::Timestamp;
use crate::protocol::alg::SigningAlg;
use crate::protocol::authorize::request_object::parameters_of_object;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::Params;
use crate::protocol::registration::ProtocolRules;
use crate::store::RecordKey;
use crate::token::verify::{Expiry, TimeClaimError, VerifiedJws, check_time_claims, numeric_date};

/// Maximum time to `exp`: the ten minutes of common libraries, plus one minute of clock skew. It
/// bounds how long the store remembers a used object.
const MAX_LIFETIME: Duration = Duration::from_secs(660);

/// A valid request object, not used yet.
pub(super) struct ValidRequestObject {
    pub params: Params,
    /// Where its use is recorded; `None` without a `jti`.
    pub used: Option<UsedObject>,
}

/// The record of a used request object.
#[derive(Clone, Debug)]
pub(super) struct UsedObject {
    pub key: RecordKey,
    /// Afterwards it is rejected as expired.
    pub until: Timestamp,
}

impl Grants {
    /// Validates a request object of this client. `outer` are the parameters beside it.
    ///
    /// # Errors
    /// The code of the first check that fails; nothing is recorded.
    pub(super) async fn validate_request_object(
        &self,
        client: &ServiceProvider,
        (object, alg): (&str, SigningAlg),
        outer: &Params,
    ) -> Result<ValidRequestObject, ErrorCode> {
        let client_id = &client.registration.client_id;
        let jws = self.verify_client_jws(client, object, alg).await.map_err(|error| {
            tracing::info!(%client_id, %error, "request object rejected");
            match error {
                AssertionError::NoKeys => ErrorCode::ClientKeysUnavailable,
                _ => ErrorCode::RequestObjectUnproven,
            }
        })?;
        let now = self.core.env.now();
        let rules = client.registration.rules;
        let expires_at = check_claims(&jws, client_id.as_str(), (&self.core.issuer, rules), now)?;
        let issued_at = numeric_date(&jws.claims, "iat").ok().flatten();
        // An object that was used before the store became empty (see `UsedAssertionQuota`).
        if issued_at.unwrap_or_else(|| expires_at - MAX_LIFETIME).seconds()
            < self.assertion_quota.known_since().seconds()
        {
            return Err(ErrorCode::RequestObjectReplayed);
        }
        let params = parameters_of_object(&jws.claims, outer, &client.registration)?;
        let used = jti_of(&jws.claims)?.map(|jti| UsedObject {
            key: request_object_key(client_id, jti),
            until: expires_at + CLOCK_SKEW_TOLERANCE,
        });
        if used.is_some() && !self.assertion_quota.has_capacity(client_id, now) {
            return Err(ErrorCode::TooManyAssertions);
        }
        Ok(ValidRequestObject { params, used })
    }
}

/// Checks the claims of the JWT itself, and returns its `exp`.
fn check_claims(
    VerifiedJws { header, claims }: &VerifiedJws,
    client_id: &str,
    (issuer, rules): (&str, ProtocolRules),
    now: Timestamp,
) -> Result<Timestamp, ErrorCode> {
    // RFC 9101 §10.8: no other JWT of the client passes for a request object.
    if !has_typ(header, "oauth-authz-req+jwt") {
        return Err(ErrorCode::RequestObjectTyp);
    }
    if claims.get("iss").and_then(Value::as_str) != Some(client_id) {
        return Err(ErrorCode::RequestObjectClient);
    }
    let audiences = match rules {
        ProtocolRules::Federation => AcceptedAudiences::IssuerAlone,
        ProtocolRules::Openid => AcceptedAudiences::AnyOf(vec![Audience::Issuer]),
    };
    // An object for another server, which could replay it here (RFC 9101 §10.2).
    if !claims.get("aud").is_some_and(|aud| audiences.accepts(aud, issuer)) {
        return Err(ErrorCode::RequestObjectAudience);
    }
    let expires_at =
        numeric_date(claims, "exp").ok().flatten().ok_or(ErrorCode::RequestObjectExpired)?;
    check_time_claims(claims, Expiry::Required, now, CLOCK_SKEW_TOLERANCE).map_err(|error| {
        match error {
            TimeClaimError::Expired => ErrorCode::RequestObjectExpired,
            TimeClaimError::Malformed | TimeClaimError::NotYet | TimeClaimError::IssuedInFuture => {
                ErrorCode::RequestObjectNotYet
            }
        }
    })?;
    if expires_at > now + MAX_LIFETIME {
        return Err(ErrorCode::RequestObjectTooLong);
    }
    Ok(expires_at)
}

/// Returns the `jti`; `None` if the object has none.
fn jti_of(claims: &Map<String, Value>) -> Result<Option<&str>, ErrorCode> {
    if claims.contains_key("jti") {
        read_jti(claims).map(Some).ok_or(ErrorCode::RequestObjectJti)
    } else {
        Ok(None)
    }
}
