//! Registrations of the demo service provider, one on each platform (R011).

use std::sync::Arc;

use super::http::UniqueParams;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::decrypt::JweAlgorithms;
use passerelle_protocol::acr::Level;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::ids::Secret;
use passerelle_web::pages::DemoSignIn;

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
    pub keys: Arc<RelyingPartyKeys>,
    pub standard: HubRegistration,
    /// At the standard hub too; the hub asks the user for consent.
    pub consent: HubRegistration,
    pub high: HubRegistration,
    pub standard_console: ConsoleAccess,
    pub high_console: ConsoleAccess,
}

/// Admin console of a hub.
#[derive(Clone)]
pub struct ConsoleAccess {
    /// Origin of the private listener.
    pub origin: String,
    /// Administration token.
    pub token: Secret<String>,
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
    /// Returns the registration for this sign-in; the level determines the platform (R003).
    pub fn registration_for(&self, sign_in: DemoSignIn) -> &HubRegistration {
        match sign_in.level {
            Level::Eidas1 if sign_in.asks_consent => &self.consent,
            Level::Eidas1 => &self.standard,
            Level::Eidas2 | Level::Eidas3 => &self.high,
        }
    }
}

/// Reads the sign-in that a form requests.
pub(super) fn parse_sign_in(form: &UniqueParams) -> Option<DemoSignIn> {
    let level = form.one("level")?;
    let level = Level::ALL.into_iter().find(|known| known.as_str() == level)?;
    match form.one("consent") {
        None => Some(DemoSignIn::at_level(level)),
        Some("required") if level == Level::Eidas1 => Some(DemoSignIn::WITH_CONSENT),
        Some(_) => None,
    }
}
