//! Where the metadata of an identity provider comes from, and the copy in use.

use std::sync::Arc;

use crate::error_codes::SAML_METADATA;
use crate::metadata::{IdentityProviderMetadata, find_identity_provider};
use crate::settings::SamlKind;
use crate::xml::{Limits, VerifiedXml};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::port::ConnectorContext;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_settings::FieldDiagnostic;
use passerelle_settings::diagnostic::CREATE_FILE;

/// Metadata of one identity provider.
pub enum MetadataSource {
    /// From a file that the operator has verified, read when the connector is built.
    File { metadata: Arc<IdentityProviderMetadata>, env: Env },
}

impl MetadataSource {
    /// Returns the source that the file names. Calls nothing.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub fn new(kind: &SamlKind, context: &ConnectorContext) -> Result<Self, FieldDiagnostic> {
        const KEY: &str = "kind.saml.metadata_file";
        let Some(path) = &kind.metadata_file else {
            let fix = "write metadata_file = \"idp.xml\"";
            return Err(FieldDiagnostic::new(KEY, "is missing", fix));
        };
        let bytes = std::fs::read(path).map_err(|error| {
            let message = format!("names {}, which can't be read: {error}", path.display());
            FieldDiagnostic::new(KEY, message, CREATE_FILE)
        })?;
        let now = context.env.now();
        let metadata = VerifiedXml::from_operators_file(&bytes, Limits::METADATA)
            .map_err(Into::into)
            .and_then(|xml| find_identity_provider(&xml, &kind.entity_id, None, now))
            .map_err(|error| {
                let message = format!("names a file that can't be used: {error}");
                let fix = "download the metadata of the identity provider again, and check that entity_id is its entityID";
                FieldDiagnostic::new(KEY, message, fix)
            })?;
        Ok(Self::File { metadata: Arc::new(metadata), env: context.env.clone() })
    }

    /// Returns the metadata to use now.
    ///
    /// # Errors
    /// `SAML_METADATA` if there is none that may be used, or it can't be fetched.
    pub async fn current(&self) -> Result<Arc<IdentityProviderMetadata>, ConnectorError> {
        match self {
            Self::File { metadata, env } => {
                if metadata.valid_until.is_some_and(|end| end <= env.now()) {
                    let detail = "the validUntil of metadata_file has passed; download it again";
                    return Err(ConnectorError::new(SAML_METADATA, detail));
                }
                Ok(Arc::clone(metadata))
            }
        }
    }

    /// Returns the metadata after a fetch; also if the copy in use is still fresh.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub async fn fetch(&self) -> Result<Arc<IdentityProviderMetadata>, ConnectorError> {
        self.current().await
    }

    /// Returns other metadata than `used`, which lacks the key of a response; fetches it at most once
    /// a minute. `None` if there is no other.
    ///
    /// # Errors
    /// As [`Self::current`].
    pub async fn newer_than(
        &self,
        used: &Arc<IdentityProviderMetadata>,
    ) -> Result<Option<Arc<IdentityProviderMetadata>>, ConnectorError> {
        let current = self.current().await?;
        Ok((!Arc::ptr_eq(&current, used)).then_some(current))
    }

    /// Returns whether the metadata is fetched.
    pub const fn is_remote(&self) -> bool {
        match self {
            Self::File { .. } => false,
        }
    }

    /// Returns the last good metadata, whatever its age; `None` before the first fetch.
    pub fn latest(&self) -> Option<Arc<IdentityProviderMetadata>> {
        match self {
            Self::File { metadata, .. } => Some(Arc::clone(metadata)),
        }
    }

    /// Returns when the metadata was fetched; `None` for a file and before the first fetch.
    pub fn fetched_at(&self) -> Option<Timestamp> {
        match self {
            Self::File { .. } => None,
        }
    }
}
