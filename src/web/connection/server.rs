//! Builds the server of a listener with limited connections.

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

use super::admission::{AdmissionError, ConnectionLimiter};
use super::exchange::HttpExchange;
use super::rejections::{ConnectionRejection, RejectionCounter};
use super::stream::GuardedStream;
use super::timeouts::ConnectionTimeouts;
use crate::telemetry::{Listener, Metrics};

/// Bytes that the system buffers for a peer that does not read. Linux doubles the value, and would
/// buffer up to 4 MB by default.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Connections per worker above its share: a rejected connection counts until it is closed.
pub const EXTRA_CONNECTIONS_PER_WORKER: usize = 16;

/// Settings of a listener's server.
pub struct ServerConfig {
    pub listener: Listener,
    pub workers: usize,
    pub shutdown: Duration,
    pub timeouts: ConnectionTimeouts,
    pub admission: Arc<ConnectionLimiter>,
    pub metrics: Arc<Metrics>,
}

/// Builds the server for the application that `factory` creates for each worker.
///
/// It works as actix-web's `HttpServer`, but passes a `GuardedStream` to actix-http.
///
/// # Errors
/// The I/O error if the operating system rejects an option of the socket.
pub fn build_server<F, I, S, B>(
    socket: TcpListener,
    listening: ServerConfig,
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
    let ServerConfig { listener, workers, shutdown, timeouts, admission, metrics } = listening;
    // Accepted sockets inherit both.
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES)?;
    // Otherwise the system keeps unacknowledged data for minutes, also after the connection is
    // closed.
    let user_timeout = u32::try_from(timeouts.write.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(&socket, user_timeout)?;
    let rejections = RejectionCounter::new(listener, &metrics);
    let share = admission.limits().total.div_ceil(workers.max(1)) + EXTRA_CONNECTIONS_PER_WORKER;
    let builder = Server::build()
        .workers(workers)
        .max_concurrent_connections(share)
        .shutdown_timeout(shutdown.as_secs())
        .disable_signals();
    let draining = builder.graceful_shutdown_signal();
    let make = move || {
        let application = factory().into_factory().map_err(|error| error.into().error_response());
        let draining = draining.clone();
        // The guarded stream enforces the timeouts, with one alarm per connection instead of three
        // timers.
        let http = HttpService::build()
            .keep_alive(KeepAlive::Os)
            .client_request_timeout(Duration::ZERO)
            .client_disconnect_timeout(Duration::ZERO)
            .graceful_shutdown_signal(move || {
                let draining = draining.clone();
                async move { draining.notified().await }
            })
            .on_connect_ext(|stream: &GuardedStream, data| {
                data.insert::<Rc<HttpExchange>>(stream.exchange());
            })
            .h1(map_config(application, |()| AppConfig::default()));
        let (admission, rejections) = (Arc::clone(&admission), Arc::clone(&rejections));
        fn_factory(move || {
            let shared = (Arc::clone(&admission), Arc::clone(&rejections));
            let http = http.new_service(());
            async move {
                let (admission, rejections) = shared;
                Ok::<_, ()>(GuardedService { http: http.await?, admission, rejections, timeouts })
            }
        })
    };
    Ok(builder.listen(listener.label(), socket, make)?.run())
}

/// Service that admits connections and records how they ended.
struct GuardedService<H> {
    http: H,
    admission: Arc<ConnectionLimiter>,
    rejections: Arc<RejectionCounter>,
    timeouts: ConnectionTimeouts,
}

impl<H> GuardedService<H> {
    fn admit_connection(&self, socket: TcpStream) -> Option<(GuardedStream, Option<SocketAddr>)> {
        // A peer that has already disconnected has no address.
        let peer = socket.peer_addr().ok()?;
        match self.admission.admit(peer) {
            Ok(permit) => {
                let stream =
                    GuardedStream::new(socket, permit, self.timeouts, Arc::clone(&self.rejections));
                Some((stream, Some(peer)))
            }
            Err(error) => {
                self.rejections.record(match error {
                    AdmissionError::Full => ConnectionRejection::Full,
                    AdmissionError::PeerFull => ConnectionRejection::PeerFull,
                });
                None
            }
        }
    }
}

impl<H> Service<TcpStream> for GuardedService<H>
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
        let Some(admitted) = self.admit_connection(socket) else {
            return Box::pin(async { Ok(()) });
        };
        let connection = self.http.call(admitted);
        let rejections = Arc::clone(&self.rejections);
        Box::pin(async move {
            let ended = connection.await;
            if let Some(rejection) =
                ended.as_ref().err().and_then(ConnectionRejection::from_dispatch)
            {
                rejections.record(rejection);
            }
            ended
        })
    }
}
