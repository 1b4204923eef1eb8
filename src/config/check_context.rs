//! What one connector's file is judged against: the hub's settings and scopes, and no other file. So a connector can be
//! checked while others, or service providers, are not in order; or where there is no hub at all.

use std::path::{Path, PathBuf};

use super::connector_findings;
use super::connectors::{self, Draft};
use super::environment::Environment;
use super::model::{self, ConnectorFile, Settings, SubjectSource};
use super::problem::Problem;
use super::scopes::{self, Tables};
use super::secret_rules::{self, Context, Owner, SecretRules};
use super::source::Source;
use super::{Sandbox, data_providers, overlaid, service_providers, together};
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
    /// Ids of the choice page's headings; `None` where there is no hub.
    pub categories: Option<Vec<String>>,
    folder: PathBuf,
    secrets: SecretRules,
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
            (Some(scopes), Some((settings, secrets))) if problems.is_empty() => Ok(Self {
                platform: settings.platform,
                base_url: Some(settings.base_url.trim_end_matches('/').to_owned()),
                subject: settings.subject,
                home_country: settings.home_country,
                keys: Some(folder.join(settings.keys)),
                scopes: scopes.1,
                sandbox: Sandbox::of(settings.sandbox),
                categories: Some(
                    settings.choice.categories.into_iter().map(|category| category.id).collect(),
                ),
                folder: folder.to_owned(),
                secrets,
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
            categories: None,
            folder: folder.to_owned(),
            secrets: SecretRules::default(),
        }
    }

    /// Reads and checks one connector's file. A secret that is not there is a problem like any other, and leaves the
    /// rest to be looked at.
    #[must_use]
    pub fn connector(&self, file: &Path, environment: &Environment) -> Draft {
        let Self { folder, secrets, sandbox, .. } = self;
        let context = Context { folder, environment, secrets, owner: Owner::Settings };
        let mut draft = connectors::read_file(file, *sandbox, self.subject, &context);
        draft.problems.extend(self.shared_secret(file));
        draft.problems.extend(
            Source::read(file).iter().flat_map(|source| secret_rules::exposed(source, folder)),
        );
        draft
    }

    /// What holds in the file and deserves a look where it would run, as `check` of the whole folder says it too.
    #[must_use]
    pub fn warnings(&self, path: &Path, file: &ConnectorFile) -> Vec<Problem> {
        let unknown = |category: &String| {
            self.categories.as_ref().is_some_and(|known| !known.contains(category))
        };
        let category = file.category.as_ref().filter(|category| unknown(category));
        let mut warnings = connector_findings::warnings(path, file, self.platform);
        warnings.extend(category.map(|_| connector_findings::unknown_category(path)));
        warnings
    }

    /// The secret that the connector would take from a service provider or a data provider of the same name.
    fn shared_secret(&self, file: &Path) -> Option<Problem> {
        let namesake =
            |kind: &str| Source::read(&self.folder.join(kind).join(file.file_name()?)).ok();
        let others =
            [service_providers::FOLDER, data_providers::FOLDER].into_iter().filter_map(namesake);
        let all: Vec<Source> = others.chain(Source::read(file).ok()).collect();
        let conflict = together::shared_secrets(&all, &self.folder).pop()?;
        (conflict.problem.file == file.display().to_string()).then_some(conflict.problem)
    }
}

fn settings(
    folder: &Path,
    environment: &Environment,
    problems: &mut Vec<Problem>,
) -> Option<(Settings, SecretRules)> {
    let main = Source::read(&folder.join("passerelle.toml"))
        .map_err(|problem| problems.push(problem))
        .ok()?;
    let main = overlaid(main, environment, problems);
    let settings: Settings = main.shape(problems)?;
    let secrets = SecretRules::new(&main, Some(&settings), folder);
    Some((settings, secrets))
}
