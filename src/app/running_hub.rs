//! A hub that listens, until it is told to go down.

use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::dev::ServerHandle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::pulse::Pulse;
use super::reload::Reload;
use super::snapshot::Successor;
use crate::actor::Logins;
use crate::audit::Audit;
use crate::telemetry::export::Queue;
use crate::web::private::Readiness;

/// From the last connection that is accepted to the first that is cut: in this time its request has come and is under way.
const LAST_ACCEPTED: Duration = Duration::from_millis(500);

/// Whose the listening sockets are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sockets {
    /// This process's: they end with it, and connections are refused from then on.
    Bound,
    /// A service manager's, which keeps them: connections wait there for the next process.
    HandedOver,
}

/// How long a collector that does not answer may hold up the end.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// A hub that listens.
pub struct Running {
    pub address: SocketAddr,
    pub sockets: Sockets,
    pub(super) listening: JoinHandle<std::io::Result<()>>,
    pub(super) public: ServerHandle,
    pub(super) private: Option<ServerHandle>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) audit: Audit,
    pub(super) traces: Option<Queue>,
    /// The files are followed as long as this is there.
    pub(super) reload: Reload,
    pub(super) logins: Logins,
    pub(super) arbiters: Vec<Arbiter>,
    pub(super) pulse: Pulse,
    pub(super) not_ready: Duration,
    pub(super) shutdown: Duration,
    /// Who is told what the store holds, if anybody is.
    pub(super) successor: Option<Successor>,
}

impl Running {
    /// Comes back only if the public listener ends by itself, which it never should.
    pub async fn died(&mut self) -> String {
        match (&mut self.listening).await {
            Ok(Ok(())) => "the public listener has ended".to_owned(),
            Ok(Err(error)) => format!("the public listener has ended: {error}"),
            Err(error) => format!("the public listener has died: {error}"),
        }
    }

    /// What follows the files.
    #[must_use]
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// Goes down in its own time.
    pub async fn stop(self) {
        self.stop_or_hurry(pending()).await;
    }

    /// Goes down in order: not ready, no new connections and those in flight finish, logins, actors, the audit log, the store,
    /// then the probes. When
    /// `hurry` comes, what is still waited for is cut; what is to be written is written all the same.
    pub async fn stop_or_hurry(self, hurry: impl Future<Output = ()>) {
        self.readiness.drain();
        tokio::select! {
            () = self.drain() => {}
            () = hurry => {
                tracing::warn!("hurried: what is still in flight is cut");
                // The server's own end, by force.
                self.listening.abort();
            }
        }
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        for arbiter in self.arbiters {
            // A thread that has panicked is gone as well.
            let _gone = arbiter.join();
        }
        // After everyone who has something to tell.
        self.audit.stop().await;
        if let Some(successor) = self.successor {
            successor.tell().await;
        }
        if let Some(traces) = self.traces {
            traces.flush(LAST_SPANS).await;
        }
        if let Some(private) = self.private {
            private.stop(true).await;
        }
    }

    async fn drain(&self) {
        sleep(self.not_ready).await;
        if self.sockets == Sockets::HandedOver {
            // Who comes from now on waits for the next process; a server that stops would drop who has just come.
            self.public.pause().await;
            sleep(LAST_ACCEPTED).await;
        }
        self.public.stop(true).await;
        // A step whose browser has gone is nobody's request any more, and must be brought to its end all the same.
        self.logins.rest(self.shutdown).await;
    }
}
