//! How status lists and trust lists are fetched.

use async_trait::async_trait;
use http::header::ACCEPT;
use openidconnect::HttpRequest;

use passerelle_egress::safe_http_client::SafeHttpClient;

/// Why a document could not be fetched. For logs.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{0}")]
pub struct FetchError(pub String);

/// Fetches documents by URL.
#[async_trait]
pub trait DocumentFetcher: Send + Sync {
    /// Returns the body of a successful response.
    ///
    /// # Errors
    /// Why there is none, within the limits in size and time.
    async fn fetch_document(&self, url: &str, accept: &str) -> Result<Vec<u8>, FetchError>;
}

/// Fetches through the egress guard.
#[async_trait]
impl DocumentFetcher for SafeHttpClient {
    async fn fetch_document(&self, url: &str, accept: &str) -> Result<Vec<u8>, FetchError> {
        let mut request = HttpRequest::new(Vec::new());
        *request.uri_mut() =
            url.parse().map_err(|_| FetchError("its address is not a URL".into()))?;
        let accept = accept.parse().map_err(|_| FetchError("no media type".into()))?;
        request.headers_mut().insert(ACCEPT, accept);
        let response =
            self.send_with_retry(request).await.map_err(|error| FetchError(error.to_string()))?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            return Err(FetchError(format!("the server answered with status {status}")));
        }
        Ok(response.into_body())
    }
}
