//! The state that the endpoints share: one value per process, used by all arbiters.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::client_address::TrustedProxies;
use super::cookies::Cookies;
use super::pages::{Locale, PageAction, PageTheme};
use super::route_table::RouteTable;
use super::token_diagnostics::TokenDiagnostics;
use passerelle_federation::logo::Logo;
use passerelle_grants::authorization_request::AuthorizationRequests;
use passerelle_grants::authorization_request::pushed::PushedRequestEndpoint;
use passerelle_grants::logout_redirects::LogoutRedirects;
use passerelle_grants::pending_post::PendingPosts;
use passerelle_grants::{
    AccessTokens, HubCore, IdTokenHints, ResponseSigner, RevocationEndpoint, SenderVerifier,
    TokenEndpoint,
};
use passerelle_hub::notices::Notices;
use passerelle_hub::{Connectors, Logins, Logouts};
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::keyring::Keyring;
use passerelle_localization::OperatorText;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_quota::counter_sync::CounterSync;

/// Shared state of the endpoints.
pub struct Hub {
    pub core: Arc<HubCore>,
    pub logins: Logins,
    pub logouts: Logouts,
    pub connectors: Connectors,
    pub notices: Notices,
    pub authorization_requests: Arc<AuthorizationRequests>,
    /// `None` if service providers may not push their requests.
    pub pushed_request_endpoint: Option<PushedRequestEndpoint>,
    pub token_endpoint: TokenEndpoint,
    pub revocation_endpoint: RevocationEndpoint,
    pub access_tokens: Arc<AccessTokens>,
    pub hints: Arc<IdTokenHints>,
    pub senders: Arc<SenderVerifier>,
    pub response_signer: Arc<ResponseSigner>,
    pub logout_redirects: Arc<LogoutRedirects>,
    pub pending_posts: PendingPosts,
    /// Rate limit counters exchanged between hubs that share a store.
    pub counter_sync: Option<Arc<CounterSync>>,
    /// Proxies whose forwarded client address is trusted.
    pub proxies: TrustedProxies,
    pub cookies: Cookies,
    pub theme: PageTheme,
    /// Served at `/assets/logo`.
    pub logo: Option<Logo>,
    /// Served at `/assets/favicon` and `/favicon.ico`.
    pub favicon: Option<Logo>,
    /// The operator's documentation for service providers.
    pub service_documentation: Option<String>,
    /// Whether `/sandbox/…` and `/api/v2/diagnostics` are served.
    pub sandbox: SandboxRoutes,
    /// What the endpoints of optional crates work with, and
    /// [`ExtensionEndpoints`](super::endpoint::ExtensionEndpoints).
    pub extension_states: Vec<Arc<dyn Any + Send + Sync>>,
    pub routes: Arc<RouteTable>,
    /// Why token requests failed; empty without the sandbox.
    pub token_diagnostics: TokenDiagnostics,
    pub keyring: Arc<ArcSwap<Keyring>>,
    /// The hub's keys as a client of identity providers.
    pub upstream_keys: Arc<ArcSwap<RelyingPartyKeys>>,
    /// How long a retired key is still published: as long as anything it signed may be valid.
    pub key_grace: Duration,
}

impl Hub {
    /// Returns true if service providers may push their requests (RFC 9126).
    pub const fn accepts_pushed(&self) -> bool {
        self.pushed_request_endpoint.is_some()
    }

    /// Returns the state of an optional crate; `None` if the hub runs without it.
    pub fn extension<T: 'static>(&self) -> Option<&T> {
        self.extension_states.iter().find_map(|state| state.downcast_ref())
    }

    /// Returns the name of a service provider; `None` if it is not registered.
    pub fn service_name(&self, client_id: &ClientId, locale: &Locale) -> Option<OperatorText> {
        let federation = self.core.federation.load();
        Some(locale.localize(&federation.service_provider(client_id)?.name).into())
    }

    /// Returns the link to a service provider's home page; `None` if it is not registered.
    pub fn service_home(&self, client_id: &ClientId) -> Option<PageAction> {
        let federation = self.core.federation.load();
        let service = federation.service_provider(client_id)?;
        Some(PageAction::ServiceHome { href: service.registration.home_page.clone() })
    }

    /// Returns the name of an identity provider; `None` if there is no such connector.
    pub fn provider_name(&self, connector: &ConnectorId, locale: &Locale) -> Option<OperatorText> {
        Some(locale.localize(&*self.connectors.display_name(connector)?).into())
    }
}

/// Whether the routes of the sandbox identity provider, and of diagnostics, exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SandboxRoutes {
    Off,
    On,
}
