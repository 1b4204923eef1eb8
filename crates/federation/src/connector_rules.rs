//! Checks the `[connectors]` table of a service provider: which connectors it may use,
//! in which order they are shown, and which `idp_hint` is followed.
//!
//! An id without a connector is not an error, since the connector's file may be added later.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::registration::IdpHintPolicy;
use passerelle_settings::{Diagnostic, FileCheck, SourceFile};

/// Which identity providers this service provider may use, and how they are shown. Default: all.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorRules {
    /// Only these connectors can be used. Not together with `deny`.
    pub allow: Option<Vec<ConnectorId>>,
    /// All connectors except these can be used, including connectors added later.
    pub deny: Vec<ConnectorId>,
    /// Its own order on the choice page. Connectors not listed follow in the hub's order.
    pub order: Vec<ConnectorId>,
    /// Which `idp_hint` of its requests is followed: `"any"`, `"none"`, or a list of connectors.
    /// Others are ignored.
    pub idp_hint: IdpHintPolicy,
}

/// The connectors that a service provider may use.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedConnectors {
    /// All connectors.
    #[default]
    All,
    /// Only these.
    Only(BTreeSet<ConnectorId>),
    /// All except these.
    AllBut(BTreeSet<ConnectorId>),
}

impl AllowedConnectors {
    /// Returns true if the connector may be used.
    pub fn allows(&self, connector: &ConnectorId) -> bool {
        match self {
            Self::All => true,
            Self::Only(named) => named.contains(connector),
            Self::AllBut(named) => !named.contains(connector),
        }
    }
}

/// Connectors that are shown before all others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConnectorOrder {
    first: Vec<ConnectorId>,
    named: BTreeSet<ConnectorId>,
}

impl ConnectorOrder {
    /// Creates an order of `first`, then `second`. A repeated connector keeps its first position.
    pub fn new(first: &[ConnectorId], second: &[ConnectorId]) -> Self {
        let mut order = Self::default();
        for id in first.iter().chain(second) {
            if order.named.insert(id.clone()) {
                order.first.push(id.clone());
            }
        }
        order
    }

    /// Returns the hub's order, after the connectors that a service provider puts first.
    pub fn with_preference(own: &[ConnectorId], hub: &Arc<Self>) -> Arc<Self> {
        if own.is_empty() { Arc::clone(hub) } else { Arc::new(Self::new(own, &hub.first)) }
    }

    /// Returns the ordered connectors, then the others of `all` in their order.
    pub fn apply<'a>(&'a self, all: &'a [ConnectorId]) -> impl Iterator<Item = &'a ConnectorId> {
        self.first.iter().chain(all.iter().filter(|id| !self.named.contains(*id)))
    }
}

impl ConnectorRules {
    /// Returns the connectors that rules without problems allow.
    pub fn allowed_connectors(&self) -> AllowedConnectors {
        match &self.allow {
            Some(allowed) => AllowedConnectors::Only(allowed.iter().cloned().collect()),
            None if self.deny.is_empty() => AllowedConnectors::All,
            None => AllowedConnectors::AllBut(self.deny.iter().cloned().collect()),
        }
    }

    /// Reports rules that contradict each other or allow no connector.
    pub fn check(&self, check: &mut FileCheck<'_>) {
        let Some(allowed) = &self.allow else { return };
        if !self.deny.is_empty() {
            let fix = "keep allow (only these), or deny (all but these)";
            check.report("connectors.deny", "can't be combined with allow", fix);
        }
        if allowed.is_empty() {
            let message = "allows no connector, so no user can ever log in";
            check.report(
                "connectors.allow",
                message,
                "name at least one, or remove the key to allow all",
            );
        }
    }

    /// Returns every connector that the rules name, with its key.
    fn named_connectors(&self) -> impl Iterator<Item = (String, &ConnectorId)> {
        let hints = match &self.idp_hint {
            IdpHintPolicy::Only(named) => named.as_slice(),
            IdpHintPolicy::Keyword(_) => &[],
        };
        let lists = [
            ("allow", self.allow.as_deref().unwrap_or_default()),
            ("deny", &self.deny),
            ("order", &self.order),
            ("idp_hint", hints),
        ];
        lists.into_iter().flat_map(|(key, ids)| {
            ids.iter()
                .enumerate()
                .map(move |(index, id)| (format!("connectors.{key}[{index}]"), id))
        })
    }

    /// Returns a warning for each named connector that doesn't exist.
    pub fn unknown_connectors(
        &self,
        source: &SourceFile,
        is_known: impl Fn(&ConnectorId) -> bool,
    ) -> Vec<Diagnostic> {
        let unknown = self.named_connectors().filter(|(_, id)| !is_known(id));
        let warning = |(key, id): (String, &ConnectorId)| {
            let message = format!("names {id}, but there is no such connector");
            source.diagnostic(
                &key,
                message,
                "remove it, or add the connector's file, named after the id",
            )
        };
        unknown.map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<ConnectorId> {
        names.iter().map(|name| ConnectorId::from(*name)).collect()
    }

    #[test]
    fn who_is_admitted_by_table() {
        let allow = |names: &[&str]| ConnectorRules {
            allow: Some(ids(names)),
            ..ConnectorRules::default()
        };
        let deny =
            |names: &[&str]| ConnectorRules { deny: ids(names), ..ConnectorRules::default() };
        for (rules, a, b) in [
            (ConnectorRules::default(), true, true),
            (allow(&["a"]), true, false),
            (allow(&["later"]), false, false),
            (deny(&["a"]), false, true),
            (deny(&["later"]), true, true),
            // Rejected by the checks; allows none rather than all.
            (allow(&[]), false, false),
        ] {
            let admitted = rules.allowed_connectors();
            assert_eq!(
                (admitted.allows(&"a".into()), admitted.allows(&"b".into())),
                (a, b),
                "{rules:?}"
            );
        }
    }

    #[test]
    fn a_service_providers_order_goes_over_the_hubs_and_the_rest_follows() {
        let all = ids(&["a", "b", "c", "d", "e"]);
        for (own, hubs, expected) in [
            (&[][..], &[][..], ["a", "b", "c", "d", "e"]),
            (&[], &["e", "c"], ["e", "c", "a", "b", "d"]),
            (&["d"], &["e", "d"], ["d", "e", "a", "b", "c"]),
            (&["c", "b", "c"], &["b", "a"], ["c", "b", "a", "d", "e"]),
        ] {
            let order = ConnectorOrder::new(&ids(own), &ids(hubs));
            let seen: Vec<&str> = order.apply(&all).map(ConnectorId::as_str).collect();
            assert_eq!(seen, expected);
        }
    }
}
