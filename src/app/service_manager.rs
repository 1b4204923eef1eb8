//! Notifies the service manager (`sd_notify(3)`): ready, reloading, stopping, watchdog and status
//! line.
//!
//! Without `NOTIFY_SOCKET` it does nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::reload::Reload;
use super::running_hub::RunningHub;
use super::watchdog::Heartbeat;
use crate::config::Environment;
use crate::web::readiness::Readiness;

/// How often the status line is compared with the state of the hub.
const STATUS_INTERVAL: Duration = Duration::from_secs(5);

/// Service manager that started this process, if any.
#[derive(Debug)]
pub struct ServiceManager {
    is_present: bool,
    /// Watchdog interval (`WATCHDOG_USEC`).
    watchdog: Option<Duration>,
    hub: MonitoredHub,
    /// The status line sent last.
    status: String,
    reload_task: Option<JoinHandle<()>>,
}

/// Parts of the hub that are reported on.
#[derive(Debug)]
struct MonitoredHub {
    address: SocketAddr,
    readiness: Arc<Readiness>,
    heartbeat: Heartbeat,
}

impl ServiceManager {
    /// Finds the service manager in the environment of the process.
    #[must_use]
    pub fn from_environment(environment: &Environment, running: &RunningHub) -> Self {
        let is_present = environment.var("NOTIFY_SOCKET").is_some();
        let watchdog =
            sd_notify::watchdog_enabled().filter(|within| is_present && !within.is_zero());
        let RunningHub { address, server, heartbeat, .. } = running;
        let hub = MonitoredHub {
            address: *address,
            readiness: server.readiness(),
            heartbeat: heartbeat.clone(),
        };
        Self { is_present, watchdog, hub, status: String::new(), reload_task: None }
    }

    /// Reports that requests are served, and starts the watchdog pings. A hub that serves but is
    /// not ready, for example without its register, has started: the status line says what is
    /// missing.
    pub fn notify_ready(&mut self) {
        if !self.is_present {
            return;
        }
        self.status = self.hub.status();
        notify(&[NotifyState::Ready, NotifyState::Status(&self.status)]);
        if let Some(within) = self.watchdog {
            actix::spawn(ping_watchdog(within, self.hub.heartbeat.clone()));
        }
    }

    /// Reports each change of the status line. Never returns.
    pub async fn report_status(&mut self) {
        if !self.is_present {
            return std::future::pending().await;
        }
        let mut round = interval(STATUS_INTERVAL);
        loop {
            round.tick().await;
            let now = self.hub.status();
            if now != self.status {
                notify(&[NotifyState::Status(&now)]);
                self.status = now;
            }
        }
    }

    /// Reloads the files in a task of its own, and reports its start and end.
    pub fn start_reload(&mut self, reload: Reload) {
        let is_present = self.is_present;
        if is_present {
            // `Type=notify-reload` requires the time of the monotonic clock too.
            match NotifyState::monotonic_usec_now() {
                Ok(now) => notify(&[NotifyState::Reloading, now]),
                Err(_) => notify(&[NotifyState::Reloading]),
            }
        }
        self.reload_task = Some(actix::spawn(async move {
            reload.reload_now().await;
            if is_present {
                notify(&[NotifyState::Ready]);
            }
        }));
    }

    /// Reports that the shutdown begins.
    pub fn notify_stopping(&mut self) {
        if let Some(reading) = self.reload_task.take() {
            reading.abort();
        }
        if self.is_present {
            notify(&[
                NotifyState::Stopping,
                NotifyState::Status("shutting down: finishing requests in flight"),
            ]);
        }
    }
}

/// Pings the watchdog as long as every thread responds. If one hangs, the service manager kills and
/// restarts the process.
async fn ping_watchdog(within: Duration, heartbeat: Heartbeat) {
    // At half the interval, as sd_watchdog_enabled(3) advises.
    let mut round = interval(within / 2);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        if let Ok(true) = timeout(within / 2, heartbeat.all_responsive()).await {
            notify(&[NotifyState::Watchdog]);
        } else {
            tracing::error!("a thread of the hub does not respond; the watchdog ping is withheld");
        }
    }
}

impl MonitoredHub {
    fn status(&self) -> String {
        let reasons = self.readiness.not_ready_reasons();
        let reasons: Vec<_> =
            reasons.into_iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        if reasons.is_empty() {
            format!("serving on {}", self.address)
        } else {
            // A line break would begin another assignment.
            format!("not ready: {}", reasons.join("; ")).replace(['\n', '\r'], " ")
        }
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager (NOTIFY_SOCKET) can't be notified");
    }
}
