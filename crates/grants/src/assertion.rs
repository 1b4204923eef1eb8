//! Validates `private_key_jwt` assertions (RFC 7523; OpenID Connect Core 1.0 §9).
//!
//! Responsible for the rules of an assertion and for its single use. Does not depend on where the
//! client's keys come from, or HTTP. Until the signature is verified, a failure reveals nothing;
//! afterwards the response names the defect to the client that signed.

use std::sync::Arc;

use arc_swap::ArcSwap;
use serde_json::{Map, Value};

use super::HubCore;
use super::client::ClientAuthError;
use super::client_keys::KeyDirectory;
use super::records::assertion_key;
use super::used_jtis::{UsedJti, UsedJtis};
use passerelle_federation::client_assertions::{AcceptedAudiences, AssertionRules, HubAddresses};
use passerelle_federation::{ClientAuthentication, ServiceProvider};
use passerelle_jose::verify::{
    self, CLOCK_SKEW_TOLERANCE, Expiry, JwsError, TimeClaimError, VerificationKeys, VerifiedJws,
    check_time_claims, numeric_date, verify_jws,
};
use passerelle_protocol::alg::AcceptedAlgs;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_store::StoreError;

/// Fits any UUID or hash, and bounds the store's memory.
const MAX_JTI_CHARS: usize = 255;

/// Why an assertion is invalid.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum AssertionError {
    #[error("its payload is not a JSON object with an iss")]
    Unreadable,
    #[error("the keys of its jwks_uri have not been fetched yet")]
    NoKeys,
    #[error("{0}")]
    Jws(#[from] JwsError),
    #[error("its typ names another kind of token")]
    Typ,
    #[error("its iss and sub are not both the client_id")]
    Subject,
    #[error(
        "its aud is not the hub's issuer as one string; client_assertion_audiences in the client's file can allow others"
    )]
    Audience,
    #[error(
        "its aud names a value that client_assertion_audiences in the client's file does not allow"
    )]
    AudienceUnlisted,
    #[error("it has expired, or has no numeric exp")]
    Expired,
    #[error("it expires more than five minutes from now")]
    TooLong,
    #[error("it expires more than eleven minutes from now")]
    TooLongOpenid,
    #[error("its nbf or iat is in the future, or not a number")]
    NotYet,
    #[error("it has no jti of 1 to 255 characters")]
    Jti,
    #[error("its jti was used before")]
    Replayed,
    #[error(
        "it may have been used before the hub started with an empty store: its iat, or the earliest iat that its exp allows, is older"
    )]
    BeforeStart,
    #[error("the used assertions of this client fill half of the store's capacity")]
    QuotaExceeded,
    #[error("the store can't save its jti")]
    Store(ErrorCode),
}

impl AssertionError {
    /// Returns the catalogue code of the error.
    pub(super) const fn code(self) -> ErrorCode {
        match self {
            Self::Unreadable | Self::Jws(_) => ErrorCode::AssertionUnproven,
            Self::NoKeys => ErrorCode::ClientKeysUnavailable,
            Self::Typ => ErrorCode::AssertionTyp,
            Self::Subject => ErrorCode::AssertionSubject,
            Self::Audience => ErrorCode::AssertionAudience,
            Self::AudienceUnlisted => ErrorCode::AssertionAudienceUnlisted,
            Self::Expired => ErrorCode::AssertionExpired,
            Self::TooLong => ErrorCode::AssertionTooLong,
            Self::TooLongOpenid => ErrorCode::AssertionTooLongOpenid,
            Self::NotYet => ErrorCode::AssertionNotYet,
            Self::Jti => ErrorCode::AssertionJti,
            Self::Replayed => ErrorCode::AssertionReplayed,
            Self::BeforeStart => ErrorCode::AssertionBeforeStart,
            Self::QuotaExceeded => ErrorCode::TooManyAssertions,
            Self::Store(code) => code,
        }
    }
}

/// Verifies what clients sign: assertions, and for other modules any JWS.
pub(super) struct AssertionVerifier {
    pub(super) core: Arc<HubCore>,
    pub(super) client_keys: Arc<KeyDirectory>,
    /// The hub's own keys, which cost the time of a verification where a client has none.
    pub(super) own_keys: Arc<ArcSwap<VerificationKeys>>,
    pub(super) used_jtis: Arc<UsedJtis>,
}

impl AssertionVerifier {
    /// Authenticates the service provider that signed this assertion; `claimed` is its unverified
    /// issuer.
    ///
    /// # Errors
    /// `Unknown` if no active service provider has this id, `OtherMethod` if it authenticates by
    /// another method; otherwise the [`AssertionError`] of the first check that fails.
    pub(super) async fn authenticate(
        &self,
        claimed: Option<&ClientId>,
        assertion: &str,
    ) -> Result<Arc<ServiceProvider>, ClientAuthError> {
        let client = claimed.and_then(|client_id| {
            self.core.federation.load().active_service_provider(client_id).cloned()
        });
        let rules = client.as_ref().and_then(|client| match &client.authentication {
            ClientAuthentication::PrivateKeyJwt(rules) => Some(rules),
            ClientAuthentication::SecretPost(_)
            | ClientAuthentication::SecretBasic(_)
            | ClientAuthentication::Secret(_)
            | ClientAuthentication::TlsCertificate(_)
            | ClientAuthentication::SelfSignedCertificate
            | ClientAuthentication::Public => None,
        });
        let (Some(client), Some(rules)) = (&client, rules) else {
            self.equalize_timing(assertion);
            return Err(match (claimed, &client) {
                (None, _) => AssertionError::Unreadable.into(),
                (Some(_), None) => ClientAuthError::Unknown,
                (Some(_), Some(_)) => ClientAuthError::OtherMethod,
            });
        };
        let client_id = &client.registration.client_id;
        let jws = self.verify_client_jws(client, assertion, rules.algs).await?;
        let now = self.core.env.now();
        let used = validate_assertion(&jws, client_id, rules, self.core.addresses(), now)?;
        if self.used_jtis.may_have_forgotten(used.issued_at) {
            return Err(AssertionError::BeforeStart.into());
        }
        self.record_jti(client_id, &used, now).await?;
        Ok(Arc::clone(client))
    }

    /// Verifies a JWS of the client with its registered keys, which are fetched again if none fits.
    ///
    /// # Errors
    /// `NoKeys`, or why the signature is not accepted.
    pub(super) async fn verify_client_jws(
        &self,
        client: &ServiceProvider,
        assertion: &str,
        algs: AcceptedAlgs,
    ) -> Result<VerifiedJws, AssertionError> {
        let Some(alg) = verify::accepted_alg(assertion, algs) else {
            self.equalize_timing(assertion);
            return Err(JwsError::Algorithm.into());
        };
        let client_id = &client.registration.client_id;
        let keys = self.client_keys.keys(client_id, &client.keys).ok_or(AssertionError::NoKeys)?;
        let mut jws = verify_jws(assertion, alg, &keys.verification);
        if jws == Err(JwsError::UnknownKey) {
            // The client may have rotated its keys since they were fetched.
            let newer =
                self.client_keys.refetch_keys(client_id, &client.keys, &keys, &self.core.env).await;
            if !Arc::ptr_eq(&newer, &keys) {
                jws = verify_jws(assertion, alg, &newer.verification);
            }
        }
        jws.map_err(|error| {
            if error != JwsError::Signature {
                self.equalize_timing(assertion);
            }
            error.into()
        })
    }

    /// Spends the time of a signature verification. An assertion that fails earlier takes as long
    /// as one with a wrong signature, so that timing does not reveal ids and methods (R206).
    fn equalize_timing(&self, assertion: &str) {
        self.own_keys
            .load()
            .verify_dummy(verify::alg_of_similar_cost(assertion).unwrap_or_default());
    }

    /// Records the `jti`, so that an intercepted assertion can't be replayed on any hub (RFC 7523
    /// §3, point 7).
    async fn record_jti(
        &self,
        client_id: &ClientId,
        used: &AcceptedAssertion<'_>,
        now: Timestamp,
    ) -> Result<(), AssertionError> {
        if !self.used_jtis.has_capacity(client_id, now) {
            return Err(AssertionError::QuotaExceeded);
        }
        let used = UsedJti { key: assertion_key(client_id, used.jti), until: used.until };
        match self.used_jtis.insert(client_id, &used, Vec::new(), now).await {
            Ok(()) => Ok(()),
            Err(StoreError::Exists) => Err(AssertionError::Replayed),
            Err(error) => Err(AssertionError::Store(error.into())),
        }
    }
}

/// Values of a valid assertion that the store needs.
#[derive(Debug)]
pub struct AcceptedAssertion<'a> {
    pub jti: &'a str,
    /// Time after which the assertion is rejected as expired.
    pub until: Timestamp,
    /// Its `iat`; without one, the earliest that its `exp` allows.
    issued_at: Timestamp,
}

/// Checks the claims of a verified client assertion (RFC 7523 §3).
///
/// # Errors
/// Returns the claim that is wrong.
pub fn validate_assertion<'a>(
    jws: &'a VerifiedJws,
    client_id: &ClientId,
    rules: &AssertionRules,
    hub: HubAddresses<'_>,
    now: Timestamp,
) -> Result<AcceptedAssertion<'a>, AssertionError> {
    let VerifiedJws { header, claims } = jws;
    if !has_acceptable_typ(header) {
        return Err(AssertionError::Typ);
    }
    let is =
        |name: &str, expected: &str| claims.get(name).and_then(Value::as_str) == Some(expected);
    if !is("iss", client_id.as_str()) || !is("sub", client_id.as_str()) {
        return Err(AssertionError::Subject);
    }
    // An assertion that several servers accept can be replayed by one of them at another, and a
    // malicious server can make a client put any endpoint address into `aud`. Audiences other than
    // the issuer are the operator's choice.
    if !claims.get("aud").is_some_and(|aud| rules.audiences.accepts(aud, hub)) {
        return Err(match rules.audiences {
            AcceptedAudiences::IssuerAlone => AssertionError::Audience,
            AcceptedAudiences::AnyOf(_) => AssertionError::AudienceUnlisted,
        });
    }
    let expires_at = numeric_date(claims, "exp").ok().flatten().ok_or(AssertionError::Expired)?;
    check_time_claims(claims, Expiry::Required, now).map_err(|error| match error {
        TimeClaimError::Expired => AssertionError::Expired,
        TimeClaimError::Malformed | TimeClaimError::NotYet | TimeClaimError::IssuedInFuture => {
            AssertionError::NotYet
        }
    })?;
    if expires_at > now + rules.max_lifetime {
        return Err(match rules.rules {
            ProtocolRules::Federation => AssertionError::TooLong,
            ProtocolRules::Openid => AssertionError::TooLongOpenid,
        });
    }
    let jti = read_jti(claims);
    let issued_at = numeric_date(claims, "iat")
        .ok()
        .flatten()
        .unwrap_or_else(|| expires_at - rules.max_lifetime);
    Ok(AcceptedAssertion {
        jti: jti.ok_or(AssertionError::Jti)?,
        until: expires_at + CLOCK_SKEW_TOLERANCE,
        issued_at,
    })
}

/// Returns the `jti` if it has 1 to 255 characters.
pub(super) fn read_jti(claims: &Map<String, Value>) -> Option<&str> {
    let jti = claims.get("jti").and_then(Value::as_str);
    jti.filter(|jti| (1..=MAX_JTI_CHARS).contains(&jti.chars().count()))
}

/// RFC 7523bis §4: a dedicated type, so that no other JWT of the client passes for an assertion.
/// RFC 7523 requires no type, and several libraries put `JWT` on every token. Case is ignored (RFC
/// 7515 §4.1.9).
fn has_acceptable_typ(header: &Map<String, Value>) -> bool {
    has_typ(header, "client-authentication+jwt")
}

/// Returns true if `typ` is this one, `JWT` or absent.
pub(super) fn has_typ(header: &Map<String, Value>, dedicated: &str) -> bool {
    is_typ_one_of(header, &[dedicated, "jwt"])
}

/// Returns true if `typ` is absent or one of these, in any case and with or without `application/`
/// (RFC 7515 §4.1.9).
pub(super) fn is_typ_one_of(header: &Map<String, Value>, accepted: &[&str]) -> bool {
    match header.get("typ") {
        None => true,
        Some(Value::String(typ)) => {
            let typ = typ.to_ascii_lowercase();
            accepted.contains(&typ.strip_prefix("application/").unwrap_or(&typ))
        }
        Some(_) => false,
    }
}
