//! Notifies the service manager (`sd_notify(3)`): ready, reloading, stopping, watchdog and status
//! line.
//!
//! Without `NOTIFY_SOCKET` it does nothing.

use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::reload::Reload;
use super::running_hub::RunningHub;
use super::watchdog::Heartbeat;
use passerelle_admin::readiness::{CheckState, Readiness};
use passerelle_settings::Environment;

/// Connection to the service manager. A confined process opens no Unix socket, so that it must be
/// opened before.
#[derive(Debug)]
pub struct NotifySocket(Option<UnixDatagram>);

impl NotifySocket {
    /// Opens the socket of `NOTIFY_SOCKET`, if the variable is set.
    pub fn open(environment: &Environment) -> Self {
        let path = environment.var("NOTIFY_SOCKET");
        let connect = |path: &str| {
            let socket = UnixDatagram::unbound()?;
            socket.connect(path).map(|()| socket)
        };
        Self(path.and_then(|path| connect(path).map_err(|error| warn_unreachable(&error)).ok()))
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        let Some(socket) = &self.0 else { return };
        let message: String = states.iter().map(|state| format!("{state}\n")).collect();
        if let Err(error) = socket.send(message.as_bytes()) {
            warn_unreachable(&error);
        }
    }
}

fn warn_unreachable(error: &std::io::Error) {
    tracing::warn!(%error, "the service manager (NOTIFY_SOCKET) can't be notified");
}

/// How often the status line is compared with the state of the hub.
const STATUS_INTERVAL: Duration = Duration::from_secs(5);

/// Service manager that started this process, if any.
pub struct ServiceManager {
    socket: Arc<NotifySocket>,
    /// Watchdog interval (`WATCHDOG_USEC`).
    watchdog: Option<Duration>,
    hub: MonitoredHub,
    /// The status line sent last.
    status: String,
    reload_task: Option<JoinHandle<()>>,
}

/// Parts of the hub that are reported on.
struct MonitoredHub {
    address: SocketAddr,
    readiness: Arc<Readiness>,
    heartbeat: Heartbeat,
}

impl ServiceManager {
    /// Notifies the service manager at this socket about the hub.
    pub fn new(socket: NotifySocket, running: &RunningHub) -> Self {
        let is_present = socket.0.is_some();
        let watchdog =
            sd_notify::watchdog_enabled().filter(|within| is_present && !within.is_zero());
        let RunningHub { address, server, heartbeat, .. } = running;
        let hub = MonitoredHub {
            address: *address,
            readiness: server.readiness(),
            heartbeat: heartbeat.clone(),
        };
        Self { socket: Arc::new(socket), watchdog, hub, status: String::new(), reload_task: None }
    }

    /// Reports that requests are served, and starts the watchdog pings. A hub that serves but is
    /// not ready, for example without its register, has started: the status line says what is
    /// missing.
    pub fn notify_ready(&mut self) {
        if self.socket.0.is_none() {
            return;
        }
        self.status = self.hub.status();
        self.socket.send(&[NotifyState::Ready, NotifyState::Status(&self.status)]);
        if let Some(within) = self.watchdog {
            let socket = Arc::clone(&self.socket);
            actix::spawn(ping_watchdog(socket, within, self.hub.heartbeat.clone()));
        }
    }

    /// Reports each change of the status line. Never returns.
    pub async fn report_status(&mut self) {
        if self.socket.0.is_none() {
            return std::future::pending().await;
        }
        let mut round = interval(STATUS_INTERVAL);
        loop {
            round.tick().await;
            let now = self.hub.status();
            if now != self.status {
                self.socket.send(&[NotifyState::Status(&now)]);
                self.status = now;
            }
        }
    }

    /// Reloads the files in a task of its own, and reports its start and end.
    pub fn start_reload(&mut self, reload: Reload) {
        let socket = Arc::clone(&self.socket);
        // `Type=notify-reload` requires the time of the monotonic clock too.
        match NotifyState::monotonic_usec_now() {
            Ok(now) => socket.send(&[NotifyState::Reloading, now]),
            Err(_) => socket.send(&[NotifyState::Reloading]),
        }
        self.reload_task = Some(actix::spawn(async move {
            reload.reload_now().await;
            socket.send(&[NotifyState::Ready]);
        }));
    }

    /// Reports that the shutdown begins.
    pub fn notify_stopping(&mut self) {
        if let Some(reading) = self.reload_task.take() {
            reading.abort();
        }
        self.socket.send(&[
            NotifyState::Stopping,
            NotifyState::Status("shutting down: finishing requests in flight"),
        ]);
    }
}

/// Pings the watchdog as long as every thread responds. If one hangs, the service manager kills and
/// restarts the process.
async fn ping_watchdog(socket: Arc<NotifySocket>, within: Duration, heartbeat: Heartbeat) {
    // At half the interval, as sd_watchdog_enabled(3) advises.
    let mut round = interval(within / 2);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        if let Ok(true) = timeout(within / 2, heartbeat.all_responsive()).await {
            socket.send(&[NotifyState::Watchdog]);
        } else {
            tracing::error!("a thread of the hub does not respond; the watchdog ping is withheld");
        }
    }
}

impl MonitoredHub {
    fn status(&self) -> String {
        let problems = self.readiness.report().problems;
        let reasons = problems.iter().filter(|problem| problem.state == CheckState::NotReady);
        let reasons: Vec<_> =
            reasons.map(|problem| format!("{}: {}", problem.check, problem.finding)).collect();
        if reasons.is_empty() {
            format!("serving on {}", self.address)
        } else {
            // A line break would begin another assignment.
            format!("not ready: {}", reasons.join("; ")).replace(['\n', '\r'], " ")
        }
    }
}
