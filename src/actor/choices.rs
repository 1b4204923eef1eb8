//! What a service provider's choice page is made of: every connector in its order, and what stands in the way of each.
//!
//! Owns: the order (the service provider's, then the hub's, then by name), and the reason in a person's terms. Must not
//! know: how much of it a page shows. Whether a connector may serve is the gate's to say, here as everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::registry::Connectors;
use crate::assurance::{At, Level};
use crate::config::connector_rules::Order;
use crate::config::logo::Logo;
use crate::config::shown::Shown;
use crate::ids::{ClientId, ConnectorId};
use crate::session::gate::{self, Closed};

/// One line of the choice page.
#[derive(Clone, Debug)]
pub struct ChoiceEntry {
    pub id: ConnectorId,
    pub shown: Arc<Shown>,
    /// Why it can't be chosen; `None` when it can.
    pub obstacle: Option<Obstacle>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    Off,
    /// A kill switch is in force: the operator's word for the person by language, empty without one.
    Blocked(Arc<BTreeMap<String, String>>),
    NotForThisService,
    LevelTooLow,
}

impl Obstacle {
    fn of(closed: Closed, word: impl FnOnce() -> Arc<BTreeMap<String, String>>) -> Self {
        match closed {
            Closed::ConnectorBlocked | Closed::Suspended => Self::Blocked(word()),
            Closed::ConnectorUnknown | Closed::ConnectorOff => Self::Off,
            Closed::ServiceProviderInactive | Closed::Blocked => Self::NotForThisService,
            Closed::LevelTooHigh | Closed::LevelTooLow => Self::LevelTooLow,
        }
    }
}

impl Connectors {
    /// Every connector in the service provider's order, those that it doesn't name by name in this language, with what
    /// stands in the way. Nothing is sorted here: there may be hundreds, and each login asks.
    #[must_use]
    pub fn choices(&self, client_id: &ClientId, level: Level, language: &str) -> Vec<ChoiceEntry> {
        let federation = self.federation.load();
        let unnamed = Order::default();
        let order = federation.active(client_id).map_or(&unnamed, |service| service.order.as_ref());
        let known = order.over(federation.lineup().in_language(language)).filter_map(|id| Some((id, federation.connector(id)?)));
        known
            .map(|(id, facts)| ChoiceEntry {
                id: id.clone(),
                shown: Arc::clone(&facts.shown),
                obstacle: gate::may(&self.facts_in(&federation, client_id, id), At::Asked(level))
                    .err()
                    .map(|closed| Obstacle::of(closed, || self.word(client_id, id))),
            })
            .collect()
    }

    #[must_use]
    pub fn logo(&self, id: &ConnectorId) -> Option<Logo> {
        self.federation.load().connector(id)?.shown.logo.clone()
    }
}
