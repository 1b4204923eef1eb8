//! `passerelle serve`: runs the hub, with its listeners and signals.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use passerelle_config::LoadedConfig;
use passerelle_protocol::env::Env;
use passerelle_server::memory_limit::check_memory_limit;
use passerelle_server::service_manager::{NotifySocket, ServiceManager};
use passerelle_server::socket_activation::InheritedSockets;
use passerelle_server::{HubServer, ProgramDeps, RunningHub, SocketOwner, confinement};
use passerelle_settings::Environment;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CommandResult, block_on, init_logging, load_usable_config};

/// Runs the hub of a configuration folder until it is stopped.
///
/// # Errors
/// Returns an error if the hub can't be started, or its public listener fails.
pub(crate) fn run_hub(folder: &Path) -> CommandResult<()> {
    check_memory_limit()?;
    let loaded = load_usable_config(folder)?;
    init_logging(&loaded.settings.log)?;
    passerelle_telemetry::log_panic_locations();
    for warning in loaded.warnings_at(Env::system().now()) {
        tracing::warn!(warning = warning.to_single_line(), "configuration warning");
    }
    for problem in loaded.check_failures() {
        tracing::warn!(
            problem = problem.to_single_line(),
            "rejected by `passerelle check`, but served"
        );
    }
    for problem in &loaded.startup_diagnostics {
        tracing::error!(problem = problem.to_single_line(), "the hub starts without this file");
    }
    let manager = NotifySocket::open(&Environment::from_process());
    // Before anything starts a thread.
    let process_findings = confinement::confine_process(&loaded)?;
    for finding in &process_findings {
        tracing::warn!(problem = %finding, "this process is not fully confined");
    }
    let listeners = Listeners::open(&loaded)?;
    block_on(async move {
        // Before the build, so that a hub stopped during its start saves what it has restored.
        let signals = Signals::listen()?;
        let program =
            HubServer::build(&loaded, ProgramDeps { process_findings, ..ProgramDeps::system() })?;
        let running = listeners.start(program)?;
        confinement::forbid_new_code(&loaded);
        tracing::info!(issuer = loaded.issuer, address = %running.address, "serving");
        let manager = ServiceManager::new(manager, &running);
        run_until_stopped(running, manager, signals).await
    })
}

/// Both listeners, inherited from a service manager or bound as configured.
struct Listeners {
    public: TcpListener,
    private: TcpListener,
    sockets: SocketOwner,
}

impl Listeners {
    /// Takes the inherited sockets and binds the others.
    fn open(loaded: &LoadedConfig) -> CommandResult<Self> {
        let inherited = InheritedSockets::take(&Environment::from_process())?;
        inherited.check_exposure(&loaded.settings)?;
        let sockets = if inherited.public.is_some() {
            SocketOwner::ServiceManager
        } else {
            SocketOwner::Process
        };
        let (public, private) = (loaded.settings.public.listen, loaded.settings.private.listen);
        let public = inherited.public.map_or_else(|| bind("public.listen", public), Ok)?;
        let private = inherited.private.map_or_else(|| bind("private.listen", private), Ok)?;
        Ok(Self { public, private, sockets })
    }

    /// Starts the hub on the listeners.
    fn start(self, program: HubServer) -> std::io::Result<RunningHub> {
        let mut running = program.start(self.public, Some(self.private))?;
        running.socket_owner = self.sockets;
        Ok(running)
    }
}

/// Binds the address that a key sets.
fn bind(key: &str, address: SocketAddr) -> Result<TcpListener, String> {
    TcpListener::bind(address).map_err(|error| {
        let fix = match error.kind() {
            ErrorKind::AddrInUse => "stop the program that uses it, or choose another port",
            ErrorKind::AddrNotAvailable => "use an address of this machine",
            ErrorKind::PermissionDenied => "choose a port above 1023 and redirect to it",
            _ => "choose another address",
        };
        format!("{key}: {address} can't be listened on ({error}); {fix}")
    })
}

/// Runs until the first SIGTERM or SIGINT, then shuts down; a second one cuts pending requests.
/// SIGHUP reloads the files.
async fn run_until_stopped(
    mut running: RunningHub,
    mut manager: ServiceManager,
    mut signals: Signals,
) -> CommandResult<()> {
    manager.notify_ready();
    loop {
        let request = tokio::select! {
            request = signals.next() => request,
            () = manager.report_status() => continue,
            reason = running.listener_failure() => return Err(reason.into()),
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
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Registers the signal handlers.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a handler.
    pub(crate) fn listen() -> Result<Self, String> {
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
    pub(crate) async fn stop(&mut self) {
        while matches!(self.next().await, SignalRequest::Reload) {}
    }
}
