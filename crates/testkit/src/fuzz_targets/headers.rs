//! Headers of requests, the query of a callback, and the framing of HTTP messages.

use std::net::{IpAddr, SocketAddr};
use std::str;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::test::TestRequest;
use futures_util::FutureExt as _;

use super::{FuzzFunction, FuzzTarget, split_line, target};
use passerelle_localization::accept_language::tags_by_weight;
use passerelle_protocol::ids::InteractionHash;
use passerelle_protocol::sender_constraint::ForwardedCertificate;
use passerelle_protocol::trace_context::TraceContext;
use passerelle_web::client_address::TrustedProxies;
use passerelle_web::connection::chunked::ChunkScanner;
use passerelle_web::connection::head::{HeadScan, HeadScanner};
use passerelle_web::cookies::{Cookies, MAX_LOGIN_COOKIES};
use passerelle_web::login::callback_params;
use passerelle_web::public_listener_settings::PublicListener;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target("cookies", &["crates/web/src/cookies.rs"], cookies),
    target(
        "callback",
        &["crates/web/src/form.rs", "crates/federation/src/login/upstream.rs"],
        callback,
    ),
    target("traceparent", &["crates/protocol/src/trace_context.rs"], traceparent),
    target(
        "forwarded",
        &["crates/web/src/client_address.rs", "crates/protocol/src/sender_constraint.rs"],
        forwarded,
    ),
    target("accept_language", &["crates/localization/src/accept_language.rs"], accept_language),
    target(
        "message_framing",
        &["crates/web/src/connection/head.rs", "crates/web/src/connection/chunked.rs"],
        message_framing,
    ),
];

const COOKIE: &str = "the cookie of a login, of 256 bits..........";

fn cookies() -> FuzzFunction {
    let cookies = Cookies::new("passerelle", true);
    let own = InteractionHash::from_cookie(COOKIE);
    Box::new(move |data| {
        let mut request = TestRequest::get().uri("/api/v2/interaction/x");
        for line in data.split(|byte| *byte == b'\n') {
            let Ok(value) = HeaderValue::from_bytes(line) else { return false };
            request = request.append_header(("cookie", value));
        }
        let request = request.to_http_request();
        if let Some(proof) = cookies.login_proof(&request, &own) {
            assert_eq!(proof.reveal(), COOKIE, "a proof of a login that is not this browser's");
        }
        // A cookie is the hub's own only if the browser sent its name byte for byte.
        let is_sent = |name: &str| raw_cookie_names(data).any(|raw| raw == name.as_bytes());
        for (what, name, is_read) in [
            ("session", "__Host-passerelle-session", cookies.session(&request).is_some()),
            ("last", "__Host-passerelle-last", cookies.has_last_choice(&request)),
            ("language", "__Host-passerelle-language", cookies.language(&request).is_some()),
        ] {
            assert!(!is_read || is_sent(name), "{what}: a cookie of another name is read");
        }
        let held = cookies.held_logins(&request, Some(&own));
        assert!(held.logins.len() <= MAX_LOGIN_COOKIES, "more logins than are looked up");
        for login in &held.logins {
            let name = cookies.expired_login_cookie(&login.hash).name().to_owned();
            assert!(is_sent(&name), "a login of a cookie of another name is read");
        }
        for name in cookies.surplus_logins(&request) {
            assert!(is_sent(&name), "a cookie that the browser did not send is expired");
            let _ = cookies.expired_cookie(&name).to_string();
        }
        let _ = (cookies.last_choice(&request), cookies.has_repeated_cookie(&request));
        !held.logins.is_empty()
    })
}

/// Returns the bytes before the first `=` of each pair, without the spaces and tabs around them.
fn raw_cookie_names(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    data.split(|byte| matches!(byte, b'\n' | b';')).filter_map(move |pair| {
        let start = pair.iter().position(|byte| !is_space(byte))?;
        pair.get(start..)?.split(|byte| *byte == b'=').next()
    })
}

fn callback() -> FuzzFunction {
    Box::new(|data| {
        let Ok(query) = str::from_utf8(data) else { return false };
        let Ok(uri) = format!("/api/v2/callback/idp?{query}").parse::<actix_web::http::Uri>()
        else {
            return false;
        };
        let request = TestRequest::get().uri(&uri.to_string()).to_http_request();
        let params = callback_params(&request, async |_| Ok(None)).now_or_never();
        let Some(Ok(Some((state, params)))) = params else { return false };
        assert!(!state.is_empty());
        params.code_is_acceptable()
    })
}

fn traceparent() -> FuzzFunction {
    Box::new(|data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let Some(context) = TraceContext::parse(text) else { return false };
        assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
        true
    })
}

/// Proxies whose header is either of both, and a peer that is one of them or none.
fn forwarded() -> FuzzFunction {
    let proxies = ["x-forwarded-for", "forwarded"].map(|header| {
        let listener: PublicListener = toml::from_str(&format!(
            "listen = \"127.0.0.1:0\"\ntrusted_proxies = [\"10.0.0.0/8\", \"fd00::/8\"]\n\
             client_address_header = \"{header}\"\nclient_certificates = {{}}\n"
        ))
        .unwrap();
        (header, TrustedProxies::from_config(&listener))
    });
    let (proxy, stranger): (SocketAddr, SocketAddr) =
        ("10.1.2.3:4711".parse().unwrap(), "192.0.2.7:4711".parse().unwrap());
    Box::new(move |data| {
        let mut accepted = false;
        for (header, proxies) in &proxies {
            let mut headers = HeaderMap::new();
            for line in data.split(|byte| *byte == b'\n') {
                let Ok(value) = HeaderValue::from_bytes(line) else { return false };
                headers.append(HeaderName::from_static(header), value.clone());
                headers.append(HeaderName::from_static("client-cert"), value);
            }
            for peer in [proxy, stranger] {
                let mut request = TestRequest::get().peer_addr(peer);
                for (name, value) in &headers {
                    request = request.append_header((name.clone(), value.clone()));
                }
                let request = request.to_http_request();
                let address: IpAddr = proxies.client_address(&request);
                let certificate = proxies.client_certificate(&request);
                accepted |= address != peer.ip();
                if peer == stranger {
                    assert_eq!(address, stranger.ip(), "a stranger chose its address");
                    assert!(matches!(certificate, Ok(None)), "a stranger's certificate");
                }
            }
        }
        let certificate = ForwardedCertificate::parse_header(data);
        let _ = certificate.ok().flatten().map(|certificate| certificate.thumbprint());
        accepted
    })
}

fn accept_language() -> FuzzFunction {
    Box::new(|data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let count = tags_by_weight(text).count();
        assert!(count <= text.len() + 1);
        count > 0
    })
}

/// Where a message is cut into packets must not change where it ends: a difference would let one
/// client prepend bytes to the request of another (request smuggling).
fn message_framing() -> FuzzFunction {
    Box::new(|data| {
        let (cuts, message) = split_line(data);
        let whole = HeadScanner::default().scan(message);
        let mut scanner = HeadScanner::default();
        let (mut taken, mut parts) = (0, cut(message, cuts));
        let cut_head = loop {
            let Some(part) = parts.next() else { break HeadScan::Incomplete };
            match scanner.scan(part) {
                HeadScan::Incomplete => taken += part.len(),
                HeadScan::Complete(end) => break HeadScan::Complete(taken + end),
                other => break other,
            }
        };
        assert_eq!(cut_head, whole, "the end of a head depends on packets");

        let whole = ChunkScanner::default().scan(message);
        let mut scanner = ChunkScanner::default();
        let mut taken = 0;
        let cut_body = cut(message, cuts).find_map(|part| {
            let end = scanner.scan(part).map(|end| taken + end);
            taken += part.len();
            end
        });
        assert_eq!(cut_body, whole, "the end of a body depends on packets");
        cut_body.is_some() || matches!(cut_head, HeadScan::Complete(_))
    })
}

/// Cuts bytes into parts of these sizes, and the rest.
fn cut<'d>(bytes: &'d [u8], sizes: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
    let (mut rest, mut sizes) = (bytes, sizes.iter());
    std::iter::from_fn(move || {
        let size = sizes.next().map_or(rest.len(), |size| usize::from(*size).min(rest.len()));
        let (part, after) = rest.split_at(size);
        let is_end = rest.is_empty();
        rest = after;
        (!is_end).then_some(part)
    })
}
