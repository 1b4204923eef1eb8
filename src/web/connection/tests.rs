//! A guarded listener on loopback, and what clients do to it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, HttpResponse, web};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::admission::{Admission, ConnectionLimits};
use super::*;
use crate::env::Timestamp;
use crate::telemetry::{Listener, Metrics};

const SHORT: Duration = Duration::from_millis(200);
/// For what happens only if the hub never ends it.
const LONG: Duration = Duration::from_secs(60);
const PAGE: usize = 64 * 1024;

struct Site {
    address: SocketAddr,
    admission: Arc<Admission>,
    served: Arc<AtomicUsize>,
    server: actix_web::dev::ServerHandle,
}

impl Site {
    fn start(timeouts: Timeouts, total: usize) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let (per_peer, per_network) = (None, None);
        let limits = ConnectionLimits {
            total,
            per_peer,
            per_network,
            counts_local_peers: false,
            trusted_proxies: Vec::new(),
        };
        let admission = Admission::new(limits, 8);
        let served = Arc::new(AtomicUsize::new(0));
        let listening = Listening {
            listener: Listener::Public,
            workers: 1,
            shutdown: Duration::from_secs(1),
            timeouts,
            admission: Arc::clone(&admission),
            metrics: Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap()),
        };
        let counter = Arc::clone(&served);
        let server = server(socket, listening, move || {
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
                    serve(request, async move |request| next.call(request).await)
                }))
        })
        .unwrap();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        Self { address, admission, served, server: handle }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn patient() -> Timeouts {
    Timeouts { head: LONG, idle: LONG, body: LONG, write: LONG, linger: SHORT }
}

/// All that the hub sends until it closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset ends it too.
    let _ended = tokio::time::timeout(LONG, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn until(condition: impl Fn() -> bool) {
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
    let site = Site::start(Timeouts { head: SHORT, ..patient() }, 100);
    let mut stream = site.connect().await;
    stream.write_all(GET.replace("/page", "/none").as_bytes()).await.unwrap();
    let mut first = [0; 16];
    stream.read_exact(&mut first).await.unwrap();
    stream.write_all(b"GET /page HTTP/1.1\r\nHost:").await.unwrap();
    let rest = rest(&mut stream).await;
    assert!(rest.contains("HTTP/1.1 408 Request Timeout"), "{rest}");
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_kept_connection_is_closed_when_it_stays_idle() {
    let site = Site::start(Timeouts { idle: SHORT, ..patient() }, 100);
    let mut stream = site.connect().await;
    stream.write_all(GET.as_bytes()).await.unwrap();
    assert_eq!(rest(&mut stream).await.matches("HTTP/1.1").count(), 1);
    until(|| site.admission.open() == 0).await;
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_body_that_never_ends_is_cut_also_where_the_handler_waits_for_it() {
    let site = Site::start(Timeouts { body: SHORT, ..patient() }, 100);
    let mut stream = site.connect().await;
    stream
        .write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        .await
        .unwrap();
    assert_eq!(rest(&mut stream).await, "");
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_body_of_which_no_byte_arrives_is_cut_also_where_the_handler_waits_for_it() {
    let site = Site::start(Timeouts { body: SHORT, ..patient() }, 100);
    let mut stream = site.connect().await;
    stream.write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_client_that_pipelines_and_never_reads_is_read_no_further_and_cut() {
    let site = Site::start(Timeouts { write: Duration::from_secs(2), ..patient() }, 100);
    let mut stream = site.connect().await;
    // As many as the kernel takes at once.
    let all = GET.repeat(2000);
    stream.write_all(all.as_bytes()).await.unwrap();
    until(|| site.served.load(Ordering::SeqCst) > 0 && site.admission.open() == 0).await;
    // What the kernels on both sides hold, in pages; every further request was never read.
    let served = site.served.load(Ordering::SeqCst);
    assert!((1..500).contains(&served), "{served} were served");
    site.server.stop(false).await;
}

#[actix_web::test]
async fn what_is_pipelined_is_answered_in_order_wherever_it_is_cut() {
    let site = Site::start(patient(), 100);
    let one = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none\
               POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n";
    let last =
        "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nend";
    let all = format!("{}{last}", one.repeat(30));
    for size in [1, 7, 100, all.len()] {
        let mut stream = site.connect().await;
        for piece in all.as_bytes().chunks(size) {
            stream.write_all(piece).await.unwrap();
            if size > 1 {
                tokio::task::yield_now().await;
            }
        }
        let text = rest(&mut stream).await;
        let bodies: Vec<_> = text.split("\r\n\r\n").skip(1).map(|part| &part[..3]).collect();
        let expected: Vec<_> = ["one", "two"].into_iter().cycle().take(60).chain(["end"]).collect();
        assert_eq!(bodies, expected, "{size} bytes at once");
    }
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_newcomer_takes_the_place_of_an_idle_connection() {
    let site = Site::start(patient(), 4);
    let mut idle = Vec::new();
    for _ in 0..4 {
        idle.push(site.connect().await);
    }
    until(|| site.admission.open() == 4).await;
    for _ in 0..20 {
        let mut stream = site.connect().await;
        stream
            .write_all(GET.replace("Host: a", "Host: a\r\nConnection: close").as_bytes())
            .await
            .unwrap();
        assert!(rest(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
    until(|| site.admission.open() <= 4).await;
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_newcomer_takes_the_place_of_a_connection_whose_request_body_never_arrives() {
    let site = Site::start(patient(), 4);
    let mut owing = Vec::new();
    for _ in 0..4 {
        let mut stream = site.connect().await;
        stream
            .write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            .await
            .unwrap();
        owing.push(stream);
    }
    until(|| site.admission.open() == 4).await;
    let newcomer = async {
        loop {
            let mut stream = site.connect().await;
            // Refused while each body may still be on its way.
            let _sent = stream
                .write_all(GET.replace("Host: a", "Host: a\r\nConnection: close").as_bytes())
                .await;
            if rest(&mut stream).await.starts_with("HTTP/1.1 200") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, newcomer).await.unwrap();
    drop(owing);
    site.server.stop(false).await;
}

#[actix_web::test]
async fn an_unread_chunked_body_ends_the_connection_behind_the_answer() {
    let site = Site::start(patient(), 100);
    let mut stream = site.connect().await;
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
    until(|| site.admission.open() == 0).await;
    site.server.stop(false).await;
}

#[actix_web::test]
async fn a_head_that_is_too_large_is_read_on_behind_its_answer_so_that_nothing_takes_it_away() {
    let site = Site::start(Timeouts { linger: LONG, ..patient() }, 100);
    let mut stream = site.connect().await;
    let line = format!("a: {}\r\n", "x".repeat(8187));
    stream.write_all(format!("GET / HTTP/1.1\r\n{}", line.repeat(24)).as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    stream.write_all(line.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    until(|| site.admission.open() == 0).await;
    assert!(stream.take_error().unwrap().is_none(), "a reset came behind the answer");
    site.server.stop(false).await;
}

/// True while the system holds the hub's end of a connection.
#[cfg(target_os = "linux")]
fn is_held(hub: SocketAddr, peer: SocketAddr) -> bool {
    let [hub, peer] = [hub, peer].map(|address| format!(":{:04X}", address.port()));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut ends = table.lines().map(|line| line.split_whitespace().skip(1));
    ends.any(|mut ends| {
        ends.next().is_some_and(|end| end.ends_with(&hub))
            && ends.next().is_some_and(|end| end.ends_with(&peer))
    })
}

#[cfg(target_os = "linux")]
#[actix_web::test]
async fn answers_that_fit_into_the_send_buffer_and_are_never_read_do_not_stay_in_the_system() {
    let site =
        Site::start(Timeouts { idle: SHORT, write: Duration::from_secs(2), ..patient() }, 100);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(site.address).await.unwrap();
    let peer = stream.local_addr().unwrap();
    assert!(is_held(site.address, peer));
    stream.write_all(GET.repeat(2).as_bytes()).await.unwrap();
    until(|| site.served.load(Ordering::SeqCst) == 2 && site.admission.open() == 0).await;
    until(|| !is_held(site.address, peer)).await;
    assert!(rest(&mut stream).await.len() < PAGE, "the peer's system took all of it");
    site.server.stop(false).await;
}
