//! What the checks of the wire must know of a service provider: plain data, and the port through which it is found.
//!
//! Owns: the questions. Must not know: configuration files, secrets, and how a directory is kept (decisions 15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ClientId, Scope};

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
    pub logout_parameters: LogoutParameters,
}

/// Whether a logout request needs `post_logout_redirect_uri` and `state` (R170, R178).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogoutParameters {
    Required,
    Optional,
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
}

/// Where service providers and scopes are looked up.
pub trait Directory {
    /// The service provider of this id, active or not.
    fn registration(&self, client_id: &str) -> Option<&Registration>;

    /// True if the scope means something at this hub, granted to anyone or not.
    fn scope_is_known(&self, scope: &str) -> bool;
}
