//! A listener whose connections are guarded.

use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive, Request, Response};
use actix_server::Server;
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, fn_factory, map_config,
};
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use tokio::net::TcpStream;

use super::Timeouts;
use super::admission::{Admission, AdmissionError};
use super::exchange::Exchange;
use super::report::{Refusal, Reports};
use super::stream::GuardedStream;
use crate::telemetry::{Listener, Metrics};

/// Bytes that the system holds of what a peer does not read; Linux doubles the figure, and would go up to 4 MB by itself.
const SEND_BUFFER: usize = 128 * 1024;

/// Connections that a worker may hold above its share: those that are refused need a place until they are closed.
pub const SURPLUS_PER_WORKER: usize = 16;

/// What a listener serves by.
pub struct Listening {
    pub listener: Listener,
    pub workers: usize,
    pub shutdown: Duration,
    pub timeouts: Timeouts,
    pub admission: Arc<Admission>,
    pub metrics: Arc<Metrics>,
}

/// Serves the application that `factory` makes for each worker. Where actix-web's `HttpServer` gives a socket to actix-http,
/// this gives it a guarded one; the rest is as there.
///
/// # Errors
/// The operating system refuses the listener.
pub fn server<F, I, S, B>(
    socket: TcpListener,
    listening: Listening,
    factory: F,
) -> std::io::Result<Server>
where
    F: Fn() -> I + Clone + Send + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: Debug,
    S::Response: Into<Response<B>> + 'static,
    S::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let Listening { listener, workers, shutdown, timeouts, admission, metrics } = listening;
    // Accepted sockets inherit both.
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
    // The system keeps what a peer does not take for minutes otherwise, also behind a closed connection.
    let user_timeout = u32::try_from(timeouts.write.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(&socket, user_timeout)?;
    let reports = Reports::new(listener, &metrics);
    let share = admission.limits().total.div_ceil(workers.max(1)) + SURPLUS_PER_WORKER;
    let builder = Server::build()
        .workers(workers)
        .max_concurrent_connections(share)
        .shutdown_timeout(shutdown.as_secs())
        .disable_signals();
    let draining = builder.graceful_shutdown_signal();
    let make = move || {
        let application = factory().into_factory().map_err(|error| error.into().error_response());
        let draining = draining.clone();
        // The times are the guarded stream's to keep: one alarm for a connection instead of three timers.
        let http = HttpService::build()
            .keep_alive(KeepAlive::Os)
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(Duration::ZERO)
            .graceful_shutdown_signal(move || {
                let draining = draining.clone();
                async move { draining.notified().await }
            })
            .on_connect_ext(|stream: &GuardedStream, data| {
                data.insert::<Rc<Exchange>>(stream.exchange());
            })
            .h1(map_config(application, |()| AppConfig::default()));
        let (admission, reports) = (Arc::clone(&admission), Arc::clone(&reports));
        fn_factory(move || {
            let guard = (Arc::clone(&admission), Arc::clone(&reports));
            let http = http.new_service(());
            async move {
                let (admission, reports) = guard;
                Ok::<_, ()>(Guarded { http: http.await?, admission, reports, timeouts })
            }
        })
    };
    Ok(builder.listen(listener.label(), socket, make)?.run())
}

/// Admits connections, and reports how they ended.
struct Guarded<H> {
    http: H,
    admission: Arc<Admission>,
    reports: Arc<Reports>,
    timeouts: Timeouts,
}

impl<H> Guarded<H> {
    fn admit(&self, socket: TcpStream) -> Option<(GuardedStream, Option<SocketAddr>)> {
        // A peer that has gone already has no address.
        let peer = socket.peer_addr().ok()?;
        match self.admission.admit(peer) {
            Ok(permit) => {
                let stream =
                    GuardedStream::new(socket, permit, self.timeouts, Arc::clone(&self.reports));
                Some((stream, Some(peer)))
            }
            Err(error) => {
                self.reports.count(match error {
                    AdmissionError::Full => Refusal::Full,
                    AdmissionError::PeerFull => Refusal::PeerFull,
                });
                None
            }
        }
    }
}

impl<H> Service<TcpStream> for Guarded<H>
where
    H: Service<(GuardedStream, Option<SocketAddr>), Response = (), Error = DispatchError>,
    H::Future: 'static,
{
    type Response = ();
    type Error = DispatchError;
    type Future = Pin<Box<dyn Future<Output = Result<(), DispatchError>>>>;

    fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Result<(), DispatchError>> {
        self.http.poll_ready(cx)
    }

    fn call(&self, socket: TcpStream) -> Self::Future {
        let Some(admitted) = self.admit(socket) else { return Box::pin(async { Ok(()) }) };
        let connection = self.http.call(admitted);
        let reports = Arc::clone(&self.reports);
        Box::pin(async move {
            let ended = connection.await;
            if let Some(refusal) = ended.as_ref().err().and_then(Refusal::from_dispatch) {
                reports.count(refusal);
            }
            ended
        })
    }
}
