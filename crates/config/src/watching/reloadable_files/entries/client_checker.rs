//! Checks the service provider files of registered clients, which are not in the configuration
//! folder, by the rules of those that are.

use std::path::Path;
use std::sync::Arc;

use super::LoadContext;
use crate::model::ServiceProviderFile;
use crate::validation::service_providers::{self, HubSettings};
use crate::watching::reloadable_files::ReloadableFiles;
use passerelle_federation::ServiceProvider;
use passerelle_grants::client_registration::CheckClientFile;
use passerelle_settings::{Diagnostic, SecretContext, SecretOwner, SourceFile};

impl ReloadableFiles {
    /// Returns a check of service provider files with the settings of these files.
    #[must_use]
    pub fn client_checker(&self) -> Arc<CheckClientFile> {
        let context = Arc::clone(&self.context);
        Arc::new(move |text| context.check_client_file(text))
    }
}

impl LoadContext {
    fn check_client_file(&self, text: &str) -> Result<ServiceProvider, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let source =
            SourceFile::parse(Path::new("registration"), text).map_err(|problem| vec![problem])?;
        let Some(file) = source.deserialize::<ServiceProviderFile>(&mut problems) else {
            return Err(problems);
        };
        let settings = HubSettings {
            newest_subject_key: self.newest_subject_key(),
            platform: Some(self.platform),
            declarations: Some(&self.declarations),
            sandbox: self.kinds.sandbox,
        };
        let Self { folder, environment, secrets, .. } = self;
        let secrets = SecretContext { folder, environment, secrets, owner: SecretOwner::Settings };
        let client =
            service_providers::check_file(&source, file, settings, &secrets, &mut problems);
        if problems.is_empty() {
            Ok(client.service_provider(&self.order, &self.choice.order))
        } else {
            Err(problems)
        }
    }
}
