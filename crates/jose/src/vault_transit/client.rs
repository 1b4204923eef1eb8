//! Calls of the Transit engine: `POST /v1/transit/sign/:name` and others.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use openidconnect::{HttpRequest, HttpResponse};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::options::TransitOptions;
use super::token_file::TokenFile;
use crate::key_device::KeyDeviceError;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient, TlsOptions,
};
use passerelle_protocol::ids::Secret;
use passerelle_telemetry::CheckFinding;

/// Calls that are under way at the same time; more fail at once.
pub(super) const MAX_CONCURRENT_CALLS: usize = 256;
/// No answer of these calls is near this size.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-vault-token");
const NAMESPACE_HEADER: HeaderName = HeaderName::from_static("x-vault-namespace");
/// Agents and proxies demand it, against server-side request forgery through them.
const REQUEST_HEADER: HeaderName = HeaderName::from_static("x-vault-request");

/// A call of the engine.
pub(super) struct TransitCall<'a> {
    pub method: Method,
    /// Below the engine's path: `sign`.
    pub operation: &'static str,
    /// Name of the key: letters, digits, and `_`, `-`, `.` between them.
    pub key: &'a str,
    pub body: Option<Value>,
}

/// The engine, and the token for it.
pub(super) struct TransitClient {
    http: SafeHttpClient,
    /// Address of the engine: `https://vault.example.org:8200/v1/transit`.
    engine: String,
    namespace: Option<String>,
    token: TokenFile,
    call_permits: Arc<Semaphore>,
}

impl TransitClient {
    /// Creates the client. Makes no call.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up, or the address may not be called.
    pub(super) fn new(options: &TransitOptions) -> Result<Self, EgressError> {
        let TransitOptions { address, mount, namespace, token, ca, timeout } = options;
        let schemes = match address.scheme() {
            "http" => AllowedSchemes::HttpAndHttps,
            _ => AllowedSchemes::HttpsOnly,
        };
        let limits = CallLimits {
            connect_timeout: CallLimits::DEFAULT.connect_timeout.min(*timeout),
            total_timeout: *timeout,
            max_body_bytes: MAX_ANSWER_BYTES,
        };
        // The operator names this one server, which is inside as a rule.
        let host = address.host_str().unwrap_or_default().to_owned();
        let tls = TlsOptions { ca: ca.as_deref(), client_identity: None };
        let http = SafeHttpClient::with_tls(schemes, &[host], limits, tls)?;
        http.check_url(address)?;
        Ok(Self {
            http,
            engine: format!("{}/v1/{mount}", address.as_str().trim_end_matches('/')),
            namespace: namespace.clone(),
            token: TokenFile::new(token.clone()),
            call_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
        })
    }

    /// Makes a call, and returns the response of any status. A token that was refused is read
    /// again, and the call repeated if an agent has renewed it; a failed connection is tried again
    /// once.
    ///
    /// # Errors
    /// `Busy`, `Unavailable`.
    pub(super) async fn send(
        &self,
        call: &TransitCall<'_>,
    ) -> Result<HttpResponse, KeyDeviceError> {
        let _permit = self.call_permits.try_acquire().map_err(|_| KeyDeviceError::Busy)?;
        let reading = self.token.current().await;
        let response = self.send_once(call, &reading.token).await?;
        if response.status() != StatusCode::FORBIDDEN {
            return Ok(response);
        }
        let renewed = self.token.read_again(&reading).await.token;
        if renewed == reading.token { Ok(response) } else { self.send_once(call, &renewed).await }
    }

    /// Returns what the operator has to fix at the token file, as of the last call.
    pub(super) fn token_finding(&self) -> Option<CheckFinding> {
        let what =
            format!("{}, and the last token that was read stays in use", self.token.problem()?);
        let fix = "write the token into that file, or start the agent that does, and let the user that \
                   runs the hub read it; the hub reads it again by itself";
        Some(CheckFinding::new(format!("vault_transit.token: {what}"), fix))
    }

    async fn send_once(
        &self,
        call: &TransitCall<'_>,
        token: &Secret<String>,
    ) -> Result<HttpResponse, KeyDeviceError> {
        let request = self.request(call, token)?;
        let response = self.http.send_with_retry(request).await;
        response.map_err(|error| KeyDeviceError::Unavailable(error.to_string()))
    }

    fn request(
        &self,
        call: &TransitCall<'_>,
        token: &Secret<String>,
    ) -> Result<HttpRequest, KeyDeviceError> {
        let unusable = |key: &str| {
            KeyDeviceError::Unavailable(format!("vault_transit.{key} can't be sent in a request"))
        };
        let body = call.body.as_ref().map(Value::to_string).unwrap_or_default();
        let mut request = HttpRequest::new(body.into_bytes());
        *request.method_mut() = call.method.clone();
        let target = format!("{}/{}/{}", self.engine, call.operation, call.key);
        *request.uri_mut() = target.parse().map_err(|_| unusable("address"))?;
        let headers = request.headers_mut();
        let mut value = HeaderValue::from_str(token.reveal()).map_err(|_| unusable("token"))?;
        value.set_sensitive(true);
        headers.insert(TOKEN_HEADER, value);
        headers.insert(REQUEST_HEADER, HeaderValue::from_static("true"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(namespace) = &self.namespace {
            let value = HeaderValue::from_str(namespace).map_err(|_| unusable("namespace"))?;
            headers.insert(NAMESPACE_HEADER, value);
        }
        Ok(request)
    }
}

/// Returns the member `data` of an answer. The text of an answer that has none is not repeated.
///
/// # Errors
/// `Unavailable`.
pub(super) fn answer_data<T: DeserializeOwned>(
    response: &HttpResponse,
) -> Result<T, KeyDeviceError> {
    #[derive(Deserialize)]
    struct Answer<T> {
        data: T,
    }
    let answer: Result<Answer<T>, _> = serde_json::from_slice(response.body());
    answer.map(|answer| answer.data).map_err(|_| unexpected("its answer lacks what it must have"))
}

/// Returns the error for a status that is no answer to the call. A limit of the rate says nothing
/// about the server: anyone can cause load.
pub(super) fn status_error(status: StatusCode) -> KeyDeviceError {
    if status == StatusCode::TOO_MANY_REQUESTS {
        return KeyDeviceError::Busy;
    }
    let hint = match status.as_u16() {
        300..=399 => "a redirect is not followed; correct vault_transit.address",
        400 => "it rejects the call",
        403 => "it refuses the token; check vault_transit.token and the token's policy",
        404 => {
            "it has no such engine or key; check vault_transit.mount and vault_transit.namespace"
        }
        503 => "it is sealed or in maintenance",
        _ => "see its log",
    };
    unexpected(&format!("status {}: {hint}", status.as_u16()))
}

/// Returns the error for an answer that no Vault server gives.
pub(super) fn unexpected(what: &str) -> KeyDeviceError {
    KeyDeviceError::Unavailable(format!("the Vault server answers wrongly: {what}"))
}
