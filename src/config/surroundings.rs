//! What one connector's file is judged against: the hub's settings and scopes, and no other file. So a connector can be
//! checked while others, or service providers, are not in order; or where there is no hub at all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::connectors::{self, Draft};
use super::environment::Environment;
use super::model::{self, Settings, SubjectSource};
use super::problem::Problem;
use super::scopes::{self, Tables};
use super::source::Source;
use super::{Context, Sandbox, data_providers, overlaid, service_providers, variables_of_connectors};
use crate::protocol::acr::Platform;

/// Where a connector would run.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub platform: Platform,
    /// Without a slash at its end; `None` where there is no hub.
    pub base_url: Option<String>,
    pub subject: SubjectSource,
    pub home_country: String,
    /// Folder of the hub's keys; `None` where there is no hub.
    pub keys: Option<PathBuf>,
    pub scopes: Tables,
    pub sandbox: Sandbox,
    folder: PathBuf,
}

impl Surroundings {
    /// Those of a configuration folder: `passerelle.toml` and `scopes.toml`.
    ///
    /// # Errors
    /// What is wrong in those two.
    pub fn of_folder(folder: &Path, environment: &Environment) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let scopes = scopes::load(&folder.join("scopes.toml"), &mut problems);
        let settings = settings(folder, environment, &mut problems);
        match (scopes, settings) {
            (Some(scopes), Some(settings)) if problems.is_empty() => Ok(Self {
                platform: settings.platform,
                base_url: Some(settings.base_url.trim_end_matches('/').to_owned()),
                subject: settings.subject,
                home_country: settings.home_country,
                keys: Some(folder.join(settings.keys)),
                scopes: scopes.1,
                sandbox: Sandbox::of(settings.sandbox),
                folder: folder.to_owned(),
            }),
            _ => Err(problems),
        }
    }

    /// Those of a hub that keeps every default, on the standard platform. Paths count from `folder`.
    #[must_use]
    pub fn alone(folder: &Path) -> Self {
        Self {
            platform: Platform::Standard,
            base_url: None,
            subject: SubjectSource::default(),
            home_country: model::defaults::home_country(),
            keys: None,
            scopes: Tables::default(),
            sandbox: Sandbox::On,
            folder: folder.to_owned(),
        }
    }

    /// Reads and checks one connector's file. A secret that is not there is a problem like any other, and leaves the
    /// rest to be looked at.
    #[must_use]
    pub fn connector(&self, file: &Path, environment: &Environment) -> Draft {
        connectors::read_file(file, self.sandbox, self.subject, &Context { folder: &self.folder, environment })
    }
}

fn settings(folder: &Path, environment: &Environment, problems: &mut Vec<Problem>) -> Option<Settings> {
    let main = Source::read(&folder.join("passerelle.toml")).map_err(|problem| problems.push(problem)).ok()?;
    let connectors = main.text("connectors").map_or_else(model::defaults::connectors, PathBuf::from);
    // Their own faults are for `passerelle check`; here they only say which variables are no settings.
    let mut elsewhere = Vec::new();
    let of_services = service_providers::read(&folder.join("service-providers"), &mut elsewhere);
    let of_data = data_providers::read(&folder.join("data-providers"), &mut elsewhere);
    let mut reserved: BTreeSet<String> = of_services.iter().flat_map(|draft| draft.source.variables_referred_to()).collect();
    reserved.extend(of_data.iter().flat_map(|draft| draft.source.variables_referred_to()));
    reserved.extend(variables_of_connectors(&folder.join(connectors)));
    overlaid(main, environment, reserved, problems).shape(problems)
}
