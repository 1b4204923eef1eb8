//! Checks the service provider files of registered clients, which are not in the configuration
//! folder, by the rules of those that are.

use std::path::Path;
use std::sync::Arc;

use super::LoadContext;
use crate::config::model::ServiceProviderFile;
use crate::config::validation::service_providers::{self, HubSettings};
use crate::config::watching::reloadable_files::ReloadableFiles;
use crate::federation::ServiceProvider;
use crate::protocol::acr::Platform;
use crate::settings::{Diagnostic, SecretContext, SecretOwner, SourceFile};

/// Checks service provider files that are not in the configuration folder.
#[derive(Clone, Debug)]
pub struct ClientChecker(Arc<LoadContext>);

impl ReloadableFiles {
    /// Returns the checker with the settings of these files.
    #[must_use]
    pub fn client_checker(&self) -> ClientChecker {
        ClientChecker(Arc::clone(&self.context))
    }
}

impl ClientChecker {
    /// Checks the text of a file. The caller makes sure that it references no file, and checks its
    /// scopes.
    ///
    /// # Errors
    /// Returns every problem of the text.
    pub fn check(&self, text: &str) -> Result<ServiceProvider, Vec<Diagnostic>> {
        let context = &*self.0;
        let mut problems = Vec::new();
        let source =
            SourceFile::parse(Path::new("registration"), text).map_err(|problem| vec![problem])?;
        let Some(file) = source.deserialize::<ServiceProviderFile>(&mut problems) else {
            return Err(problems);
        };
        let settings = HubSettings {
            newest_subject_key: context.newest_subject_key(),
            platform: Some(context.platform),
            declarations: Some(&context.declarations),
            sandbox: context.kinds.sandbox,
        };
        let LoadContext { folder, environment, secrets, .. } = context;
        let secrets = SecretContext { folder, environment, secrets, owner: SecretOwner::Settings };
        let client =
            service_providers::check_file(&source, file, settings, &secrets, &mut problems);
        if problems.is_empty() {
            Ok(client.service_provider(&context.order, &context.choice.order))
        } else {
            Err(problems)
        }
    }

    /// Returns the platform of the hub.
    #[must_use]
    pub fn platform(&self) -> Platform {
        self.0.platform
    }
}
