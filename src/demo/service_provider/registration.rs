//! What the demo service provider was registered with: once on each platform (R011), and which of the two a level needs.

use std::sync::Arc;

use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::protocol::alg::SigningAlg;
use crate::token::UpstreamKeys;
use crate::token::open::Sealing;

#[derive(Clone)]
pub struct Settings {
    /// Registered at both hubs; its path is `/callback`.
    pub redirect_uri: String,
    /// Registered at both hubs; its path is `/signed-out`.
    pub post_logout_redirect_uri: String,
    /// Begins the names of its cookies: cookies ignore ports, and the hubs may run on the same host.
    pub cookie_prefix: String,
    /// Its own keys, to which the high platform seals.
    pub keys: Arc<UpstreamKeys>,
    pub standard: Registration,
    pub high: Registration,
}

/// What one hub knows it by: nothing of it counts at the other.
#[derive(Clone)]
pub struct Registration {
    /// The hub's issuer, as in its discovery document: `https://hub.example/api/v2`.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret<String>,
    /// Space-separated, `openid` included.
    pub scopes: String,
    /// The registered algorithm of ID token and userinfo.
    pub alg: SigningAlg,
    /// How both are sealed as well; `None` where they are only signed.
    pub sealing: Option<Sealing>,
    /// An API of this hub's federation, to be called with an access token.
    pub data_provider: Option<String>,
}

impl Settings {
    /// Where this level can be asked for (R003).
    #[must_use]
    pub fn at(&self, level: Level) -> &Registration {
        match level {
            Level::Eidas1 => &self.standard,
            Level::Eidas2 | Level::Eidas3 => &self.high,
        }
    }
}

/// The level that a form's field names.
pub fn level(name: &str) -> Option<Level> {
    [Level::Eidas1, Level::Eidas2, Level::Eidas3].into_iter().find(|level| level.as_str() == name)
}
