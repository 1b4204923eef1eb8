//! Where an identity provider's metadata comes from: a file of the operator, an address, or a
//! metadata query (draft-young-md-query).
//!
//! Responsible for fetching, verifying and refreshing it. Only what the hub uses of the one entity
//! stays in memory. TLS proves nothing here: a document from the network must be signed by a key of
//! the operator.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::ACCEPT;
use openidconnect::HttpRequest;
use openssl::x509::X509;
use url::Url;

use crate::error_codes::SAML_METADATA;
use crate::metadata::{
    IdentityProviderMetadata, IdentityProviderMetadataError, find_identity_provider,
    verify_metadata,
};
use crate::settings::SamlKind;
use crate::xml::{Limits, VerificationKey, VerifiedXml};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::http_clients::{HttpClientOptions, read_ca_bundle};
use passerelle_connector::port::ConnectorContext;
use passerelle_connector::unusable_settings::{forbidden_address, not_absolute};
use passerelle_egress::cached_document::{
    CachedDocument, FetchedDocument, Freshness, cache_lifetime,
};
use passerelle_egress::safe_http_client::SafeHttpClient;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::FieldDiagnostic;
use passerelle_settings::diagnostic::CREATE_FILE;
use passerelle_telemetry::trace;

pub(crate) const METADATA_MEDIA_TYPE: &str = "application/samlmetadata+xml";
/// A `cacheDuration` outside of these is not followed: the first bounds the calls, the second how
/// long a key is used that the identity provider has withdrawn.
const CACHE_DURATIONS: (Duration, Duration) =
    (Duration::from_secs(60), Duration::from_secs(24 * 60 * 60));
/// How long a fetch may take in the background, or without a copy that could be used meanwhile: an
/// aggregate has some megabytes.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

type Metadata = Arc<IdentityProviderMetadata>;

/// Metadata of one identity provider, refreshed when it is due.
pub struct MetadataSource {
    env: Env,
    origin: MetadataOrigin,
}

enum MetadataOrigin {
    /// Read when the connector is built.
    File(Metadata),
    Address(Arc<FetchedMetadata>),
}

impl MetadataSource {
    /// Returns the source that the file names. Calls nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(
        connector: &ConnectorId,
        kind: &SamlKind,
        context: &ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let env = context.env.clone();
        let origin = match &kind.metadata_file {
            Some(path) => MetadataOrigin::File(read_file(path, &kind.entity_id, env.now())?),
            None => {
                MetadataOrigin::Address(Arc::new(FetchedMetadata::new(connector, kind, context)?))
            }
        };
        Ok(Self { env, origin })
    }

    /// Returns the metadata to use now. A copy due for a refresh is used while it is refreshed in the
    /// background, and the last good one while the address fails, until its `validUntil`.
    ///
    /// # Errors
    /// `SAML_METADATA` if there is none that may be used; the error of the call.
    pub async fn current(&self) -> Result<Metadata, ConnectorError> {
        let fetched = match &self.origin {
            MetadataOrigin::File(metadata) => return self.unexpired(Arc::clone(metadata)),
            MetadataOrigin::Address(fetched) => fetched,
        };
        let freshness = fetched.cached.freshness(self.env.now());
        let is_awaited = matches!(freshness, Freshness::Stale(_));
        let refresh = || {
            let fetched = Arc::clone(fetched);
            async move {
                let http = if is_awaited { &fetched.http } else { &fetched.refresh_http };
                fetched.refresh(http).await
            }
        };
        let copy = freshness.or_refresh(refresh).await?;
        self.unexpired(copy)
    }

    /// Returns the metadata after a fetch over a new connection, also if the copy in use is fresh.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub async fn fetch(&self) -> Result<Metadata, ConnectorError> {
        match &self.origin {
            MetadataOrigin::File(metadata) => self.unexpired(Arc::clone(metadata)),
            MetadataOrigin::Address(fetched) => {
                Box::pin(fetched.refresh(&fetched.probe_http)).await
            }
        }
    }

    /// Verifies a message by the metadata in use. If none of its keys did, verifies it once more by
    /// newly fetched metadata, which may have a new key. Returns the outcome and what it is by.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub async fn verify_message<T, E>(
        &self,
        verify: impl Fn(&IdentityProviderMetadata) -> Result<T, E>,
        is_unknown_key: impl Fn(&E) -> bool,
    ) -> Result<(Result<T, E>, Metadata), ConnectorError> {
        let metadata = self.current().await?;
        let verified = verify(&metadata);
        if verified.as_ref().is_err_and(is_unknown_key)
            && let Some(newer) = self.newer_than(&metadata).await
        {
            return Ok((verify(&newer), newer));
        }
        Ok((verified, metadata))
    }

    /// Returns metadata that replaced this one, whose keys did not verify something; `None` if there
    /// is none. Fetches at most once a minute.
    pub async fn newer_than(&self, lacking: &Metadata) -> Option<Metadata> {
        let MetadataOrigin::Address(fetched) = &self.origin else { return None };
        let fetch = fetched.fetch(&fetched.http);
        let newer = Box::pin(fetched.cached.fetch_early(lacking, &self.env, fetch)).await.ok()?;
        (!Arc::ptr_eq(&newer, lacking)).then_some(newer)
    }

    /// Returns the last good metadata, whatever its age; `None` before the first fetch.
    pub fn latest(&self) -> Option<Metadata> {
        match &self.origin {
            MetadataOrigin::File(metadata) => Some(Arc::clone(metadata)),
            MetadataOrigin::Address(fetched) => fetched.cached.latest(),
        }
    }

    /// Returns when the metadata was fetched; `None` for a file and before the first fetch.
    pub fn fetched_at(&self) -> Option<Timestamp> {
        match &self.origin {
            MetadataOrigin::File(_) => None,
            MetadataOrigin::Address(fetched) => fetched.cached.fetched_at(),
        }
    }

    /// Returns until when the operator must replace a file, if it says so.
    pub fn file_valid_until(&self) -> Option<Timestamp> {
        match &self.origin {
            MetadataOrigin::File(metadata) => metadata.valid_until,
            MetadataOrigin::Address(_) => None,
        }
    }

    /// Returns whether the metadata is fetched.
    pub const fn is_remote(&self) -> bool {
        matches!(self.origin, MetadataOrigin::Address(_))
    }

    /// An expired copy is not used, whatever keeps the hub from a newer one: a key that was
    /// withdrawn since could be in it.
    fn unexpired(&self, metadata: Metadata) -> Result<Metadata, ConnectorError> {
        if metadata.valid_until.is_none_or(|end| self.env.now() < end) {
            return Ok(metadata);
        }
        let detail = match self.origin {
            MetadataOrigin::File(_) => {
                "the validUntil of metadata_file has passed; download and verify it again"
            }
            MetadataOrigin::Address(_) => {
                "the validUntil of the last metadata has passed, and no newer one can be fetched"
            }
        };
        Err(ConnectorError::new(SAML_METADATA, detail))
    }
}

fn read_file(path: &Path, entity_id: &str, now: Timestamp) -> Result<Metadata, FieldDiagnostic> {
    const KEY: &str = "kind.saml.metadata_file";
    let bytes = std::fs::read(path).map_err(|error| {
        let message = format!("names {}, which can't be read: {error}", path.display());
        FieldDiagnostic::new(KEY, message, CREATE_FILE)
    })?;
    let metadata = VerifiedXml::from_operators_file(&bytes, Limits::METADATA)
        .map_err(Into::into)
        .and_then(|xml| find_identity_provider(&xml, entity_id, None, now));
    metadata.map(Arc::new).map_err(|error| {
        let message = format!("names a file that can't be used: {error}");
        let fix = "download the metadata of the identity provider again, and check that entity_id is its entityID";
        FieldDiagnostic::new(KEY, message, fix)
    })
}

/// Metadata on the network.
struct FetchedMetadata {
    connector: ConnectorId,
    entity_id: String,
    url: Url,
    /// Who may sign it: several while the signer changes its key.
    signers: Vec<VerificationKey>,
    max_validity: Duration,
    /// For a fetch that a login waits for although it could use the last copy.
    http: SafeHttpClient,
    /// With [`REFRESH_TIMEOUT`].
    refresh_http: SafeHttpClient,
    /// Opens a new connection for each call.
    probe_http: SafeHttpClient,
    cached: CachedDocument<IdentityProviderMetadata, ConnectorError>,
    env: Env,
}

impl FetchedMetadata {
    fn new(
        connector: &ConnectorId,
        kind: &SamlKind,
        context: &ConnectorContext,
    ) -> Result<Self, FieldDiagnostic> {
        let ca_bundle = read_ca_bundle("kind.saml.ca", kind.ca.as_deref())?;
        let options = HttpClientOptions {
            insecure_http: kind.insecure_http,
            internal_hosts: &kind.internal_hosts,
            ca_bundle: ca_bundle.as_ref(),
            client_identity: None,
        };
        let (http, probe_http) = options.clients("kind.saml", &context.http_clients)?;
        let (key, url) = match (&kind.metadata_url, &kind.metadata_query_url) {
            (Some(url), _) => ("kind.saml.metadata_url", Url::parse(url)),
            (None, base) => {
                let base = base.as_deref().unwrap_or_default();
                let url = Url::parse(base).map(|base| query_url(&base, &kind.entity_id));
                ("kind.saml.metadata_query_url", url)
            }
        };
        let url = url.map_err(|_| not_absolute(key))?;
        http.check_url(&url).map_err(|error| forbidden_address(key, &error))?;
        let limit = Limits::METADATA.bytes;
        Ok(Self {
            connector: connector.clone(),
            entity_id: kind.entity_id.clone(),
            url,
            signers: read_signers(kind.metadata_signers.as_deref())?,
            max_validity: DAY * u32::try_from(kind.metadata_max_validity_days).unwrap_or(1),
            refresh_http: http
                .clone()
                .with_max_body_bytes(limit)
                .with_total_timeout(REFRESH_TIMEOUT),
            http: http.with_max_body_bytes(limit),
            probe_http: probe_http.with_max_body_bytes(limit).with_total_timeout(REFRESH_TIMEOUT),
            cached: CachedDocument::default(),
            env: context.env.clone(),
        })
    }

    async fn refresh(&self, http: &SafeHttpClient) -> Result<Metadata, ConnectorError> {
        self.cached.fetch(&self.env, self.fetch(http)).await
    }

    async fn fetch(
        &self,
        http: &SafeHttpClient,
    ) -> Result<FetchedDocument<IdentityProviderMetadata>, ConnectorError> {
        self.fetch_verified(http).await.inspect_err(|error| {
            if let Some(since) = self.cached.fetched_at() {
                let age = self.env.now().since(since).as_secs();
                tracing::warn!(connector = %self.connector, %error, age, "metadata not refreshed, the last good copy is in use");
            }
        })
    }

    async fn fetch_verified(
        &self,
        http: &SafeHttpClient,
    ) -> Result<FetchedDocument<IdentityProviderMetadata>, ConnectorError> {
        let request: HttpRequest = http::Request::get(self.url.as_str())
            .header(ACCEPT, METADATA_MEDIA_TYPE)
            .body(Vec::new())
            .map_err(|_| ConnectorError::new(SAML_METADATA, "its address is no URL"))?;
        let sending = http.send_with_retry(request);
        let response = trace::start_span("idp document").run(sending).await?;
        if response.status().as_u16() != 200 {
            return Err(ConnectorError::unexpected_status("the metadata's server", &response));
        }
        let lifetime = cache_lifetime(response.headers());
        let (now, max_validity) = (self.env.now(), self.max_validity);
        let (entity_id, signers) = (self.entity_id.clone(), self.signers.clone());
        // An aggregate of a federation takes long enough to delay the other logins of this thread.
        let reading = tokio::task::spawn_blocking(move || {
            let verified = verify_metadata(response.body(), &signers)?;
            find_identity_provider(&verified, &entity_id, Some(max_validity), now)
        });
        let read = reading.await.map_err(|error| {
            ConnectorError::new(ErrorCode::Internal, format!("the metadata is not read: {error}"))
        })?;
        let value = read.map_err(metadata_error)?;
        if value.skipped_keys > 0 {
            let skipped = value.skipped_keys;
            tracing::warn!(connector = %self.connector, skipped, "keys of the metadata can't be used");
        }
        let (shortest, longest) = CACHE_DURATIONS;
        let lifetime = value.cache_duration.unwrap_or(lifetime).clamp(shortest, longest);
        let left = value.valid_until.map_or(lifetime, |end| end.since(now));
        Ok(FetchedDocument { value, lifetime: lifetime.min(left) })
    }
}

/// Returns the address of an entity at a metadata query service (draft-young-md-query §3.1).
fn query_url(base: &Url, entity_id: &str) -> Url {
    let encoded: String = url::form_urlencoded::byte_serialize(entity_id.as_bytes()).collect();
    let mut url = base.clone();
    let path = base.path().trim_end_matches('/');
    url.set_path(&format!("{path}/entities/{}", encoded.replace('+', "%20")));
    url
}

fn read_signers(path: Option<&Path>) -> Result<Vec<VerificationKey>, FieldDiagnostic> {
    const KEY: &str = "kind.saml.metadata_signers";
    let path = path.unwrap_or_else(|| Path::new(""));
    let pem = std::fs::read(path).map_err(|error| {
        let message = format!("names {}, which can't be read: {error}", path.display());
        FieldDiagnostic::new(KEY, message, CREATE_FILE)
    })?;
    let certificates = X509::stack_from_pem(&pem).unwrap_or_default();
    let key = |certificate: &X509| {
        certificate.to_der().ok().and_then(|der| VerificationKey::from_certificate(&der).ok())
    };
    let signers: Vec<_> = certificates.iter().filter_map(key).collect();
    if signers.is_empty() || signers.len() < certificates.len() {
        let message = "has no PEM certificate, or one whose key is neither RSA of 2048 to 4096 bits nor EC on P-256 or P-384";
        let fix = "write the certificate that the federation publishes for its metadata, and while it changes the next one, too";
        return Err(FieldDiagnostic::new(KEY, message, fix));
    }
    Ok(signers)
}

/// Returns the error of a login for metadata that can't be used, in words for the operator.
fn metadata_error(error: IdentityProviderMetadataError) -> ConnectorError {
    use crate::xml::XmlSignatureError as S;
    let detail = match error {
        IdentityProviderMetadataError::Signature(S::Signature) => {
            "the metadata is signed by a key that metadata_signers does not have".to_owned()
        }
        IdentityProviderMetadataError::Signature(S::Missing) => {
            "the metadata is not signed; verify a copy and use metadata_file".to_owned()
        }
        IdentityProviderMetadataError::ValidTooLong => "the metadata has no validUntil, or one later than metadata_max_validity_days: an old copy could be sent again".to_owned(),
        error => format!("the metadata can't be used: {error}"),
    };
    ConnectorError::new(SAML_METADATA, detail)
}
