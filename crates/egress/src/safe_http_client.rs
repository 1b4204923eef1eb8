//! HTTP client for all outgoing calls, to configured or discovered addresses.
//!
//! Responsible for the addresses that may be called, and the limits of a call in time and size.
//! Stops server-side request forgery, DNS rebinding (the name is resolved once, and the connection
//! goes to a resolved address), redirects into the private network, and endless responses.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue, StatusCode};
use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use reqwest::ClientBuilder;
use reqwest::redirect::Policy;
use reqwest::tls::TlsInfo;
use rustls::CertificateError;
use url::Url;

use super::address_rules::{AddressRules, ForbiddenAddressError, PublicAddressResolver};
pub use super::address_rules::{AllowedSchemes, check_url};
use super::call_span::CallSpan;
use super::content_encoding::{self, DecodeError};
pub use super::error::EgressError;
use super::system_authorities::{
    NO_AUTHORITIES, NO_AUTHORITIES_FIX, build_with_system_authorities,
};
use super::tls_provider::install_tls_provider;
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::printable_ascii;

/// Limits of a call in time and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallLimits {
    pub connect_timeout: Duration,
    /// From the start of the call to the last byte of the response.
    pub total_timeout: Duration,
    /// Size limit of the response body, in bytes.
    pub max_body_bytes: usize,
}

impl CallLimits {
    /// Limits of calls to identity providers.
    pub const DEFAULT: Self = Self {
        connect_timeout: Duration::from_secs(2),
        total_timeout: Duration::from_secs(6),
        max_body_bytes: 1 << 20,
    };
}

impl Default for CallLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Certificates of a TLS connection that differ from the system's defaults.
#[derive(Clone, Copy, Default)]
pub struct TlsOptions<'a> {
    /// PEM: the only authorities that may issue a server's certificate; `None` for the system's.
    pub ca: Option<&'a str>,
    /// PEM: the client certificate with its chain and key, for servers that request one.
    pub client_identity: Option<&'a Secret<String>>,
}

/// Certificate of the server that responded, in DER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerCertificate(pub Vec<u8>);

/// HTTP client with its own connection pool.
#[derive(Clone)]
pub struct SafeHttpClient {
    client: reqwest::Client,
    rules: Arc<AddressRules>,
    limits: CallLimits,
    has_authorities: bool,
}

impl SafeHttpClient {
    /// Returns a client with the system's authorities. The hosts in `internal_hosts` (names, or
    /// addresses as in a URL) may be loopback, link-local or private.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up.
    pub fn new(
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        limits: CallLimits,
    ) -> Result<Self, EgressError> {
        Self::with_tls(schemes, internal_hosts, limits, TlsOptions::default())
    }

    /// Returns a client with these TLS options.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up with these certificates.
    pub fn with_tls(
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        limits: CallLimits,
        tls: TlsOptions<'_>,
    ) -> Result<Self, EgressError> {
        Self::build(AddressRules::new(schemes, internal_hosts), limits, tls, |client| client)
    }

    /// Returns a client with these TLS options that puts a [`PeerCertificate`] among the extensions
    /// of each response that came over TLS.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up with these certificates.
    pub fn capturing_certificates(
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        limits: CallLimits,
        tls: TlsOptions<'_>,
    ) -> Result<Self, EgressError> {
        let rules = AddressRules::new(schemes, internal_hosts);
        Self::build(rules, limits, tls, |client| client.tls_info(true))
    }

    /// Returns a client with these TLS options that resolves the name, connects and negotiates TLS
    /// for each call, as a probe must do.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up with these certificates.
    pub fn without_pooling(
        schemes: AllowedSchemes,
        internal_hosts: &[String],
        limits: CallLimits,
        tls: TlsOptions<'_>,
    ) -> Result<Self, EgressError> {
        let rules = AddressRules::new(schemes, internal_hosts);
        Self::build(rules, limits, tls, |client| client.pool_max_idle_per_host(0))
    }

    fn build(
        rules: AddressRules,
        limits: CallLimits,
        tls: TlsOptions<'_>,
        adjust: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, EgressError> {
        install_tls_provider();
        let rules = Arc::new(rules);
        let (client, has_authorities) = build_with_system_authorities(|builder| {
            let client = tls
                .apply_to(builder)?
                // For servers and caches that compress by default.
                .default_headers(HeaderMap::from_iter([(
                    ACCEPT_ENCODING,
                    HeaderValue::from_static("identity"),
                )]))
                .user_agent(concat!("passerelle/", env!("CARGO_PKG_VERSION")))
                .dns_resolver(Arc::new(PublicAddressResolver::new(&rules)))
                .redirect(Policy::none())
                // reqwest copies each request for a retry, which it makes only over HTTP/2.
                .retry(reqwest::retry::never().max_retries_per_request(0))
                .no_proxy()
                .https_only(rules.schemes == AllowedSchemes::HttpsOnly)
                .connect_timeout(limits.connect_timeout);
            adjust(client).build()
        })
        .map_err(|error| EgressError::Unreachable {
            host: "any host".into(),
            why: root_cause(&error),
        })?;
        Ok(Self { client, rules, limits, has_authorities })
    }

    /// Returns the client with another size limit of response bodies. It shares its connections.
    #[must_use]
    pub fn with_max_body_bytes(self, max_body_bytes: usize) -> Self {
        Self { limits: CallLimits { max_body_bytes, ..self.limits }, ..self }
    }

    /// Returns the client with another time limit of calls. It shares its connections.
    #[must_use]
    pub fn with_total_timeout(self, total_timeout: Duration) -> Self {
        Self { limits: CallLimits { total_timeout, ..self.limits }, ..self }
    }

    /// Checks whether `url` may be called, before its name is resolved.
    ///
    /// # Errors
    /// `AddressForbidden` with the reason.
    pub fn check_url(&self, url: &Url) -> Result<(), EgressError> {
        self.rules.check_url(url)
    }

    /// Sends a request. Every status is a success; redirects are not followed.
    ///
    /// # Errors
    /// Returns an [`EgressError`] if the address is forbidden, or no complete response arrives.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, EgressError> {
        let request = self.checked_request(request)?;
        let mut call = CallSpan::start(&request);
        let response = self.execute(call.with_traceparent(request)).await;
        call.record_outcome(response.as_ref().map(HttpResponse::status));
        response
    }

    /// Sends a request and returns the status of the response, whose body is not read. Redirects
    /// are not followed.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_for_status(&self, request: HttpRequest) -> Result<StatusCode, EgressError> {
        let request = self.checked_request(request)?;
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let mut call = CallSpan::start(&request);
        let received = self.client.execute(call.with_traceparent(request)).await;
        let status = received
            .map(|received| received.status())
            .map_err(|error| classify_error(&host, &error));
        call.record_outcome(status.as_ref().copied());
        status
    }

    fn checked_request(&self, request: HttpRequest) -> Result<reqwest::Request, EgressError> {
        let mut request = reqwest::Request::try_from(request).map_err(|_| {
            EgressError::AddressForbidden("the address to call is not an absolute URL".into())
        })?;
        *request.timeout_mut() = Some(self.limits.total_timeout);
        self.check_url(request.url())?;
        if !self.has_authorities && request.url().scheme() == "https" {
            let host = request.url().host_str().unwrap_or_default().to_owned();
            return Err(EgressError::Unreachable {
                host,
                why: format!("{NO_AUTHORITIES}: {NO_AUTHORITIES_FIX}"),
            });
        }
        Ok(request)
    }

    async fn execute(&self, request: reqwest::Request) -> Result<HttpResponse, EgressError> {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let mut received =
            self.client.execute(request).await.map_err(|error| classify_error(&host, &error))?;
        let too_large =
            || EgressError::TooLarge { host: host.clone(), limit: self.limits.max_body_bytes };
        if received
            .content_length()
            .is_some_and(|length| length > self.limits.max_body_bytes as u64)
        {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) =
            received.chunk().await.map_err(|error| classify_error(&host, &error))?
        {
            if body.len() + chunk.len() > self.limits.max_body_bytes {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let mut headers = std::mem::take(received.headers_mut());
        let decoded = content_encoding::decode_body(&mut headers, body, self.limits.max_body_bytes);
        let body = decoded.map_err(|error| match error {
            DecodeError::TooLarge => too_large(),
            DecodeError::Malformed => EgressError::Encoding {
                host: host.clone(),
                coding: "malformed gzip or deflate".to_owned(),
            },
            DecodeError::Unknown(coding) => {
                EgressError::Encoding { host: host.clone(), coding: printable_ascii(&coding, 32) }
            }
        })?;
        let mut response = HttpResponse::new(body);
        *response.status_mut() = received.status();
        *response.headers_mut() = headers;
        if let Some(der) =
            received.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate)
        {
            response.extensions_mut().insert(PeerCertificate(der.to_owned()));
        }
        Ok(response)
    }

    /// Sends a request, and retries once if the connection failed. Only for requests that change
    /// nothing, so not for a code exchange. A timeout is not retried.
    ///
    /// # Errors
    /// Returns the error of the last attempt.
    pub async fn send_with_retry(&self, request: HttpRequest) -> Result<HttpResponse, EgressError> {
        match self.send(request.clone()).await {
            Err(EgressError::Unreachable { .. }) => self.send(request).await,
            outcome => outcome,
        }
    }
}

impl TlsOptions<'_> {
    fn apply_to(self, mut client: ClientBuilder) -> reqwest::Result<ClientBuilder> {
        if let Some(ca) = self.ca {
            client = client.tls_certs_only(reqwest::Certificate::from_pem_bundle(ca.as_bytes())?);
        }
        if let Some(identity) = self.client_identity {
            client = client.identity(reqwest::Identity::from_pem(identity.reveal().as_bytes())?);
        }
        Ok(client)
    }
}

impl<'c> AsyncHttpClient<'c> for SafeHttpClient {
    type Error = EgressError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, EgressError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

fn classify_error(host: &str, original: &reqwest::Error) -> EgressError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(original);
    while let Some(error) = cause {
        if let Some(forbidden) = error.downcast_ref::<ForbiddenAddressError>() {
            return EgressError::AddressForbidden(forbidden.to_string());
        }
        if let Some((limit, now)) = refused_certificate_time(error) {
            let why = root_cause(original);
            return EgressError::CertificateTime { host: host.to_owned(), why, limit, now };
        }
        cause = error.source();
    }
    if original.is_timeout() {
        return EgressError::Timeout(host.to_owned());
    }
    EgressError::Unreachable { host: host.to_owned(), why: root_cause(original) }
}

/// Returns the limit that a certificate has passed or not reached, and the time of the check, in
/// seconds since 1970. I/O errors contain the one of TLS without being caused by it.
fn refused_certificate_time(error: &(dyn std::error::Error + 'static)) -> Option<(u64, u64)> {
    let mut contained = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    while let Some(inner) = contained.downcast_ref::<std::io::Error>() {
        contained = inner.get_ref()?;
    }
    match contained.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(
            CertificateError::ExpiredContext { time, not_after: limit }
            | CertificateError::NotValidYetContext { time, not_before: limit },
        ) => Some((limit.as_secs(), time.as_secs())),
        _ => None,
    }
}

/// Returns the innermost cause, such as a refused connection or a certificate error. The outer
/// errors repeat the URL, whose query must not be logged.
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
