//! A running hub and its orderly shutdown.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use actix::Arbiter;
use actix_web::dev::ServerHandle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::HubServer;
use super::reload::Reload;
use super::watchdog::Heartbeat;

/// Time between pausing and stopping the listener, in which requests on just accepted connections
/// arrive.
const ACCEPTED_REQUEST_DELAY: Duration = Duration::from_millis(500);

/// Owner of the listening sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketOwner {
    /// This process: after its end connections are refused.
    Process,
    /// The service manager: connections wait in its sockets for the next process.
    ServiceManager,
}

/// How long the shutdown waits for a trace collector that does not answer.
const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// A hub that serves requests.
pub struct RunningHub {
    pub address: SocketAddr,
    pub socket_owner: SocketOwner,
    pub(super) listening: JoinHandle<std::io::Result<()>>,
    pub(super) public: ServerHandle,
    /// The private listener and its arbiter.
    pub(super) private: Option<(ServerHandle, Arbiter)>,
    pub(super) heartbeat: Heartbeat,
    /// Reloads the files until it is dropped.
    pub(super) server: HubServer,
}

impl RunningHub {
    /// Waits for the public listener to end by itself, which it never should, and returns the
    /// reason.
    pub async fn listener_failure(&mut self) -> String {
        match (&mut self.listening).await {
            Ok(Ok(())) => "the public listener has ended".to_owned(),
            Ok(Err(error)) => format!("the public listener has ended: {error}"),
            Err(error) => format!("the public listener has died: {error}"),
        }
    }

    /// Returns the handle of the configuration reload.
    pub fn reload(&self) -> Reload {
        self.server.reload()
    }

    /// Shuts down in order.
    pub async fn stop(self) {
        self.stop_or_abort(pending()).await;
    }

    /// Shuts down in order: fails readiness, finishes the requests in flight and the login steps,
    /// then stops the actors, the audit log, the store and the private listener. When `abort`
    /// completes, the server drops pending requests; the audit log and the store are written in any
    /// case.
    pub async fn stop_or_abort(self, abort: impl Future<Output = ()>) {
        self.server.readiness.drain();
        tokio::select! {
            () = self.drain() => {}
            () = abort => {
                tracing::warn!("second signal: requests in flight are cut");
                // Aborts the server.
                self.listening.abort();
            }
        }
        let HubServer { hub, arbiters, snapshot, tracer, key_devices, .. } = self.server;
        for arbiter in &arbiters {
            arbiter.stop();
        }
        for arbiter in arbiters {
            // A thread that has panicked has ended too.
            let _gone = arbiter.join();
        }
        // After everything that may still record an event.
        hub.core.audit.stop().await;
        if let Some(snapshot) = snapshot {
            snapshot.save().await;
        }
        tracer.flush(SPAN_FLUSH_TIMEOUT).await;
        if let Some((private, worker)) = self.private {
            private.stop(true).await;
            worker.stop();
        }
        // After the last signature, which is that of an audit checkpoint.
        key_devices.close();
    }

    async fn drain(&self) {
        let limits = &self.server.limits;
        sleep(Duration::from_secs(limits.not_ready_seconds)).await;
        if self.socket_owner == SocketOwner::ServiceManager {
            // New connections wait for the next process; a server that stops would drop those just
            // accepted.
            self.public.pause().await;
            sleep(ACCEPTED_REQUEST_DELAY).await;
        }
        self.public.stop(true).await;
        // A login step must finish even if its browser has disconnected.
        self.server.hub.logins.drain(Duration::from_secs(limits.shutdown_seconds)).await;
    }
}
