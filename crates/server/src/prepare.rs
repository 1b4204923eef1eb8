//! Builds every part of a hub that can fail. `serve` starts from these parts; `check` only builds
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::build_error::BuildError;
use super::key_device::HubKeyDevices;
use super::keys::{self, HubKeys};
use super::kinds::declare_metrics;
use super::register;
use super::traces::{self, TraceExport};
use passerelle_config::LoadedConfig;
use passerelle_config::model::Settings;
use passerelle_connector::{ConfiguredConnector, SandboxMode};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_extension::{Extension, RegistrationEndpoint};
use passerelle_federation::identity::ClaimName;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::identity::sub::SubjectKeys;
use passerelle_federation::notices::Notice;
use passerelle_federation::{CurrentFederation, Federation};
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::registry::{Blocks, ConnectorSpec};
use passerelle_hub::runtime_entries::RuntimeEntries;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::client_certificate::{AuthoritiesError, CertificateAuthorities};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::discovery;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::refresh::OFFLINE_ACCESS;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_register::Register;
use passerelle_settings::FieldDigests;
use passerelle_store::LateStore;
use passerelle_telemetry::Metrics;
use passerelle_web::SandboxRoutes;
use passerelle_web::endpoint::EndpointList;
use passerelle_web::outer_middleware::OuterMiddleware;
use passerelle_web::route_table::RouteTable;
use passerelle_web::{error_pages, pages, routes};

/// Parts of a hub, none of them running.
pub(super) struct PreparedHub {
    pub metrics: Arc<Metrics>,
    pub federation: CurrentFederation,
    pub client_keys: Arc<KeyDirectory>,
    pub keys: keys::LoadedKeys,
    pub connector_context: passerelle_connector::ConnectorContext,
    pub connector_specs: Vec<ConnectorSpec>,
    pub register: Option<Arc<dyn Register>>,
    pub blocks: Blocks,
    pub published_notices: RuntimeEntries<Notice>,
    pub subject_keys: SubjectKeys,
    pub discovery_publisher: DiscoveryPublisher,
    pub traces: TraceExport,
    pub outer_middleware: Arc<OuterMiddleware>,
}

/// Builds the parts of a hub.
///
/// # Errors
/// Returns an error for each part that can't be built; the list is never empty.
pub(super) fn prepare_hub(
    loaded: &LoadedConfig,
    env: &Env,
    keys: HubKeys,
) -> Result<PreparedHub, Vec<BuildError>> {
    let settings = &loaded.settings;
    let metrics = Arc::new(declare_metrics(loaded.extensions).map_err(|error| vec![error.into()])?);
    let mut errors = Vec::new();
    let filter =
        collect_error(&mut errors, passerelle_telemetry::validate_filter(&settings.log.filter));
    let discovery_publisher = DiscoveryPublisher::new(loaded);
    let federation = discovery_publisher.with_discovery(loaded.build_federation());
    let client_keys = KeyDirectory::new(&federation, &metrics).map(Arc::new);
    let client_keys = collect_error(&mut errors, client_keys);
    let devices = HubKeyDevices::open(&loaded.private_keys, Some(&metrics));
    let keys = collect_error(&mut errors, devices).and_then(|devices| {
        collect_error(&mut errors, keys::load_keys(&settings.keys, env, keys, devices))
    });
    let connector_context = connector_context(loaded, env, keys.as_ref(), Some(&metrics));
    let connector_specs: Vec<_> = loaded
        .files
        .connectors()
        .values()
        .map(|(configured, fields)| {
            collect_error(&mut errors, connector_spec(configured, fields, &connector_context))
        })
        .collect();
    collect_error(&mut errors, read_certificate_authorities(loaded));
    let register = collect_error(&mut errors, prepare_register(loaded, env, &metrics));
    let blocks = collect_error(&mut errors, Blocks::load(&settings.state, env));
    let notices = collect_error(&mut errors, RuntimeEntries::load(&settings.state, env));
    let (secrets, country) = (loaded.subject_keys.clone(), settings.home_country.clone());
    let subject_keys = collect_error(&mut errors, SubjectKeys::new(secrets, country));
    let traces = collect_error(&mut errors, traces::prepare_traces(loaded, env, &metrics));
    let outer_middleware = traces.as_ref().and_then(|traces| {
        collect_error(&mut errors, build_outer_middleware(loaded, env, &metrics, traces))
    });
    let all = || {
        filter?;
        Some(PreparedHub {
            metrics,
            federation: CurrentFederation::new(federation),
            client_keys: client_keys?,
            keys: keys?,
            connector_context,
            connector_specs: connector_specs.into_iter().collect::<Option<_>>()?,
            register: register?,
            blocks: blocks?,
            published_notices: notices?,
            subject_keys: subject_keys?,
            discovery_publisher,
            traces: traces?,
            outer_middleware: outer_middleware?,
        })
    };
    all().ok_or(errors)
}

/// Opens the register. R009: on the high platform identities come from the providers, so it is not
/// used there.
fn prepare_register(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<Option<Arc<dyn Register>>, BuildError> {
    match loaded.settings.platform {
        Platform::High => Ok(None),
        Platform::Standard => Ok(register::open_register(loaded, metrics, env.now())?),
    }
}

/// Collects the error, so that the next parts are built too.
fn collect_error<T, F: Into<BuildError>>(
    errors: &mut Vec<BuildError>,
    made: Result<T, F>,
) -> Option<T> {
    made.map_err(|error| errors.push(error.into())).ok()
}

/// Returns the context for building connectors. Without keys, the files can still be checked.
pub(super) fn connector_context(
    loaded: &LoadedConfig,
    env: &Env,
    keys: Option<&keys::LoadedKeys>,
    metrics: Option<&Arc<Metrics>>,
) -> passerelle_connector::ConnectorContext {
    let none = || Arc::new(ArcSwap::from_pointee(RelyingPartyKeys::empty()));
    passerelle_connector::ConnectorContext {
        env: env.clone(),
        upstream_keys: keys.map_or_else(none, |keys| Arc::clone(&keys.shared.upstream)),
        sandbox: SandboxMode::from_flag(loaded.settings.sandbox),
        http_clients: HttpClientPool::default(),
        metrics: metrics.cloned(),
        store: LateStore::default(),
    }
}

/// Builds the connector of one file.
///
/// # Errors
/// Returns an error if the connector can't be built from its file.
pub(super) fn connector_spec(
    configured: &ConfiguredConnector,
    fields: &Arc<FieldDigests>,
    context: &passerelle_connector::ConnectorContext,
) -> Result<ConnectorSpec, BuildError> {
    let connector = passerelle_connector::build(configured, context.clone())
        .map_err(|error| BuildError::Connector { id: configured.id.to_string(), error })?;
    Ok(ConnectorSpec {
        id: configured.id.clone(),
        connector,
        limits: configured.file.limits,
        fields: Arc::clone(fields),
    })
}

/// Returns whether the hub has the routes of the sandbox.
pub(super) const fn sandbox_routes(settings: &Settings) -> SandboxRoutes {
    if settings.sandbox { SandboxRoutes::On } else { SandboxRoutes::Off }
}

/// Returns the routes of the hub.
pub(super) fn route_table(loaded: &LoadedConfig) -> Arc<RouteTable> {
    let extensions = extension_endpoints(loaded.extensions);
    Arc::new(routes::route_table(sandbox_routes(&loaded.settings), &extensions))
}

/// Returns the endpoints of the optional crates.
pub(super) fn extension_endpoints(extensions: &[Extension]) -> Vec<EndpointList> {
    extensions.iter().map(|extension| extension.endpoints).collect()
}

fn build_outer_middleware(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
    traces: &TraceExport,
) -> Result<Arc<OuterMiddleware>, BuildError> {
    let (env, theme) = (env.clone(), pages::PageTheme::from(&loaded.theme));
    let page = move |head: &_, code| error_pages::render_early_error(&env, &theme, head, code);
    let deadline = Duration::from_secs(loaded.settings.limits.request_seconds);
    let routes = route_table(loaded);
    let outer_middleware = OuterMiddleware::new(
        &loaded.settings.base_url,
        deadline,
        Arc::clone(metrics),
        routes,
        page,
    )?;
    let certificates = loaded.settings.public.client_certificates.as_ref();
    let certificate_host = certificates.and_then(|certificates| certificates.base_url.as_deref());
    let outer_middleware = outer_middleware
        .with_certificate_host(certificate_host)
        .with_hsts_include_subdomains(loaded.settings.public.hsts_include_subdomains);
    Ok(Arc::new(outer_middleware.with_tracer(traces.tracer.clone())))
}

/// Reads the authorities of `tls_client_auth`; `None` if none are configured.
///
/// # Errors
/// Returns an error if their file is unusable.
pub(super) fn read_certificate_authorities(
    loaded: &LoadedConfig,
) -> Result<Option<CertificateAuthorities>, AuthoritiesError> {
    let certificates = loaded.settings.public.client_certificates.as_ref();
    certificates
        .and_then(|certificates| certificates.ca.as_deref())
        .map(CertificateAuthorities::read)
        .transpose()
}

/// Publishes the discovery document; holds its parts that do not change with the federation.
#[derive(Clone)]
pub(super) struct DiscoveryPublisher {
    issuer: String,
    settings: Settings,
    /// `None` if clients can't register themselves.
    registration: Option<RegistrationEndpoint>,
}

impl DiscoveryPublisher {
    fn new(loaded: &LoadedConfig) -> Self {
        let platform = loaded.settings.platform;
        let registration = loaded.extensions.iter().find_map(|extension| {
            (extension.registration_endpoint)(loaded.extension_table(extension)?, platform)
        });
        Self { issuer: loaded.issuer.clone(), settings: loaded.settings.clone(), registration }
    }

    fn certificate_support(&self) -> Option<discovery::CertificateSupport<'_>> {
        let certificates = self.settings.public.client_certificates.as_ref()?;
        Some(discovery::CertificateSupport {
            has_authorities: certificates.ca.is_some(),
            base_url: certificates.base_url.as_deref(),
        })
    }

    /// Returns the federation with its discovery document.
    pub(super) fn with_discovery(&self, mut federation: Federation) -> Federation {
        let settings = &self.settings;
        let registration = self.registration;
        // Publish only what works: the standard scopes count only if a client may use them.
        let serves_openid = federation.serves_openid()
            || registration.is_some_and(|endpoint| endpoint.rules == ProtocolRules::Openid);
        let tables = || {
            std::iter::once(&federation.scopes)
                .chain(serves_openid.then_some(&federation.openid_scopes))
        };
        let scopes: BTreeSet<Scope> = tables().flat_map(ScopeTable::scopes).cloned().collect();
        let claims: BTreeSet<ClaimName> = tables().flat_map(ScopeTable::all_claim_names).collect();
        let verified_claims =
            federation.verified_claims_support(settings.identity_source).filter(|_| serves_openid);
        let issues_refresh_tokens = federation.issues_refresh_tokens();
        let offline = issues_refresh_tokens.then(|| Scope::from(OFFLINE_ACCESS));
        let scopes: Vec<Scope> = scopes.into_iter().chain(offline).collect();
        // ID token claims that `claims` may request besides the identity.
        let claims = claims.iter().map(ClaimName::as_str).chain(["acr", "amr"]);
        let claims: Vec<String> = claims.map(ToOwned::to_owned).collect();
        let listed = federation.service_providers().filter(|service| service.registration.active);
        let level_names: BTreeSet<&str> = listed
            .flat_map(|service| &service.registration.acr.level_names)
            .map(|listed| &*listed.name)
            .collect();
        let level_names: Vec<String> = level_names.into_iter().map(ToOwned::to_owned).collect();
        let ui_locales: Vec<String> =
            federation.languages.locales().map(ToString::to_string).collect();
        let document = discovery::discovery_document(&discovery::DiscoveryInput {
            issuer: &self.issuer,
            base_url: &settings.base_url,
            platform: settings.platform,
            scopes: &scopes,
            claims: &claims,
            verified_claims: verified_claims.as_ref(),
            level_names: &level_names,
            has_public_clients: federation.has_public_clients() || registration.is_some(),
            registration_path: registration.map(|endpoint| endpoint.path),
            sends_logout_tokens: federation.sends_logout_tokens() || registration.is_some(),
            ui_locales: &ui_locales,
            service_documentation: settings.service_documentation.as_deref(),
            protection: federation.protection_features(
                settings.request_policy(),
                registration.map(|endpoint| endpoint.rules),
            ),
            issues_refresh_tokens,
            client_certificates: self.certificate_support(),
        });
        federation.discovery = document.into();
        federation
    }
}
