//! Starts the listeners of a built hub.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::App;
use actix_web::body::BoxBody;
use actix_web::dev::{Server, ServerHandle, ServiceResponse};
use actix_web::http::ConnectionType;
use actix_web::middleware::from_fn;

use super::private_listener;
use super::watchdog::Heartbeat;
use super::{HubServer, RunningHub, SocketOwner};
use passerelle_admin::readiness::Readiness;
use passerelle_telemetry::Listener;
use passerelle_web::connection::{self, ConnectionTimeouts, ServerConfig};
use passerelle_web::routes;

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
        let address = public.local_addr()?;
        let heartbeat = Heartbeat::for_arbiters(&self.arbiters);
        let public = self.public_server(public)?;
        let private = private.map(|listener| self.start_private(listener)).transpose()?;
        let handle = public.handle();
        Ok(RunningHub {
            address,
            socket_owner: SocketOwner::Process,
            listening: actix::spawn(public),
            public: handle,
            private,
            heartbeat,
            server: self,
        })
    }

    /// Starts the private listener on an arbiter of its own.
    fn start_private(&self, listener: TcpListener) -> std::io::Result<(ServerHandle, Arbiter)> {
        let worker = Arbiter::new();
        let server = private_listener::build_private_server(listener, &worker, self)?;
        let handle = server.handle();
        actix::spawn(server);
        Ok((handle, worker))
    }

    fn public_server(&self, listener: TcpListener) -> std::io::Result<Server> {
        let listening = ServerConfig {
            listener: Listener::Public,
            workers: self.arbiters.iter().map(Arbiter::handle).collect(),
            shutdown: Duration::from_secs(self.limits.shutdown_seconds),
            timeouts: ConnectionTimeouts::for_request_timeout(Duration::from_secs(
                self.limits.request_seconds,
            )),
            admission: Arc::clone(&self.admission),
            metrics: Arc::clone(&self.hub.core.metrics),
        };
        let (hub, outer_middleware, readiness) =
            (self.hub(), self.outer_middleware(), self.readiness());
        connection::build_server(listener, listening, move || {
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
        })
    }
}

/// Adds `Connection: close` while the hub shuts down, so that a proxy with persistent connections
/// sends no request into a connection that is about to be cut.
fn close_if_draining(
    mut answer: ServiceResponse<BoxBody>,
    readiness: &Readiness,
) -> ServiceResponse<BoxBody> {
    if readiness.is_draining() {
        answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}
