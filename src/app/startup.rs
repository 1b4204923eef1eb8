//! A hub that is put together begins to listen.

use std::net::TcpListener;
use std::sync::Arc;

use actix_web::App;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;

use super::draining::last_if_draining;
use super::private;
use super::pulse::Pulse;
use super::{Program, Running, Sockets};
use crate::telemetry::Listener;
use crate::web::connection::{self, Listening, Timeouts};
use crate::web::routes;

impl Program {
    /// Listens. `private` carries probes and metrics, and must not be reachable from outside.
    ///
    /// # Errors
    /// The operating system refuses a listener.
    pub fn start(
        self,
        public: TcpListener,
        private: Option<TcpListener>,
    ) -> std::io::Result<Running> {
        let (hub, shell) = (self.hub, self.shell);
        let logins = hub.logins.clone();
        let address = public.local_addr()?;
        let pulse = Pulse::of(&self.arbiters);
        let (readiness, beating) = (Arc::clone(&self.readiness), pulse.clone());
        let listening = Listening {
            listener: Listener::Public,
            workers: self.workers,
            shutdown: self.shutdown,
            timeouts: Timeouts::for_requests_of(self.request),
            admission: self.admission,
            metrics: Arc::clone(&self.metrics),
        };
        let public = connection::server(public, listening, move || {
            beating.beat_here();
            let (hub, shell, readiness) = (hub.clone(), Arc::clone(&shell), Arc::clone(&readiness));
            App::new().configure(move |config| routes::configure(config, hub)).wrap(from_fn(
                move |request, next| {
                    let (shell, readiness) = (Arc::clone(&shell), Arc::clone(&readiness));
                    connection::serve(request, async move |request| {
                        shell
                            .around(request, next)
                            .await
                            .map(|answer| last_if_draining(answer, &readiness))
                    })
                },
            ))
        })?;
        let served = private::Served {
            readiness: Arc::clone(&self.readiness),
            metrics: self.metrics,
            admin: self.admin,
            reload: self.reload.clone(),
            hosts: self.private_hosts,
        };
        let private = private.map(|listener| private::server(listener, served)).transpose()?;
        let handles = (public.handle(), private.as_ref().map(Server::handle));
        if let Some(private) = private {
            actix::spawn(private);
        }
        Ok(Running {
            address,
            listening: actix::spawn(public),
            public: handles.0,
            private: handles.1,
            readiness: self.readiness,
            audit: self.audit,
            traces: self.traces,
            reload: self.reload,
            logins,
            arbiters: self.arbiters,
            pulse,
            sockets: Sockets::Bound,
            not_ready: self.not_ready,
            shutdown: self.shutdown,
            successor: self.successor,
        })
    }
}
