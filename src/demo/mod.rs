//! The embedded demo: on each platform a hub and two sandbox identity providers, and one service provider for both, in
//! one process, on loopback.
//!
//! The identity providers are this same program with the `persona` connector, so a demo login crosses two hubs: what
//! the first one receives is what the second one issues, on the high platform sealed at each step. Everything lives in
//! memory and ends with the process.

mod federation;
pub mod service_provider;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use crate::app::{BuildFault, Keys, Parts, Program, Running};
use crate::config::Problem;
use crate::env::Env;
use crate::protocol::acr::Platform;
use crate::token::{Keyring, KeyringFault, UpstreamKeys};
use federation::{Files, IDENTITY_PROVIDERS, Side};
use service_provider::{DemoServiceProvider, SetupFault};

#[derive(thiserror::Error, Debug)]
pub enum DemoFault {
    #[error("port {port} on 127.0.0.1 can not be used ({cause}); end what listens there, or choose others with --port")]
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
    service_provider: actix_web::dev::ServerHandle,
}

/// Where one platform listens.
pub struct Addresses {
    pub hub: String,
    /// The hub's probes and metrics.
    pub private: String,
    pub identity_providers: Vec<String>,
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
}

impl Listeners {
    /// The standard hub on `port`, its probes on the next, the high hub and its probes on the two after; identity
    /// providers from `port + 10`, standard ones first, and the service provider on `port + 20`. With 0 all of them are
    /// free ports.
    fn bind(port: u16) -> Result<Self, DemoFault> {
        let at = |offset: u16| {
            let port = match port {
                0 => 0,
                port => port.checked_add(offset).ok_or(DemoFault::PortTooHigh(port))?,
            };
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|cause| DemoFault::Port { port, cause })
        };
        let side = |hub: u16, first: u16| {
            let identity_providers = (first..).zip(IDENTITY_PROVIDERS).map(|(offset, _)| at(offset)).collect::<Result<_, _>>()?;
            Ok::<_, DemoFault>(SideListeners { hub: at(hub)?, private: at(hub + 1)?, identity_providers })
        };
        Ok(Self { standard: side(0, 10)?, high: side(2, 12)?, service_provider: at(20)? })
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
        let mut started = Vec::new();
        let mut start = |platform, listeners| start_side(platform, listeners, &service_provider, &keys, env, &mut started);
        let (standard_side, standard) = start(Platform::Standard, listeners.standard)?;
        let (high_side, high) = start(Platform::High, listeners.high)?;
        let (programs, kept) = started.into_iter().unzip();

        let settings = federation::service_provider(&service_provider, keys, &standard_side, &high_side);
        let server = DemoServiceProvider::new(settings, env.clone())?.start(listeners.service_provider)?;
        let handle = server.handle();
        actix::spawn(server);
        let open = format!("{service_provider}/");
        Ok(Self { open, standard, high, programs, _files: kept, service_provider: handle })
    }

    /// Ends everything, the service provider first.
    pub async fn stop(self) {
        self.service_provider.stop(true).await;
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
) -> Result<(Side, Addresses), DemoFault> {
    let hub = origin(&listeners.hub)?;
    let private = origin(&listeners.private)?;
    let identity_providers = listeners.identity_providers.iter().map(origin).collect::<Result<Vec<_>, _>>()?;
    let side = Side::new(platform, hub.clone(), identity_providers.clone(), env);
    for ((provider, address), listener) in IDENTITY_PROVIDERS.iter().zip(&identity_providers).zip(listeners.identity_providers) {
        let files = side.identity_provider_files(provider, address, service_provider)?;
        // It has nobody upstream, and RSA keys take their time to make.
        let program = Program::build(&files.load()?, parts(UpstreamKeys::none(), env)?)?;
        started.push((program.start(listener, None)?, files));
    }
    let files = side.hub_files(service_provider, keys, env)?;
    let program = Program::build(&files.load()?, parts(UpstreamKeys::ephemeral(env.now())?, env)?)?;
    started.push((program.start(listeners.hub, Some(listeners.private))?, files));
    Ok((side, Addresses { hub, private, identity_providers }))
}

fn parts(upstream: UpstreamKeys, env: &Env) -> Result<Parts, DemoFault> {
    Ok(Parts { env: env.clone(), keys: Keys::Given { ring: Keyring::ephemeral(env.now())?, upstream } })
}

/// `localhost`, because browsers treat it as a secure place and people can read it.
fn origin(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://localhost:{}", listener.local_addr()?.port()))
}
