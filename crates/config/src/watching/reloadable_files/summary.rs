//! Summarizes the active files.

use std::path::Path;
use std::sync::Arc;

use super::ReloadableFiles;
use super::entries::{ConnectorEntry, DataProviderEntry, ServiceProviderEntry};
use super::file_set::FileVersion;
use crate::watching::config_digest::{
    ConfigDigest, ConnectorDigest, DataProviderDigest, ServiceProviderDigest,
};

impl ReloadableFiles {
    /// Returns the path of a file in the configuration folder: `locales/de.ftl`.
    fn relative_name(&self, path: &Path) -> String {
        path.strip_prefix(&self.context.folder).unwrap_or(path).display().to_string()
    }

    /// Returns a digest of the active versions, for comparison with another federation.
    #[must_use]
    pub fn digest(&self) -> ConfigDigest {
        let connector = |version: &Arc<FileVersion<ConnectorEntry>>| {
            let ConnectorEntry { configured, metadata } = &version.content;
            (configured.id.clone(), ConnectorDigest::new(metadata, &version.fields))
        };
        let service = |version: &Arc<FileVersion<ServiceProviderEntry>>| {
            let client = &version.content.client;
            (
                client.file.client_id.clone(),
                ServiceProviderDigest::new(&client.file, &version.fields),
            )
        };
        let provider = |version: &Arc<FileVersion<DataProviderEntry>>| {
            let fields = Arc::clone(&version.fields);
            (version.content.registered.file.client_id.clone(), DataProviderDigest { fields })
        };
        ConfigDigest {
            connectors: self.connectors.active_versions().map(connector).collect(),
            service_providers: self.services.active_versions().map(service).collect(),
            data_providers: self.data_providers.active_versions().map(provider).collect(),
            scopes: self
                .scopes
                .active_versions()
                .next()
                .map(|version| Arc::clone(&version.fields))
                .unwrap_or_default(),
            languages: self
                .languages
                .active_versions()
                .map(|version| (self.relative_name(version.source.path()), version))
                .map(|(name, version)| (name, Arc::clone(&version.fields)))
                .collect(),
            notices: self
                .notices
                .active_versions()
                .next()
                .map(|version| Arc::clone(&version.fields))
                .unwrap_or_default(),
            places: self.places.digests(),
        }
    }
}
