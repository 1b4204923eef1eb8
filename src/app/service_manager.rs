//! What a service manager is told (`sd_notify(3)`): ready, reading the files again, going down, alive, and a line of status.
//!
//! Owns: when each is said. Where none listens (`NOTIFY_SOCKET` is not set) nothing is done at all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::pulse::Pulse;
use super::reload::Reload;
use super::running::Running;
use crate::config::Environment;
use crate::web::private::Readiness;

/// Between two looks at what the line of status should say.
const STATUS_ROUND: Duration = Duration::from_secs(5);

/// The one that started this process, if any.
#[derive(Debug)]
pub struct ServiceManager {
    listens: bool,
    /// How soon it wants to hear that the hub is alive.
    watchdog: Option<Duration>,
    hub: Hub,
    /// What was said last.
    status: String,
    reading: Option<JoinHandle<()>>,
}

/// What is told of.
#[derive(Debug)]
struct Hub {
    address: SocketAddr,
    readiness: Arc<Readiness>,
    pulse: Pulse,
}

impl ServiceManager {
    /// As this process's environment names it.
    #[must_use]
    pub fn of(environment: &Environment, running: &Running) -> Self {
        let listens = environment.var("NOTIFY_SOCKET").is_some();
        let watchdog = sd_notify::watchdog_enabled().filter(|within| listens && !within.is_zero());
        let Running { address, readiness, pulse, .. } = running;
        let hub = Hub { address: *address, readiness: Arc::clone(readiness), pulse: pulse.clone() };
        Self { listens, watchdog, hub, status: String::new(), reading: None }
    }

    /// Requests are served. A hub that serves and is not ready, since its register is away, must not be taken for one that
    /// could not start: the line of status says what is missing. From now on the watchdog is answered.
    pub fn ready(&mut self) {
        if !self.listens {
            return;
        }
        self.status = self.hub.status();
        tell(&[NotifyState::Ready, NotifyState::Status(&self.status)]);
        if let Some(within) = self.watchdog {
            actix::spawn(answer_watchdog(within, self.hub.pulse.clone()));
        }
    }

    /// Tells how the hub does whenever that changes. Never comes back.
    pub async fn follow(&mut self) {
        if !self.listens {
            return std::future::pending().await;
        }
        let mut round = interval(STATUS_ROUND);
        loop {
            round.tick().await;
            let now = self.hub.status();
            if now != self.status {
                tell(&[NotifyState::Status(&now)]);
                self.status = now;
            }
        }
    }

    /// Has the files read again, in a task of its own, and tells when that begins and ends.
    pub fn reload(&mut self, reload: Reload) {
        let listens = self.listens;
        if listens {
            // systemd wants the moment too (`Type=notify-reload`), on its own clock.
            match NotifyState::monotonic_usec_now() {
                Ok(now) => tell(&[NotifyState::Reloading, now]),
                Err(_) => tell(&[NotifyState::Reloading]),
            }
        }
        self.reading = Some(actix::spawn(async move {
            reload.now().await;
            if listens {
                tell(&[NotifyState::Ready]);
            }
        }));
    }

    /// The hub begins to go down.
    pub fn stopping(&mut self) {
        if let Some(reading) = self.reading.take() {
            reading.abort();
        }
        if self.listens {
            tell(&[
                NotifyState::Stopping,
                NotifyState::Status("going down: requests in flight finish"),
            ]);
        }
    }
}

/// Says that the hub is alive as long as each of its threads is. One that hangs is left to the service manager, which kills
/// and restarts the process: nothing inside can mend it.
async fn answer_watchdog(within: Duration, pulse: Pulse) {
    // Twice in that time, as sd_watchdog_enabled(3) advises.
    let mut round = interval(within / 2);
    round.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        match timeout(within / 2, pulse.is_felt()).await {
            Ok(true) => tell(&[NotifyState::Watchdog]),
            Ok(false) | Err(_) => tracing::error!(
                "a thread of the hub does not answer: the watchdog is not answered either"
            ),
        }
    }
}

impl Hub {
    fn status(&self) -> String {
        let complaints = self.readiness.complaints();
        let complaints: Vec<_> =
            complaints.into_iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
        if complaints.is_empty() {
            format!("serving on {}", self.address)
        } else {
            // One line: a line break would begin another assignment.
            format!("not ready: {}", complaints.join("; ")).replace(['\n', '\r'], " ")
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager (NOTIFY_SOCKET) can't be told");
    }
}
