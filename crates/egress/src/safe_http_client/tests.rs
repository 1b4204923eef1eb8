mod tls;

use super::*;
use crate::public_addresses::is_public;
use crate::testing::fake_server::{FakeResponse, FakeServer};

fn client(schemes: AllowedSchemes, internal: &[&str]) -> SafeHttpClient {
    let internal: Vec<String> = internal.iter().map(|host| (*host).to_owned()).collect();
    SafeHttpClient::new(schemes, &internal, CallLimits::DEFAULT).unwrap()
}

async fn fetch(client: &SafeHttpClient, url: &str) -> Result<HttpResponse, EgressError> {
    client.send(http::Request::get(url).body(vec![]).unwrap()).await
}

fn is_forbidden(result: &Result<HttpResponse, EgressError>) -> bool {
    matches!(result, Err(EgressError::AddressForbidden(_)))
}

#[test]
fn private_and_reserved_addresses_are_not_public() {
    let inside = [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "2001:db8::1",
        "::7f00:1",
        "100::1",
    ];
    for ip in inside {
        assert!(!is_public(ip.parse().unwrap()), "{ip}");
    }
    let outside = [
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.1",
        "172.32.0.1",
        "192.169.0.1",
        "2606:4700::1111",
        "::ffff:1.1.1.1",
    ];
    for ip in outside {
        assert!(is_public(ip.parse().unwrap()), "{ip}");
    }
}

#[test]
fn forbidden_addresses_are_rejected_before_any_call() {
    let strict = client(AllowedSchemes::HttpsOnly, &["idp.internal", "10.0.0.7", "::1"]);
    for url in [
        "http://idp.example.org/",
        "ftp://idp.example.org/",
        "file:///etc/passwd",
        "https://user@idp.example.org/",
        "https://user:secret@idp.example.org/",
        "https://127.0.0.1/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://10.0.0.8/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
    ] {
        assert!(strict.check_url(&Url::parse(url).unwrap()).is_err(), "{url}");
    }
    for url in
        ["https://idp.example.org/", "https://10.0.0.7/", "https://[::1]:8443/", "https://1.1.1.1/"]
    {
        assert_eq!(strict.check_url(&Url::parse(url).unwrap()), Ok(()), "{url}");
    }
    assert!(
        client(AllowedSchemes::HttpAndHttps, &[])
            .check_url(&Url::parse("http://idp.example.org/").unwrap())
            .is_ok()
    );
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_rejected() {
    let server = FakeServer::start(|_| FakeResponse::status(200)).await;
    let url = format!("http://localhost:{}/", server.port);
    assert!(is_forbidden(&fetch(&client(AllowedSchemes::HttpAndHttps, &[]), &url).await));
    assert_eq!(server.request_count(), 0);
    assert_eq!(
        fetch(&client(AllowedSchemes::HttpAndHttps, &["LOCALHOST"]), &url).await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = FakeServer::start(|_| FakeResponse {
        status: 302,
        headers: vec![("location", "http://169.254.169.254/latest/meta-data/".into())],
        body: vec![],
    })
    .await;
    let response =
        fetch(&client(AllowedSchemes::HttpAndHttps, &["127.0.0.1"]), &server.base()).await.unwrap();
    assert_eq!((response.status().as_u16(), server.request_count()), (302, 1));
}

#[tokio::test]
async fn a_response_of_two_mebibytes_is_rejected() {
    let two_mebibytes = |headers: Vec<(&'static str, String)>| FakeResponse {
        status: 200,
        headers,
        body: vec![b'x'; 2 << 20],
    };
    let server = FakeServer::start(move |request| match request.target.as_str() {
        "/announced" => two_mebibytes(vec![("content-length", (2 << 20).to_string())]),
        "/fits" => FakeResponse { status: 200, headers: vec![], body: vec![b'x'; 1 << 20] },
        _ => two_mebibytes(vec![]),
    })
    .await;
    let client = client(AllowedSchemes::HttpAndHttps, &["127.0.0.1"]);
    for path in ["/announced", "/streamed"] {
        let response = fetch(&client, &format!("{}{path}", server.base())).await;
        assert!(matches!(response, Err(EgressError::TooLarge { .. })), "{path}");
    }
    assert_eq!(
        fetch(&client, &format!("{}/fits", server.base())).await.unwrap().body().len(),
        1 << 20
    );
}

#[tokio::test]
async fn a_server_that_never_responds_times_out() {
    // Bound and listening, but never accepted: the kernel connects, and no byte comes back.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(AllowedSchemes::HttpAndHttps, &["127.0.0.1"])
        .with_total_timeout(Duration::from_millis(50));
    let response =
        fetch(&client, &format!("http://{}/?code=secret", silent.local_addr().unwrap())).await;
    assert_eq!(response.err(), Some(EgressError::Timeout("127.0.0.1".into())));
}

#[tokio::test]
async fn a_call_with_retry_is_repeated_once_after_a_failed_connection() {
    let server = FakeServer::start(|_| FakeResponse::connection_closed()).await;
    let client = client(AllowedSchemes::HttpAndHttps, &["127.0.0.1"]);
    let request = || http::Request::get(server.base()).body(vec![]).unwrap();
    assert!(matches!(
        client.send_with_retry(request()).await,
        Err(EgressError::Unreachable { .. })
    ));
    assert_eq!(server.request_count(), 2);
    assert!(client.send(request()).await.is_err());
    assert_eq!(server.request_count(), 3);
}

#[tokio::test]
async fn an_error_names_only_the_host() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fetch(
        &client(AllowedSchemes::HttpAndHttps, &["127.0.0.1"]),
        &format!("http://{closed}/p?code=secret"),
    )
    .await
    .unwrap_err();
    assert!(matches!(error, EgressError::Unreachable { .. }));
    assert!(
        !error.to_string().contains("secret") && error.to_string().contains("127.0.0.1"),
        "{error}"
    );
}
