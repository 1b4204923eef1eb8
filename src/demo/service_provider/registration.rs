//! Registrations of the demo service provider, one on each platform (R011).

use std::sync::Arc;

use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::protocol::alg::SigningAlg;
use crate::token::UpstreamKeys;
use crate::token::decrypt::JweAlgorithms;

/// Settings of the demo service provider.
#[derive(Clone)]
pub struct ServiceProviderSettings {
    /// Registered at both hubs; its path is `/callback`.
    pub redirect_uri: String,
    /// Registered at both hubs; its path is `/signed-out`.
    pub post_logout_redirect_uri: String,
    /// Prefix of its cookies: cookies ignore ports, and the hubs may run on the same host.
    pub cookie_prefix: String,
    /// Its decryption keys, for the high platform.
    pub keys: Arc<UpstreamKeys>,
    pub standard: HubRegistration,
    pub high: HubRegistration,
}

/// Registration at one hub.
#[derive(Clone)]
pub struct HubRegistration {
    /// Issuer of the hub, such as `https://hub.example/api/v2`.
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Secret<String>,
    /// Space-separated, `openid` included.
    pub scopes: String,
    /// Registered signing algorithm of ID token and userinfo.
    pub alg: SigningAlg,
    /// Encryption of both; `None` if they are only signed.
    pub encryption: Option<JweAlgorithms>,
    /// API of a data provider, to call with the access token.
    pub data_provider: Option<String>,
}

impl ServiceProviderSettings {
    /// Returns the registration for requests of this level (R003).
    #[must_use]
    pub fn registration_for(&self, level: Level) -> &HubRegistration {
        match level {
            Level::Eidas1 => &self.standard,
            Level::Eidas2 | Level::Eidas3 => &self.high,
        }
    }
}

/// Parses a level.
pub fn parse_level(name: &str) -> Option<Level> {
    [Level::Eidas1, Level::Eidas2, Level::Eidas3].into_iter().find(|level| level.as_str() == name)
}
