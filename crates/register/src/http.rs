//! Implements the register over HTTPS: JSON by POST, so that no identity is part of a URL.
//!
//! Supports mutual TLS and a bearer token; `docs/register.openapi.yaml` is the contract.
//! Responsible for connection errors, one retry, the circuit breaker and the limit of concurrent
//! calls. Without an answer there is no login.

pub mod contract;
mod credentials;
mod settings;

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use openidconnect::{HttpRequest, HttpResponse};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{ANSWER_TIMEOUT, Register, RegisterAnswer, RegisterError};
use passerelle_egress::circuit_breaker::{self, CircuitBreaker, CircuitState};
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient, TlsOptions,
};
use passerelle_federation::identity::Identity;
use passerelle_federation::identity::pivot::Pivot;
use passerelle_federation::identity::rules::{IdentityRules, RequiredClaims};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use passerelle_settings::FieldDiagnostic;
use passerelle_telemetry::CheckFinding;
use passerelle_telemetry::Metrics;

pub use credentials::HttpRegisterCredentials;
pub use settings::{HttpRegisterConfig, KIND};

/// Header that carries the support id into the register's log.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Register behind an HTTPS API.
pub struct HttpRegister {
    client: SafeHttpClient,
    url: String,
    host: String,
    headers: HeaderMap,
    call_permits: Semaphore,
    breaker: CircuitBreaker,
    rules: IdentityRules,
    metrics: Arc<Metrics>,
    /// Why the last call failed.
    last_failure: ArcSwapOption<String>,
}

impl HttpRegister {
    /// Creates the client without calling the register, so that a dead one does not stop the start.
    /// `now` is compared with the certificates' dates.
    ///
    /// # Errors
    /// Returns the key whose value is unusable: a certificate, a key or a forbidden address.
    pub fn new(
        config: &HttpRegisterConfig,
        credentials: &HttpRegisterCredentials,
        home_country: &str,
        metrics: Arc<Metrics>,
        now: Timestamp,
    ) -> Result<Self, FieldDiagnostic> {
        credentials::check_credentials(credentials, now)?;
        let client = build_client(config, credentials)?;
        let address = url::Url::parse(&config.url).map_err(|_| {
            let fix = "begin with https:// and a host name";
            FieldDiagnostic::new("register.http.url", "is not an absolute URL", fix)
        })?;
        client.check_url(&address).map_err(|error| {
            let fix =
                "write an https address, and add its host to internal_hosts if it is not public";
            FieldDiagnostic::new("register.http.url", format!("can't be called: {error}"), fix)
        })?;
        let headers = build_headers(credentials)?;
        let watcher = Arc::clone(&metrics);
        watcher.set_register_circuit(CircuitState::Closed.label(), &CircuitState::LABELS);
        Ok(Self {
            client,
            url: config.url.trim_end_matches('/').to_owned(),
            host: address.host_str().unwrap_or_default().to_owned(),
            headers,
            call_permits: Semaphore::new(config.calls),
            breaker: CircuitBreaker::new(Box::new(move |from, to| {
                report_circuit(&watcher, from, to);
            })),
            rules: IdentityRules {
                home_country: home_country.to_owned(),
                required: RequiredClaims::Pivot,
            },
            metrics,
            last_failure: ArcSwapOption::empty(),
        })
    }

    /// Sends a request; returns a response of any status within [`ANSWER_TIMEOUT`].
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, EgressError> {
        let whole = async {
            match self.client.send(request.clone()).await {
                // Retry a failed connection once: the query only reads. A timeout is not retried,
                // because the time is used up, and a second query does not help a slow register.
                Err(EgressError::Unreachable { .. }) => {
                    self.metrics.record_register_retry();
                    self.client.send(request).await
                }
                settled => settled,
            }
        };
        tokio::time::timeout(ANSWER_TIMEOUT, whole)
            .await
            .unwrap_or_else(|_| Err(EgressError::Timeout(self.host.clone())))
    }

    /// Sends a request within the circuit breaker and the call limit. Returns an error for any
    /// status but `expected`.
    async fn call(
        &self,
        request: HttpRequest,
        expected: StatusCode,
    ) -> Result<HttpResponse, RegisterError> {
        let _call_permit = self.call_permits.try_acquire().map_err(|_| RegisterError::Busy)?;
        let permit = self.breaker.try_acquire(Instant::now()).ok_or(RegisterError::CircuitOpen)?;
        let error = match self.send(request).await {
            Ok(answer) if answer.status() == expected => {
                // The body is checked later: one broken record must not open the circuit.
                permit.record_success();
                return Ok(answer);
            }
            // A fault of the query, which one person's data may repeat: the register itself works.
            Ok(answer) if answer.status() == StatusCode::BAD_REQUEST => {
                permit.record_success();
                return Err(RegisterError::Unavailable(describe_status(answer.status())));
            }
            Ok(answer) => RegisterError::Unavailable(describe_status(answer.status())),
            Err(EgressError::TooLarge { limit, .. }) => {
                permit.record_success();
                return Err(RegisterError::Contract(format!("it is larger than {limit} bytes")));
            }
            Err(error) => RegisterError::Unavailable(error.to_string()),
        };
        self.last_failure.store(Some(Arc::new(error.to_string())));
        permit.record_failure(Instant::now());
        Err(error)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<HttpRequest, RegisterError> {
        let mut request = HttpRequest::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.url)
            .parse()
            .map_err(|_| RegisterError::Unavailable("register.http.url is not a URL".to_owned()))?;
        request.headers_mut().clone_from(&self.headers);
        Ok(request)
    }
}

#[async_trait]
impl Register for HttpRegister {
    async fn identify(
        &self,
        pivot: &Identity,
        support_id: &SupportId,
    ) -> Result<RegisterAnswer, RegisterError> {
        // An incomplete pivot identifies no person.
        if Pivot::from_identity(pivot, &self.rules.home_country).is_none() {
            return Ok(RegisterAnswer::NotFound);
        }
        let mut request = self.request(Method::POST, "/identify", contract::encode_query(pivot))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(support_id.as_str()) {
            request.headers_mut().insert(REQUEST_ID, id);
        }
        let answer = self.call(request, StatusCode::OK).await?;
        contract::decode_response(answer.headers(), answer.body(), pivot, &self.rules)
    }

    fn warning(&self) -> Option<CheckFinding> {
        (self.breaker.state() != CircuitState::Closed).then(|| {
            let last_failure = self.last_failure.load();
            let why = last_failure.as_ref().map_or("", |reason| reason.as_str());
            CheckFinding::new(
                format!("logins that need the register fail at once (Y010005), because {why}"),
                "inform its operator; `passerelle register lookup` shows its response; the hub retries by itself (docs/runbooks.md, PasserelleRegisterCircuitOpen)",
            )
            .with_kind("circuit")
        })
    }

    async fn probe(&self) -> Result<(), RegisterError> {
        let request = self.request(Method::GET, "/health", Vec::new())?;
        self.call(request, StatusCode::NO_CONTENT).await.map(|_| ())
    }
}

fn build_client(
    config: &HttpRegisterConfig,
    credentials: &HttpRegisterCredentials,
) -> Result<SafeHttpClient, FieldDiagnostic> {
    let schemes =
        if config.insecure_http { AllowedSchemes::HttpAndHttps } else { AllowedSchemes::HttpsOnly };
    let limits = CallLimits {
        max_body_bytes: contract::MAX_ANSWER_BYTES,
        total_timeout: ANSWER_TIMEOUT,
        ..CallLimits::DEFAULT
    };
    let trust = TlsOptions {
        ca: credentials.ca.as_deref(),
        client_identity: credentials.identity.as_ref(),
    };
    SafeHttpClient::with_tls(schemes, &config.internal_hosts, limits, trust).map_err(|error| {
        let fix = "correct the PEM files, or install the certificate authorities of the system (ca-certificates)";
        let message = format!("needs TLS, which can't be set up: {error}");
        FieldDiagnostic::new("register.http.client_certificate", message, fix)
    })
}

fn build_headers(credentials: &HttpRegisterCredentials) -> Result<HeaderMap, FieldDiagnostic> {
    let mut headers =
        HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    if let Some(bearer) = &credentials.bearer {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", bearer.reveal())).map_err(|_| {
                let message = "references a text that can't be sent in a header";
                let fix = "write the bare token there, without spaces";
                FieldDiagnostic::new("register.http.bearer", message, fix)
            })?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

/// Describes an unexpected status, with a hint for the operator.
fn describe_status(status: StatusCode) -> String {
    let hint = match status.as_u16() {
        300..=399 => "; a redirect is not followed: correct register.http.url",
        401 | 403 => "; see register.http.client_certificate and register.http.bearer",
        400 => "; it rejects the query as malformed: see its log, under the same X-Request-Id",
        404 | 405 => "; check that register.http.url leads to the contract's paths",
        200..=299 => "; the contract has no such status",
        _ => "",
    };
    format!("status {}{hint}", status.as_u16())
}

/// Logs and counts each change of the circuit.
fn report_circuit(metrics: &Metrics, from: CircuitState, to: CircuitState) {
    metrics.set_register_circuit(to.label(), &CircuitState::LABELS);
    match (from, to) {
        (CircuitState::Closed, CircuitState::Open) => tracing::error!(
            failures = circuit_breaker::FAILURES_TO_OPEN,
            pause_seconds = circuit_breaker::DEFAULT_OPEN_TIME.as_secs(),
            "circuit of the register opened: logins that need it fail at once"
        ),
        (_, CircuitState::Closed) => {
            tracing::info!("circuit of the register closed: it answers again");
        }
        (_, CircuitState::HalfOpen) => {
            tracing::info!("circuit of the register half open: trying one query");
        }
        (_, CircuitState::Open) => {
            tracing::warn!("circuit of the register reopened: it still does not answer");
        }
    }
}

#[cfg(test)]
mod tests;
