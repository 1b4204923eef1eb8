//! A register that is asked over HTTPS (decisions 7): JSON by POST, so that no identity is ever part of an address;
//! mutual TLS and a bearer token where the register wants them. `docs/register.openapi.yaml` is the contract.
//!
//! Owns: the connection's faults, the retry, the breaker, how many questions may be out. Must not know: who asks, or
//! what becomes of the answer. There is no degraded mode: without an answer there is no login.

mod contract;
mod credentials;

use std::sync::Arc;

use async_trait::async_trait;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use openidconnect::{HttpRequest, HttpResponse};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Answer, LIMIT, Register, RegisterFault};
use crate::config::RegisterCredentials;
use crate::config::model;
use crate::egress::breaker::{self, Breaker, Condition};
use crate::egress::guard::{CallLimits, Guard, GuardFault, Schemes, Trust};
use crate::env::Timestamp;
use crate::identity::Identity;
use crate::identity::pivot::{Derivation, Pivot};
use crate::identity::rules::{Required, Rules};
use crate::ids::SupportId;
use crate::telemetry::Metrics;

/// What both sides write in their logs.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub struct HttpRegister {
    guard: Guard,
    url: String,
    host: String,
    headers: HeaderMap,
    calls: Semaphore,
    breaker: Breaker,
    rules: Rules,
    metrics: Arc<Metrics>,
}

/// Why the register can't be called as configured: the key of `[register.http]`, and the mend.
#[derive(thiserror::Error, PartialEq, Eq, Debug)]
#[error("register.http.{key}: {why}")]
pub struct HttpRegisterRefused {
    pub key: &'static str,
    pub why: String,
}

impl HttpRegister {
    /// Nothing is called yet: a dead register does not stop the start. `now` judges the certificates' dates.
    ///
    /// # Errors
    /// A certificate or key is unusable, or the address may not be called.
    pub fn new(
        configured: &model::HttpRegister,
        credentials: &RegisterCredentials,
        home_country: &str,
        metrics: Arc<Metrics>,
        now: Timestamp,
    ) -> Result<Self, HttpRegisterRefused> {
        let refuse = |key, why: String| HttpRegisterRefused { key, why };
        credentials::check(credentials, now)?;
        let schemes = if configured.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
        let limits = CallLimits { body: contract::LARGEST, whole: LIMIT, ..CallLimits::DEFAULT };
        let trust =
            Trust { ca: credentials.ca.as_deref(), identity: credentials.identity.as_ref() };
        let guard = Guard::trusting(schemes, &configured.internal_hosts, limits, trust).map_err(|fault| {
            refuse(
                "client_certificate",
                format!("no TLS client can be made; are the PEM files and ca-certificates whole? ({fault})"),
            )
        })?;
        let address = url::Url::parse(&configured.url).map_err(|_| {
            refuse(
                "url",
                "it is not an absolute address; begin with https:// and a host name".to_owned(),
            )
        })?;
        guard.admit(&address).map_err(|fault| refuse("url", fault.to_string()))?;
        let mut headers =
            HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        if let Some(bearer) = &credentials.bearer {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {}", bearer.reveal())).map_err(|_| {
                    refuse(
                        "bearer",
                        "it can't be sent in a header; put the bare token there".to_owned(),
                    )
                })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let watcher = Arc::clone(&metrics);
        watcher.register_breaker(Condition::Closed.label(), &Condition::LABELS);
        Ok(Self {
            guard,
            url: configured.url.trim_end_matches('/').to_owned(),
            host: address.host_str().unwrap_or_default().to_owned(),
            headers,
            calls: Semaphore::new(configured.calls),
            breaker: Breaker::new(Box::new(move |from, to| tell(&watcher, from, to))),
            rules: Rules { home_country: home_country.to_owned(), required: Required::Pivot },
            metrics,
        })
    }

    /// One answer within [`LIMIT`], whatever its status, or none.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, GuardFault> {
        let whole = async {
            match self.guard.send(request.clone()).await {
                // A connection that was refused, cut or kept too long: once more, at once. The question only reads, so it
                // does no harm if the first one was worked on. One that ran out of time is not repeated: the time is
                // spent, and a slow register is not helped by being asked twice.
                Err(GuardFault::Unreachable { .. }) => {
                    self.metrics.register_retried();
                    self.guard.send(request).await
                }
                settled => settled,
            }
        };
        tokio::time::timeout(LIMIT, whole)
            .await
            .unwrap_or_else(|_| Err(GuardFault::Timeout(self.host.clone())))
    }

    /// Asks under the breaker and the limit of calls; any answer of the status `good` is one.
    async fn ask(
        &self,
        request: HttpRequest,
        good: StatusCode,
    ) -> Result<HttpResponse, RegisterFault> {
        let _permit = self.calls.try_acquire().map_err(|_| RegisterFault::Busy)?;
        let pass = self.breaker.enter(Instant::now()).ok_or(RegisterFault::BreakerOpen)?;
        let fault = match self.send(request).await {
            Ok(answer) if answer.status() == good => {
                // What the answer says is judged later: one person's broken record must not shut everybody out.
                pass.succeeded();
                return Ok(answer);
            }
            // The question's fault, which one person's data may make over and over: the register itself is up.
            Ok(answer) if answer.status() == StatusCode::BAD_REQUEST => {
                pass.succeeded();
                return Err(RegisterFault::Unavailable(in_words(answer.status())));
            }
            Ok(answer) => RegisterFault::Unavailable(in_words(answer.status())),
            Err(GuardFault::TooLarge { limit, .. }) => {
                pass.succeeded();
                return Err(RegisterFault::Contract(format!("it is larger than {limit} bytes")));
            }
            Err(fault) => RegisterFault::Unavailable(fault.to_string()),
        };
        pass.failed(Instant::now());
        Err(fault)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<HttpRequest, RegisterFault> {
        let mut request = HttpRequest::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.url).parse().map_err(|_| {
            RegisterFault::Unavailable("register.http.url is no address".to_owned())
        })?;
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
    ) -> Result<Answer, RegisterFault> {
        // Without a whole pivot nobody is named.
        if Pivot::of(pivot, &self.rules.home_country, Derivation::LATEST).is_none() {
            return Ok(Answer::NotFound);
        }
        let mut request = self.request(Method::POST, "/identify", contract::question(pivot))?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(support_id.as_str()) {
            request.headers_mut().insert(REQUEST_ID, id);
        }
        let answer = self.ask(request, StatusCode::OK).await?;
        contract::answer(answer.headers(), answer.body(), pivot, &self.rules)
    }

    fn complaint(&self) -> Option<String> {
        (self.breaker.condition() != Condition::Closed).then(|| {
            "the register has failed several times in a row and is spared for a moment, so that logins that need it end at once; \
             mend: ask whoever runs it; the hub tries again by itself"
                .to_owned()
        })
    }

    async fn probe(&self) -> Result<(), RegisterFault> {
        let request = self.request(Method::GET, "/health", Vec::new())?;
        self.ask(request, StatusCode::NO_CONTENT).await.map(|_| ())
    }
}

/// A status that is no answer, and what an operator may look at.
fn in_words(status: StatusCode) -> String {
    let hint = match status.as_u16() {
        300..=399 => "; a redirect is not followed: correct register.http.url",
        401 | 403 => "; see register.http.client_certificate and register.http.bearer",
        400 => "; it finds the question malformed: its log names what, under the same X-Request-Id",
        404 | 405 => "; does register.http.url lead to the contract's paths?",
        200..=299 => "; the contract knows no such answer",
        _ => "",
    };
    format!("status {}{hint}", status.as_u16())
}

/// Once for each change.
fn tell(metrics: &Metrics, from: Condition, to: Condition) {
    metrics.register_breaker(to.label(), &Condition::LABELS);
    match (from, to) {
        (Condition::Closed, Condition::Open) => tracing::error!(
            failures = breaker::FAILURES,
            pause_seconds = breaker::PAUSE.as_secs(),
            "the register does not answer; it is left alone, and logins that need it end at once"
        ),
        (_, Condition::Closed) => tracing::info!("the register answers again"),
        (_, Condition::HalfOpen) => tracing::info!("the register is asked again, once"),
        (_, Condition::Open) => tracing::warn!("the register still does not answer"),
    }
}

#[cfg(test)]
mod tests;
