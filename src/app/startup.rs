//! Starts the listeners of a built hub.

use std::net::TcpListener;
use std::sync::Arc;

use actix_web::App;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;

use super::draining::close_if_draining;
use super::private_listener;
use super::watchdog::Heartbeat;
use super::{HubServer, RunningHub, SocketOwner};
use crate::telemetry::Listener;
use crate::web::connection::{self, ConnectionTimeouts, ServerConfig};
use crate::web::routes;

impl HubServer {
    /// Starts serving. `private` carries probes, metrics and administration, and must not be
    /// reachable from outside.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a listener.
    pub fn start(
        self,
        public: TcpListener,
        private: Option<TcpListener>,
    ) -> std::io::Result<RunningHub> {
        let (hub, outer_middleware) = (self.hub, self.outer_middleware);
        let logins = hub.logins.clone();
        let address = public.local_addr()?;
        let heartbeat = Heartbeat::for_arbiters(&self.arbiters);
        let (readiness, worker_heartbeat) = (Arc::clone(&self.readiness), heartbeat.clone());
        let listening = ServerConfig {
            listener: Listener::Public,
            workers: self.workers,
            shutdown: self.shutdown_timeout,
            timeouts: ConnectionTimeouts::for_request_timeout(self.request_timeout),
            admission: self.admission,
            metrics: Arc::clone(&self.metrics),
        };
        let public = connection::build_server(public, listening, move || {
            worker_heartbeat.register_current_thread();
            let (hub, outer_middleware, readiness) =
                (hub.clone(), Arc::clone(&outer_middleware), Arc::clone(&readiness));
            App::new().configure(move |config| routes::configure_routes(config, hub)).wrap(from_fn(
                move |request, next| {
                    let (outer_middleware, readiness) =
                        (Arc::clone(&outer_middleware), Arc::clone(&readiness));
                    connection::serve_request(request, async move |request| {
                        outer_middleware
                            .handle(request, next)
                            .await
                            .map(|answer| close_if_draining(answer, &readiness))
                    })
                },
            ))
        })?;
        let services = private_listener::PrivateServices {
            readiness: Arc::clone(&self.readiness),
            metrics: self.metrics,
            admin: self.admin,
            reload: self.reload.clone(),
            hosts: self.private_hosts,
        };
        let private = private
            .map(|listener| private_listener::private_server(listener, services))
            .transpose()?;
        let handles = (public.handle(), private.as_ref().map(Server::handle));
        if let Some(private) = private {
            actix::spawn(private);
        }
        Ok(RunningHub {
            address,
            listening: actix::spawn(public),
            public: handles.0,
            private: handles.1,
            readiness: self.readiness,
            audit: self.audit,
            tracer: self.tracer,
            reload: self.reload,
            logins,
            arbiters: self.arbiters,
            heartbeat,
            socket_owner: SocketOwner::Process,
            not_ready_delay: self.not_ready_delay,
            shutdown_timeout: self.shutdown_timeout,
            snapshot: self.snapshot,
        })
    }
}
