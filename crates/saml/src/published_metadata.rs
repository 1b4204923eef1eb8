//! The metadata that the hub publishes for one identity provider.
//!
//! Responsible for its content, its signature and how long a document is served: each needs several
//! signatures, and anyone can ask for it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use url::Url;

use crate::connector::SamlConnector;
use crate::service_provider_keys::REQUEST_ALGORITHM;
use crate::signed_document::UnsignedDocument;
use crate::sp_metadata::{MetadataValidity, ServiceProviderMetadata};
use passerelle_connector::error::ConnectorError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// How long one document is served and may be cached, half of the time between a key's publication and its use.
const MAX_AGE: Duration = Duration::from_secs(600);
/// How long a signed document is valid. One that is not signed may be copied by hand, and has no end.
const SIGNED_VALIDITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The document that is served now.
#[derive(Default)]
pub(crate) struct PublishedMetadata(ArcSwapOption<MetadataDocument>);

struct MetadataDocument {
    xml: String,
    base_url: String,
    made_at: Timestamp,
}

impl SamlConnector {
    /// Returns the hub's metadata for this identity provider. `base_url` has no slash at its end.
    ///
    /// # Errors
    /// As [`ServiceProviderKeys::sign`](crate::service_provider_keys::ServiceProviderKeys::sign).
    pub(crate) async fn published_metadata(
        &self,
        base_url: &str,
    ) -> Result<String, ConnectorError> {
        let now = self.env.now();
        let is_current = |document: &Arc<MetadataDocument>| {
            document.base_url == base_url && now.since(document.made_at) < MAX_AGE
        };
        if let Some(document) = self.published.0.load_full().filter(is_current) {
            return Ok(document.xml.clone());
        }
        let xml = self.make_metadata(base_url, now).await?;
        let document =
            MetadataDocument { xml: xml.clone(), base_url: base_url.to_owned(), made_at: now };
        self.published.0.store(Some(Arc::new(document)));
        Ok(xml)
    }

    async fn make_metadata(
        &self,
        base_url: &str,
        now: Timestamp,
    ) -> Result<String, ConnectorError> {
        let hub = self.service_provider(base_url);
        let host = Url::parse(base_url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let certificates = self.keys.certificates(&host.unwrap_or_default(), now).await?;
        let metadata = ServiceProviderMetadata {
            id: &format!("_{}", self.env.entropy().token()),
            entity_id: &hub.entity_id,
            validity: self.kind.sign_metadata.then_some(MetadataValidity {
                valid_until: now + SIGNED_VALIDITY,
                cache_duration: MAX_AGE,
            }),
            consumer_url: &hub.consumer_url,
            logout_url: self.kind.single_logout.then_some(hub.logout_url.as_str()),
            signing_certificates: &certificates.signing,
            encryption_certificates: &certificates.encryption,
            signs_requests: match self.metadata.latest() {
                Some(metadata) => self.signs_requests(&metadata),
                None => self.kind.sign_requests,
            },
            kind: &self.kind,
        };
        let xml = metadata.to_xml();
        if !self.kind.sign_metadata {
            return Ok(xml);
        }
        let mut unsigned = UnsignedDocument::new(&xml, REQUEST_ALGORITHM)
            .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))?;
        if let Some(current) = certificates.signing.first() {
            unsigned = unsigned.with_certificate(current);
        }
        let signature = self.keys.sign(unsigned.signing_input(), now).await?;
        Ok(unsigned.with_signature(&signature))
    }
}
