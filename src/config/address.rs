//! Rules for the addresses in configuration files. Messages name the rule, never the address: a URL may hold a password.

use url::{Host, Url};

/// Where plain http is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Http {
    /// Only on this machine: `localhost`, `127.0.0.0/8`, `::1`.
    Loopback,
    /// Anywhere: the file says `insecure_http = true`.
    Anywhere,
    Nowhere,
}

/// What is wrong, and how to mend it.
pub type Fault = (&'static str, &'static str);

/// An absolute http(s) address without fragment and user info (decisions 15).
pub fn absolute(text: &str, http: Http) -> Result<Url, Fault> {
    // Url::parse forgives blanks, tabs and backslashes; a string that is compared byte by byte must not hold any.
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return Err((
            "holds a blank, a backslash or a character outside ASCII",
            "write the address percent-encoded",
        ));
    }
    let url = Url::parse(text)
        .map_err(|_| ("is not an absolute address", "begin with https:// and a host name"))?;
    if url.host().is_none() {
        return Err(("has no host", "begin with https:// and a host name"));
    }
    match url.scheme() {
        "https" => {}
        "http" => match http {
            Http::Anywhere => {}
            Http::Loopback if is_loopback(&url) => {}
            Http::Loopback | Http::Nowhere => {
                return Err((
                    "is plain http",
                    "use https:// (or set insecure_http = true in this file, for tests only)",
                ));
            }
        },
        _ => return Err(("is neither https nor http", "begin with https:// and a host name")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(("holds a user name or password", "remove everything between // and @"));
    }
    if url.fragment().is_some() {
        return Err(("has a fragment", "remove the # and what follows it"));
    }
    Ok(url)
}

/// As [`absolute`], and without a query: an issuer or an endpoint's base (OpenID Connect Discovery 1.0, 3).
pub fn without_query(text: &str, http: Http) -> Result<Url, Fault> {
    let url = absolute(text, http)?;
    if url.query().is_some() {
        Err(("has a query", "remove the ? and what follows it"))
    } else {
        Ok(url)
    }
}

pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
