//! Tests of certificates and authorities.

use super::*;

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
    let now = i64::try_from(passerelle_protocol::env::Env::system().now().seconds()).unwrap();
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
                let Err(EgressError::CertificateTime { why, limit, now, .. }) = response else {
                    panic!("{from} to {until}: {response:?}")
                };
                assert!(why.contains(words), "{why}");
                // Now is some seconds later than when the certificate was made.
                let hours = (now.abs_diff(limit) + 1800) / 3600;
                assert_eq!(hours, 24, "a day from the limit");
            }
        }
    }
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
    capture: bool,
) -> (Result<HttpResponse, EgressError>, Vec<u8>) {
    let (port, certificate) = tls_server("it", until);
    let other = if trusted { None } else { Some(tls_server("another", FAR).1) };
    let pem = String::from_utf8(other.as_ref().unwrap_or(&certificate).to_pem().unwrap()).unwrap();
    let tls = TlsOptions { ca: Some(&pem), client_identity: None };
    let build =
        if capture { SafeHttpClient::capturing_certificates } else { SafeHttpClient::with_tls };
    let internal = ["localhost".to_owned()];
    let client = build(AllowedSchemes::HttpsOnly, &internal, CallLimits::DEFAULT, tls).unwrap();
    (fetch(&client, &format!("https://localhost:{port}/")).await, certificate.to_der().unwrap())
}

#[tokio::test]
async fn the_peer_certificate_is_captured_on_request() {
    let (response, der) = over_tls(FAR, true, true).await;
    assert_eq!(response.unwrap().extensions().get(), Some(&PeerCertificate(der)));
    let (response, _) = over_tls(FAR, true, false).await;
    assert_eq!(response.unwrap().extensions().get::<PeerCertificate>(), None);
}

#[tokio::test]
async fn the_authority_of_a_ca_file_is_trusted_only_by_its_own_client() {
    use crate::ca_bundle::CaBundle;
    use crate::http_client_pool::HttpClientPool;
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
        let (response, _) = over_tls(until, trusted, true).await;
        let Err(EgressError::Unreachable { why, .. } | EgressError::CertificateTime { why, .. }) =
            response
        else {
            panic!("{response:?}")
        };
        assert!(why.contains("certificate") && why.contains(words), "{why}");
    }
}
