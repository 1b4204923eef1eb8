use super::*;
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
    let limits = CallLimits { total_timeout: Duration::from_millis(50), ..CallLimits::DEFAULT };
    let client =
        SafeHttpClient::new(AllowedSchemes::HttpAndHttps, &["127.0.0.1".into()], limits).unwrap();
    let response =
        fetch(&client, &format!("http://{}/?code=secret", silent.local_addr().unwrap())).await;
    assert_eq!(response.err(), Some(EgressError::Timeout("127.0.0.1".into())));
}

/// Returns a CA and a server certificate for `localhost`, valid between these days from now.
fn certificate(from: i64, until: i64) -> (String, openssl::ssl::SslAcceptor) {
    use openssl::asn1::Asn1Time;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::nid::Nid;
    use openssl::ssl::{SslAcceptor, SslMethod};
    use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
    use openssl::x509::{X509, X509NameBuilder};

    let key = |()| {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        openssl::pkey::PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    };
    let name = |text: &str| {
        let mut name = X509NameBuilder::new().unwrap();
        name.append_entry_by_text("CN", text).unwrap();
        name.build()
    };
    let now = i64::try_from(crate::env::Env::system().now().seconds()).unwrap();
    let day = |days: i64| Asn1Time::from_unix(now + days * 86_400).unwrap();
    let make = |subject: &str,
                own: &openssl::pkey::PKeyRef<_>,
                signer: &openssl::pkey::PKeyRef<_>,
                days: (i64, i64),
                ca: bool| {
        let mut cert = X509::builder().unwrap();
        cert.set_version(2).unwrap();
        let serial =
            openssl::bn::BigNum::from_u32(u32::from(ca) + 1).unwrap().to_asn1_integer().unwrap();
        cert.set_serial_number(&serial).unwrap();
        cert.set_subject_name(&name(subject)).unwrap();
        cert.set_issuer_name(&name("authority")).unwrap();
        cert.set_pubkey(own).unwrap();
        cert.set_not_before(&day(days.0)).unwrap();
        cert.set_not_after(&day(days.1)).unwrap();
        if ca {
            cert.append_extension(BasicConstraints::new().critical().ca().build().unwrap())
                .unwrap();
        } else {
            let names = SubjectAlternativeName::new()
                .dns("localhost")
                .build(&cert.x509v3_context(None, None))
                .unwrap();
            cert.append_extension(names).unwrap();
        }
        cert.sign(signer, openssl::hash::MessageDigest::sha256()).unwrap();
        cert.build()
    };
    let (authority, own) = (key(()), key(()));
    let ca = make("authority", &authority, &authority, (-400, 400), true);
    let leaf = make("localhost", &own, &authority, (from, until), false);
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    acceptor.set_private_key(&own).unwrap();
    acceptor.set_certificate(&leaf).unwrap();
    (String::from_utf8(ca.to_pem().unwrap()).unwrap(), acceptor.build())
}

#[tokio::test]
async fn an_invalid_certificate_fails_the_call_and_is_named_in_the_error() {
    for (from, until, expected) in
        [(-30, 30, None), (-30, -1, Some("expired")), (1, 30, Some("not valid yet"))]
    {
        let (ca, acceptor) = certificate(from, until);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Ends with the test process: it may wait for a call that never comes.
        std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            while let Ok((stream, _)) = listener.accept() {
                let Ok(mut stream) = acceptor.accept(stream) else { continue };
                let _head = stream.read(&mut [0; 4096]);
                let _sent = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                );
            }
        });
        let tls = TlsOptions { ca: Some(&ca), client_identity: None };
        let client = SafeHttpClient::with_tls(
            AllowedSchemes::HttpsOnly,
            &["localhost".into()],
            CallLimits::DEFAULT,
            tls,
        )
        .unwrap();
        let response = fetch(&client, &format!("https://localhost:{port}/")).await;
        match expected {
            None => assert_eq!(response.unwrap().status(), 200),
            Some(words) => {
                let Err(EgressError::Unreachable { why, .. }) = response else {
                    panic!("{from} to {until}")
                };
                assert!(why.contains(words), "{why}");
            }
        }
    }
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

/// Starts a TLS server for `localhost` with a self-signed certificate of this name, which expires
/// at `until` (seconds since the Unix epoch). Returns its port and certificate.
fn tls_server(authority: &str, until: i64) -> (u16, openssl::x509::X509) {
    use openssl::asn1::Asn1Time;
    use openssl::x509::extension::SubjectAlternativeName;
    use openssl::x509::{X509Builder, X509NameBuilder};
    let group = openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1).unwrap();
    let key =
        openssl::pkey::PKey::from_ec_key(openssl::ec::EcKey::generate(&group).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", authority).unwrap();
    let name = name.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    let serial = openssl::bn::BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap();
    builder.set_serial_number(&serial).unwrap();
    builder.set_subject_name(&name).unwrap();
    builder.set_issuer_name(&name).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(1).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(until).unwrap()).unwrap();
    builder.set_pubkey(&key).unwrap();
    let names = SubjectAlternativeName::new()
        .dns("localhost")
        .build(&builder.x509v3_context(None, None))
        .unwrap();
    builder.append_extension(names).unwrap();
    builder.sign(&key, openssl::hash::MessageDigest::sha256()).unwrap();
    let certificate = builder.build();

    let mut acceptor =
        openssl::ssl::SslAcceptor::mozilla_intermediate_v5(openssl::ssl::SslMethod::tls()).unwrap();
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&certificate).unwrap();
    let acceptor = acceptor.build();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        // One call; a client that rejects the certificate aborts the handshake.
        let (stream, _) = listener.accept().unwrap();
        if let Ok(mut stream) = acceptor.accept(stream) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.shutdown();
        }
    });
    (port, certificate)
}

/// 2100-01-01.
const FAR: i64 = 4_102_444_800;

async fn over_tls(
    until: i64,
    trusted: bool,
    capture: PeerCertificateCapture,
) -> (Result<HttpResponse, EgressError>, Vec<u8>) {
    let (port, certificate) = tls_server("it", until);
    let other = if trusted { None } else { Some(tls_server("another", FAR).1) };
    let pem = String::from_utf8(other.as_ref().unwrap_or(&certificate).to_pem().unwrap()).unwrap();
    let tls = TlsOptions { ca: Some(&pem), client_identity: None };
    let client = SafeHttpClient::build(
        AllowedSchemes::HttpsOnly,
        &["localhost".to_owned()],
        CallLimits::DEFAULT,
        tls,
        capture,
        Pooling::Reuse,
    )
    .unwrap();
    (fetch(&client, &format!("https://localhost:{port}/")).await, certificate.to_der().unwrap())
}

#[tokio::test]
async fn the_peer_certificate_is_captured_on_request() {
    let (response, der) = over_tls(FAR, true, PeerCertificateCapture::On).await;
    assert_eq!(response.unwrap().extensions().get(), Some(&PeerCertificate(der)));
    let (response, _) = over_tls(FAR, true, PeerCertificateCapture::Off).await;
    assert_eq!(response.unwrap().extensions().get::<PeerCertificate>(), None);
}

#[tokio::test]
async fn the_authority_of_a_ca_file_is_trusted_only_by_its_own_client() {
    use crate::egress::ca_bundle::CaBundle;
    use crate::egress::http_client_pool::HttpClientPool;
    let (port, certificate) = tls_server("it", FAR);
    let path =
        std::env::temp_dir().join(format!("passerelle-ca-{}-{port}.pem", std::process::id()));
    std::fs::write(&path, certificate.to_pem().unwrap()).unwrap();
    let bundle = CaBundle::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (pool, internal, url) =
        (HttpClientPool::default(), ["localhost".to_owned()], format!("https://localhost:{port}/"));
    let trusting = pool.client(AllowedSchemes::HttpsOnly, &internal, Some(&bundle)).unwrap();
    assert_eq!(fetch(&trusting, &url).await.unwrap().status(), 200);
    // The same rules without the file: the system's bundle, which don't include this one.
    let (port, _) = tls_server("it", FAR);
    let strict = pool.client(AllowedSchemes::HttpsOnly, &internal, None).unwrap();
    let rejected = fetch(&strict, &format!("https://localhost:{port}/")).await;
    assert!(
        matches!(&rejected, Err(EgressError::Unreachable { why, .. }) if why.contains("UnknownIssuer")),
        "{rejected:?}"
    );
    // With the file, no other authority is trusted.
    let (port, _) = tls_server("another", FAR);
    let rejected = fetch(&trusting, &format!("https://localhost:{port}/")).await;
    assert!(matches!(&rejected, Err(EgressError::Unreachable { .. })), "{rejected:?}");
}

#[tokio::test]
async fn a_rejected_certificate_is_described_in_the_error() {
    for (until, trusted, words) in [(1_000_000_000, true, "expired"), (FAR, false, "UnknownIssuer")]
    {
        let (response, _) = over_tls(until, trusted, PeerCertificateCapture::On).await;
        let Err(EgressError::Unreachable { why, .. }) = response else { panic!("{response:?}") };
        assert!(why.contains("certificate") && why.contains(words), "{why}");
    }
}
