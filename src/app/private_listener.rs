//! The private listener: probes, metrics, what the files in use say, and administration, on a thread of its own.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::App;
use actix_web::dev::Server;
use actix_web::middleware::from_fn;

use super::connections;
use super::reload::Reload;
use crate::telemetry::{Listener, Metrics};
use crate::web::admin::{self, Admin};
use crate::web::connection::{self, Listening, Timeouts};
use crate::web::host::PrivateHosts;
use crate::web::private::{self, Readiness};

/// For a whole request, its body included.
const REQUEST: Duration = Duration::from_secs(10);

/// What the private listener serves.
pub(super) struct Served {
    pub readiness: Arc<Readiness>,
    pub metrics: Arc<Metrics>,
    pub admin: Arc<Admin>,
    pub reload: Reload,
    pub hosts: Arc<PrivateHosts>,
}

/// # Errors
/// The operating system refuses the listener.
pub(super) fn server(listener: TcpListener, served: Served) -> std::io::Result<Server> {
    let Served { readiness, metrics, admin, reload, hosts } = served;
    let listening = Listening {
        listener: Listener::Private,
        workers: 1,
        shutdown: Duration::from_secs(1),
        timeouts: Timeouts::for_requests_of(REQUEST),
        admission: connections::private(),
        metrics: Arc::clone(&metrics),
    };
    connection::server(listener, listening, move || {
        let (readiness, admin, reload) =
            (Arc::clone(&readiness), Arc::clone(&admin), reload.clone());
        let (metrics, counter, hosts) =
            (Arc::clone(&metrics), Arc::clone(&metrics), Arc::clone(&hosts));
        App::new()
            .configure(move |config| private::configure_digest(config, move || reload.outline()))
            .configure(move |config| {
                private::configure(config, readiness, metrics, admin::scope(admin))
            })
            .wrap(from_fn(move |request, next| {
                let (hosts, metrics) = (Arc::clone(&hosts), Arc::clone(&counter));
                connection::serve(request, async move |request| {
                    private::admit(hosts, metrics, request, next).await
                })
            }))
    })
}
