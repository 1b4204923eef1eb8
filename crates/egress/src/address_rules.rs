//! Decides which addresses may be called: URLs before their name is resolved, and resolved
//! addresses.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::dns_resolver::DnsResolver;
use super::error::EgressError;
use super::public_addresses::is_public;

/// URL schemes that may be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AllowedSchemes {
    HttpsOnly,
    /// `insecure_http = true`.
    HttpAndHttps,
}

/// Checks whether a client with these rules may call `url`, before its name is resolved.
///
/// # Errors
/// `AddressForbidden` with the reason.
pub fn check_url(
    schemes: AllowedSchemes,
    internal_hosts: &[String],
    url: &Url,
) -> Result<(), EgressError> {
    AddressRules::new(schemes, internal_hosts).check_url(url)
}

/// Addresses that a client may call.
pub(crate) struct AddressRules {
    pub schemes: AllowedSchemes,
    internal_hosts: Vec<String>,
}

impl AddressRules {
    /// Returns rules with these internal hosts, which may be loopback, link-local or private.
    pub(crate) fn new(schemes: AllowedSchemes, internal_hosts: &[String]) -> Self {
        Self { schemes, internal_hosts: internal_hosts.to_vec() }
    }

    /// Checks whether `url` may be called, before its name is resolved.
    ///
    /// # Errors
    /// `AddressForbidden` with the reason.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), EgressError> {
        let host = url.host_str().unwrap_or_default();
        let reject = |why: &str| Err(EgressError::AddressForbidden(format!("{host}: {why}")));
        match url.scheme() {
            "https" => {}
            "http" if self.schemes == AllowedSchemes::HttpAndHttps => {}
            "http" => {
                return reject(
                    "http is not allowed; use https, or set insecure_http = true in the file that contains the address",
                );
            }
            _ => return reject("only https is allowed"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return reject("the address must not contain user information");
        }
        let Some(parsed) = url.host() else { return reject("the address has no host") };
        // A literal address is not resolved, so it is checked here.
        match literal_ip(&parsed) {
            Some(ip) if !is_public(ip) && !is_internal(&self.internal_hosts, host) => {
                reject(FORBIDDEN_ADDRESS)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns whether `host` is one of `internal_hosts`, in any case, with or without the brackets of
/// an IPv6 address.
pub(crate) fn is_internal(internal_hosts: &[String], host: &str) -> bool {
    let host = without_brackets(host);
    internal_hosts.iter().any(|internal| without_brackets(internal).eq_ignore_ascii_case(host))
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Returns the IP address that stands in place of a name.
pub(crate) const fn literal_ip<S>(host: &Host<S>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(ip) => Some(IpAddr::V4(*ip)),
        Host::Ipv6(ip) => Some(IpAddr::V6(*ip)),
    }
}

/// Reason why an address may not be called.
pub(crate) const FORBIDDEN_ADDRESS: &str = "a loopback, link-local, private or reserved address; to allow it, add the host to internal_hosts";

/// Resolves a name to the addresses that may be called. The connection goes to one of them without
/// a second lookup, which stops DNS rebinding.
pub(crate) struct PublicAddressResolver {
    rules: Arc<AddressRules>,
    resolver: Arc<DnsResolver>,
}

impl PublicAddressResolver {
    /// Returns a resolver for a client with these rules.
    pub(crate) fn new(rules: &Arc<AddressRules>) -> Self {
        Self { rules: Arc::clone(rules), resolver: Arc::default() }
    }
}

/// Error returned when a name has only addresses that may not be called.
#[derive(thiserror::Error, Debug)]
#[error("{0}: {FORBIDDEN_ADDRESS}")]
pub(crate) struct ForbiddenAddressError(String);

impl Resolve for PublicAddressResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, resolver) = (Arc::clone(&self.rules), Arc::clone(&self.resolver));
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let mut found = resolver.resolve(&host).await?;
            if !is_internal(&rules.internal_hosts, &host) {
                let any = !found.is_empty();
                found.retain(|address| is_public(address.ip()));
                if any && found.is_empty() {
                    return Err(ForbiddenAddressError(host).into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
