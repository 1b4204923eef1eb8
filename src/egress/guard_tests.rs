use super::*;
use crate::egress::fake::{FakeServer, Told};

fn guard(schemes: Schemes, internal: &[&str]) -> Guard {
    let internal: Vec<String> = internal.iter().map(|host| (*host).to_owned()).collect();
    Guard::new(schemes, &internal, CallLimits::DEFAULT).unwrap()
}

async fn fetch(guard: &Guard, url: &str) -> Result<HttpResponse, GuardFault> {
    guard.send(http::Request::get(url).body(vec![]).unwrap()).await
}

fn is_forbidden(result: &Result<HttpResponse, GuardFault>) -> bool {
    matches!(result, Err(GuardFault::AddressForbidden(_)))
}

#[test]
fn only_public_addresses_are_public() {
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
    let outside = ["1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.169.0.1", "2606:4700::1111", "::ffff:1.1.1.1"];
    for ip in outside {
        assert!(is_public(ip.parse().unwrap()), "{ip}");
    }
}

#[test]
fn addresses_that_must_not_be_called_are_refused_before_any_call() {
    let strict = guard(Schemes::HttpsOnly, &["idp.internal", "10.0.0.7", "::1"]);
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
        assert!(strict.admit(&Url::parse(url).unwrap()).is_err(), "{url}");
    }
    for url in ["https://idp.example.org/", "https://10.0.0.7/", "https://[::1]:8443/", "https://1.1.1.1/"] {
        assert_eq!(strict.admit(&Url::parse(url).unwrap()), Ok(()), "{url}");
    }
    assert!(guard(Schemes::HttpToo, &[]).admit(&Url::parse("http://idp.example.org/").unwrap()).is_ok());
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_refused() {
    let server = FakeServer::start(|_| Told::status(200)).await;
    let url = format!("http://localhost:{}/", server.port);
    assert!(is_forbidden(&fetch(&guard(Schemes::HttpToo, &[]), &url).await));
    assert_eq!(server.asked(), 0);
    assert_eq!(fetch(&guard(Schemes::HttpToo, &["LOCALHOST"]), &url).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = FakeServer::start(|_| Told {
        status: 302,
        headers: vec![("location", "http://169.254.169.254/latest/meta-data/".into())],
        body: vec![],
    })
    .await;
    let answer = fetch(&guard(Schemes::HttpToo, &["127.0.0.1"]), &server.base()).await.unwrap();
    assert_eq!((answer.status().as_u16(), server.asked()), (302, 1));
}

#[tokio::test]
async fn an_answer_of_two_mebibytes_is_cut() {
    let big = |headers: Vec<(&'static str, String)>| Told { status: 200, headers, body: vec![b'x'; 2 << 20] };
    let server = FakeServer::start(move |asked| match asked.target.as_str() {
        "/announced" => big(vec![("content-length", (2 << 20).to_string())]),
        "/fits" => Told { status: 200, headers: vec![], body: vec![b'x'; 1 << 20] },
        _ => big(vec![]),
    })
    .await;
    let guard = guard(Schemes::HttpToo, &["127.0.0.1"]);
    for path in ["/announced", "/streamed"] {
        let answer = fetch(&guard, &format!("{}{path}", server.base())).await;
        assert!(matches!(answer, Err(GuardFault::TooLarge { .. })), "{path}");
    }
    assert_eq!(fetch(&guard, &format!("{}/fits", server.base())).await.unwrap().body().len(), 1 << 20);
}

#[tokio::test]
async fn an_address_that_never_answers_ends_in_time() {
    // Bound and listening, but nobody accepts: the kernel connects, and no byte ever comes back.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = CallLimits { whole: Duration::from_millis(50), ..CallLimits::DEFAULT };
    let guard = Guard::new(Schemes::HttpToo, &["127.0.0.1".into()], limits).unwrap();
    let answer = fetch(&guard, &format!("http://{}/?code=secret", silent.local_addr().unwrap())).await;
    assert_eq!(answer.err(), Some(GuardFault::Timeout("127.0.0.1".into())));
}

#[tokio::test]
async fn a_fault_names_the_host_and_nothing_more() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fault = fetch(&guard(Schemes::HttpToo, &["127.0.0.1"]), &format!("http://{closed}/p?code=secret")).await.unwrap_err();
    assert!(matches!(fault, GuardFault::Unreachable { .. }));
    assert!(!fault.to_string().contains("secret") && fault.to_string().contains("127.0.0.1"), "{fault}");
}
