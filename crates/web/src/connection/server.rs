//! Builds the server of a listener with limited connections.
//!
//! actix-server accepts the connections; the hub's own arbiters serve them, so that a request, the
//! actor of its login and the connector that it calls share a thread.

use std::cell::Cell;
use std::fmt::Debug;
use std::future::poll_fn;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive, Request, Response};
use actix_server::Server;
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, always_ready, fn_factory,
    map_config,
};
use actix_web::body::MessageBody;
use actix_web::dev::AppConfig;
use futures_util::FutureExt as _;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use super::admission::{AdmissionError, ConnectionLimiter, Permit};
use super::exchange::HttpExchange;
use super::rejections::{ConnectionRejection, RejectionCounter};
use super::stream::GuardedStream;
use super::timeouts::ConnectionTimeouts;
use passerelle_telemetry::{Listener, Metrics};

/// Bytes that the system buffers for a peer that does not read. Linux doubles the value, and would
/// buffer up to 4 MB by default.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Connections per arbiter above the limit: a rejected connection counts until it is closed.
pub const EXTRA_CONNECTIONS_PER_ARBITER: usize = 16;

/// Settings of a listener's server.
pub struct ServerConfig {
    pub listener: Listener,
    /// Arbiters that serve the connections, in turn. They must outlive the server.
    pub workers: Vec<ArbiterHandle>,
    pub shutdown: Duration,
    pub timeouts: ConnectionTimeouts,
    pub admission: Arc<ConnectionLimiter>,
    pub metrics: Arc<Metrics>,
}

/// Builds the server for the application that `factory` creates on each arbiter.
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
    let surplus = workers.len() * EXTRA_CONNECTIONS_PER_ARBITER;
    let builder = Server::build()
        .workers(1)
        .max_concurrent_connections(admission.limits().total.saturating_add(surplus))
        .shutdown_timeout(shutdown.as_secs())
        .disable_signals();
    let draining = builder.graceful_shutdown_signal();
    let queues: Vec<_> = workers
        .iter()
        .map(|worker| {
            let (queue, admitted) = mpsc::unbounded_channel();
            let (factory, draining) = (factory.clone(), draining.clone());
            let rejections = Arc::clone(&rejections);
            // The queue of an arbiter that has stopped is closed.
            let _running = worker.spawn_fn(move || {
                let application =
                    factory().into_factory().map_err(|error| error.into().error_response());
                // The guarded stream enforces the timeouts, with one alarm per connection instead
                // of three timers.
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
                actix::spawn(async move {
                    if let Ok(http) = http.new_service(()).await {
                        serve_connections(http, admitted, timeouts, rejections).await;
                    }
                });
            });
            queue
        })
        .collect();
    let make = move || {
        let forwarder = Forwarder {
            queues: queues.clone(),
            next: Cell::new(0),
            admission: Arc::clone(&admission),
            rejections: Arc::clone(&rejections),
        };
        fn_factory(move || {
            let forwarder = forwarder.clone();
            async move { Ok::<_, ()>(forwarder) }
        })
    };
    Ok(builder.listen(listener.label(), socket, make)?.run())
}

/// A connection on its way to the arbiter that serves it.
struct AdmittedConnection {
    socket: std::net::TcpStream,
    peer: SocketAddr,
    permit: Permit,
    /// Dropped when the connection has ended.
    ended: oneshot::Sender<()>,
}

/// Serves the connections of one arbiter, and records how they ended.
async fn serve_connections<H>(
    http: H,
    mut admitted: mpsc::UnboundedReceiver<AdmittedConnection>,
    timeouts: ConnectionTimeouts,
    rejections: Arc<RejectionCounter>,
) where
    H: Service<(GuardedStream, Option<SocketAddr>), Response = (), Error = DispatchError>,
    H::Future: 'static,
{
    while let Some(AdmittedConnection { socket, peer, permit, ended }) = admitted.recv().await {
        let Ok(socket) = TcpStream::from_std(socket) else { continue };
        let stream = GuardedStream::new(socket, permit, timeouts, Arc::clone(&rejections));
        if poll_fn(|cx| http.poll_ready(cx)).await.is_err() {
            continue;
        }
        let rejections = Arc::clone(&rejections);
        actix::spawn(http.call((stream, Some(peer))).map(move |result| {
            if let Some(rejection) =
                result.as_ref().err().and_then(ConnectionRejection::from_dispatch)
            {
                rejections.record(rejection);
            }
            drop(ended);
        }));
    }
}

/// Service of actix-server that admits connections and hands them to the arbiters in turn.
#[derive(Clone)]
struct Forwarder {
    queues: Vec<mpsc::UnboundedSender<AdmittedConnection>>,
    next: Cell<usize>,
    admission: Arc<ConnectionLimiter>,
    rejections: Arc<RejectionCounter>,
}

impl Forwarder {
    /// Returns what ends with the connection, or `None` if it was not admitted.
    fn forward(&self, socket: TcpStream) -> Option<oneshot::Receiver<()>> {
        // A peer that has already disconnected has no address.
        let peer = socket.peer_addr().ok()?;
        let permit = match self.admission.admit(peer) {
            Ok(permit) => permit,
            Err(error) => {
                self.rejections.record(match error {
                    AdmissionError::Full => ConnectionRejection::Full,
                    AdmissionError::PeerFull => ConnectionRejection::PeerFull,
                });
                return None;
            }
        };
        let turn = self.next.replace(self.next.get().wrapping_add(1));
        let queue = self.queues.get(turn.checked_rem(self.queues.len())?)?;
        let (ended, has_ended) = oneshot::channel();
        // The runtime of the other arbiter must poll it.
        let socket = socket.into_std().ok()?;
        queue.send(AdmittedConnection { socket, peer, permit, ended }).ok()?;
        Some(has_ended)
    }
}

impl Service<TcpStream> for Forwarder {
    type Response = ();
    type Error = DispatchError;
    type Future = Pin<Box<dyn Future<Output = Result<(), DispatchError>>>>;

    always_ready!();

    /// Completes when the connection has ended: a graceful shutdown waits for it.
    fn call(&self, socket: TcpStream) -> Self::Future {
        let forwarded = self.forward(socket);
        Box::pin(async move {
            if let Some(ended) = forwarded {
                let _ended = ended.await;
            }
            Ok(())
        })
    }
}
