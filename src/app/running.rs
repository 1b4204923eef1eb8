//! A hub that listens, until it is told to go down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::dev::ServerHandle;
use tokio::task::JoinHandle;

use super::reload::Reload;
use crate::actor::Logins;
use crate::audit::Audit;
use crate::web::private::Readiness;

/// A hub that listens.
pub struct Running {
    pub address: SocketAddr,
    pub(super) listening: JoinHandle<std::io::Result<()>>,
    pub(super) public: ServerHandle,
    pub(super) private: Option<ServerHandle>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) audit: Audit,
    /// The files are followed as long as this is there.
    #[expect(dead_code, reason = "held, not asked")]
    pub(super) reload: Reload,
    pub(super) logins: Logins,
    pub(super) arbiters: Vec<Arbiter>,
    pub(super) shutdown: Duration,
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

    /// Goes down in order: not ready, no new connections and those in flight finish, logins, actors, then the probes.
    pub async fn stop(self) {
        self.readiness.drain();
        self.public.stop(true).await;
        // A step whose browser has gone is nobody's request any more, and must be brought to its end all the same.
        self.logins.rest(self.shutdown).await;
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
        for arbiter in self.arbiters {
            // A thread that has panicked is gone as well.
            let _gone = arbiter.join();
        }
        // After everyone who has something to tell.
        self.audit.stop().await;
        if let Some(private) = self.private {
            private.stop(true).await;
        }
    }
}
