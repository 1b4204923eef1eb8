//! Checks the URLs in configuration files. Messages name the rule, never the URL, which may contain
//! a password.

use std::net::SocketAddr;

use url::{Host, Url};

use super::ValueError;

/// Where plain HTTP is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainHttp {
    /// Only on loopback: `localhost`, `127.0.0.0/8`, `::1`.
    Loopback,
    /// Only at a literal loopback address: `127.0.0.0/8`, `::1`. A name can resolve to another host.
    LoopbackAddress,
    /// Anywhere: the file sets `insecure_http = true`.
    Anywhere,
    /// Nowhere, not even on loopback.
    Nowhere,
}

impl PlainHttp {
    /// Returns [`Self::Anywhere`] if `insecure`, else [`Self::Nowhere`].
    pub const fn anywhere_if(insecure: bool) -> Self {
        if insecure { Self::Anywhere } else { Self::Nowhere }
    }
}

/// Parses an absolute http(s) URL without fragment and user info.
///
/// # Errors
/// Returns the rule that the URL breaks.
pub fn parse_absolute_url(text: &str, http: PlainHttp) -> Result<Url, ValueError> {
    // `Url::parse` accepts blanks, tabs and backslashes; a string that is compared byte by byte
    // must not contain any.
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Err(ValueError::new(
            "contains a space, a backslash or a non-ASCII character",
            "percent-encode the address",
        ));
    }
    let url = Url::parse(text).map_err(|_| {
        ValueError::new("is not an absolute address", "start with https:// and a host name")
    })?;
    if url.host().is_none() {
        return Err(ValueError::new("has no host", "start with https:// and a host name"));
    }
    match url.scheme() {
        "https" => {}
        "http" => match http {
            PlainHttp::Anywhere => {}
            PlainHttp::Loopback if is_loopback(&url) => {}
            PlainHttp::LoopbackAddress if is_loopback_address(&url) => {}
            PlainHttp::LoopbackAddress => {
                return Err(ValueError::new(
                    "is plain http",
                    "use https:// (http is for 127.0.0.1 and [::1] only: a name, localhost too, can resolve to another host)",
                ));
            }
            PlainHttp::Loopback | PlainHttp::Nowhere => {
                return Err(ValueError::new(
                    "is plain http",
                    "use https:// (or set insecure_http = true in this file, for tests only)",
                ));
            }
        },
        _ => {
            return Err(ValueError::new(
                "is neither https nor http",
                "start with https:// and a host name",
            ));
        }
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(ValueError::new(
            "contains a user name or password",
            "remove everything between // and @",
        ));
    }
    if url.fragment().is_some() {
        return Err(ValueError::new("has a fragment", "remove the # and what follows it"));
    }
    Ok(url)
}

/// Parses an absolute URL without a query.
///
/// # Errors
/// Returns the rule that the URL breaks.
pub fn parse_url_without_query(text: &str, http: PlainHttp) -> Result<Url, ValueError> {
    let url = parse_absolute_url(text, http)?;
    if url.query().is_some() {
        return Err(ValueError::new("has a query", "remove the ? and what follows it"));
    }
    Ok(url)
}

/// Parses an issuer: an absolute URL without a query (OpenID Connect Discovery 1.0 §3), which is not
/// that of its discovery document.
///
/// # Errors
/// Returns the rule that the URL breaks.
pub fn parse_issuer(text: &str, http: PlainHttp) -> Result<Url, ValueError> {
    const DOCUMENTS: [&str; 2] =
        ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"];
    let url = parse_url_without_query(text, http)?;
    let path = url.path().trim_end_matches('/');
    match DOCUMENTS.iter().find(|document| path.ends_with(*document)) {
        Some(document) => Err(ValueError::new(
            "is the address of a discovery document",
            format!("remove {document} from its end"),
        )),
        None => Ok(url),
    }
}

/// Returns whether other machines reach a listener at this address.
pub fn is_exposed(listen: SocketAddr) -> bool {
    !listen.ip().to_canonical().is_loopback()
}

/// Returns true if the host is loopback.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => is_loopback_address(url),
    }
}

/// Returns true if the host is a literal loopback address.
fn is_loopback_address(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}
