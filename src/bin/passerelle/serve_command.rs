//! `passerelle serve`, from the sockets to the last signal.

use std::net::{SocketAddr, TcpListener};

use passerelle::app::handed::Handed;
use passerelle::app::service_manager::ServiceManager;
use passerelle::app::{Program, Running, Sockets};
use passerelle::config::{Environment, Loaded};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both listeners: handed over by a service manager, or bound as configured.
pub struct Listeners {
    public: TcpListener,
    private: TcpListener,
    sockets: Sockets,
}

impl Listeners {
    pub fn take(loaded: &Loaded) -> Result<Self, String> {
        let handed = Handed::take(&Environment::of_process()).map_err(|fault| fault.to_string())?;
        let bind = |address: SocketAddr| {
            TcpListener::bind(address)
                .map_err(|error| format!("{address} can not be listened on: {error}"))
        };
        let sockets = if handed.public.is_some() { Sockets::HandedOver } else { Sockets::Bound };
        let public = handed.public.map_or_else(|| bind(loaded.settings.public.listen), Ok)?;
        let private = handed.private.map_or_else(|| bind(loaded.settings.private.listen), Ok)?;
        Ok(Self { public, private, sockets })
    }

    pub fn start(self, program: Program) -> Result<Running, String> {
        let mut running =
            program.start(self.public, Some(self.private)).map_err(|fault| fault.to_string())?;
        running.sockets = self.sockets;
        Ok(running)
    }
}

/// Runs until the first SIGTERM or SIGINT, then goes down; a second one hurries. SIGHUP has the files read at once.
pub async fn until_stopped(mut running: Running, mut signals: Signals) -> Result<(), String> {
    let mut manager = ServiceManager::of(&Environment::of_process(), &running);
    manager.ready();
    loop {
        let asked = tokio::select! {
            asked = signals.next() => asked,
            () = manager.follow() => continue,
            died = running.died() => return Err(died),
        };
        match asked {
            Asked::Reload => manager.reload(running.reload()),
            Asked::Stop => break,
        }
    }
    tracing::info!("going down");
    manager.stopping();
    running.stop_or_hurry(signals.stop()).await;
    Ok(())
}

/// What a signal asks for.
enum Asked {
    Stop,
    Reload,
}

pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub fn listen() -> Result<Self, String> {
        let on = |kind| signal(kind).map_err(|error| format!("signals can't be received: {error}"));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: on(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop,
            _ = self.interrupt.recv() => Asked::Stop,
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// The next SIGTERM, or Ctrl+C.
    pub async fn stop(&mut self) {
        while matches!(self.next().await, Asked::Reload) {}
    }
}
