//! Checks the host name of a request: the public listener serves only its own, the private listener
//! only names that no website can have.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::dev::ServiceRequest;
use actix_web::http::uri::Authority;
use actix_web::http::{Version, header};
use url::Url;

/// URL scheme of the hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    Http,
    Https,
}

/// The host names of the public listener.
///
/// Any other is rejected: a page or a redirect built for it could be cached for others (host header
/// injection).
#[derive(Clone, Debug)]
pub struct PublicHost {
    pub scheme: Scheme,
    /// As in the Host header, in lower case: `login.example.org`, `127.0.0.1:8080`, `[::1]:8080`.
    authority: String,
    /// `authority` with the default port of the scheme, if the hub uses that port.
    with_default_port: Option<String>,
}

impl PublicHost {
    /// Returns the host of `base_url`; `None` if it is not an http or https URL with a host.
    pub fn from_base_url(base_url: &str) -> Option<Self> {
        let url = Url::parse(base_url).ok()?;
        let (scheme, default_port) = match url.scheme() {
            "https" => (Scheme::Https, 443),
            "http" => (Scheme::Http, 80),
            _ => return None,
        };
        let name = url.host_str().filter(|name| !name.is_empty())?;
        Some(match url.port() {
            Some(port) => {
                Self { scheme, authority: format!("{name}:{port}"), with_default_port: None }
            }
            None => Self {
                scheme,
                authority: name.to_owned(),
                with_default_port: Some(format!("{name}:{default_port}")),
            },
        })
    }

    /// Returns whether a request is addressed to this host.
    pub fn matches_request(&self, request: &HttpRequest) -> bool {
        requested_authority(request).is_some_and(|authority| self.is_named(authority))
    }

    /// Returns whether a request is addressed to this host, and names no other: a proxy may read
    /// the Host header where the hub reads the request target.
    pub fn matches_request_unambiguously(&self, request: &HttpRequest) -> bool {
        let mut headers = request.headers().get_all(header::HOST);
        let is_own = |host: &header::HeaderValue| {
            host.to_str().is_ok_and(|authority| self.is_named(authority))
        };
        self.matches_request(request) && headers.all(is_own)
    }

    fn is_named(&self, authority: &str) -> bool {
        let is = |known: &str| authority.eq_ignore_ascii_case(known);
        is(&self.authority) || self.with_default_port.as_deref().is_some_and(is)
    }
}

/// Returns the authority of the request target, else the Host header (RFC 9112 §3.2.2). Forwarded
/// headers are ignored.
fn requested_authority(request: &HttpRequest) -> Option<&str> {
    let header = || request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    request.uri().authority().map(Authority::as_str).or_else(header)
}

/// Host names of the private listener: IP addresses, `localhost` and those of `private.hosts`.
///
/// Stops DNS rebinding: a website whose name resolves to this machine makes browsers send that
/// name.
#[derive(Debug)]
pub struct PrivateHosts(Vec<String>);

impl PrivateHosts {
    /// Creates the set with the names of `private.hosts`.
    pub const fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Returns whether a request is addressed to one of these hosts.
    pub fn allows_request(&self, request: &ServiceRequest) -> bool {
        match requested_authority(request.request()) {
            Some(authority) => self.contains(authority),
            // A health check over HTTP/1.0 may send no Host header; a browser always sends it.
            None => {
                request.version() < Version::HTTP_11
                    && !request.headers().contains_key(header::HOST)
            }
        }
    }

    fn contains(&self, authority: &str) -> bool {
        let Some(parsed) = authority.parse::<Authority>().ok().filter(|_| !authority.contains('@'))
        else {
            return false;
        };
        let host = parsed.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is = |name: &str| host.eq_ignore_ascii_case(name);
        bare.parse::<IpAddr>().is_ok() || is("localhost") || self.0.iter().any(|name| is(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebound_name_is_not_one_of_the_private_listener() {
        let hosts = PrivateHosts::new(vec!["hub-1.internal".to_owned()]);
        for (authority, is_one) in [
            ("127.0.0.1:9090", true),
            ("10.1.2.3", true),
            ("[::1]:9090", true),
            ("localhost:9090", true),
            ("LOCALHOST", true),
            ("hub-1.internal:9090", true),
            ("Hub-1.Internal", true),
            ("hub-2.internal", false),
            ("rebound.example:9090", false),
            ("localhost.rebound.example", false),
            ("127.0.0.1.rebound.example", false),
            ("localhost@rebound.example", false),
            ("", false),
        ] {
            assert_eq!(hosts.contains(authority), is_one, "{authority}");
        }
    }
}
