//! Connects the parts of a hub: those that most others share, and the services built on them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use actix_web::web;

use super::admitting_hubs::AdmittingHubs;
use super::build_error::BuildError;
use super::from_settings::{
    auth_failure_limits, grant_lifetimes, identity_rules, identity_source, login_capacity,
    login_limits, longest_signature,
};
use super::key_rotation::{KeyRotationSchedule, KeyRotationSettings};
use super::keys::SharedKeys;
use super::kinds::KINDS;
use super::operations::LocalHubOperations;
use super::peers::PeerHubClient;
use super::prepare::{
    DiscoveryPublisher, extension_endpoints, read_certificate_authorities, route_table,
    sandbox_routes,
};
use super::readiness::{self, ReadinessSources};
use super::reload::{Reload, ReloadConfig};
use super::store::capacities;
use super::{audit_log, metrics_sampler};
use passerelle_admin::console::{AdminConsole, ExtensionTableSource};
use passerelle_admin::readiness::Readiness;
use passerelle_admin::{AdminApi, AdminCredentials, AdminExtensions};
use passerelle_audit::recent::RecentEvents;
use passerelle_audit::settings::AuditSink;
use passerelle_config::LoadedConfig;
use passerelle_config::effective_settings::effective_settings;
use passerelle_config::kinds::Kinds;
use passerelle_config::model::Settings;
use passerelle_connector::ConnectorContext;
use passerelle_extension::StartedExtension;
use passerelle_federation::identity::sub::SubjectKeys;
use passerelle_grants::auth_failures::AuthFailureLimiter;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_grants::subjects::SubjectDeriver;
use passerelle_grants::{
    DpopNonces, Gate, GrantDependencies, GrantServices, HubCore, RefreshTokens,
};
use passerelle_hub::live_login_counter::LiveLoginCounter;
use passerelle_hub::mail_codes::MailCodes;
use passerelle_hub::notices::Notices;
use passerelle_hub::registry::{Blocks, ConnectorSpec, Registry, RegistryDeps, RegistryHandle};
use passerelle_hub::{Connectors, LoginServices, Logins, Logouts, UnauthenticatedLogins};
use passerelle_jose::client_certificate::CertificateAuthorities;
use passerelle_jose::keyring::JWKS_MAX_AGE;
use passerelle_protocol::digest::{self, HmacKey};
use passerelle_quota::counter_sync::CounterSync;
use passerelle_register::Register;
use passerelle_store::Store;
use passerelle_store::counters::Counters;
use passerelle_store::kind::StoreCheck;
use passerelle_telemetry::CheckFinding;
use passerelle_web::Hub;
use passerelle_web::client_address::TrustedProxies;
use passerelle_web::cookies::Cookies;
use passerelle_web::endpoint::ExtensionEndpoints;
use passerelle_web::pages::PageTheme;
use passerelle_web::token_diagnostics::TokenDiagnostics;

/// Parts that the services of a hub share.
pub(super) struct HubParts<'a> {
    pub loaded: &'a LoadedConfig,
    pub core: Arc<HubCore>,
    pub client_keys: Arc<KeyDirectory>,
    pub store: Arc<dyn Store>,
    /// Recent audit events, for the admin console.
    pub recent: Option<Arc<RecentEvents>>,
    pub keys: SharedKeys,
    pub register: Option<Arc<dyn Register>>,
    pub blocks: Blocks,
    pub notices: Notices,
    pub live_logins: Arc<LiveLoginCounter>,
    /// The optional crates that run, with their names.
    pub extensions: Vec<(&'static str, StartedExtension)>,
    /// Arbiters of the actors.
    pub arbiters: Vec<Arbiter>,
}

impl HubParts<'_> {
    const fn settings(&self) -> &Settings {
        &self.loaded.settings
    }

    fn arbiter_handles(&self) -> Vec<ArbiterHandle> {
        self.arbiters.iter().map(Arbiter::handle).collect()
    }

    /// Starts the connectors.
    pub(crate) fn start_registry(&self, specs: Vec<ConnectorSpec>) -> (Connectors, RegistryHandle) {
        let deps = RegistryDeps {
            core: Arc::clone(&self.core),
            blocks: self.blocks.clone(),
            default_max_calls: self.settings().limits.calls_per_connector,
            store: Arc::clone(&self.store),
            arbiters: self.arbiter_handles(),
        };
        Registry::start(specs, deps)
    }

    /// Starts the sampling of metrics.
    pub(crate) fn start_sampling(&self) {
        let sources = metrics_sampler::MetricSources {
            core: Arc::clone(&self.core),
            client_keys: Arc::clone(&self.client_keys),
            keys: self.keys.clone(),
            key_rotation_period: self.settings().key_rotation_period(),
            live_logins: Arc::clone(&self.live_logins),
        };
        metrics_sampler::start_sampling(self.loaded, sources);
    }

    /// Starts the rotation of keys by schedule, if it is configured.
    pub(crate) fn start_key_rotation(&self, connectors: &Connectors) {
        let settings = self.settings();
        let Some(period) = settings.key_rotation_period() else { return };
        let connectors = connectors.clone();
        let rotation = KeyRotationSettings {
            key_folder: settings.keys.clone(),
            period,
            signing_key_lead: settings.lifetimes.signing_key_lead(),
            node: self.node(),
        };
        let is_clock_wrong = move || connectors.common_clock_skew().is_some();
        let (keys, env) = (self.keys.clone(), &self.core.env);
        let schedule = KeyRotationSchedule::new(rotation, keys, &self.store, env, is_clock_wrong);
        actix::spawn(schedule.run());
    }

    fn node(&self) -> String {
        self.settings().audit.node.clone().unwrap_or_else(audit_log::host_name)
    }

    /// Starts the loop that reloads the configuration files.
    pub(crate) fn start_reload(
        &self,
        registry: RegistryHandle,
        published_connectors: Connectors,
        connectors: ConnectorContext,
        discovery_publisher: DiscoveryPublisher,
    ) -> Reload {
        ReloadConfig {
            label_policy: metrics_sampler::LabelPolicy::from_settings(self.loaded),
            files: self.loaded.files.clone(),
            startup_diagnostics: self.loaded.startup_diagnostics.clone(),
            certificates: self.loaded.certificates.clone(),
            connectors,
            discovery_publisher,
            registry,
            published_connectors,
            client_keys: Arc::clone(&self.client_keys),
            hub_keys: self.keys.clone(),
            core: Arc::clone(&self.core),
            interval: Duration::from_secs(self.settings().limits.reload_seconds),
        }
        .start()
    }

    /// Builds what issues codes and tokens and keeps sessions.
    pub(crate) fn grants(
        &self,
        connectors: &Connectors,
        subject_keys: SubjectKeys,
    ) -> GrantServices {
        let (settings, core) = (self.settings(), &self.core);
        let failure_limits = auth_failure_limits(&settings.limits);
        GrantServices::new(GrantDependencies {
            core: Arc::clone(core),
            store: Arc::clone(&self.store),
            capacities: capacities(self.loaded),
            logout_token_capacity: settings.limits.logout_tokens,
            signer: Arc::clone(&self.keys.ring) as Arc<_>,
            own_keys: Arc::clone(&self.keys.own),
            client_keys: Arc::clone(&self.client_keys),
            certificate_authorities: self.certificate_authorities(),
            auth_failures: AuthFailureLimiter::with_metrics(
                failure_limits,
                &core.env,
                &core.metrics,
            ),
            dpop_nonces: self.dpop_nonces(),
            gate: Arc::new(connectors.clone()) as Arc<dyn Gate>,
            subjects: SubjectDeriver { source: settings.subject, keys: subject_keys },
            indexes_sessions: settings.index_sessions_by_sub,
            lifetimes: grant_lifetimes(&settings.lifetimes),
        })
    }

    /// Derives the nonces from the oldest subject key, which every hub of the federation has.
    fn dpop_nonces(&self) -> DpopNonces {
        let oldest = self.loaded.subject_keys.values().next();
        DpopNonces::from_secret(oldest.map_or(&[], |key| key.reveal()))
    }

    /// Reads the authorities again, which could be read when the parts were prepared.
    fn certificate_authorities(&self) -> Option<CertificateAuthorities> {
        read_certificate_authorities(self.loaded).unwrap_or_else(|error| {
            tracing::error!(%error, "no client can authenticate by tls_client_auth");
            None
        })
    }

    fn login_services(
        &self,
        connectors: &Connectors,
        grants: &GrantServices,
    ) -> Arc<LoginServices> {
        let settings = self.settings();
        let capacity = login_capacity(&settings.limits);
        Arc::new(LoginServices {
            core: Arc::clone(&self.core),
            store: Arc::clone(&self.store),
            connectors: connectors.clone(),
            register: self.register.clone(),
            mail_codes: self.mail_codes(),
            mail_code_key: self.mail_code_key(),
            sessions: Arc::clone(&grants.sessions),
            codes: Arc::clone(&grants.codes),
            subjects: Arc::clone(&grants.subjects),
            logout_redirects: Arc::clone(&grants.logout_redirects),
            live_logins: Arc::clone(&self.live_logins),
            unauthenticated: UnauthenticatedLogins::new(capacity, &self.core.metrics),
            identity_source: identity_source(self.loaded),
            identity_rules: identity_rules(settings.subject, &settings.home_country),
            login_lifetime: settings.lifetimes.login(settings.platform),
        })
    }

    /// Derives the key from the oldest subject key, which every hub of the federation has.
    fn mail_code_key(&self) -> HmacKey {
        let oldest = self.loaded.subject_keys.values().next();
        let secret: &[u8] = oldest.map_or(&[], |key| key.reveal());
        HmacKey::new(&digest::hmac(secret, b"codes by mail"))
    }

    fn mail_codes(&self) -> Option<Arc<dyn MailCodes>> {
        self.extensions.iter().find_map(|(_, started)| started.mail_codes.clone())
    }

    /// Builds the state that the endpoints share.
    pub(crate) fn hub(
        &self,
        connectors: Connectors,
        grants: GrantServices,
        counters: Option<Arc<dyn Counters>>,
    ) -> web::Data<Hub> {
        let (settings, loaded) = (self.settings(), self.loaded);
        let counter_sync = self.start_counter_sync(counters, &grants);
        let services = self.login_services(&connectors, &grants);
        let limits = login_limits(&settings.limits);
        actix::spawn(Arc::clone(&grants.logout_notifier).run());
        web::Data::new(Hub {
            core: Arc::clone(&self.core),
            logouts: Logouts::new(Arc::clone(&services), grants.logout_notifier),
            logins: Logins::new(services, limits),
            connectors,
            notices: self.notices.clone(),
            authorization_requests: grants.authorization_requests,
            pushed_request_endpoint: settings
                .request_policy()
                .accepts_pushed()
                .then_some(grants.pushed_request_endpoint),
            token_endpoint: grants.token_endpoint,
            revocation_endpoint: grants.revocation_endpoint,
            access_tokens: grants.access_tokens,
            hints: grants.hints,
            senders: grants.senders,
            response_signer: grants.response_signer,
            logout_redirects: grants.logout_redirects,
            pending_posts: grants.pending_posts,
            counter_sync,
            proxies: TrustedProxies::from_config(&settings.public),
            cookies: Cookies::new(&settings.cookie_prefix, loaded.base_url.scheme() == "https"),
            theme: PageTheme::from(&loaded.theme),
            logo: loaded.theme.logo.clone(),
            favicon: loaded.theme.favicon.clone(),
            token_diagnostics: TokenDiagnostics::default(),
            service_documentation: settings.service_documentation.clone(),
            sandbox: sandbox_routes(settings),
            extension_states: self.extension_states(),
            routes: route_table(loaded),
            keyring: Arc::clone(&self.keys.ring),
            upstream_keys: Arc::clone(&self.keys.upstream),
            key_grace: longest_signature(&settings.lifetimes) + JWKS_MAX_AGE,
        })
    }

    /// Builds the readiness checks.
    pub(crate) fn readiness(
        &mut self,
        hub: &Hub,
        reload: Reload,
        store_check: StoreCheck,
        process_findings: Vec<CheckFinding>,
    ) -> Arc<Readiness> {
        let admitting_hubs = Arc::new(AdmittingHubs::new(&self.store, &self.core.env));
        let mut readiness = readiness::build_readiness(ReadinessSources {
            process_findings,
            login_trend: metrics_sampler::start_login_trend(&self.core, self.recent.clone()),
            core: Arc::clone(&self.core),
            store: Arc::clone(&self.store),
            store_check,
            capacities: capacities(self.loaded),
            keys: self.keys.clone(),
            connectors: hub.connectors.clone(),
            blocks: self.blocks.clone(),
            notices: self.notices.clone(),
            register: self.register.clone(),
            reload,
            counter_sync: hub.counter_sync.clone(),
            logins: hub.logins.clone(),
            logout_notifier: Arc::clone(hub.logouts.notifier()),
            admitting_hubs: Arc::clone(&admitting_hubs),
        });
        for (name, started) in &mut self.extensions {
            if let Some(degradations) = started.degradations.take() {
                readiness = readiness.with_degradation_check(name, degradations);
            }
        }
        let readiness = Arc::new(readiness);
        metrics_sampler::sample_admission(&self.core.metrics, &readiness);
        readiness::observe_problems(&readiness);
        actix::spawn(admitting_hubs.run(Arc::clone(&readiness)));
        readiness
    }

    /// Builds the administration, with the admin console.
    ///
    /// # Errors
    /// Returns an error if the settings can't be shown.
    pub(crate) fn admin(
        &self,
        hub: &Hub,
        refresh_tokens: Arc<RefreshTokens>,
        readiness: &Arc<Readiness>,
        reload: Reload,
    ) -> Result<Arc<AdminApi>, BuildError> {
        let (settings, access) = (self.settings(), &self.loaded.private_access);
        let operations = LocalHubOperations {
            reload,
            connectors: hub.connectors.clone(),
            register: self.register.clone(),
            keys: self.keys.clone(),
            key_folder: settings.keys.clone(),
            signing_key_lead: settings.lifetimes.signing_key_lead(),
            env: self.core.env.clone(),
        };
        let tokens = AdminCredentials::new(self.loaded.admin_token.as_ref(), access);
        let (console, operations) = (self.console(hub, readiness)?, Arc::new(operations));
        let extensions = AdminExtensions {
            endpoints: self.loaded.extensions.iter().map(|one| one.admin_endpoints).collect(),
            acts: self.loaded.extensions.iter().map(|one| one.console_acts).collect(),
            states: hub.extension_states.clone(),
        };
        let logouts = &hub.logouts;
        let admin = AdminApi::new(console, tokens, operations, refresh_tokens, logouts);
        Ok(Arc::new(admin.with_extensions(extensions)))
    }

    fn extension_states(&self) -> Vec<Arc<dyn Any + Send + Sync>> {
        let endpoints = ExtensionEndpoints(extension_endpoints(self.loaded.extensions));
        let states = self.extensions.iter().filter_map(|(_, started)| started.state.clone());
        states.chain([Arc::new(endpoints) as Arc<_>]).collect()
    }

    fn extension_tables(&self) -> Vec<ExtensionTableSource> {
        self.extensions.iter().filter_map(|(_, started)| started.console_table.clone()).collect()
    }

    fn console(&self, hub: &Hub, readiness: &Arc<Readiness>) -> Result<AdminConsole, BuildError> {
        let settings = self.settings();
        let capacities = capacities(self.loaded);
        let (live_logins, store) = (Arc::clone(&self.live_logins), Arc::clone(&self.store));
        let peers = PeerHubClient::new(self.loaded.private_access.peers.as_ref())
            .map_err(|error| BuildError::Peers(error.to_string()))?;
        let audit = &settings.audit;
        Ok(AdminConsole {
            core: Arc::clone(&self.core),
            recent: self.recent.clone(),
            login_lifetime: settings.lifetimes.login(settings.platform),
            connectors: hub.connectors.clone(),
            notices: self.notices.clone(),
            client_keys: Arc::clone(&self.client_keys),
            readiness: Arc::clone(readiness),
            store_usage: Box::new(move || readiness::store_usage_rows(store.as_ref(), &capacities)),
            live_logins: metrics_sampler::live_login_reader(live_logins, Arc::clone(&self.core)),
            extension_tables: self.extension_tables(),
            node: self.node(),
            instance: self.core.env.entropy().token(),
            audit_log: (audit.sink == AuditSink::File).then(|| audit.path.clone()),
            audit_searches: Arc::default(),
            peers: peers.map(|peers| Arc::new(peers) as Arc<_>),
            settings: effective_settings(
                settings,
                Kinds { extensions: self.loaded.extensions, ..KINDS },
            )?,
        })
    }

    /// Starts synchronizing rate limit counters between hubs that share a store; returns `None`
    /// without one.
    fn start_counter_sync(
        &self,
        counters: Option<Arc<dyn Counters>>,
        grants: &GrantServices,
    ) -> Option<Arc<CounterSync>> {
        let own = self.core.rate_limits.limiters().into_iter();
        let extensions = self.extensions.iter().flat_map(|(_, started)| started.limiters.clone());
        let limits = own.chain(grants.failure_limits.clone()).chain(extensions).collect();
        let counter_sync = Arc::new(CounterSync::new(limits, counters?, &self.core.env));
        actix::spawn(Arc::clone(&counter_sync).run());
        Some(counter_sync)
    }
}
