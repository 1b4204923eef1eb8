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
    for url in
        ["https://idp.example.org/", "https://10.0.0.7/", "https://[::1]:8443/", "https://1.1.1.1/"]
    {
        assert_eq!(strict.admit(&Url::parse(url).unwrap()), Ok(()), "{url}");
    }
    assert!(
        guard(Schemes::HttpToo, &[]).admit(&Url::parse("http://idp.example.org/").unwrap()).is_ok()
    );
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
    let big = |headers: Vec<(&'static str, String)>| Told {
        status: 200,
        headers,
        body: vec![b'x'; 2 << 20],
    };
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
    assert_eq!(
        fetch(&guard, &format!("{}/fits", server.base())).await.unwrap().body().len(),
        1 << 20
    );
}

#[tokio::test]
async fn an_address_that_never_answers_ends_in_time() {
    // Bound and listening, but nobody accepts: the kernel connects, and no byte ever comes back.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = CallLimits { whole: Duration::from_millis(50), ..CallLimits::DEFAULT };
    let guard = Guard::new(Schemes::HttpToo, &["127.0.0.1".into()], limits).unwrap();
    let answer =
        fetch(&guard, &format!("http://{}/?code=secret", silent.local_addr().unwrap())).await;
    assert_eq!(answer.err(), Some(GuardFault::Timeout("127.0.0.1".into())));
}

/// A certificate of its own authority for `localhost`, valid between these days from now.
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
async fn an_expired_certificate_is_no_connection_and_is_named_as_what_it_is() {
    for (from, until, expected) in
        [(-30, 30, None), (-30, -1, Some("expired")), (1, 30, Some("not valid yet"))]
    {
        let (ca, acceptor) = certificate(from, until);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Ends with the test's process: it may wait for a call that is not made.
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
        let trust = Trust { ca: Some(&ca), identity: None };
        let guard =
            Guard::trusting(Schemes::HttpsOnly, &["localhost".into()], CallLimits::DEFAULT, trust)
                .unwrap();
        let answer = fetch(&guard, &format!("https://localhost:{port}/")).await;
        match expected {
            None => assert_eq!(answer.unwrap().status(), 200),
            Some(words) => {
                let Err(GuardFault::Unreachable { why, .. }) = answer else {
                    panic!("{from} to {until}")
                };
                assert!(why.contains(words), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_safe_call_is_made_twice_where_the_connection_broke_and_never_more() {
    let server = FakeServer::start(|_| Told::cut()).await;
    let guard = guard(Schemes::HttpToo, &["127.0.0.1"]);
    let request = || http::Request::get(server.base()).body(vec![]).unwrap();
    assert!(matches!(guard.send_safe(request()).await, Err(GuardFault::Unreachable { .. })));
    assert_eq!(server.asked(), 2);
    assert!(guard.send(request()).await.is_err());
    assert_eq!(server.asked(), 3);
}

#[tokio::test]
async fn a_fault_names_the_host_and_nothing_more() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fault =
        fetch(&guard(Schemes::HttpToo, &["127.0.0.1"]), &format!("http://{closed}/p?code=secret"))
            .await
            .unwrap_err();
    assert!(matches!(fault, GuardFault::Unreachable { .. }));
    assert!(
        !fault.to_string().contains("secret") && fault.to_string().contains("127.0.0.1"),
        "{fault}"
    );
}

/// A TLS server for `localhost` whose certificate signs itself under this name and ends at this moment (seconds); its port,
/// and the certificate.
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
        // One call; a client that dislikes the certificate hangs up in the handshake.
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
    kept: PeerCertificates,
) -> (Result<HttpResponse, GuardFault>, Vec<u8>) {
    let (port, certificate) = tls_server("it", until);
    let other = if trusted { None } else { Some(tls_server("another", FAR).1) };
    let pem = String::from_utf8(other.as_ref().unwrap_or(&certificate).to_pem().unwrap()).unwrap();
    let trust = Trust { ca: Some(&pem), identity: None };
    let guard = Guard::made(
        Schemes::HttpsOnly,
        &["localhost".to_owned()],
        CallLimits::DEFAULT,
        trust,
        kept,
        Pooling::Reuse,
    )
    .unwrap();
    (fetch(&guard, &format!("https://localhost:{port}/")).await, certificate.to_der().unwrap())
}

#[tokio::test]
async fn the_certificate_of_a_server_is_shown_to_whoever_asks_for_it() {
    let (answer, der) = over_tls(FAR, true, PeerCertificates::Kept).await;
    assert_eq!(answer.unwrap().extensions().get(), Some(&PeerCertificate(der)));
    let (answer, _) = over_tls(FAR, true, PeerCertificates::Dropped).await;
    assert_eq!(answer.unwrap().extensions().get::<PeerCertificate>(), None);
}

#[tokio::test]
async fn the_authority_of_a_ca_file_is_believed_and_shared_with_nobody_else() {
    use crate::egress::authorities::Authorities;
    use crate::egress::shared::Guards;
    let (port, certificate) = tls_server("it", FAR);
    let path =
        std::env::temp_dir().join(format!("passerelle-ca-{}-{port}.pem", std::process::id()));
    std::fs::write(&path, certificate.to_pem().unwrap()).unwrap();
    let authorities = Authorities::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (guards, internal, url) =
        (Guards::default(), ["localhost".to_owned()], format!("https://localhost:{port}/"));
    let believing = guards.of(Schemes::HttpsOnly, &internal, Some(&authorities)).unwrap();
    assert_eq!(fetch(&believing, &url).await.unwrap().status(), 200);
    // The same rules without the file: the machine's authorities, which don't know this one.
    let (port, _) = tls_server("it", FAR);
    let strict = guards.of(Schemes::HttpsOnly, &internal, None).unwrap();
    let refused = fetch(&strict, &format!("https://localhost:{port}/")).await;
    assert!(
        matches!(&refused, Err(GuardFault::Unreachable { why, .. }) if why.contains("UnknownIssuer")),
        "{refused:?}"
    );
    // And with it, no server of another authority is.
    let (port, _) = tls_server("another", FAR);
    let refused = fetch(&believing, &format!("https://localhost:{port}/")).await;
    assert!(matches!(&refused, Err(GuardFault::Unreachable { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_certificate_that_is_refused_is_told_in_words() {
    for (until, trusted, words) in [(1_000_000_000, true, "expired"), (FAR, false, "UnknownIssuer")]
    {
        let (answer, _) = over_tls(until, trusted, PeerCertificates::Kept).await;
        let Err(GuardFault::Unreachable { why, .. }) = answer else { panic!("{answer:?}") };
        assert!(why.contains("certificate") && why.contains(words), "{why}");
    }
}
