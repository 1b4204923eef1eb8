//! The private listener: probes, metrics, what the files in use say, and administration, on a thread of its own.

use std::net::TcpListener;
use std::sync::Arc;

use actix_web::dev::Server;
use actix_web::{App, HttpServer};

use super::reload::Reload;
use crate::telemetry::Metrics;
use crate::web::admin::{self, Admin};
use crate::web::private::{self, Readiness};

/// # Errors
/// The operating system refuses the listener.
pub(super) fn server(
    listener: TcpListener,
    readiness: &Arc<Readiness>,
    metrics: &Arc<Metrics>,
    admin: &Arc<Admin>,
    reload: &Reload,
) -> std::io::Result<Server> {
    let (readiness, metrics, admin, reload) = (Arc::clone(readiness), Arc::clone(metrics), Arc::clone(admin), reload.clone());
    let server = HttpServer::new(move || {
        let (readiness, metrics, admin, reload) =
            (Arc::clone(&readiness), Arc::clone(&metrics), Arc::clone(&admin), reload.clone());
        App::new()
            .configure(move |config| private::configure_digest(config, move || reload.outline()))
            .configure(move |config| private::configure(config, readiness, metrics, admin::scope(admin)))
    });
    Ok(server.workers(1).shutdown_timeout(1).disable_signals().listen(listener)?.run())
}
