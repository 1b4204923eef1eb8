//! Checks the service provider files of registered clients, which are not in the configuration
//! folder, by the rules of those that are.

use std::path::Path;
use std::sync::Arc;

use super::LoadContext;
use crate::model::ServiceProviderFile;
use crate::reload::reloadable_files::ReloadableFiles;
use crate::reload::reloadable_files::scanning::unless_problems;
use crate::validation::service_providers;
use passerelle_extension::ServiceProviderFileCheck;
use passerelle_federation::ServiceProvider;
use passerelle_settings::{Diagnostic, FileCheck, SourceFile};

impl ReloadableFiles {
    /// Returns a check of service provider files with the settings of these files.
    pub fn service_provider_check(&self) -> Arc<ServiceProviderFileCheck> {
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
        let mut check = FileCheck::new(&source, &mut problems);
        let checked = service_providers::check_file(
            &mut check,
            file,
            self.hub_settings(),
            &self.secret_context(),
        );
        unless_problems(problems, Arc::unwrap_or_clone(checked.service_provider))
    }
}
