//! `[connectors]` of a service provider's file: which connectors may serve it, in which order they are shown, and which
//! `idp_hint` is followed (decisions 3; the gate of decisions 1).
//!
//! Owns: the shape of these rules, their checks, and the two questions that the rest asks: is this connector admitted,
//! and what comes first. Must not know: who asks. An id that no connector has is no error: its file may come later.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use super::source::Source;
use crate::ids::ConnectorId;
use crate::protocol::registration::Hints;

/// Which identity providers may serve this service provider, and how they are shown. Without it: all of them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorRules {
    /// Only these connectors can be used for this service provider. Not together with `deny`.
    pub allow: Option<Vec<ConnectorId>>,
    /// All connectors but these can be used for it, those that come later too.
    pub deny: Vec<ConnectorId>,
    /// Its own order on the choice page, over the hub's; those not named follow in the hub's order.
    pub order: Vec<ConnectorId>,
    /// Which `idp_hint` of its requests is followed: `"any"`, `"none"`, or a list of connectors. Another one is ignored.
    pub idp_hint: Hints,
}

/// Who may serve a service provider.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admitted {
    #[default]
    All,
    Only(BTreeSet<ConnectorId>),
    AllBut(BTreeSet<ConnectorId>),
}

impl Admitted {
    #[must_use]
    pub fn includes(&self, connector: &ConnectorId) -> bool {
        match self {
            Self::All => true,
            Self::Only(named) => named.contains(connector),
            Self::AllBut(named) => !named.contains(connector),
        }
    }
}

/// Connectors that are shown before all others, in this order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order {
    first: Vec<ConnectorId>,
    named: BTreeSet<ConnectorId>,
}

impl Order {
    /// These, and then those; one that is named twice has its first place.
    #[must_use]
    pub fn of(these: &[ConnectorId], those: &[ConnectorId]) -> Self {
        let mut order = Self::default();
        for id in these.iter().chain(those) {
            if order.named.insert(id.clone()) {
                order.first.push(id.clone());
            }
        }
        order
    }

    /// Those that are named, and then `all` others as they come.
    pub fn over<'a>(&'a self, all: &'a [ConnectorId]) -> impl Iterator<Item = &'a ConnectorId> {
        self.first.iter().chain(all.iter().filter(|id| !self.named.contains(*id)))
    }
}

impl ConnectorRules {
    /// Who may serve; of rules that have passed the checks.
    #[must_use]
    pub fn admitted(&self) -> Admitted {
        match &self.allow {
            Some(allowed) => Admitted::Only(allowed.iter().cloned().collect()),
            None if self.deny.is_empty() => Admitted::All,
            None => Admitted::AllBut(self.deny.iter().cloned().collect()),
        }
    }

    pub(super) fn check(&self, source: &Source, problems: &mut Vec<Problem>) {
        let Some(allowed) = &self.allow else { return };
        if !self.deny.is_empty() {
            let mend = "keep allow (only these), or deny (all but these)";
            problems.push(source.problem(
                "connectors.deny",
                "is there beside allow, which leaves out the others already",
                mend,
            ));
        }
        if allowed.is_empty() {
            let what = "allows no connector, so that nobody could ever log in";
            problems.push(source.problem(
                "connectors.allow",
                what,
                "name at least one, or remove the key to allow all",
            ));
        }
    }

    /// Every id that the rules name, with its key.
    fn named(&self) -> impl Iterator<Item = (String, &ConnectorId)> {
        let hints = match &self.idp_hint {
            Hints::Of(named) => named.as_slice(),
            Hints::All(_) => &[],
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

    /// Ids without a connector: a slip of the pen, or a file that is still to come.
    pub(super) fn unknown(
        &self,
        source: &Source,
        is_known: impl Fn(&ConnectorId) -> bool,
    ) -> Vec<Problem> {
        let unknown = self.named().filter(|(_, id)| !is_known(id));
        let warning = |(key, id): (String, &ConnectorId)| {
            let what = format!("names {id}, for which there is no connector");
            source.problem(
                &key,
                what,
                "remove it, or add the connector's file: its name without .toml is the id",
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
            // Never loaded; nobody rather than everybody.
            (allow(&[]), false, false),
        ] {
            let admitted = rules.admitted();
            assert_eq!(
                (admitted.includes(&"a".into()), admitted.includes(&"b".into())),
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
            let order = Order::of(&ids(own), &ids(hubs));
            let seen: Vec<&str> = order.over(&all).map(ConnectorId::as_str).collect();
            assert_eq!(seen, expected);
        }
    }
}
