//! Summarizes the active files.

use std::path::Path;
use std::sync::Arc;

use super::ReloadableFiles;
use super::file_set::FileVersion;
use crate::reload::config_digest::{
    ConfigDigest, ConnectorDigest, DataProviderDigest, ServiceProviderDigest,
};
use crate::validation::data_providers::CheckedDataProvider;
use crate::validation::service_providers::CheckedServiceProvider;
use passerelle_connector::ConfiguredConnector;

impl ReloadableFiles {
    /// Returns the path of a file in the configuration folder: `locales/de.ftl`.
    fn relative_name(&self, path: &Path) -> String {
        path.strip_prefix(&self.context.folder).unwrap_or(path).display().to_string()
    }

    /// Returns a digest of the active versions, for comparison with another federation.
    pub fn digest(&self) -> ConfigDigest {
        let connector = |version: &Arc<FileVersion<Arc<ConfiguredConnector>>>| {
            let configured = &version.content;
            (configured.id.clone(), ConnectorDigest::new(&configured.file, &version.fields))
        };
        let service = |version: &Arc<FileVersion<CheckedServiceProvider>>| {
            let file = &version.content.file;
            (file.client_id.clone(), ServiceProviderDigest::new(file, &version.fields))
        };
        let provider = |version: &Arc<FileVersion<CheckedDataProvider>>| {
            let fields = Arc::clone(&version.fields);
            (version.content.file.client_id.clone(), DataProviderDigest { fields })
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
            email_domains: self.email_domains.digests(),
        }
    }
}
