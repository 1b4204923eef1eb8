//! The one guard for every outgoing address, configured or discovered (decisions 10): an HTTP client that does not
//! let an identity provider's documents send the hub to where the hub must not go.
//!
//! Owns: which addresses may be called, and how long and how large a call may be. Must not know: what is asked.
//! Stops server-side request forgery, DNS rebinding (resolved once, connected to what was resolved), redirects into
//! the private network, and answers without end.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::tls::TlsInfo;
use url::{Host, Url};

use super::lookups::Lookups;
use super::public_addresses::is_public;
use super::traced::Call;
use crate::ids::Secret;

/// Which schemes may be called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Schemes {
    HttpsOnly,
    /// `insecure_http = true`.
    HttpToo,
}

/// How long and how large a call may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallLimits {
    pub connect: Duration,
    /// From the first byte sent to the last one read.
    pub whole: Duration,
    /// Bytes of the answer's body.
    pub body: usize,
}

impl CallLimits {
    /// Decisions 10.
    pub const DEFAULT: Self =
        Self { connect: Duration::from_secs(2), whole: Duration::from_secs(6), body: 1 << 20 };
}

/// What proves the two ends of a TLS connection to each other, where the machine's own authorities are not enough.
#[derive(Clone, Copy, Default)]
pub struct Trust<'a> {
    /// PEM: the only authorities that a server's certificate may come from. Absent: those of the machine.
    pub ca: Option<&'a str>,
    /// PEM: our certificate with its chain, and its key, for servers that ask for one.
    pub identity: Option<&'a Secret<String>>,
}

/// Why a call was not made, or its answer not taken. Holds the host at most, never a path, query or body.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum GuardFault {
    #[error("{0}")]
    AddressForbidden(String),
    #[error("{host} can not be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("{0} did not answer in time")]
    Timeout(String),
    #[error("the answer of {host} is larger than {limit} bytes")]
    TooLarge { host: String, limit: usize },
}

/// The certificate of the server that answered, in DER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerCertificate(pub Vec<u8>);

/// Whether answers tell of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerCertificates {
    Dropped,
    Kept,
}

/// Whether a connection is used for more than one call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pooling {
    Reuse,
    /// Each call resolves the name, connects and negotiates TLS, as a probe must.
    Fresh,
}

/// An HTTP client with its own pool of connections.
#[derive(Clone)]
pub struct Guard {
    client: reqwest::Client,
    rules: Arc<AddressRules>,
    limits: CallLimits,
}

impl Guard {
    /// `internal_hosts`: names, or addresses as a URL writes them, that may be loopback, link-local or private.
    ///
    /// # Errors
    /// The TLS library can't be set up.
    pub fn new(
        schemes: Schemes,
        internal_hosts: &[String],
        limits: CallLimits,
    ) -> Result<Self, GuardFault> {
        Self::trusting(schemes, internal_hosts, limits, Trust::default())
    }

    /// As `new`, for servers of a private authority, or that ask for a client certificate.
    ///
    /// # Errors
    /// The TLS library can't be set up with these certificates.
    pub fn trusting(
        schemes: Schemes,
        internal_hosts: &[String],
        limits: CallLimits,
        trust: Trust<'_>,
    ) -> Result<Self, GuardFault> {
        Self::made(
            schemes,
            internal_hosts,
            limits,
            trust,
            PeerCertificates::Dropped,
            Pooling::Reuse,
        )
    }

    /// As `trusting`, with a [`PeerCertificate`] among the extensions of each answer that came over TLS.
    ///
    /// # Errors
    /// The TLS library can't be set up.
    pub fn keeping_certificates(
        schemes: Schemes,
        internal_hosts: &[String],
        limits: CallLimits,
        trust: Trust<'_>,
    ) -> Result<Self, GuardFault> {
        Self::made(schemes, internal_hosts, limits, trust, PeerCertificates::Kept, Pooling::Reuse)
    }

    /// As `trusting`, with each call on a connection of its own.
    ///
    /// # Errors
    /// The TLS library can't be set up.
    pub fn connecting_anew(
        schemes: Schemes,
        internal_hosts: &[String],
        limits: CallLimits,
        trust: Trust<'_>,
    ) -> Result<Self, GuardFault> {
        Self::made(
            schemes,
            internal_hosts,
            limits,
            trust,
            PeerCertificates::Dropped,
            Pooling::Fresh,
        )
    }

    fn made(
        schemes: Schemes,
        internal_hosts: &[String],
        limits: CallLimits,
        trust: Trust<'_>,
        certificates: PeerCertificates,
        pooling: Pooling,
    ) -> Result<Self, GuardFault> {
        let rules = Arc::new(AddressRules::new(schemes, internal_hosts));
        let refused = |error: &reqwest::Error| GuardFault::Unreachable {
            host: "any host".into(),
            why: root_cause(error),
        };
        let client = trust
            .of(reqwest::Client::builder())
            .map_err(|error| refused(&error))?
            .user_agent(concat!("passerelle/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(GuardedResolver {
                rules: Arc::clone(&rules),
                lookups: Arc::default(),
            }))
            .redirect(Policy::none())
            .no_proxy()
            .https_only(schemes == Schemes::HttpsOnly)
            .connect_timeout(limits.connect)
            .timeout(limits.whole)
            .tls_info(certificates == PeerCertificates::Kept)
            .pool_max_idle_per_host(if pooling == Pooling::Fresh { 0 } else { usize::MAX })
            .build()
            .map_err(|error| refused(&error))?;
        Ok(Self { client, rules, limits })
    }

    /// Whether `url` may be called at all, as far as can be said before its name is resolved.
    ///
    /// # Errors
    /// `AddressForbidden`, saying why.
    pub fn admit(&self, url: &Url) -> Result<(), GuardFault> {
        self.rules.admit(url)
    }

    /// Makes the call. Any status is an answer; a redirect is one too, and is not followed.
    ///
    /// # Errors
    /// See [`GuardFault`].
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, GuardFault> {
        let request = reqwest::Request::try_from(request).map_err(|_| {
            GuardFault::AddressForbidden("the address to call is not an absolute URL".into())
        })?;
        self.admit(request.url())?;
        let mut call = Call::begin(&request);
        let answer = self.execute(call.along(request)).await;
        call.end(&answer);
        answer
    }

    async fn execute(&self, request: reqwest::Request) -> Result<HttpResponse, GuardFault> {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let mut answer =
            self.client.execute(request).await.map_err(|error| fault_of(&host, &error))?;
        let too_large = || GuardFault::TooLarge { host: host.clone(), limit: self.limits.body };
        if answer.content_length().is_some_and(|length| length > self.limits.body as u64) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| fault_of(&host, &error))? {
            if body.len() + chunk.len() > self.limits.body {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = HttpResponse::new(body);
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        if let Some(der) = answer.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate)
        {
            response.extensions_mut().insert(PeerCertificate(der.to_owned()));
        }
        Ok(response)
    }
}

impl Guard {
    /// As [`Self::send`], for a call that changes nothing and may be made twice: a fault of the connection is met with one
    /// more try. Never for what may have been done already, as a code exchange, and not where the time was up.
    ///
    /// # Errors
    /// Those of the second try.
    pub async fn send_safe(&self, request: HttpRequest) -> Result<HttpResponse, GuardFault> {
        match self.send(request.clone()).await {
            Err(GuardFault::Unreachable { .. }) => self.send(request).await,
            outcome => outcome,
        }
    }
}

impl Trust<'_> {
    fn of(self, mut client: reqwest::ClientBuilder) -> reqwest::Result<reqwest::ClientBuilder> {
        if let Some(ca) = self.ca {
            client = client.tls_certs_only(reqwest::Certificate::from_pem_bundle(ca.as_bytes())?);
        }
        if let Some(identity) = self.identity {
            client = client.identity(reqwest::Identity::from_pem(identity.reveal().as_bytes())?);
        }
        Ok(client)
    }
}

impl<'c> AsyncHttpClient<'c> for Guard {
    type Error = GuardFault;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, GuardFault>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

/// Whether a guard of these rules would call this address, as far as the address alone tells.
///
/// # Errors
/// `AddressForbidden`, with the reason.
pub fn admits(schemes: Schemes, internal_hosts: &[String], url: &Url) -> Result<(), GuardFault> {
    AddressRules::new(schemes, internal_hosts).admit(url)
}

struct AddressRules {
    schemes: Schemes,
    /// Lower case, without brackets.
    internal_hosts: Vec<String>,
}

impl AddressRules {
    fn new(schemes: Schemes, internal_hosts: &[String]) -> Self {
        Self {
            schemes,
            internal_hosts: internal_hosts
                .iter()
                .map(|host| bare(host).to_ascii_lowercase())
                .collect(),
        }
    }

    fn admit(&self, url: &Url) -> Result<(), GuardFault> {
        let host = url.host_str().unwrap_or_default();
        let refuse = |why: &str| Err(GuardFault::AddressForbidden(format!("{host}: {why}")));
        match url.scheme() {
            "https" => {}
            "http" if self.schemes == Schemes::HttpToo => {}
            "http" => {
                return refuse(
                    "http is not allowed; use https, or set insecure_http = true in the file that names it",
                );
            }
            _ => return refuse("only https is called"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("the address must not carry user information");
        }
        // A literal address never meets the resolver, so it is judged here.
        let literal = match url.host() {
            None => return refuse("the address names no host"),
            Some(Host::Domain(_)) => None,
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        };
        match literal {
            Some(ip) if !is_public(ip) && !self.is_internal(host) => refuse(FORBIDDEN),
            _ => Ok(()),
        }
    }

    fn is_internal(&self, host: &str) -> bool {
        let host = bare(host);
        self.internal_hosts.iter().any(|internal| internal.eq_ignore_ascii_case(host))
    }
}

pub(super) const FORBIDDEN: &str = "a loopback, link-local, private or reserved address; if it is meant, name the host in internal_hosts";

pub(super) fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Resolves a name and keeps the addresses that may be called; the connection goes to one of these, and the name is
/// not asked again.
struct GuardedResolver {
    rules: Arc<AddressRules>,
    lookups: Arc<Lookups>,
}

#[derive(thiserror::Error, Debug)]
#[error("{0}: {FORBIDDEN}")]
struct ForbiddenName(String);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (rules, lookups) = (Arc::clone(&self.rules), Arc::clone(&self.lookups));
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let mut found = lookups.of(&host).await?;
            if !rules.is_internal(&host) {
                let any = !found.is_empty();
                found.retain(|address| is_public(address.ip()));
                if any && found.is_empty() {
                    return Err(ForbiddenName(host).into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn fault_of(host: &str, error: &reqwest::Error) -> GuardFault {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(forbidden) = error.downcast_ref::<ForbiddenName>() {
            return GuardFault::AddressForbidden(forbidden.to_string());
        }
        cause = error.source();
    }
    if error.is_timeout() {
        return GuardFault::Timeout(host.to_owned());
    }
    GuardFault::Unreachable { host: host.to_owned(), why: root_cause(error) }
}

/// The innermost cause (refused, reset, a certificate's fault). The outer ones repeat the URL, whose query may hold
/// what must not be logged.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    let mut depth = 0;
    while let Some(inner) = cause.source() {
        cause = inner;
        depth += 1;
    }
    if depth == 0 { "the call failed".into() } else { cause.to_string() }
}

#[cfg(test)]
mod tests;
