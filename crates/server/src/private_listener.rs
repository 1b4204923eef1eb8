//! Serves the private listener on a thread of its own: probes, metrics, configuration digest,
//! administration.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix::Arbiter;
use actix_web::App;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;

use super::{HubServer, connection_limits};
use passerelle_admin::private_listener;
use passerelle_telemetry::Listener;
use passerelle_web::connection::{self, ConnectionTimeouts, ServerConfig};

/// Limit for a whole request, body included.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds the server of the private listener on `worker`.
///
/// # Errors
/// Returns an error if the operating system refuses the listener.
pub(super) fn build_private_server(
    listener: TcpListener,
    worker: &Arbiter,
    hub: &HubServer,
) -> std::io::Result<Server> {
    let (readiness, admin, reload) = (hub.readiness(), hub.admin(), hub.reload());
    let (metrics, hosts) = (Arc::clone(&hub.hub.core.metrics), Arc::clone(&hub.private_hosts));
    let listening = ServerConfig {
        listener: Listener::Private,
        workers: vec![worker.handle()],
        shutdown: Duration::from_secs(1),
        timeouts: ConnectionTimeouts::for_request_timeout(REQUEST_TIMEOUT),
        admission: connection_limits::private_admission(),
        metrics: Arc::clone(&metrics),
    };
    connection::build_server(listener, listening, move || {
        let (readiness, admin, reload) =
            (Arc::clone(&readiness), Arc::clone(&admin), reload.clone());
        let (metrics, counter, hosts) =
            (Arc::clone(&metrics), Arc::clone(&metrics), Arc::clone(&hosts));
        App::new()
            .configure(move |config| {
                private_listener::configure_config_digest(config, move || reload.digest());
            })
            .configure(move |config| {
                private_listener::configure_endpoints(
                    config,
                    readiness,
                    metrics,
                    passerelle_admin::admin_routes(admin),
                );
            })
            .wrap(from_fn(move |request, next| {
                let (hosts, metrics) = (Arc::clone(&hosts), Arc::clone(&counter));
                connection::serve_request(request, async move |request| {
                    private_listener::check_target(hosts, metrics, request, next).await
                })
            }))
    })
}
