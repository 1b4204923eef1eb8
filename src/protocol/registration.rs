//! What the checks of the wire must know of a service provider: plain data, and the port through which it is found.
//!
//! Owns: the questions. Must not know: configuration files, secrets, and how a directory is kept (decisions 15).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::ids::{ClientId, ConnectorId, Scope};

/// One service provider, as registered and validated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registration {
    pub client_id: ClientId,
    pub active: bool,
    /// Absolute URIs without a fragment; compared character for character.
    pub redirect_uris: Vec<String>,
    pub post_logout_redirect_uris: Vec<String>,
    /// Scopes it may ask for, `openid` included.
    pub granted_scopes: Vec<Scope>,
    pub require_pkce: bool,
    /// The way back where no redirect can be proven.
    pub home_page: String,
    pub consent: Consent,
    pub rules: Rules,
    pub hints: Hints,
}

impl Registration {
    /// Returns true if this URI is registered (RFC 6749 §3.1.2.3), character for character.
    #[must_use]
    pub fn holds_redirect_uri(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| registered == uri)
    }

    /// Returns true if every one of these scopes may be asked for.
    #[must_use]
    pub fn grants(&self, scopes: &[Scope]) -> bool {
        scopes.iter().all(|scope| self.granted_scopes.contains(scope))
    }
}

/// What a person is asked before claims are sent (decisions 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Consent {
    /// A page that informs, when `prompt` has `consent`.
    #[default]
    Information,
    /// An explicit yes, always.
    Required,
    /// No page at all; under `rules = "openid"` only.
    None,
}

/// Which `idp_hint` of a service provider is followed; any other is as if it were not there (decisions 3).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Hints {
    All(AllHints),
    /// Those that name one of these.
    Of(Vec<ConnectorId>),
}

/// All hints alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AllHints {
    Any,
    None,
}

impl Default for Hints {
    fn default() -> Self {
        Self::All(AllHints::Any)
    }
}

impl Hints {
    #[must_use]
    pub fn follow(&self, connector: &ConnectorId) -> bool {
        match self {
            Self::All(AllHints::Any) => true,
            Self::All(AllHints::None) => false,
            Self::Of(named) => named.contains(connector),
        }
    }
}

/// By hand: the choice between words and a list would be told as words alone.
impl JsonSchema for Hints {
    fn schema_name() -> Cow<'static, str> {
        "Hints".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Write \"any\", \"none\", or a list of connectors.",
            "type": ["string", "array"],
            "pattern": "^(any|none)$",
            "items": { "type": "string" },
        })
    }
}

/// Which rules a service provider's requests are judged by (decisions 3, Rules per SP).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// The federation's specification, to the letter.
    #[default]
    Federation,
    /// Plain OpenID Connect, for software that can't send what the specification adds. On the standard platform only.
    Openid,
}

impl Rules {
    /// At logout: whether `state` and `post_logout_redirect_uri` must be there, or may be left out (decisions 3, 9).
    #[must_use]
    pub const fn at_logout(self) -> LogoutParameters {
        match self {
            Self::Federation => LogoutParameters::Required,
            Self::Openid => LogoutParameters::Optional,
        }
    }
}

/// What a logout request must carry beside its hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogoutParameters {
    /// A registered URI, and a `state` of 32 characters or more.
    Required,
    /// Neither; what was not sent is not answered.
    Optional,
}

/// Where service providers and scopes are looked up.
pub trait Directory {
    /// The service provider of this id, active or not.
    fn registration(&self, client_id: &str) -> Option<&Registration>;

    /// True if the scope means something under these rules, granted to anyone or not.
    fn scope_is_known(&self, scope: &str, rules: Rules) -> bool;
}
