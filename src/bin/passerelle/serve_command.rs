//! `passerelle serve`: listeners and signals.

use std::net::{SocketAddr, TcpListener};

use passerelle::app::service_manager::ServiceManager;
use passerelle::app::socket_activation::InheritedSockets;
use passerelle::app::{HubServer, RunningHub, SocketOwner};
use passerelle::config::{Environment, LoadedConfig};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both listeners, inherited from a service manager or bound as configured.
pub struct Listeners {
    public: TcpListener,
    private: TcpListener,
    sockets: SocketOwner,
}

impl Listeners {
    /// Takes the inherited sockets and binds the others.
    ///
    /// # Errors
    /// Returns an error if a socket is unsuitable or an address is in use.
    pub fn open(loaded: &LoadedConfig) -> Result<Self, String> {
        let inherited = InheritedSockets::take(&Environment::from_process())
            .map_err(|fault| fault.to_string())?;
        let bind = |address: SocketAddr| {
            TcpListener::bind(address)
                .map_err(|error| format!("{address} can't be listened on: {error}"))
        };
        let sockets = if inherited.public.is_some() {
            SocketOwner::ServiceManager
        } else {
            SocketOwner::Process
        };
        let public = inherited.public.map_or_else(|| bind(loaded.settings.public.listen), Ok)?;
        let private = inherited.private.map_or_else(|| bind(loaded.settings.private.listen), Ok)?;
        Ok(Self { public, private, sockets })
    }

    /// Starts the hub on the listeners.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a listener.
    pub fn start(self, program: HubServer) -> Result<RunningHub, String> {
        let mut running =
            program.start(self.public, Some(self.private)).map_err(|fault| fault.to_string())?;
        running.socket_owner = self.sockets;
        Ok(running)
    }
}

/// Runs until the first SIGTERM or SIGINT, then shuts down; a second one cuts pending requests.
/// SIGHUP reloads the files.
///
/// # Errors
/// Returns an error if the public listener fails.
pub async fn run_until_stopped(
    mut running: RunningHub,
    mut signals: Signals,
) -> Result<(), String> {
    let mut manager = ServiceManager::from_environment(&Environment::from_process(), &running);
    manager.notify_ready();
    loop {
        let request = tokio::select! {
            request = signals.next() => request,
            () = manager.report_status() => continue,
            reason = running.listener_failure() => return Err(reason),
        };
        match request {
            SignalRequest::Reload => manager.start_reload(running.reload()),
            SignalRequest::Stop => break,
        }
    }
    tracing::info!("shutting down");
    manager.notify_stopping();
    running.stop_or_abort(signals.stop()).await;
    Ok(())
}

/// Request made by a signal.
enum SignalRequest {
    Stop,
    Reload,
}

/// SIGTERM, SIGINT and SIGHUP.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Registers the signal handlers.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a handler.
    pub fn listen() -> Result<Self, String> {
        let on = |kind| signal(kind).map_err(|error| format!("signals can't be received: {error}"));
        Ok(Self {
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hang_up: on(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop,
            _ = self.interrupt.recv() => SignalRequest::Stop,
            _ = self.hang_up.recv() => SignalRequest::Reload,
        }
    }

    /// Waits for the next SIGTERM or SIGINT.
    pub async fn stop(&mut self) {
        while matches!(self.next().await, SignalRequest::Reload) {}
    }
}
