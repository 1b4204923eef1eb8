//! Runs the embedded demo: for each platform a hub, two sandbox identity providers and a data
//! provider, and one service provider for both, in one process, at `localhost`.
//!
//! The identity providers are hubs with the `persona` connector, so a demo login crosses two hubs;
//! on the high platform each step is encrypted. Nothing outlives the process. Nothing but the
//! command depends on it. Begin with `federation.rs`, the files of each hub.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod connectors;
mod data_provider;
mod federation;
mod files;
mod localized_names;
#[cfg(feature = "saml")]
mod saml_identity_provider;
pub mod service_provider;
mod wallet;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use actix_web::dev::{Server, ServerHandle};
use connectors::IDENTITY_PROVIDERS;
use data_provider::DemoDataProvider;
use federation::{ADMIN_TOKEN, DemoPlatform, PlatformOrigins};
use files::DemoFiles;
use passerelle_jose::{Keyring, KeyringError, RelyingPartyKeys};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Env;
use passerelle_server::{BuildError, HubKeys, HubServer, ProgramDeps, RunningHub};
use passerelle_settings::Diagnostic;
#[cfg(feature = "saml")]
use saml_identity_provider::DemoSamlIdentityProvider;
use service_provider::{DemoServiceProvider, SetupError};
use wallet::{DemoWallet, IssuerSetupError};

/// Error returned when the demo can't be started.
#[derive(thiserror::Error, Debug)]
pub enum DemoStartError {
    #[error(
        "{address} can't be used ({cause}); stop the program that listens there, or choose another port with --port"
    )]
    Address { address: SocketAddr, cause: io::Error },
    #[error("port {0} is too high: the demo needs the ports above it; choose a lower one")]
    PortTooHigh(u16),
    #[error("the embedded configuration is wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Configuration(Vec<Diagnostic>),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Keys(#[from] KeyringError),
    #[error(transparent)]
    ServiceProvider(#[from] SetupError),
    #[error("the demo data provider's HTTP client can't be built: {0}")]
    DataProvider(#[from] reqwest::Error),
    #[error(transparent)]
    Wallet(#[from] IssuerSetupError),
    #[cfg(feature = "saml")]
    #[error(transparent)]
    Saml(#[from] saml_identity_provider::SamlSetupError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A running demo.
pub struct Demo {
    /// Start page: the demo service provider.
    pub start_url: String,
    pub standard: PlatformAddresses,
    pub high: PlatformAddresses,
    hubs: Vec<RunningHub>,
    /// Configuration folders, which the hubs reload while they run.
    _files: Vec<DemoFiles>,
    /// The service provider and the data providers.
    services: Vec<ServerHandle>,
}

/// Addresses of one platform.
pub struct PlatformAddresses {
    pub hub: String,
    /// Private listener of the hub: probes, metrics, console.
    pub private: String,
    pub identity_providers: Vec<String>,
    /// API that accepts access tokens.
    pub data_provider: String,
    /// Configuration folder of the hub, reloaded when it changes.
    pub folder: PathBuf,
    /// File with the administration token of the hub.
    pub admin_token: PathBuf,
}

/// Every listener of the demo, bound before anything starts.
struct Listeners {
    standard: PlatformListeners,
    high: PlatformListeners,
    service_provider: TcpListener,
    wallet: TcpListener,
    #[cfg(feature = "saml")]
    saml: TcpListener,
}

struct PlatformListeners {
    hub: TcpListener,
    private: TcpListener,
    identity_providers: Vec<TcpListener>,
    data_provider: TcpListener,
}

impl PlatformListeners {
    fn origins(&self) -> io::Result<PlatformOrigins> {
        Ok(PlatformOrigins {
            hub: local_origin(&self.hub)?,
            private: local_origin(&self.private)?,
            identity_providers: self
                .identity_providers
                .iter()
                .map(local_origin)
                .collect::<Result<_, _>>()?,
            data_provider: local_origin(&self.data_provider)?,
        })
    }
}

impl Listeners {
    /// Binds the listeners. The standard hub uses `port` and `port + 1`, the high hub the next two;
    /// each pair is public and private. The identity providers start at `port + 10`, with the SAML
    /// one last, the service provider is on `port + 20`, the data providers follow; standard before
    /// high; then the wallet. With 0 all ports are free ones.
    fn bind(listen: IpAddr, port: u16) -> Result<Self, DemoStartError> {
        let at = |offset: u16| {
            let port = match port {
                0 => 0,
                port => port.checked_add(offset).ok_or(DemoStartError::PortTooHigh(port))?,
            };
            let address = SocketAddr::new(listen, port);
            TcpListener::bind(address).map_err(|cause| DemoStartError::Address { address, cause })
        };
        let side = |hub: u16, first: u16, data: u16| {
            let identity_providers = (first..)
                .zip(IDENTITY_PROVIDERS)
                .map(|(offset, _)| at(offset))
                .collect::<Result<_, _>>()?;
            let (hub, private, data_provider) = (at(hub)?, at(hub + 1)?, at(data)?);
            Ok::<_, DemoStartError>(PlatformListeners {
                hub,
                private,
                identity_providers,
                data_provider,
            })
        };
        Ok(Self {
            standard: side(0, 10, 21)?,
            high: side(2, 12, 22)?,
            service_provider: at(20)?,
            wallet: at(23)?,
            #[cfg(feature = "saml")]
            saml: at(14)?,
        })
    }
}

impl Demo {
    /// Starts the demo. Must be called inside an actix system.
    ///
    /// `listen` is a loopback address, or in a container the address that its ports are forwarded
    /// to.
    ///
    /// # Errors
    /// Returns an error if a port is in use or the embedded configuration is invalid.
    pub fn start(listen: IpAddr, port: u16, env: &Env) -> Result<Self, DemoStartError> {
        let listeners = Listeners::bind(listen, port)?;
        let service_provider = local_origin(&listeners.service_provider)?;
        let keys = Arc::new(RelyingPartyKeys::ephemeral(env.now())?);
        let wallet_address = local_origin(&listeners.wallet)?;
        let hubs = [&listeners.standard.hub, &listeners.high.hub].map(local_origin);
        let hubs = hubs.into_iter().collect::<io::Result<_>>()?;
        #[cfg(feature = "saml")]
        let saml_address = local_origin(&listeners.saml)?;
        #[cfg(feature = "saml")]
        let saml = DemoSamlIdentityProvider::new(
            &saml_address,
            &local_origin(&listeners.standard.hub)?,
            env.clone(),
        )?;
        let wallet = DemoWallet::new(hubs, service_provider::demo_theme()?, env.clone())?;
        let (mut started, mut services) = (Vec::new(), Vec::new());
        let mut start = |platform, listeners: PlatformListeners| {
            let mut side = DemoPlatform::new(platform, listeners.origins()?, env);
            if connectors::has_wallets() {
                side.more_hub_files = wallet.hub_files(platform, &wallet_address)?;
            }
            #[cfg(feature = "saml")]
            if platform == Platform::Standard {
                side.more_hub_files.extend(saml.hub_files()?);
            }
            let StartedPlatform { platform, addresses, hubs, data_provider } =
                start_platform(side, listeners, &service_provider, &keys, env)?;
            started.extend(hubs);
            services.push(data_provider);
            Ok::<_, DemoStartError>((platform, addresses))
        };
        let (standard_side, mut standard) = start(Platform::Standard, listeners.standard)?;
        let (high_side, high) = start(Platform::High, listeners.high)?;
        let (hubs, folders) = started.into_iter().unzip();

        let settings = federation::service_provider_settings(
            &service_provider,
            keys,
            &standard_side,
            &high_side,
        );
        services.push(spawn_server(
            DemoServiceProvider::new(settings, env.clone())?.start(listeners.service_provider)?,
        ));
        services.push(spawn_server(wallet.start(listeners.wallet)?));
        #[cfg(feature = "saml")]
        {
            standard.identity_providers.push(saml_address);
            services.push(spawn_server(saml.start(listeners.saml)?));
        }
        let open = format!("{service_provider}/");
        Ok(Self { start_url: open, standard, high, hubs, _files: folders, services })
    }

    /// Stops the demo, the service provider first.
    pub async fn stop(self) {
        for service in self.services.into_iter().rev() {
            service.stop(true).await;
        }
        // Each hub before its identity providers, which its last logins still need.
        for program in self.hubs.into_iter().rev() {
            program.stop().await;
        }
    }
}

/// What runs for one platform.
struct StartedPlatform {
    platform: DemoPlatform,
    addresses: PlatformAddresses,
    /// The identity providers, then the hub.
    hubs: Vec<(RunningHub, DemoFiles)>,
    data_provider: ServerHandle,
}

/// Starts the identity providers of one platform, its hub and its data provider.
fn start_platform(
    side: DemoPlatform,
    listeners: PlatformListeners,
    service_provider: &str,
    keys: &RelyingPartyKeys,
    env: &Env,
) -> Result<StartedPlatform, DemoStartError> {
    let mut hubs = Vec::new();
    let origins = &side.origins;
    for ((provider, address), listener) in
        IDENTITY_PROVIDERS.iter().zip(&origins.identity_providers).zip(listeners.identity_providers)
    {
        let files = side.identity_provider_files(provider, address, service_provider)?;
        // It has no upstream, and RSA keys are slow to generate.
        let program =
            HubServer::build(&files.load()?, program_deps(RelyingPartyKeys::empty(), env)?)?;
        hubs.push((program.start(listener, None)?, files));
    }
    // Operator commands find the private listener by this address.
    let private = SocketAddr::from((Ipv4Addr::LOCALHOST, listeners.private.local_addr()?.port()));
    let files = side.hub_files(private, service_provider, keys, env)?;
    let program = HubServer::build(
        &files.load()?,
        program_deps(RelyingPartyKeys::ephemeral(env.now())?, env)?,
    )?;
    let folder = files.path().to_owned();
    let admin_token = folder.join(ADMIN_TOKEN);
    hubs.push((program.start(listeners.hub, Some(listeners.private))?, files));
    let addresses = PlatformAddresses {
        hub: origins.hub.clone(),
        private: origins.private.clone(),
        identity_providers: origins.identity_providers.clone(),
        data_provider: format!("{}{}", origins.data_provider, data_provider::RECORD_PATH),
        folder,
        admin_token,
    };
    let server = DemoDataProvider::new(side.data_registration())?.start(listeners.data_provider)?;
    let data_provider = spawn_server(server);
    Ok(StartedPlatform { platform: side, addresses, hubs, data_provider })
}

fn spawn_server(server: Server) -> ServerHandle {
    let handle = server.handle();
    actix::spawn(server);
    handle
}

fn program_deps(upstream: RelyingPartyKeys, env: &Env) -> Result<ProgramDeps, DemoStartError> {
    Ok(ProgramDeps {
        env: env.clone(),
        keys: HubKeys::Given { ring: Keyring::ephemeral(env.now())?, upstream },
        process_findings: Vec::new(),
    })
}

/// Returns the origin with `localhost`, which browsers treat as a secure context.
fn local_origin(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://localhost:{}", listener.local_addr()?.port()))
}

#[cfg(test)]
mod tests;
