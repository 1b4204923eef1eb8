//! What passes between a login and an identity provider: plain data, so that the machine can decide on it and a
//! connector can act on it without either knowing the other.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::assurance::amr::Told;
use crate::assurance::{Demand, Level};
use crate::env::Timestamp;
use crate::ids::{ConnectorId, Secret};

/// What a connector needs to send the browser to its identity provider.
#[derive(Clone)]
pub struct Departure {
    /// The upstream `state` (RFC 6749 §4.1.1): 256 random bits, unrelated to the interaction's address.
    pub state: String,
    pub nonce: String,
    /// RFC 7636 verifier, 43 characters; the challenge is always S256.
    pub verifier: Secret<String>,
    /// `{base_url}/api/v2/callback/{connector}`.
    pub redirect_uri: String,
    /// The lowest level the answer must reach: what was asked, or the connector's lowest if that is higher.
    pub level: Level,
    /// The identity provider must authenticate the user again (`prompt=login`).
    pub reauthenticate: bool,
    pub max_age: Option<u64>,
    pub login_hint: Option<String>,
    pub ui_locales: Option<String>,
}

/// Where to send the browser, and what the connector must find again at the callback.
#[derive(Clone, Serialize, Deserialize)]
pub struct AuthorizationRedirect {
    /// Absolute URL of the identity provider's authorization endpoint, query included.
    pub url: String,
    pub issuer: String,
    pub client_id: String,
    pub token_endpoint: String,
    /// The identity provider announced RFC 9207, so the callback must carry `iss`.
    pub iss_expected: bool,
}

/// An open attempt at an identity provider: at most one in a login (decisions 5).
#[derive(Clone, Serialize, Deserialize)]
pub struct Attempt {
    pub connector: ConnectorId,
    pub state: String,
    pub nonce: String,
    pub verifier: Secret<String>,
    pub redirect_uri: String,
    pub level: Level,
    pub reauthenticate: bool,
    pub max_age: Option<u64>,
    /// When the browser left.
    pub left_at: Timestamp,
    pub left: AuthorizationRedirect,
}

impl Attempt {
    /// Returns what the browser was sent to the identity provider for.
    #[must_use]
    pub const fn demand(&self) -> Demand {
        Demand {
            level: self.level,
            reauthentication: self.reauthenticate || self.max_age.is_some(),
        }
    }
}

/// The query of a callback, as received. Nothing in it is trusted yet.
#[derive(Clone, Default)]
pub struct Arrival {
    pub code: Option<Secret<String>>,
    pub iss: Option<String>,
    pub error: Option<String>,
    /// Logged, never shown.
    pub error_description: Option<String>,
}

impl Arrival {
    /// Whether the code is one that an authorization server may issue (RFC 6749 Appendix A.11: `VSCHAR`) and no longer than
    /// 4,096 characters. Others reach no identity provider: its database or firewall may answer them with an error that
    /// looks like an outage.
    #[must_use]
    pub fn code_is_acceptable(&self) -> bool {
        const MAX_CODE_LENGTH: usize = 4096;
        self.code.as_ref().is_none_or(|code| {
            let code = code.reveal();
            code.len() <= MAX_CODE_LENGTH && code.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        })
    }
}

/// A proven authentication: every check of decisions 10 has passed.
#[derive(Clone, Serialize, Deserialize)]
pub struct Authentication {
    pub connector: ConnectorId,
    /// The identity provider's own `sub`. Never leaves the hub.
    pub upstream_subject: Secret<String>,
    /// The level obtained, already translated to the hub's scale.
    pub level: Level,
    /// What the identity provider told of the methods, not weighed yet.
    pub amr: Told,
    pub auth_time: Timestamp,
    /// Identity claims: userinfo's, over those of the ID token.
    pub claims: Map<String, Value>,
    /// For the logout that may follow (`id_token_hint`).
    pub id_token: Option<Secret<String>>,
}

/// What a connector needs to end its identity provider's own session, in the browser (RP-Initiated Logout 1.0, 2).
#[derive(Clone)]
pub struct Farewell {
    /// The identity provider's ID token, signed and no longer encrypted.
    pub id_token: Secret<String>,
    /// 256 random bits.
    pub state: String,
    /// `{base_url}/api/v2/session/end/{connector}`.
    pub return_uri: String,
}

silent!(Departure, AuthorizationRedirect, Attempt, Arrival, Authentication, Farewell);
