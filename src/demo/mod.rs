//! The embedded demo: a hub, two sandbox identity providers and a service provider in one process, on loopback.
//!
//! The identity providers are this same program with the `persona` connector, so a demo login crosses two hubs: what
//! the first one receives is what the second one issues. Everything lives in memory and ends with the process.

mod federation;
pub mod service_provider;

use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::app::{BuildFault, Keys, Parts, Program, Running};
use crate::config::Problem;
use crate::env::Env;
use crate::token::{Keyring, KeyringFault};
use federation::{Files, IDENTITY_PROVIDERS, Secrets};
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
    pub hub: String,
    /// The hub's probes and metrics.
    pub private: String,
    pub identity_providers: Vec<String>,
    programs: Vec<Running>,
    /// The programs read their folders again while they run.
    _files: Vec<Files>,
    service_provider: actix_web::dev::ServerHandle,
}

/// Every listener of the demo, taken before anything starts: a taken port leaves nothing half begun.
struct Listeners {
    hub: TcpListener,
    private: TcpListener,
    identity_providers: Vec<TcpListener>,
    service_provider: TcpListener,
}

impl Listeners {
    /// The hub on `port`, its probes on the next, identity providers from `port + 10`, the service provider on
    /// `port + 20`; with 0 all of them are free ports.
    fn bind(port: u16) -> Result<Self, DemoFault> {
        let at = |offset: u16| {
            let port = match port {
                0 => 0,
                port => port.checked_add(offset).ok_or(DemoFault::PortTooHigh(port))?,
            };
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|cause| DemoFault::Port { port, cause })
        };
        let identity_providers = (10..).zip(IDENTITY_PROVIDERS).map(|(offset, _)| at(offset)).collect::<Result<_, _>>()?;
        Ok(Self { hub: at(0)?, private: at(1)?, identity_providers, service_provider: at(20)? })
    }
}

impl Demo {
    /// Starts everything. Must be called inside an actix system.
    ///
    /// # Errors
    /// A port that is taken; anything else is a fault of the embedded configuration.
    pub fn start(port: u16, env: &Env) -> Result<Self, DemoFault> {
        let listeners = Listeners::bind(port)?;
        let hub = origin(&listeners.hub)?;
        let identity_providers = listeners.identity_providers.iter().map(origin).collect::<Result<Vec<_>, _>>()?;
        let service_provider = origin(&listeners.service_provider)?;
        let secrets = Secrets::fresh(env);

        let (mut programs, mut kept) = (Vec::new(), Vec::new());
        for ((provider, address), listener) in
            IDENTITY_PROVIDERS.iter().zip(&identity_providers).zip(listeners.identity_providers)
        {
            let files = federation::identity_provider(provider, address, &hub, &secrets)?;
            programs.push(Program::build(&files.load()?, parts(env)?)?.start(listener, None)?);
            kept.push(files);
        }
        let files = federation::hub(&hub, &identity_providers, &service_provider, &secrets)?;
        let private = origin(&listeners.private)?;
        programs.push(Program::build(&files.load()?, parts(env)?)?.start(listeners.hub, Some(listeners.private))?);
        kept.push(files);

        let settings = federation::service_provider(&hub, &service_provider, &secrets);
        let server = DemoServiceProvider::new(settings, env.clone())?.start(listeners.service_provider)?;
        let handle = server.handle();
        actix::spawn(server);
        let open = format!("{service_provider}/");
        Ok(Self { open, hub, private, identity_providers, programs, _files: kept, service_provider: handle })
    }

    /// Ends everything, the service provider first.
    pub async fn stop(self) {
        self.service_provider.stop(true).await;
        // The hub before the identity providers that its last logins still need.
        for program in self.programs.into_iter().rev() {
            program.stop().await;
        }
    }
}

fn parts(env: &Env) -> Result<Parts, DemoFault> {
    Ok(Parts { env: env.clone(), keys: Keys::Ring(Keyring::ephemeral(env.now())?) })
}

/// `localhost`, because browsers treat it as a secure place and people can read it.
fn origin(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://localhost:{}", listener.local_addr()?.port()))
}
