//! The one host name that the public listener answers to (decisions 2).

use actix_web::dev::ServiceRequest;
use actix_web::http::header;
use url::Url;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// The one host name that is served. Any other is refused: a page or a redirect made for it would be poisoned.
pub struct Host {
    pub scheme: Scheme,
    /// As the Host header has it, in lower case: `login.example.org`, `127.0.0.1:8080`, `[::1]:8080`.
    authority: String,
    /// The same with the scheme's own port written out, if that is the port.
    with_default_port: Option<String>,
}

impl Host {
    pub fn of(base_url: &str) -> Option<Self> {
        let url = Url::parse(base_url).ok()?;
        let (scheme, default_port) = match url.scheme() {
            "https" => (Scheme::Https, 443),
            "http" => (Scheme::Http, 80),
            _ => return None,
        };
        let name = url.host_str().filter(|name| !name.is_empty())?;
        Some(match url.port() {
            Some(port) => Self { scheme, authority: format!("{name}:{port}"), with_default_port: None },
            None => Self { scheme, authority: name.to_owned(), with_default_port: Some(format!("{name}:{default_port}")) },
        })
    }

    /// The request's own target goes before its Host header (RFC 9112, 3.2.2). Forwarded headers are not looked at.
    pub fn is_meant_by(&self, request: &ServiceRequest) -> bool {
        let header = || request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let asked = request.uri().authority().map(|authority| authority.as_str()).or_else(header);
        asked.is_some_and(|asked| {
            let is = |known: &str| asked.eq_ignore_ascii_case(known);
            is(&self.authority) || self.with_default_port.as_deref().is_some_and(is)
        })
    }
}
