//! Builds the parts of this crate, each from what it needs.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::access_token::AccessTokens;
use super::assertion::AssertionVerifier;
use super::auth_failures::AuthFailureLimiter;
use super::authorization_request::AuthorizationRequests;
use super::authorization_request::pushed::{PushedRequestEndpoint, StoredRequests};
use super::backchannel_logout::LogoutNotifier;
use super::client::ClientAuthenticator;
use super::client_keys::KeyDirectory;
use super::code::AuthorizationCodes;
use super::code_exchange::CodeExchange;
use super::hint::IdTokenHints;
use super::logout_redirects::LogoutRedirects;
use super::pending_post::PendingPosts;
use super::refresh::RefreshTokens;
use super::request_object::RequestObjects;
use super::response_signer::ResponseSigner;
use super::revocation::RevocationEndpoint;
use super::sender::{DpopNonces, SenderVerifier};
use super::session::Sessions;
use super::subjects::SubjectDeriver;
use super::token_endpoint::TokenEndpoint;
use super::token_issuer::TokenIssuer;
use super::used_jtis::UsedJtis;
use super::{Gate, HubCore, TokenLifetimesByRules};
use passerelle_jose::Signer;
use passerelle_jose::client_certificate::CertificateAuthorities;
use passerelle_jose::verify::VerificationKeys;
use passerelle_quota::KeyedRateLimiter;
use passerelle_store::{Capacities, RecordKind, Store};

/// What the parts are built from.
pub struct GrantDependencies {
    pub core: Arc<HubCore>,
    pub store: Arc<dyn Store>,
    pub capacities: Capacities,
    /// Maximum number of logout tokens that wait for delivery.
    pub logout_token_capacity: usize,
    pub signer: Arc<dyn Signer>,
    /// The hub's own public keys, current and retired.
    pub own_keys: Arc<ArcSwap<VerificationKeys>>,
    /// Public keys of all service providers and data providers.
    pub client_keys: Arc<KeyDirectory>,
    /// Certificate authorities for clients with `tls_client_auth`; `None` if not configured.
    pub certificate_authorities: Option<CertificateAuthorities>,
    pub auth_failures: AuthFailureLimiter,
    pub dpop_nonces: DpopNonces,
    pub gate: Arc<dyn Gate>,
    pub subjects: SubjectDeriver,
    /// Whether sessions are indexed by the `sub` of each service provider.
    pub indexes_sessions: bool,
    pub lifetimes: TokenLifetimesByRules,
}

/// The parts of this crate, each for the endpoints that need it; one value per process.
pub struct GrantServices {
    pub authorization_requests: Arc<AuthorizationRequests>,
    pub pushed_request_endpoint: PushedRequestEndpoint,
    pub hints: Arc<IdTokenHints>,
    pub response_signer: Arc<ResponseSigner>,
    pub codes: Arc<AuthorizationCodes>,
    pub token_endpoint: TokenEndpoint,
    pub senders: Arc<SenderVerifier>,
    pub refresh_tokens: Arc<RefreshTokens>,
    pub access_tokens: Arc<AccessTokens>,
    pub revocation_endpoint: RevocationEndpoint,
    pub sessions: Arc<Sessions>,
    pub subjects: Arc<SubjectDeriver>,
    pub logout_redirects: Arc<LogoutRedirects>,
    pub logout_notifier: Arc<LogoutNotifier>,
    pub pending_posts: PendingPosts,
    pub used_jtis: Arc<UsedJtis>,
    /// Limits of failed requests, for exchanging counts with other hubs.
    pub failure_limits: [Arc<KeyedRateLimiter>; 2],
}

impl GrantServices {
    /// Builds the parts.
    #[expect(clippy::too_many_lines, reason = "a list: each part, and what it is built from")]
    pub fn new(dependencies: GrantDependencies) -> Self {
        let GrantDependencies {
            core,
            store,
            capacities,
            logout_token_capacity,
            signer,
            own_keys,
            client_keys,
            certificate_authorities,
            auth_failures,
            dpop_nonces,
            gate,
            subjects,
            indexes_sessions,
            lifetimes,
        } = dependencies;
        let capacity = |kind: &'static RecordKind| capacities.for_kind(kind);
        let failure_limits = auth_failures.limits();
        let used_jtis =
            Arc::new(UsedJtis::new(store.clone(), capacity(RecordKind::USED_JTI).records));
        let assertions = Arc::new(AssertionVerifier {
            core: core.clone(),
            client_keys: client_keys.clone(),
            own_keys: own_keys.clone(),
            used_jtis: used_jtis.clone(),
        });
        let authenticator = Arc::new(ClientAuthenticator {
            core: core.clone(),
            client_keys: client_keys.clone(),
            certificate_authorities,
            assertions: assertions.clone(),
            failures: auth_failures,
        });
        let senders = Arc::new(SenderVerifier {
            core: core.clone(),
            used_jtis: used_jtis.clone(),
            nonces: dpop_nonces,
        });
        let hints = Arc::new(IdTokenHints { core: core.clone(), own_keys });
        let signer = Arc::new(ResponseSigner { core: core.clone(), signer, client_keys });
        let requests = Arc::new(AuthorizationRequests {
            core: core.clone(),
            hints: hints.clone(),
            signer: signer.clone(),
            objects: RequestObjects {
                core: core.clone(),
                assertions,
                used_jtis: used_jtis.clone(),
            },
            stored: StoredRequests::new(store.clone(), capacity(RecordKind::PUSHED_REQUEST)),
        });
        let subjects = Arc::new(subjects);
        let sessions = Arc::new(Sessions {
            core: core.clone(),
            store: store.clone(),
            subjects: subjects.clone(),
            code_lifetime: lifetimes.longest_code(),
            indexes_subjects: indexes_sessions,
        });
        let codes = Arc::new(AuthorizationCodes {
            core: core.clone(),
            store: store.clone(),
            sessions: sessions.clone(),
            subjects: subjects.clone(),
            lifetimes,
        });
        let tokens = Arc::new(TokenIssuer {
            core: core.clone(),
            store: store.clone(),
            signer: signer.clone(),
            lifetimes,
        });
        let refresh_tokens = Arc::new(RefreshTokens {
            core: core.clone(),
            store: store.clone(),
            tokens: tokens.clone(),
            senders: senders.clone(),
            gate: gate.clone(),
        });
        let code_exchange = CodeExchange {
            core: core.clone(),
            codes: codes.clone(),
            tokens,
            refresh_tokens: refresh_tokens.clone(),
            senders: senders.clone(),
            gate,
        };
        let access_tokens = Arc::new(AccessTokens {
            core: core.clone(),
            store: store.clone(),
            senders: senders.clone(),
            authenticator: authenticator.clone(),
            signer: signer.clone(),
        });
        Self {
            pushed_request_endpoint: PushedRequestEndpoint {
                requests: requests.clone(),
                authenticator: authenticator.clone(),
                senders: senders.clone(),
            },
            token_endpoint: TokenEndpoint {
                authenticator: authenticator.clone(),
                code_exchange,
                refresh_tokens: refresh_tokens.clone(),
            },
            revocation_endpoint: RevocationEndpoint {
                core: core.clone(),
                authenticator,
                access_tokens: access_tokens.clone(),
                refresh_tokens: refresh_tokens.clone(),
            },
            logout_redirects: Arc::new(LogoutRedirects {
                store: store.clone(),
                env: core.env.clone(),
            }),
            pending_posts: PendingPosts { store: store.clone(), env: core.env.clone() },
            logout_notifier: Arc::new(LogoutNotifier::new(
                core,
                store,
                signer.clone(),
                logout_token_capacity,
            )),
            authorization_requests: requests,
            response_signer: signer,
            hints,
            codes,
            senders,
            refresh_tokens,
            access_tokens,
            sessions,
            subjects,
            used_jtis,
            failure_limits,
        }
    }
}
