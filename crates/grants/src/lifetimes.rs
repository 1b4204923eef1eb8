//! Defines the `[lifetimes]` table of `passerelle.toml`: how long codes, tokens, logins and sessions
//! are valid.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_protocol::acr::Platform;
use passerelle_protocol::registration::ProtocolRules;

/// Maximum lifetime of an access token, whatever a file says.
pub const MAX_ACCESS_TOKEN_LIFETIME: Duration = Duration::from_secs(MAX_ACCESS_TOKEN_SECONDS);

/// The same, in seconds.
pub const MAX_ACCESS_TOKEN_SECONDS: u64 = 3600;

/// Lifetimes, in seconds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Lifetimes {
    /// Lifetime of an authorization code (RFC 6749 §4.1.2: at most ten minutes).
    #[schemars(range(min = 1, max = 600))]
    pub code_seconds: u64,
    /// Lifetime of an access token, unless a service provider's file sets `access_token_seconds`.
    #[schemars(range(min = 1, max = MAX_ACCESS_TOKEN_SECONDS))]
    pub access_token_seconds: u64,
    /// Lifetime of an ID token, from the token response.
    #[schemars(range(min = 1, max = 3600))]
    pub id_token_seconds: u64,
    /// Lifetime of an authorization code under `rules = "openid"`.
    #[schemars(range(min = 1, max = 600))]
    pub openid_code_seconds: u64,
    /// Lifetime of an access token under `rules = "openid"`: more than the clock skew that
    /// applications expect.
    #[schemars(range(min = 1, max = MAX_ACCESS_TOKEN_SECONDS))]
    pub openid_access_token_seconds: u64,
    /// Lifetime of an ID token under `rules = "openid"`, which tolerates the same clock skew.
    #[schemars(range(min = 1, max = 3600))]
    pub openid_id_token_seconds: u64,
    /// Time limit of a login, from the authorization request to the code. Default: 1800 on the
    /// standard platform, 600 on high.
    #[schemars(range(min = 1, max = 3600))]
    pub login_seconds: Option<u64>,
    /// Idle timeout of a session. Default: 1800 on the standard platform, 600 on high.
    pub session_idle_seconds: Option<u64>,
    /// Maximum lifetime of a session. Default: 28800 on the standard platform, 600 on high.
    pub session_seconds: Option<u64>,
    /// Time from the publication of a new signing key to its first use, for `passerelle keys
    /// rotate`. Service providers cache the key set for 600 seconds: with less, they receive tokens
    /// with a key that they don't know yet.
    #[schemars(range(min = 0, max = 7 * 86_400))]
    pub signing_key_lead_seconds: u64,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            code_seconds: 30,
            access_token_seconds: 60,
            id_token_seconds: 60,
            openid_code_seconds: 60,
            openid_access_token_seconds: 300,
            openid_id_token_seconds: 300,
            login_seconds: None,
            session_idle_seconds: None,
            session_seconds: None,
            signing_key_lead_seconds: 1200,
        }
    }
}

/// Lifetimes of codes and tokens under one set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenLifetimes {
    /// Of an authorization code.
    pub code: Duration,
    /// Of an access token.
    pub access_token: Duration,
    /// Of an ID token.
    pub id_token: Duration,
}

impl Lifetimes {
    /// Returns the lifetimes of codes and tokens under these rules.
    pub const fn tokens(&self, rules: ProtocolRules) -> TokenLifetimes {
        let (code, access_token, id_token) = match rules {
            ProtocolRules::Federation => {
                (self.code_seconds, self.access_token_seconds, self.id_token_seconds)
            }
            ProtocolRules::Openid => (
                self.openid_code_seconds,
                self.openid_access_token_seconds,
                self.openid_id_token_seconds,
            ),
        };
        TokenLifetimes {
            code: Duration::from_secs(code),
            access_token: Duration::from_secs(access_token),
            id_token: Duration::from_secs(id_token),
        }
    }

    /// Returns the time from a signing key's publication to its first use.
    pub const fn signing_key_lead(&self) -> Duration {
        Duration::from_secs(self.signing_key_lead_seconds)
    }

    /// Returns the time limit of a login.
    pub fn login(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.login_seconds.unwrap_or(by_platform(platform, 1800, 600)))
    }

    /// Returns the idle timeout of a session.
    pub fn session_idle(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.session_idle_seconds.unwrap_or(by_platform(platform, 1800, 600)))
    }

    /// Returns the maximum lifetime of a session.
    pub fn session(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.session_seconds.unwrap_or(by_platform(platform, 28_800, 600)))
    }
}

/// Returns the value for a platform.
const fn by_platform(platform: Platform, standard: u64, high: u64) -> u64 {
    match platform {
        Platform::Standard => standard,
        Platform::High => high,
    }
}
