//! Tests a limited listener on loopback against misbehaving clients.

use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, HttpResponse, web};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};

use super::admission::{ConnectionLimiter, ConnectionLimits};
use super::rejections::RejectionCounter;
use super::stream::GuardedStream;
use super::*;
use passerelle_telemetry::testing::captured_log::Lines;
use passerelle_telemetry::{LineFormat, Listener, Metrics, log_dispatch};

const SHORT: Duration = Duration::from_millis(200);
/// Timeout that passes only if the hub never closes a connection.
const LONG: Duration = Duration::from_secs(60);
const PAGE: usize = 64 * 1024;

struct TestServer {
    address: SocketAddr,
    admission: Arc<ConnectionLimiter>,
    served: Arc<AtomicUsize>,
    handle: actix_web::dev::ServerHandle,
}

impl TestServer {
    fn start(timeouts: ConnectionTimeouts, total: usize) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let admission = ConnectionLimiter::new(limits(total), 8);
        let served = Arc::new(AtomicUsize::new(0));
        let config = ServerConfig {
            listener: Listener::Public,
            workers: vec![actix::Arbiter::current()],
            shutdown: Duration::from_secs(1),
            timeouts,
            admission: Arc::clone(&admission),
            metrics: Arc::new(Metrics::new().unwrap()),
        };
        let counter = Arc::clone(&served);
        let server = build_server(socket, config, move || {
            let counter = Arc::clone(&counter);
            let page = move || {
                counter.fetch_add(1, Ordering::SeqCst);
                async { HttpResponse::Ok().body("x".repeat(PAGE)) }
            };
            let echo = |body: web::Bytes| async move { HttpResponse::Ok().body(body) };
            App::new()
                .service(web::resource("/page").get(page))
                .service(web::resource("/echo").post(echo))
                .wrap(from_fn(|request, next: Next<BoxBody>| {
                    serve_request(request, async move |request| next.call(request).await)
                }))
        })
        .unwrap();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { address, admission, served, handle }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn limits(total: usize) -> ConnectionLimits {
    let (per_peer, per_network) = (None, None);
    let (counts_local_peers, trusted_proxies) = (false, Vec::new());
    ConnectionLimits { total, per_peer, per_network, counts_local_peers, trusted_proxies }
}

fn long_timeouts() -> ConnectionTimeouts {
    ConnectionTimeouts { head: LONG, idle: LONG, body: LONG, write: LONG, linger: SHORT }
}

/// Returns everything that the hub sends until it closes.
async fn read_rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset also ends the stream.
    let _ended = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn wait_until(condition: impl Fn() -> bool) {
    tokio::time::timeout(LONG, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
}

const GET: &str = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";

#[actix_web::test]
async fn a_second_head_that_never_ends_is_answered_408() {
    let server = TestServer::start(ConnectionTimeouts { head: SHORT, ..long_timeouts() }, 100);
    let mut stream = server.connect().await;
    stream.write_all(GET.replace("/page", "/none").as_bytes()).await.unwrap();
    let mut first = [0; 16];
    stream.read_exact(&mut first).await.unwrap();
    stream.write_all(b"GET /page HTTP/1.1\r\nHost:").await.unwrap();
    let rest = read_rest(&mut stream).await;
    assert!(rest.contains("HTTP/1.1 408 Request Timeout"), "{rest}");
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_kept_connection_is_closed_when_it_stays_idle() {
    let server = TestServer::start(ConnectionTimeouts { idle: SHORT, ..long_timeouts() }, 100);
    let mut stream = server.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    assert_eq!(read_rest(&mut stream).await.matches("HTTP/1.1").count(), 1);
    wait_until(|| server.admission.open_count() == 0).await;
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_body_that_never_ends_is_cut_also_where_the_handler_waits_for_it() {
    let server = TestServer::start(ConnectionTimeouts { body: SHORT, ..long_timeouts() }, 100);
    let mut stream = server.connect().await;
    stream
        .write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        .await
        .unwrap();
    assert_eq!(read_rest(&mut stream).await, "");
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_body_of_which_no_byte_arrives_is_cut_also_where_the_handler_waits_for_it() {
    let server = TestServer::start(ConnectionTimeouts { body: SHORT, ..long_timeouts() }, 100);
    let mut stream = server.connect().await;
    stream.write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    assert_eq!(read_rest(&mut stream).await, "");
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_client_that_pipelines_and_never_reads_is_read_no_further_and_cut() {
    let server = TestServer::start(
        ConnectionTimeouts { write: Duration::from_secs(2), ..long_timeouts() },
        100,
    );
    let mut stream = server.connect().await;
    // As many requests as the kernel accepts at once.
    let all = GET.repeat(2000);
    stream.write_all(all.as_bytes()).await.unwrap();
    wait_until(|| server.served.load(Ordering::SeqCst) > 0 && server.admission.open_count() == 0)
        .await;
    // As many responses as both kernels buffer; further requests were never read.
    let served = server.served.load(Ordering::SeqCst);
    assert!((1..500).contains(&served), "{served} were served");
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn pipelined_requests_are_answered_in_order_wherever_the_bytes_are_split() {
    let server = TestServer::start(long_timeouts(), 100);
    let one = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none\
               POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n";
    let last =
        "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nend";
    let all = format!("{}{last}", one.repeat(30));
    for size in [1, 7, 100, all.len()] {
        let mut stream = server.connect().await;
        for piece in all.as_bytes().chunks(size) {
            stream.write_all(piece).await.unwrap();
            if size > 1 {
                tokio::task::yield_now().await;
            }
        }
        let text = read_rest(&mut stream).await;
        let bodies: Vec<_> = text.split("\r\n\r\n").skip(1).map(|part| &part[..3]).collect();
        let expected: Vec<_> = ["one", "two"].into_iter().cycle().take(60).chain(["end"]).collect();
        assert_eq!(bodies, expected, "{size} bytes at once");
    }
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_new_connection_evicts_an_idle_one() {
    let server = TestServer::start(long_timeouts(), 4);
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(server.connect().await);
    }
    wait_until(|| server.admission.open_count() == 4).await;
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream
            .write_all(GET.replace("Host: a", "Host: a\r\nConnection: close").as_bytes())
            .await
            .unwrap();
        assert!(read_rest(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
    wait_until(|| server.admission.open_count() <= 4).await;
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn a_new_connection_evicts_one_whose_request_body_never_arrives() {
    let server = TestServer::start(long_timeouts(), 4);
    let mut waiting = Vec::new();
    for _ in 0..4 {
        let mut stream = server.connect().await;
        stream
            .write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            .await
            .unwrap();
        waiting.push(stream);
    }
    wait_until(|| server.admission.open_count() == 4).await;
    let newcomer = async {
        loop {
            let mut stream = server.connect().await;
            // Rejected while each body may still arrive.
            let _sent = stream
                .write_all(GET.replace("Host: a", "Host: a\r\nConnection: close").as_bytes())
                .await;
            if read_rest(&mut stream).await.starts_with("HTTP/1.1 200") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, newcomer).await.unwrap();
    drop(waiting);
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn an_unread_chunked_body_closes_the_connection_after_the_response() {
    let server = TestServer::start(long_timeouts(), 100);
    let mut stream = server.connect().await;
    stream
        .write_all(b"POST /page HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    let mut taken = 0;
    while stream.write_all(chunk.as_bytes()).await.is_ok() {
        taken += chunk.len();
        assert!(taken < 64 << 20, "{taken} bytes were taken");
    }
    wait_until(|| server.admission.open_count() == 0).await;
    server.handle.stop(false).await;
}

/// RFC 9110 §7.8, RFC 9112 §9.6: curl and Java ask for HTTP/2 in this way.
#[actix_web::test]
async fn a_request_for_another_protocol_is_answered_and_the_close_announced() {
    let server = TestServer::start(long_timeouts(), 100);
    let upgrade = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA";
    let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none";
    for request in [GET, post] {
        let mut stream = server.connect().await;
        let request = request.replace("Host: a", &format!("Host: a\r\n{upgrade}"));
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let (head, _) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("connection: close"), "{head}");
        assert!(!head.contains("upgrade"), "{head}");
    }
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn an_eviction_does_not_discard_a_response_that_waits_for_other_tasks() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (socket, peer) = listener.accept().await.unwrap();
    let admission = ConnectionLimiter::new(limits(1), 8);
    let rejections = RejectionCounter::new(Listener::Public, &Arc::new(Metrics::new().unwrap()));
    let permit = admission.admit(peer).unwrap();
    let mut stream = GuardedStream::new(socket, permit, long_timeouts(), rejections);

    let waker = Waker::noop();
    let mut context = Context::from_waker(waker);
    let mut stream = Pin::new(&mut stream);
    assert!(stream.as_mut().poll_write(&mut context, b"response").is_pending());
    let _newcomer = admission.admit(peer).unwrap();
    let mut bytes = [0; 8];
    let mut input = ReadBuf::new(&mut bytes);
    assert!(stream.as_mut().poll_read(&mut context, &mut input).is_pending());
    let written = stream.as_mut().poll_write(&mut context, b"response");
    assert!(matches!(written, Poll::Ready(Ok(8))), "{written:?}");
    client.read_exact(&mut [0; 8]).await.unwrap();
    let read = stream.as_mut().poll_read(&mut context, &mut input);
    assert!(matches!(read, Poll::Ready(Err(_))), "{read:?}");
}

#[actix_web::test]
async fn a_request_that_actix_http_rejects_is_counted() {
    let lines = Lines::default();
    let written = lines.clone();
    let dispatch = log_dispatch(move || written.clone(), LineFormat::Json, "info").unwrap();
    let _guard = tracing::dispatcher::set_default(&dispatch);
    let server = TestServer::start(long_timeouts(), 100);
    let mut stream = server.connect().await;
    stream.write_all(b"NOT / HTTP AT ALL\r\n\r\n").await.unwrap();
    assert!(read_rest(&mut stream).await.starts_with("HTTP/1.1 400 "));
    wait_until(|| lines.text().contains("Y500340")).await;
    server.handle.stop(false).await;
}

/// RFC 9112 §3, RFC 9110 §6.6.1
#[actix_web::test]
async fn an_overlong_target_is_answered_414_with_a_date() {
    let server = TestServer::start(long_timeouts(), 100);
    for length in [66_000, 140_000] {
        let mut stream = server.connect().await;
        let target = "x".repeat(length);
        let head = format!("GET /{target} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = read_rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 414 URI Too Long\r\n"), "{answer}");
        assert!(answer.contains("\r\ndate: ") && answer.contains(" GMT\r\n"), "{answer}");
    }
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn an_invalid_pipelined_head_is_answered_after_the_request_before_it() {
    let server = TestServer::start(long_timeouts(), 100);
    let mut stream = server.connect().await;
    let long_name = "a".repeat(70_000);
    stream.write_all(format!("{GET}GET / HTTP/1.1\r\n{long_name}").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let answers = read_rest(&mut stream).await;
    let positions = ["HTTP/1.1 200 ", "HTTP/1.1 431 "].map(|status| answers.find(status));
    assert!(matches!(positions, [Some(0), Some(PAGE..)]), "{positions:?}");
    server.handle.stop(false).await;
}

#[actix_web::test]
async fn reading_continues_after_the_response_to_an_oversized_head_so_that_no_reset_discards_it() {
    let server = TestServer::start(ConnectionTimeouts { linger: LONG, ..long_timeouts() }, 100);
    let mut stream = server.connect().await;
    let line = format!("a: {}\r\n", "x".repeat(8187));
    stream.write_all(format!("GET / HTTP/1.1\r\n{}", line.repeat(24)).as_bytes()).await.unwrap();
    let answer = read_rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    stream.write_all(line.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    wait_until(|| server.admission.open_count() == 0).await;
    assert!(stream.take_error().unwrap().is_none(), "a reset followed the response");
    server.handle.stop(false).await;
}

/// Returns whether the system still holds the hub's end of a connection.
#[cfg(target_os = "linux")]
fn is_held(hub: SocketAddr, peer: SocketAddr) -> bool {
    let [hub, peer] = [hub, peer].map(|address| format!(":{:04X}", address.port()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut ends = table.lines().map(|line| line.split_ascii_whitespace().skip(1));
    ends.any(|mut ends| {
        ends.next().is_some_and(|end| end.ends_with(&hub))
            && ends.next().is_some_and(|end| end.ends_with(&peer))
    })
}

#[cfg(target_os = "linux")]
#[actix_web::test]
async fn answers_that_fit_into_the_send_buffer_and_are_never_read_do_not_stay_in_the_system() {
    let server = TestServer::start(
        ConnectionTimeouts { idle: SHORT, write: Duration::from_secs(2), ..long_timeouts() },
        100,
    );
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let peer = stream.local_addr().unwrap();
    assert!(is_held(server.address, peer));
    stream.write_all(GET.repeat(2).as_bytes()).await.unwrap();
    wait_until(|| server.served.load(Ordering::SeqCst) == 2 && server.admission.open_count() == 0)
        .await;
    wait_until(|| !is_held(server.address, peer)).await;
    assert!(read_rest(&mut stream).await.len() < PAGE, "the peer's system took all of it");
    server.handle.stop(false).await;
}
