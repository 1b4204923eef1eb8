//! Validates request objects: authorization requests that the client signed (RFC 9101).
//!
//! Responsible for the signature, the times and the single use of an object. Which of its claims
//! are parameters is for [`passerelle_protocol::authorize::request_object`].

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::HubCore;
use super::assertion::{AssertionError, AssertionVerifier, is_typ_one_of, read_jti};
use super::error::ParameterSourceError;
use super::records::request_object_key;
use super::used_jtis::{UsedJti, UsedJtis};
use passerelle_federation::ServiceProvider;
use passerelle_federation::client_assertions::{AcceptedAudiences, Audience, HubAddresses};
use passerelle_jose::verify::{
    CLOCK_SKEW_TOLERANCE, Expiry, TimeClaimError, VerifiedJws, check_time_claims, names_audience,
    numeric_date,
};
use passerelle_protocol::alg::AcceptedAlgs;
use passerelle_protocol::authorize::request_object::parameters_of_object;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::params::Params;
use passerelle_protocol::registration::{ClientDirectory as _, ProtocolRules, Registration};
use passerelle_store::StoreError;

/// Media type of a request object (RFC 9101 §9.4.1), without `application/`.
const REQUEST_OBJECT_TYP: &str = "oauth-authz-req+jwt";

/// Maximum time to `exp`: the ten minutes of common libraries, plus one minute of clock skew. It
/// bounds how long the store remembers a used object.
const MAX_LIFETIME: Duration = Duration::from_secs(660);

/// Maximum time since `nbf`, and from there to `exp`, where messages must be signed.
const MAX_SIGNED_LIFETIME: Duration = Duration::from_secs(3600);

/// A valid request object, not used yet.
pub(super) struct ValidRequestObject {
    pub params: Params,
    /// Where its use is recorded; `None` without a `jti`.
    pub used: Option<UsedJti>,
}

/// Verifies request objects.
pub(super) struct RequestObjects {
    pub(super) core: Arc<HubCore>,
    pub(super) assertions: Arc<AssertionVerifier>,
    pub(super) used_jtis: Arc<UsedJtis>,
}

impl RequestObjects {
    /// Validates a request object of this client. `outer` are the parameters beside it.
    ///
    /// # Errors
    /// The code of the first check that fails; nothing is recorded.
    pub(crate) async fn validate(
        &self,
        client: &ServiceProvider,
        object: &str,
        algs: AcceptedAlgs,
        outer: &Params,
    ) -> Result<ValidRequestObject, ErrorCode> {
        let client_id = &client.registration.client_id;
        let jws = self.assertions.verify_client_jws(client, object, algs).await;
        let jws = jws.map_err(|error| {
            tracing::info!(%client_id, %error, "request object rejected");
            match error {
                AssertionError::NoKeys => ErrorCode::ClientKeysUnavailable,
                _ => ErrorCode::RequestObjectUnproven,
            }
        })?;
        let now = self.core.env.now();
        let expires_at = check_claims(&jws, &client.registration, &self.core.issuer, now)?;
        // An object can't have been used before it was valid.
        let begins_at =
            ["iat", "nbf"].iter().find_map(|name| numeric_date(&jws.claims, name).ok()?);
        let begins_at = begins_at.unwrap_or_else(|| expires_at - MAX_LIFETIME);
        if self.used_jtis.may_have_forgotten(begins_at) {
            return Err(ErrorCode::RequestObjectReplayed);
        }
        let federation = self.core.federation.load();
        let forwarded = federation.forwarded_params();
        let params = parameters_of_object(&jws.claims, outer, &client.registration, forwarded)?;
        let used = optional_jti(&jws.claims)?.map(|jti| UsedJti {
            key: request_object_key(client_id, jti),
            until: expires_at + CLOCK_SKEW_TOLERANCE,
        });
        if used.is_some() && !self.used_jtis.has_capacity(client_id, now) {
            return Err(ErrorCode::TooManyAssertions);
        }
        Ok(ValidRequestObject { params, used })
    }

    /// Marks an object as used by `login`; empty if no login was started with it.
    ///
    /// # Errors
    /// `Used` with the login that used it before; otherwise the error of the store.
    pub(crate) async fn mark_used(
        &self,
        client_id: &ClientId,
        used: &UsedJti,
        login: &[u8],
    ) -> Result<(), ParameterSourceError> {
        match self.used_jtis.insert(client_id, used, login.to_vec(), self.core.env.now()).await {
            Ok(()) => Ok(()),
            Err(StoreError::Exists) => {
                self.check_unused(used).await?;
                Err(ErrorCode::RequestObjectReplayed.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Checks that an object was not used.
    ///
    /// # Errors
    /// As [`Self::mark_used`].
    pub(crate) async fn check_unused(&self, used: &UsedJti) -> Result<(), ParameterSourceError> {
        match self.used_jtis.find(used, self.core.env.now()).await? {
            None => Ok(()),
            Some(login) => {
                Err(ParameterSourceError::used_by(&login, ErrorCode::RequestObjectReplayed))
            }
        }
    }
}

/// Checks the claims of the JWT itself, and returns its `exp`.
///
/// # Errors
/// Returns the code of the claim that is wrong.
pub fn check_claims(
    VerifiedJws { header, claims }: &VerifiedJws,
    client: &Registration,
    issuer: &str,
    now: Timestamp,
) -> Result<Timestamp, ErrorCode> {
    // RFC 9101 §10.8: no other JWT of the client passes for a request object. `JWT`, which libraries
    // put on every token, says nothing.
    let accepted: &[&str] = match client.protection.profile {
        None => &[REQUEST_OBJECT_TYP, "jwt"],
        Some(_) => &[REQUEST_OBJECT_TYP],
    };
    if !is_typ_one_of(header, accepted) {
        return Err(ErrorCode::RequestObjectTyp);
    }
    // RFC 9101 §10.8: a client assertion has this `sub`; neither passes for the other.
    if claims.get("sub").and_then(Value::as_str) == Some(client.client_id.as_str()) {
        return Err(ErrorCode::RequestObjectSubject);
    }
    if claims.get("iss").and_then(Value::as_str) != Some(client.client_id.as_str()) {
        return Err(ErrorCode::RequestObjectClient);
    }
    // An object for another server, which could replay it here (RFC 9101 §10.2).
    if !is_for_issuer(claims, client, issuer) {
        return Err(ErrorCode::RequestObjectAudience);
    }
    let expires_at =
        numeric_date(claims, "exp").ok().flatten().ok_or(ErrorCode::RequestObjectExpired)?;
    check_time_claims(claims, Expiry::Required, now).map_err(|error| match error {
        TimeClaimError::Expired => ErrorCode::RequestObjectExpired,
        TimeClaimError::Malformed | TimeClaimError::NotYet | TimeClaimError::IssuedInFuture => {
            ErrorCode::RequestObjectNotYet
        }
    })?;
    if client.protection.requires_signed_messages() {
        check_signed_period(claims, expires_at, now)?;
    } else if expires_at > now + MAX_LIFETIME {
        return Err(ErrorCode::RequestObjectTooLong);
    }
    Ok(expires_at)
}

/// Returns true if the object is for this hub. Only a pushed one may be for others as well (FAPI
/// 2.0 Message Signing §5.3.1): its client authenticates, so that they can't replay it.
fn is_for_issuer(claims: &Map<String, Value>, client: &Registration, issuer: &str) -> bool {
    if client.protection.requires_signed_messages() {
        return names_audience(claims, issuer);
    }
    let audiences = match client.rules {
        ProtocolRules::Federation => AcceptedAudiences::IssuerAlone,
        ProtocolRules::Openid => AcceptedAudiences::AnyOf(vec![Audience::Issuer]),
    };
    let hub = HubAddresses { issuer, certificate_base_url: None };
    claims.get("aud").is_some_and(|aud| audiences.accepts(aud, hub))
}

/// Checks that the object is of the last hour, and for an hour at most: an old signature proves no
/// present intent (FAPI 2.0 Message Signing §5.3.1).
fn check_signed_period(
    claims: &Map<String, Value>,
    expires_at: Timestamp,
    now: Timestamp,
) -> Result<(), ErrorCode> {
    let begins_at = numeric_date(claims, "nbf").ok().flatten();
    let is_recent = |begins_at: Timestamp| {
        begins_at + MAX_SIGNED_LIFETIME >= now && expires_at <= begins_at + MAX_SIGNED_LIFETIME
    };
    if begins_at.is_some_and(is_recent) { Ok(()) } else { Err(ErrorCode::RequestObjectPeriod) }
}

/// Returns the `jti`; `None` if the object has none.
fn optional_jti(claims: &Map<String, Value>) -> Result<Option<&str>, ErrorCode> {
    if claims.contains_key("jti") {
        read_jti(claims).map(Some).ok_or(ErrorCode::RequestObjectJti)
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use passerelle_federation::testing::samples::{ISSUER, OPENED, registration};
    use passerelle_protocol::registration::RequestProtection;
    use passerelle_protocol::security_profile::SecurityProfile;

    fn check(
        profile: Option<SecurityProfile>,
        typ: &Value,
        more: &Value,
    ) -> Result<Timestamp, ErrorCode> {
        let mut claims = json!({
            "iss": "sp", "aud": ISSUER, "nbf": OPENED.seconds(), "exp": OPENED.seconds() + 60,
        });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut header = Map::new();
        if !typ.is_null() {
            header.insert("typ".to_owned(), typ.clone());
        }
        let jws = VerifiedJws { header, claims: claims.as_object().unwrap().clone() };
        let protection = RequestProtection { profile, ..RequestProtection::default() };
        let client = Registration { protection, ..registration("sp") };
        check_claims(&jws, &client, ISSUER, OPENED)
    }

    #[test]
    fn under_a_profile_a_type_that_is_present_is_that_of_request_objects() {
        let none = json!({});
        for (typ, without, with) in [
            (json!(null), true, true),
            (json!("oauth-authz-req+jwt"), true, true),
            (json!("OAuth-Authz-Req+JWT"), true, true),
            (json!("application/oauth-authz-req+jwt"), true, true),
            (json!("JWT"), true, false),
            (json!("application/jwt"), true, false),
            (json!("dpop+jwt"), false, false),
            (json!(7), false, false),
        ] {
            let profiles =
                [Some(SecurityProfile::Fapi2), Some(SecurityProfile::Fapi2MessageSigning)];
            for (profile, expected) in
                [(None, without)].into_iter().chain(profiles.map(|profile| (profile, with)))
            {
                let checked = check(profile, &typ, &none);
                let refused = checked == Err(ErrorCode::RequestObjectTyp);
                assert_eq!((checked.is_ok(), refused), (expected, !expected), "{profile:?} {typ}");
            }
        }
    }

    #[test]
    fn a_client_assertion_is_no_request_object() {
        let (typ, sub) = (json!(null), json!({ "sub": "sp" }));
        assert_eq!(check(None, &typ, &sub), Err(ErrorCode::RequestObjectSubject));
        assert!(check(None, &typ, &json!({ "sub": "angela" })).is_ok());
    }

    #[test]
    fn dates_may_have_fractions() {
        let now = OPENED.seconds();
        let dates = format!(r#"{{"iat":{0}.5,"nbf":{0}.25,"exp":{1}.75}}"#, now - 1, now + 60);
        let dates = serde_json::from_str(&dates).unwrap();
        for profile in [None, Some(SecurityProfile::Fapi2MessageSigning)] {
            assert!(check(profile, &json!(null), &dates).is_ok());
        }
    }
}
