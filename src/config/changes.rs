//! What differs between two federations, and whom it touches: what a reload has changed, or would.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Write as _};
use std::sync::Arc;

use serde::Serialize;

use super::outline::{ConnectorOutline, Fields, Outline, ServiceOutline};
use crate::ids::{ClientId, ConnectorId};
use crate::protocol::acr::Level;

/// Names that are written out before the rest is only counted.
const NAMED: usize = 10;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Changes {
    pub connectors: BTreeMap<ConnectorId, ConnectorChange>,
    pub service_providers: BTreeMap<ClientId, ServiceChange>,
    pub data_providers: BTreeMap<ClientId, Change>,
    /// Tables of scopes.toml that differ.
    pub scopes: Vec<String>,
    /// Keys of notices.toml that differ.
    pub notices: Vec<String>,
}

/// What became of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    New,
    Gone,
    /// Keys of its first level; never what they hold.
    Changed(Vec<String>),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConnectorChange {
    pub change: Change,
    /// Service providers whose users can choose it afterwards.
    pub usable_by: Vec<ClientId>,
    /// Those of them, and of those before, for whom it is not the same as it was.
    pub effects: BTreeMap<ClientId, Effect>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ServiceChange {
    pub change: Change,
    /// Connectors that can be chosen, and could not before; and the other way around.
    pub gained: Vec<ConnectorId>,
    pub lost: Vec<ConnectorId>,
}

/// What a change of a connector is to a service provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    Gained,
    Lost,
    /// Lowest and highest level, before and after.
    Levels {
        before: (Level, Level),
        after: (Level, Level),
    },
}

impl Outline {
    /// What is other in `next`.
    #[must_use]
    pub fn changes(&self, next: &Self) -> Changes {
        let fields = |outline: &ConnectorOutline| Arc::clone(&outline.fields);
        let connectors = between(&self.connectors, &next.connectors, fields);
        let of_services = between(&self.service_providers, &next.service_providers, |outline| {
            Arc::clone(&outline.fields)
        });
        Changes {
            connectors: connectors
                .into_iter()
                .map(|(id, change)| (id.clone(), self.of_connector(next, id, change)))
                .collect(),
            service_providers: of_services
                .into_iter()
                .map(|(id, change)| (id.clone(), self.of_service(next, id, change)))
                .collect(),
            data_providers: between(&self.data_providers, &next.data_providers, |outline| {
                Arc::clone(&outline.fields)
            })
            .into_iter()
            .map(|(id, change)| (id.clone(), change))
            .collect(),
            scopes: self.scopes.differing(&next.scopes),
            notices: self.notices.differing(&next.notices),
        }
    }

    fn of_connector(&self, next: &Self, id: &ConnectorId, change: Change) -> ConnectorChange {
        let (mut usable_by, mut effects) = (Vec::new(), BTreeMap::new());
        let services: BTreeSet<&ClientId> =
            self.service_providers.keys().chain(next.service_providers.keys()).collect();
        for client_id in services {
            let (before, after) = (self.levels(client_id, id), next.levels(client_id, id));
            if after.is_some() {
                usable_by.push(client_id.clone());
            }
            let effect = match (before, after) {
                (None, Some(_)) => Some(Effect::Gained),
                (Some(_), None) => Some(Effect::Lost),
                (Some(before), Some(after)) if before != after => {
                    Some(Effect::Levels { before, after })
                }
                (Some(_), Some(_)) | (None, None) => None,
            };
            effects.extend(effect.map(|effect| (client_id.clone(), effect)));
        }
        ConnectorChange { change, usable_by, effects }
    }

    fn of_service(&self, next: &Self, client_id: &ClientId, change: Change) -> ServiceChange {
        let usable = |outline: &Self| -> BTreeSet<ConnectorId> {
            outline
                .connectors
                .keys()
                .filter(|id| outline.levels(client_id, id).is_some())
                .cloned()
                .collect()
        };
        let (before, after) = (usable(self), usable(next));
        let (gained, lost) = (
            after.difference(&before).cloned().collect(),
            before.difference(&after).cloned().collect(),
        );
        ServiceChange { change, gained, lost }
    }

    /// The levels that a service provider's users can reach through a connector; `None` if they can't choose it.
    fn levels(&self, client_id: &ClientId, id: &ConnectorId) -> Option<(Level, Level)> {
        let service: &ServiceOutline = self.service_providers.get(client_id)?;
        let connector = self.connectors.get(id)?;
        let is_open = service.active && connector.enabled && service.admitted.includes(id);
        is_open.then_some((connector.lowest, connector.highest))
    }
}

fn between<'a, K: Ord, T>(
    before: &'a BTreeMap<K, T>,
    after: &'a BTreeMap<K, T>,
    fields: impl Fn(&T) -> Arc<Fields>,
) -> Vec<(&'a K, Change)> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    let change = |key: &'a K| match (before.get(key), after.get(key)) {
        (None, _) => Some((key, Change::New)),
        (_, None) => Some((key, Change::Gone)),
        (Some(before), Some(after)) => {
            let differing = fields(before).differing(&fields(after));
            (!differing.is_empty()).then_some((key, Change::Changed(differing)))
        }
    };
    keys.into_iter().filter_map(change).collect()
}

impl Changes {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// For people, a line for each file and each service provider that it touches.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ok = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        if self.is_empty() {
            return writeln!(text, "Nothing would change.");
        }
        for (id, ConnectorChange { change, usable_by, effects }) in &self.connectors {
            writeln!(text, "connector {id}: {change}")?;
            writeln!(text, "  can then be chosen at: {}", listed(usable_by))?;
            let of = |wanted: fn(&Effect) -> bool| {
                effects.iter().filter(move |(_, effect)| wanted(effect)).map(|(id, _)| id)
            };
            let gained: Vec<_> = of(|effect| *effect == Effect::Gained).collect();
            let lost: Vec<_> = of(|effect| *effect == Effect::Lost).collect();
            if !gained.is_empty() {
                writeln!(text, "  could not before at:   {}", listed(&gained))?;
            }
            if !lost.is_empty() {
                writeln!(text, "  can no more at:        {}", listed(&lost))?;
            }
            let levels = effects.values().find_map(|effect| match effect {
                Effect::Levels { before, after } => Some((before, after)),
                Effect::Gained | Effect::Lost => None,
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
        for (id, ServiceChange { change, gained, lost }) in &self.service_providers {
            writeln!(text, "service provider {id}: {change}")?;
            if !gained.is_empty() {
                writeln!(text, "  gains: {}", listed(gained))?;
            }
            if !lost.is_empty() {
                writeln!(text, "  loses: {}", listed(lost))?;
            }
        }
        for (id, change) in &self.data_providers {
            writeln!(text, "data provider {id}: {change}")?;
        }
        if !self.scopes.is_empty() {
            writeln!(
                text,
                "scopes.toml: {} changed; every service provider under these rules",
                self.scopes.join(", ")
            )?;
        }
        if !self.notices.is_empty() {
            writeln!(text, "notices.toml: changed; what everybody who logs in is told")?;
        }
        Ok(())
    }
}

fn listed<T: Display>(names: &[T]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text = names.iter().take(NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text += &format!(" and {} more", names.len() - NAMED);
    }
    text
}

impl Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::Gone => f.write_str("gone"),
            Self::Changed(fields) => write!(f, "changed in {}", fields.join(", ")),
        }
    }
}

/// In one line, for the log.
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
        let files = scopes.into_iter().chain(notices);
        f.write_str(&listed(
            &connectors.chain(services).chain(data_providers).chain(files).collect::<Vec<_>>(),
        ))
    }
}

#[cfg(test)]
mod tests;
