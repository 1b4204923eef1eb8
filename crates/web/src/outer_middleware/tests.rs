use super::*;
use crate::form;
use crate::hub::SandboxRoutes;
use crate::routes::route_table;
use actix_web::dev::Payload;
use actix_web::middleware::from_fn;
use actix_web::test::TestRequest;
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, test};
use futures_util::stream;

struct Received {
    status: u16,
    headers: HeaderMap,
    body: String,
    metrics: String,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

async fn form(request: HttpRequest, body: web::Payload) -> HttpResponse {
    match form::parse_body(&request, body).await {
        Ok(_) => HttpResponse::Ok().finish(),
        Err(error) => HttpResponse::BadRequest().body(error.to_string()),
    }
}

async fn keys() -> HttpResponse {
    HttpResponse::Ok().insert_header(("cache-control", "public, max-age=600")).finish()
}

async fn broken() -> HttpResponse {
    panic!("the handler is broken")
}

async fn refusing() -> Result<HttpResponse, Error> {
    Err(actix_web::error::ErrorForbidden("no"))
}

/// A body that sends a few bytes and then never ends.
fn unfinished_body() -> Payload {
    let drops = stream::iter([Ok(Bytes::from_static(b"grant_type="))]);
    Payload::Stream { payload: Box::pin(futures_util::StreamExt::chain(drops, stream::pending())) }
}

fn routes() -> Arc<RouteTable> {
    Arc::new(route_table(SandboxRoutes::On, &[]))
}

async fn send(base_url: &str, request: TestRequest, body: Option<Payload>) -> Received {
    let metrics = Arc::new(Metrics::new().unwrap());
    let page = |_: &EarlyErrorContext, code: ErrorCode| format!("<p>{}</p>", code.entry().code);
    let outer = Arc::new(
        OuterMiddleware::new(
            base_url,
            Duration::from_secs(10),
            Arc::clone(&metrics),
            routes(),
            page,
        )
        .unwrap(),
    );
    let app = App::new()
        .service(web::resource("/api/v2/token").post(form))
        .service(web::resource("/api/v2/callback/{connector}").post(form).get(broken))
        .service(web::resource("/api/v2/userinfo").get(broken))
        .service(web::resource("/keys").get(keys))
        .service(web::resource("/refused").get(refusing))
        .wrap(from_fn(move |request, next| Arc::clone(&outer).handle(request, next)));
    let app = test::init_service(app).await;
    let request = request.to_request();
    let request = match body {
        Some(body) => request.replace_payload(body).0,
        None => request,
    };
    let response = match test::try_call_service(&app, request).await {
        Ok(response) => response.into_parts().1,
        Err(error) => error.error_response(),
    };
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = actix_web::body::to_bytes(response.into_body()).await.unwrap();
    Received {
        status,
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
        metrics: metrics.render(),
    }
}

const BASE: &str = "https://login.example.org";

fn get(path: &str) -> TestRequest {
    TestRequest::get().uri(path).insert_header(("host", "login.example.org"))
}

fn post(path: &str) -> TestRequest {
    let form = ("content-type", "application/x-www-form-urlencoded");
    TestRequest::post().uri(path).insert_header(("host", "login.example.org")).insert_header(form)
}

#[actix_web::test]
async fn unknown_host_is_misdirected() {
    for (base, host, status) in [
        (BASE, "login.example.org", 200),
        (BASE, "LOGIN.example.org:443", 200),
        (BASE, "login.example.org:8443", 421),
        (BASE, "login.example.org.", 421),
        (BASE, "evil.example", 421),
        (BASE, "login.example.org@evil.example", 421),
        (BASE, "", 421),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", 200),
        ("http://127.0.0.1:8080", "127.0.0.1", 421),
        ("http://127.0.0.1:8080", "localhost:8080", 421),
        ("http://[::1]:8080/", "[::1]:8080", 200),
    ] {
        let answer =
            send(base, TestRequest::get().uri("/keys").insert_header(("host", host)), None).await;
        assert_eq!(answer.status, status, "{host} at {base}");
    }
    let none = send(BASE, TestRequest::get().uri("/keys"), None).await;
    assert_eq!((none.status, none.body.as_str()), (421, "<p>Y000421</p>"));
}

#[actix_web::test]
async fn forwarded_headers_do_not_change_the_host() {
    let evil = TestRequest::get().uri("/keys").insert_header(("host", "evil.example"));
    let evil = evil
        .insert_header(("x-forwarded-host", "login.example.org"))
        .insert_header(("forwarded", "host=login.example.org"));
    assert_eq!(send(BASE, evil, None).await.status, 421);
}

#[actix_web::test]
async fn the_request_target_takes_precedence_over_the_host_header() {
    let absolute = TestRequest::get()
        .uri("http://evil.example/keys")
        .insert_header(("host", "login.example.org"));
    assert_eq!(send(BASE, absolute, None).await.status, 421);
    let absolute = TestRequest::get()
        .uri("https://login.example.org/keys")
        .insert_header(("host", "evil.example"));
    assert_eq!(send(BASE, absolute, None).await.status, 200);
}

#[actix_web::test]
async fn a_body_that_never_ends_is_cut() {
    tokio::time::pause();
    let began = Instant::now();
    let answer = send(BASE, post("/api/v2/token"), Some(unfinished_body())).await;
    assert_eq!(answer.status, 408);
    assert_eq!(began.elapsed().as_secs(), 10);
    let json =
        r#"{"error":"invalid_request","error_description":"The request took too long to arrive."}"#;
    assert_eq!(
        (answer.header("content-type"), answer.body.as_str()),
        ("application/json; charset=utf-8", json)
    );
    assert!(answer.metrics.contains(
        r#"passerelle_http_requests_total{endpoint="unfinished",listener="public",status="4xx"} 1"#
    ));
    let page = send(BASE, post("/api/v2/callback/impots"), Some(unfinished_body())).await;
    assert_eq!((page.status, page.body.as_str()), (408, "<p>Y000408</p>"));
}

#[actix_web::test]
async fn panic_becomes_500() {
    let page = send(BASE, get("/api/v2/callback/impots"), None).await;
    assert_eq!((page.status, page.body.as_str()), (500, "<p>Y000500</p>"));
    assert_eq!(page.header("content-type"), "text/html;charset=UTF-8");
    assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
    assert_eq!(page.header("x-frame-options"), "DENY");
    assert!(page.metrics.contains(r#"status="5xx"} 1"#));
    let json = send(BASE, get("/api/v2/userinfo"), None).await;
    assert_eq!(
        (json.status, json.body.contains("server_error"), json.body.contains("broken")),
        (500, true, false)
    );
}

#[actix_web::test]
async fn every_answer_carries_the_security_headers() {
    for (path, status) in [
        ("/keys", 200),
        ("/refused", 403),
        ("/nothing", 404),
        ("/api/v2/token", 405),
        ("/api/v2/userinfo", 500),
    ] {
        let answer = send(BASE, get(path), None).await;
        assert_eq!(answer.status, status, "{path}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
            ("strict-transport-security", "max-age=31536000"),
            ("cache-control", if path == "/keys" { "public, max-age=600" } else { "no-store" }),
        ] {
            assert_eq!(answer.header(name), value, "{name} of {path}");
        }
    }
}

#[actix_web::test]
async fn plain_http_promises_no_https() {
    let answer = send(
        "http://localhost",
        TestRequest::get().uri("/keys").insert_header(("host", "localhost")),
        None,
    )
    .await;
    assert_eq!((answer.status, answer.header("strict-transport-security")), (200, ""));
}

#[actix_web::test]
async fn requests_are_counted_by_route_and_never_by_path() {
    let matched = send(BASE, post("/api/v2/callback/alice"), None).await;
    assert!(
        matched.metrics.contains(r#"endpoint="/api/v2/callback/{connector}""#),
        "{}",
        matched.metrics
    );
    let unmatched = send(BASE, get("/alice"), None).await;
    assert!(
        unmatched.metrics.contains(r#"{endpoint="unmatched",listener="public",status="4xx"} 1"#)
    );
    for answer in [matched, unmatched] {
        assert!(!answer.metrics.contains("alice"));
    }
}

/// Over a real socket: bytes that arrive after the 408 must not be read as a new request.
#[actix_web::test]
async fn the_rest_of_a_cut_body_is_no_request() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let metrics = Arc::new(Metrics::new().unwrap());
    let app = move || {
        let outer = OuterMiddleware::new(
            "http://localhost",
            Duration::from_millis(50),
            Arc::clone(&metrics),
            routes(),
            |_, _| String::new(),
        )
        .unwrap();
        let outer = Arc::new(outer);
        let token = web::resource("/api/v2/token").post(form);
        App::new()
            .service(token)
            .wrap(from_fn(move |request, next| Arc::clone(&outer).handle(request, next)))
    };
    let server =
        actix_web::HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let running = server.run();
    let handle = running.handle();
    actix_web::rt::spawn(running);
    let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = "POST /api/v2/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-www-form-urlencoded\r\n";
    socket.write_all(format!("{head}content-length: 1000\r\n\r\ngrant").as_bytes()).await.unwrap();
    let mut first = [0; 12];
    socket.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 408");
    let smuggled =
        socket.write_all(b"GET /api/v2/userinfo HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut rest = Vec::new();
    let ended = socket.read_to_end(&mut rest).await;
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("connection: close"), "{rest}");
    assert!(!rest.contains("HTTP/1.1 "), "{smuggled:?} {ended:?} {rest}");
    handle.stop(false).await;
}

#[::core::prelude::v1::test]
fn a_base_url_without_a_host_is_reported() {
    let metrics = Arc::new(Metrics::new().unwrap());
    for wrong in ["login.example.org", "ftp://login.example.org", "data:x", ""] {
        let error = OuterMiddleware::new(
            wrong,
            Duration::from_secs(1),
            Arc::clone(&metrics),
            routes(),
            |_, _| String::new(),
        )
        .err()
        .unwrap();
        assert_eq!(error, OuterMiddlewareError::BaseUrl(wrong.into()));
    }
}
