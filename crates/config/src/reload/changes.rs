//! Compares two federations: what a reload has changed or would change, and which service providers
//! are affected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::sync::Arc;

use serde::Serialize;

use super::config_digest::{ConfigDigest, ConnectorDigest, ServiceProviderDigest};
use passerelle_protocol::acr::Level;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::FieldDigests;

/// Names that a list shows before it only counts the rest.
const MAX_LISTED_NAMES: usize = 10;

/// The differences between two federations.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Changes {
    /// Changed connectors.
    pub connectors: BTreeMap<ConnectorId, ConnectorChange>,
    /// Changed service providers.
    pub service_providers: BTreeMap<ClientId, ServiceProviderChange>,
    /// Changed data providers.
    pub data_providers: BTreeMap<ClientId, FileChange>,
    /// Changed tables of scopes.toml.
    pub scopes: Vec<String>,
    /// Changed keys of notices.toml.
    pub notices: Vec<String>,
    /// Changed tables of place names.
    pub places: Vec<String>,
    /// The file of e-mail domains, if it has changed.
    pub email_domains: Vec<String>,
    /// Changed files of messages.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub languages: BTreeMap<String, FileChange>,
}

/// How a file has changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, derive_more::Display)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// The file is new.
    #[display("new")]
    New,
    /// The file was removed.
    #[display("removed")]
    Removed,
    /// The top-level keys that changed, without their values.
    #[display("changed in {}", _0.join(", "))]
    Changed(Vec<String>),
}

/// Change of a connector and its effects.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConnectorChange {
    /// How the file has changed.
    pub change: FileChange,
    /// Service providers whose users can choose it after the change.
    pub usable_by: Vec<ClientId>,
    /// Service providers for which its availability or levels change.
    pub effects: BTreeMap<ClientId, AvailabilityChange>,
}

/// Change of a service provider and its effects.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ServiceProviderChange {
    /// How the file has changed.
    pub change: FileChange,
    /// Connectors that its users can choose from now on.
    pub gained: Vec<ConnectorId>,
    /// Connectors that its users can't choose any more.
    pub lost: Vec<ConnectorId>,
}

/// Effect of a connector's change on a service provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AvailabilityChange {
    /// Users can choose it from now on.
    Gained,
    /// Users can't choose it any more.
    Lost,
    /// The lowest and highest level have changed.
    Levels {
        /// Levels before the change.
        before: (Level, Level),
        /// Levels after the change.
        after: (Level, Level),
    },
}

impl ConfigDigest {
    /// Returns the changes from this federation to `next`.
    pub fn changes_to(&self, next: &Self) -> Changes {
        let fields = |digest: &ConnectorDigest| Arc::clone(&digest.fields);
        let connectors = file_changes(&self.connectors, &next.connectors, fields);
        let service_providers =
            file_changes(&self.service_providers, &next.service_providers, |digest| {
                Arc::clone(&digest.fields)
            });
        Changes {
            connectors: connectors
                .into_iter()
                .map(|(id, change)| (id.clone(), self.connector_change(next, id, change)))
                .collect(),
            service_providers: service_providers
                .into_iter()
                .map(|(id, change)| (id.clone(), self.service_provider_change(next, id, change)))
                .collect(),
            data_providers: file_changes(&self.data_providers, &next.data_providers, |digest| {
                Arc::clone(&digest.fields)
            })
            .into_iter()
            .map(|(id, change)| (id.clone(), change))
            .collect(),
            scopes: self.scopes.differing_keys(&next.scopes),
            notices: self.notices.differing_keys(&next.notices),
            places: self.places.differing_keys(&next.places),
            email_domains: self.email_domains.differing_keys(&next.email_domains),
            languages: file_changes(&self.languages, &next.languages, Arc::clone)
                .into_iter()
                .map(|(file, change)| (file.clone(), change))
                .collect(),
        }
    }

    fn connector_change(
        &self,
        next: &Self,
        id: &ConnectorId,
        change: FileChange,
    ) -> ConnectorChange {
        let (mut usable_by, mut effects) = (Vec::new(), BTreeMap::new());
        let services: BTreeSet<&ClientId> =
            self.service_providers.keys().chain(next.service_providers.keys()).collect();
        for client_id in services {
            let (before, after) =
                (self.reachable_levels(client_id, id), next.reachable_levels(client_id, id));
            if after.is_some() {
                usable_by.push(client_id.clone());
            }
            let effect = match (before, after) {
                (None, Some(_)) => Some(AvailabilityChange::Gained),
                (Some(_), None) => Some(AvailabilityChange::Lost),
                (Some(before), Some(after)) if before != after => {
                    Some(AvailabilityChange::Levels { before, after })
                }
                (Some(_), Some(_)) | (None, None) => None,
            };
            effects.extend(effect.map(|effect| (client_id.clone(), effect)));
        }
        ConnectorChange { change, usable_by, effects }
    }

    fn service_provider_change(
        &self,
        next: &Self,
        client_id: &ClientId,
        change: FileChange,
    ) -> ServiceProviderChange {
        let usable = |digest: &Self| -> BTreeSet<ConnectorId> {
            digest
                .connectors
                .keys()
                .filter(|id| digest.reachable_levels(client_id, id).is_some())
                .cloned()
                .collect()
        };
        let (before, after) = (usable(self), usable(next));
        let (gained, lost) = (
            after.difference(&before).cloned().collect(),
            before.difference(&after).cloned().collect(),
        );
        ServiceProviderChange { change, gained, lost }
    }

    /// Returns the levels that a service provider's users can reach through a connector; `None` if
    /// they can't choose it.
    fn reachable_levels(&self, client_id: &ClientId, id: &ConnectorId) -> Option<(Level, Level)> {
        let service: &ServiceProviderDigest = self.service_providers.get(client_id)?;
        let connector = self.connectors.get(id)?;
        let is_available =
            service.active && connector.enabled && service.allowed_connectors.allows(id);
        is_available.then_some((connector.lowest, connector.highest))
    }
}

fn file_changes<'a, K: Ord, T>(
    before: &'a BTreeMap<K, T>,
    after: &'a BTreeMap<K, T>,
    fields: impl Fn(&T) -> Arc<FieldDigests>,
) -> Vec<(&'a K, FileChange)> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    let change = |key: &'a K| match (before.get(key), after.get(key)) {
        (None, _) => Some((key, FileChange::New)),
        (_, None) => Some((key, FileChange::Removed)),
        (Some(before), Some(after)) => {
            let differing = fields(before).differing_keys(&fields(after));
            (!differing.is_empty()).then_some((key, FileChange::Changed(differing)))
        }
    };
    keys.into_iter().filter_map(change).collect()
}

impl Changes {
    /// Returns true if nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a report with a line for each changed file and each effect.
    pub fn report(&self) -> String {
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ok = self.write_report(&mut text);
        text
    }

    fn write_report(&self, text: &mut String) -> fmt::Result {
        if self.is_empty() {
            return writeln!(text, "Nothing would change.");
        }
        for (id, ConnectorChange { change, usable_by, effects }) in &self.connectors {
            writeln!(text, "connector {id}: {change}")?;
            writeln!(text, "  available to:          {}", join_names(usable_by))?;
            let affected = |wanted: fn(&AvailabilityChange) -> bool| {
                effects.iter().filter(move |(_, effect)| wanted(effect)).map(|(id, _)| id)
            };
            let gained: Vec<_> = affected(|effect| *effect == AvailabilityChange::Gained).collect();
            let lost: Vec<_> = affected(|effect| *effect == AvailabilityChange::Lost).collect();
            if !gained.is_empty() {
                writeln!(text, "  newly available to:    {}", join_names(&gained))?;
            }
            if !lost.is_empty() {
                writeln!(text, "  no longer available to: {}", join_names(&lost))?;
            }
            let levels = effects.values().find_map(|effect| match effect {
                AvailabilityChange::Levels { before, after } => Some((before, after)),
                AvailabilityChange::Gained | AvailabilityChange::Lost => None,
            });
            if let Some((before, after)) = levels {
                let span = |(lowest, highest): &(Level, Level)| {
                    format!("{} to {}", lowest.as_str(), highest.as_str())
                };
                writeln!(
                    text,
                    "  levels:                {} instead of {}",
                    span(after),
                    span(before)
                )?;
            }
        }
        for (id, ServiceProviderChange { change, gained, lost }) in &self.service_providers {
            writeln!(text, "service provider {id}: {change}")?;
            if !gained.is_empty() {
                writeln!(text, "  gains: {}", join_names(gained))?;
            }
            if !lost.is_empty() {
                writeln!(text, "  loses: {}", join_names(lost))?;
            }
        }
        for (id, change) in &self.data_providers {
            writeln!(text, "data provider {id}: {change}")?;
        }
        self.write_single_files(text)
    }

    fn write_single_files(&self, text: &mut String) -> fmt::Result {
        if !self.scopes.is_empty() {
            writeln!(
                text,
                "scopes.toml: {} changed; affects every service provider under these rules",
                self.scopes.join(", ")
            )?;
        }
        if !self.notices.is_empty() {
            writeln!(text, "notices.toml: changed; affects every user who logs in")?;
        }
        if !self.places.is_empty() {
            writeln!(text, "place names: {} changed", self.places.join(", "))?;
        }
        if !self.email_domains.is_empty() {
            writeln!(text, "e-mail domains: {} changed", self.email_domains.join(", "))?;
        }
        for (file, change) in &self.languages {
            writeln!(text, "{file}: {change}; affects the pages in this language")?;
        }
        Ok(())
    }
}

fn join_names<T: Display>(names: &[T]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text =
        names.iter().take(MAX_LISTED_NAMES).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_LISTED_NAMES {
        text += &format!(" and {} more", names.len() - MAX_LISTED_NAMES);
    }
    text
}

/// Formats the changes as one line for the log.
impl Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connectors =
            self.connectors.iter().map(|(id, change)| format!("connector {id} {}", change.change));
        let services = self
            .service_providers
            .iter()
            .map(|(id, change)| format!("service provider {id} {}", change.change));
        let data_providers =
            self.data_providers.iter().map(|(id, change)| format!("data provider {id} {change}"));
        let scopes = (!self.scopes.is_empty()).then(|| "scopes changed".to_owned());
        let notices = (!self.notices.is_empty()).then(|| "notices changed".to_owned());
        let places = (!self.places.is_empty()).then(|| "place names changed".to_owned());
        let domains = (!self.email_domains.is_empty()).then(|| "e-mail domains changed".to_owned());
        let languages = self.languages.iter().map(|(file, change)| format!("{file} {change}"));
        let files = scopes.into_iter().chain(notices).chain(places).chain(domains).chain(languages);
        f.write_str(&join_names(
            &connectors.chain(services).chain(data_providers).chain(files).collect::<Vec<_>>(),
        ))
    }
}

#[cfg(test)]
mod tests;
