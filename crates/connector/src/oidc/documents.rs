//! Fetches the public documents of an identity provider: its metadata and its keys.

use http::header::ACCEPT;
use openidconnect::{HttpRequest, HttpResponse};

use crate::clock_skew::ClockSkew;
use crate::error::ConnectorError;
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_telemetry::trace;

/// Client for the documents of one identity provider.
#[derive(Clone, Copy)]
pub(crate) struct DocumentClient<'a> {
    pub http: &'a SafeHttpClient,
    pub env: &'a Env,
    pub clock_skew: &'a ClockSkew,
}

impl DocumentClient<'_> {
    /// Fetches a JSON document, and measures the clock skew that its `Date` shows.
    ///
    /// # Errors
    /// Returns an error if the call fails, or the status is not 200.
    pub(crate) async fn get(self, url: &str) -> Result<HttpResponse, ConnectorError> {
        let request: HttpRequest =
            http::Request::get(url).header(ACCEPT, "application/json").body(Vec::new()).map_err(
                |_| ConnectorError::new(ErrorCode::IdpDiscovery, "the address is not a URL"),
            )?;
        let sent_at = self.env.now();
        let sending = self.http.send_with_retry(request);
        let response = trace::start_span("idp document").run(sending).await;
        let response = response.inspect_err(|error| self.clock_skew.record_failure(error))?;
        self.clock_skew.record_date(response.headers(), sent_at, self.env.now());
        match response.status().as_u16() {
            200 => Ok(response),
            status @ 300..=399 => {
                let message = format!(
                    "a document was answered with status {status}: redirects are not followed, so configure the final address"
                );
                Err(ConnectorError::new(ErrorCode::IdpStatus, message))
            }
            _ => Err(ConnectorError::unexpected_status("the document's server", &response)),
        }
    }
}
