//! `private_key_jwt`: a client proves itself by a JWT that it has signed (RFC 7523; OpenID Connect Core 1.0, 9).
//!
//! Owns: what an assertion must say, and that it counts once. Must not know: where the client's keys come from, HTTP.
//! Until the signature holds, whoever fails learns nothing; the client that signed it is told what is wrong.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};

use super::client::ClientFault;
use super::records::assertion_key;
use super::{Grants, store_code};
use crate::config::Service;
use crate::config::client_assertions::{AcceptedAudiences, AssertionRules};
use crate::config::federation::Authentication;
use crate::env::Timestamp;
use crate::ids::ClientId;
use crate::protocol::alg::SigningAlg;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::Rules;
use crate::store::{Draft, StoreFault};
use crate::token::verify::{
    self, Expiry, OpenFault, Opened, TimeFault, check_times, numeric_date, open_jws,
};

/// How far a client's clock may be off.
const TOLERANCE: Duration = Duration::from_secs(60);
/// Room for any UUID or hash, and not for a store's memory.
const LONGEST_JTI: usize = 255;

/// Why an assertion is refused.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AssertionFault {
    #[error("its payload is no JSON object with an iss")]
    Unreadable,
    #[error("the keys of its jwks_uri have not been had yet")]
    NoKeys,
    #[error("{0}")]
    Unproven(#[from] OpenFault),
    #[error("its typ is of another kind of token")]
    Typ,
    #[error("its iss and sub are not both the client_id")]
    Subject,
    #[error(
        "its aud is not our issuer as one string; client_assertion_audiences in the client's file can allow others"
    )]
    Audience,
    #[error(
        "its aud names something else than client_assertion_audiences of the client's file allows"
    )]
    AudienceUnlisted,
    #[error("it has expired, or has no numeric exp")]
    Expired,
    #[error("it expires more than five minutes from now")]
    TooLong,
    #[error("it expires more than eleven minutes from now")]
    TooLongOpenid,
    #[error("its nbf or iat lies in the future, or is no number")]
    NotYet,
    #[error("it has no jti of 1 to 255 characters")]
    Jti,
    #[error("its jti was used before")]
    Replayed,
    #[error(
        "it may have been used before the hub started, which has no memory of that time; its iat, or the earliest that its exp allows, is older"
    )]
    BeforeStart,
    #[error("used assertions of this client alone take half of what the store remembers of all")]
    Crowding,
    #[error("the store can't remember its jti")]
    Store(ErrorCode),
}

impl AssertionFault {
    pub(super) const fn code(self) -> ErrorCode {
        match self {
            Self::Unreadable | Self::Unproven(_) => ErrorCode::AssertionUnproven,
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
            Self::Crowding => ErrorCode::AssertionsCrowding,
            Self::Store(code) => code,
        }
    }
}

impl Grants {
    /// The service provider that signed this assertion; `claimed` is who it says it is from.
    pub(super) async fn by_assertion(
        &self,
        claimed: Option<&ClientId>,
        assertion: &str,
    ) -> Result<Arc<Service>, ClientFault> {
        let client =
            claimed.and_then(|client_id| self.federation.load().active(client_id).cloned());
        let rules = client.as_ref().and_then(|client| match &client.authentication {
            Authentication::PrivateKeyJwt(rules) => Some(rules),
            Authentication::SecretPost(_)
            | Authentication::SecretBasic(_)
            | Authentication::Secret(_) => None,
        });
        let (Some(client), Some(rules)) = (&client, rules) else {
            self.spend_a_verification(assertion);
            return Err(match (claimed, &client) {
                (None, _) => AssertionFault::Unreadable.into(),
                (Some(_), None) => ClientFault::Unknown,
                (Some(_), Some(_)) => ClientFault::OtherMethod,
            });
        };
        let client_id = &client.registration.client_id;
        let opened = self.open(client, assertion, rules.alg).await?;
        let now = self.env.now();
        let used = judge(&opened, client_id, rules, &self.issuer, now)?;
        if used.issued_at.seconds() < self.assertion_room.known_since().seconds() {
            return Err(AssertionFault::BeforeStart.into());
        }
        self.use_once(client_id, &used, now).await?;
        Ok(Arc::clone(client))
    }

    async fn open(
        &self,
        client: &Service,
        assertion: &str,
        alg: SigningAlg,
    ) -> Result<Opened, AssertionFault> {
        let client_id = &client.registration.client_id;
        let keys = self.client_keys.keys(client_id, &client.keys).ok_or(AssertionFault::NoKeys)?;
        let mut opened = open_jws(assertion, alg, &keys.verification);
        if opened == Err(OpenFault::UnknownKey) {
            // The client may have rotated its keys since they were fetched.
            let newer = self.client_keys.keys_anew(client_id, &client.keys, &keys, &self.env).await;
            if !Arc::ptr_eq(&newer, &keys) {
                opened = open_jws(assertion, alg, &newer.verification);
            }
        }
        opened.map_err(|fault| {
            if fault != OpenFault::Signature {
                self.spend_a_verification(assertion);
            }
            fault.into()
        })
    }

    /// An assertion that fails before its signature is looked at costs as much as one that fails by it, so that ids and
    /// methods can't be listed by timing.
    fn spend_a_verification(&self, assertion: &str) {
        self.own_keys.load().rehearse(verify::announced_alg(assertion).unwrap_or_default());
    }

    /// RFC 7523, 3, point 7: whoever has overheard an assertion can't use it again, on any node.
    async fn use_once(
        &self,
        client_id: &ClientId,
        used: &Used<'_>,
        now: Timestamp,
    ) -> Result<(), AssertionFault> {
        // Before the store is asked: it has one room for all, and knows no clients.
        if !self.assertion_room.has_place(client_id, now) {
            return Err(AssertionFault::Crowding);
        }
        let draft = Draft {
            value: Vec::new(),
            expires_at: used.until,
            unread_until: None,
            families: Arc::default(),
        };
        match self.store.insert(assertion_key(client_id, used.jti), draft, now).await {
            Ok(_) => {
                self.assertion_room.take_place(client_id, used.until);
                Ok(())
            }
            Err(StoreFault::Exists) => Err(AssertionFault::Replayed),
            Err(fault) => Err(AssertionFault::Store(store_code(&fault))),
        }
    }
}

/// How many used assertions of each client the store remembers now: one client that floods the token endpoint with good
/// assertions must not keep the others out.
#[derive(Debug)]
pub struct AssertionRoom {
    each: usize,
    /// By the minute in which they are forgotten. Only registered clients get here, and a life has few minutes.
    taken: Mutex<HashMap<ClientId, BTreeMap<u64, usize>>>,
    /// Milliseconds. The store knows every assertion that was used since.
    known_since: AtomicU64,
}

impl AssertionRoom {
    /// Half of what the store takes for each.
    #[must_use]
    pub fn within(capacity: usize) -> Self {
        Self { each: capacity.div_ceil(2), taken: Mutex::default(), known_since: AtomicU64::new(0) }
    }

    /// Notes that the store has begun empty at `start`: an assertion that was issued before may have been used before
    /// (RFC 7523 §3, replay).
    pub fn forgot_before(&self, start: Timestamp) {
        self.known_since.store(start.millis(), Ordering::Relaxed);
    }

    fn known_since(&self) -> Timestamp {
        Timestamp::from_millis(self.known_since.load(Ordering::Relaxed))
    }

    fn has_place(&self, client_id: &ClientId, now: Timestamp) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_client) = taken.get_mut(client_id) else { return true };
        *of_client = of_client.split_off(&minute(now));
        of_client.values().sum::<usize>() < self.each
    }

    fn take_place(&self, client_id: &ClientId, until: Timestamp) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken.entry(client_id.clone()).or_default().entry(minute(until)).or_default() += 1;
    }
}

fn minute(at: Timestamp) -> u64 {
    at.seconds() / 60
}

/// What must be remembered of an assertion that counts.
#[derive(Debug)]
struct Used<'a> {
    jti: &'a str,
    /// From then on it is refused as expired.
    until: Timestamp,
    /// Its `iat`; without one the earliest moment that its `exp` allows.
    issued_at: Timestamp,
}

fn judge<'a>(
    opened: &'a Opened,
    client_id: &ClientId,
    rules: &AssertionRules,
    issuer: &str,
    now: Timestamp,
) -> Result<Used<'a>, AssertionFault> {
    let Opened { header, claims } = opened;
    if !is_of_our_kind(header) {
        return Err(AssertionFault::Typ);
    }
    let is =
        |name: &str, expected: &str| claims.get(name).and_then(Value::as_str) == Some(expected);
    if !is("iss", client_id.as_str()) || !is("sub", client_id.as_str()) {
        return Err(AssertionFault::Subject);
    }
    // An assertion that several servers accept can be replayed by one of them at another, and the address of an endpoint is
    // what a false server can have a client put there: each but the issuer is the operator's choice.
    if !claims.get("aud").is_some_and(|aud| rules.audiences.accept(aud, issuer)) {
        return Err(match rules.audiences {
            AcceptedAudiences::IssuerAlone => AssertionFault::Audience,
            AcceptedAudiences::AnyOf(_) => AssertionFault::AudienceUnlisted,
        });
    }
    let expires_at = numeric_date(claims, "exp").ok().flatten().ok_or(AssertionFault::Expired)?;
    check_times(claims, Expiry::Required, now, TOLERANCE).map_err(|fault| match fault {
        TimeFault::Expired => AssertionFault::Expired,
        TimeFault::Malformed | TimeFault::NotYet | TimeFault::Future => AssertionFault::NotYet,
    })?;
    if expires_at > now + rules.longest_life {
        return Err(match rules.rules {
            Rules::Federation => AssertionFault::TooLong,
            Rules::Openid => AssertionFault::TooLongOpenid,
        });
    }
    let jti = claims
        .get("jti")
        .and_then(Value::as_str)
        .filter(|jti| (1..=LONGEST_JTI).contains(&jti.chars().count()));
    let issued_at = numeric_date(claims, "iat")
        .ok()
        .flatten()
        .unwrap_or_else(|| expires_at - rules.longest_life);
    Ok(Used { jti: jti.ok_or(AssertionFault::Jti)?, until: expires_at + TOLERANCE, issued_at })
}

/// RFC 7523bis, 4: a type of its own, so that no other JWT of the client passes for one. None, or the `JWT` that several
/// libraries put on everything, says no more and no less than RFC 7523 asked for. RFC 7515, 4.1.9: case doesn't count.
fn is_of_our_kind(header: &Map<String, Value>) -> bool {
    match header.get("typ") {
        None => true,
        Some(Value::String(typ)) => {
            let typ = typ.to_ascii_lowercase();
            ["client-authentication+jwt", "jwt"]
                .contains(&typ.strip_prefix("application/").unwrap_or(&typ))
        }
        Some(_) => false,
    }
}
