//! Services that all login actors share.

use std::sync::Arc;
use std::time::Duration;

use super::live_login_counter::LiveLoginCounter;
use super::mail_codes::MailCodes;
use super::registry::Connectors;
use super::unauthenticated_logins::UnauthenticatedLogins;
use passerelle_federation::identity::IdentitySource;
use passerelle_federation::identity::rules::IdentityRules;
use passerelle_grants::logout_redirects::LogoutRedirects;
use passerelle_grants::subjects::SubjectDeriver;
use passerelle_grants::{AuthorizationCodes, HubCore, Sessions};
use passerelle_protocol::digest::HmacKey;
use passerelle_register::Register;
use passerelle_store::Store;

/// Services that login actors use; one per program.
pub struct LoginServices {
    pub core: Arc<HubCore>,
    pub store: Arc<dyn Store>,
    pub connectors: Connectors,
    /// Present if identities come from the register.
    pub register: Option<Arc<dyn Register>>,
    /// Present if the hub sends one-time codes by mail.
    pub mail_codes: Option<Arc<dyn MailCodes>>,
    /// Key of the digests of codes by mail, the same for all hubs.
    pub mail_code_key: HmacKey,
    pub sessions: Arc<Sessions>,
    pub codes: Arc<AuthorizationCodes>,
    pub subjects: Arc<SubjectDeriver>,
    pub logout_redirects: Arc<LogoutRedirects>,
    /// Counter of logins without an outcome.
    pub live_logins: Arc<LiveLoginCounter>,
    /// Logins in which no user has authenticated yet.
    pub unauthenticated: UnauthenticatedLogins,
    pub identity_source: IdentitySource,
    pub identity_rules: IdentityRules,
    /// Time from the authorization request to the expiry of a login.
    pub login_lifetime: Duration,
}
