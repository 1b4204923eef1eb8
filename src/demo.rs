//! The embedded demo: on each platform a hub, two sandbox identity providers and a data provider, and one service provider
//! for both, in one process, on loopback.
//!
//! The identity providers are this same program with the `persona` connector, so a demo login crosses two hubs: what
//! the first one receives is what the second one issues, on the high platform sealed at each step. Everything lives in
//! memory and ends with the process.

mod data_provider;
mod federation;
pub mod service_provider;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use crate::app::{BuildFault, Keys, Parts, Program, Running};
use crate::config::Problem;
use crate::env::Env;
use crate::protocol::acr::Platform;
use crate::token::{Keyring, KeyringFault, UpstreamKeys};
use actix_web::dev::{Server, ServerHandle};
use data_provider::DemoDataProvider;
use federation::{ADMIN_TOKEN, Files, IDENTITY_PROVIDERS, Side};
use service_provider::{DemoServiceProvider, SetupFault};

#[derive(thiserror::Error, Debug)]
pub enum DemoFault {
    #[error(
        "port {port} on 127.0.0.1 can not be used ({cause}); end what listens there, or choose others with --port"
    )]
    Port { port: u16, cause: io::Error },
    #[error("the port {0} leaves no room for the others above it; choose a lower one")]
    PortTooHigh(u16),
    #[error("the embedded configuration is wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Configuration(Vec<Problem>),
    #[error(transparent)]
    Build(#[from] BuildFault),
    #[error(transparent)]
    Keys(#[from] KeyringFault),
    #[error(transparent)]
    ServiceProvider(#[from] SetupFault),
    #[error("the demo data provider's HTTP client can't be built: {0}")]
    DataProvider(#[from] reqwest::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A demo that listens.
pub struct Demo {
    /// Where to begin: the demo service provider.
    pub open: String,
    pub standard: Addresses,
    pub high: Addresses,
    programs: Vec<Running>,
    /// The programs read their folders again while they run.
    _files: Vec<Files>,
    /// The service provider, and the data providers that it calls.
    services: Vec<ServerHandle>,
}

/// Where one platform listens.
pub struct Addresses {
    pub hub: String,
    /// The hub's probes and metrics.
    pub private: String,
    pub identity_providers: Vec<String>,
    /// The API that is called with an access token.
    pub data_provider: String,
    /// The hub's configuration, read again when it changes: its connectors and service providers.
    pub folder: PathBuf,
    /// The file whose token opens the hub's administration.
    pub admin_token: PathBuf,
}

/// Every listener of the demo, taken before anything starts: a taken port leaves nothing half begun.
struct Listeners {
    standard: SideListeners,
    high: SideListeners,
    service_provider: TcpListener,
}

struct SideListeners {
    hub: TcpListener,
    private: TcpListener,
    identity_providers: Vec<TcpListener>,
    data_provider: TcpListener,
}

impl Listeners {
    /// The standard hub on `port`, its probes on the next, the high hub and its probes on the two after; identity
    /// providers from `port + 10`, standard ones first, the service provider on `port + 20`, and the data providers on the
    /// two after, the standard one first. With 0 all of them are free ports.
    fn bind(port: u16) -> Result<Self, DemoFault> {
        let at = |offset: u16| {
            let port = match port {
                0 => 0,
                port => port.checked_add(offset).ok_or(DemoFault::PortTooHigh(port))?,
            };
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .map_err(|cause| DemoFault::Port { port, cause })
        };
        let side = |hub: u16, first: u16, data: u16| {
            let identity_providers = (first..)
                .zip(IDENTITY_PROVIDERS)
                .map(|(offset, _)| at(offset))
                .collect::<Result<_, _>>()?;
            let (hub, private, data_provider) = (at(hub)?, at(hub + 1)?, at(data)?);
            Ok::<_, DemoFault>(SideListeners { hub, private, identity_providers, data_provider })
        };
        Ok(Self { standard: side(0, 10, 21)?, high: side(2, 12, 22)?, service_provider: at(20)? })
    }
}

impl Demo {
    /// Starts everything. Must be called inside an actix system.
    ///
    /// # Errors
    /// A port that is taken; anything else is a fault of the embedded configuration.
    pub fn start(port: u16, env: &Env) -> Result<Self, DemoFault> {
        let listeners = Listeners::bind(port)?;
        let service_provider = origin(&listeners.service_provider)?;
        let keys = Arc::new(UpstreamKeys::ephemeral(env.now())?);
        let (mut started, mut services) = (Vec::new(), Vec::new());
        let mut start = |platform, listeners: SideListeners| {
            let (side, addresses, data) =
                start_side(platform, listeners, &service_provider, &keys, env, &mut started)?;
            services.push(served(DemoDataProvider::new(side.data_registration())?.start(data)?));
            Ok::<_, DemoFault>((side, addresses))
        };
        let (standard_side, standard) = start(Platform::Standard, listeners.standard)?;
        let (high_side, high) = start(Platform::High, listeners.high)?;
        let (programs, kept) = started.into_iter().unzip();

        let settings =
            federation::service_provider(&service_provider, keys, &standard_side, &high_side);
        services.push(served(
            DemoServiceProvider::new(settings, env.clone())?.start(listeners.service_provider)?,
        ));
        let open = format!("{service_provider}/");
        Ok(Self { open, standard, high, programs, _files: kept, services })
    }

    /// Ends everything, the service provider first.
    pub async fn stop(self) {
        for service in self.services.into_iter().rev() {
            service.stop(true).await;
        }
        // Each hub before the identity providers that its last logins still need.
        for program in self.programs.into_iter().rev() {
            program.stop().await;
        }
    }
}

/// Adds the identity providers of one platform, then its hub, to `started`, each with its folder.
fn start_side(
    platform: Platform,
    listeners: SideListeners,
    service_provider: &str,
    keys: &UpstreamKeys,
    env: &Env,
    started: &mut Vec<(Running, Files)>,
) -> Result<(Side, Addresses, TcpListener), DemoFault> {
    let hub = origin(&listeners.hub)?;
    let private = origin(&listeners.private)?;
    let identity_providers =
        listeners.identity_providers.iter().map(origin).collect::<Result<Vec<_>, _>>()?;
    let data_provider = origin(&listeners.data_provider)?;
    let side = Side::new(platform, hub.clone(), identity_providers.clone(), data_provider, env);
    for ((provider, address), listener) in
        IDENTITY_PROVIDERS.iter().zip(&identity_providers).zip(listeners.identity_providers)
    {
        let files = side.identity_provider_files(provider, address, service_provider)?;
        // It has nobody upstream, and RSA keys take their time to make.
        let program = Program::build(&files.load()?, parts(UpstreamKeys::none(), env)?)?;
        started.push((program.start(listener, None)?, files));
    }
    let files = side.hub_files(listeners.private.local_addr()?, service_provider, keys, env)?;
    let program = Program::build(&files.load()?, parts(UpstreamKeys::ephemeral(env.now())?, env)?)?;
    let folder = files.path().to_owned();
    let admin_token = folder.join(ADMIN_TOKEN);
    started.push((program.start(listeners.hub, Some(listeners.private))?, files));
    let data_provider = format!("{}{}", side.data_provider, data_provider::PATH);
    let addresses =
        Addresses { hub, private, identity_providers, data_provider, folder, admin_token };
    Ok((side, addresses, listeners.data_provider))
}

fn served(server: Server) -> ServerHandle {
    let handle = server.handle();
    actix::spawn(server);
    handle
}

fn parts(upstream: UpstreamKeys, env: &Env) -> Result<Parts, DemoFault> {
    Ok(Parts {
        env: env.clone(),
        keys: Keys::Given { ring: Keyring::ephemeral(env.now())?, upstream },
    })
}

/// `localhost`, because browsers treat it as a secure place and people can read it.
fn origin(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://localhost:{}", listener.local_addr()?.port()))
}
