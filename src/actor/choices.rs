//! What a service provider's choice page is made of: every connector in its order, and what stands in the way of each.
//!
//! Owns: the order (the service provider's, then the hub's, then by name), and the reason in a person's terms. Must not
//! know: how much of it a page shows. Whether a connector may serve is the gate's to say, here as everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::health::Standing;
use super::registry::Connectors;
use crate::assurance::{At, Demand};
use crate::config::ConnectorFacts;
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
    /// One that is not well comes after all others, and is marked.
    pub standing: Standing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    Off,
    /// A kill switch is in force: the operator's word for the person by language, empty without one.
    Blocked(Arc<BTreeMap<String, String>>),
    NotForThisService,
    LevelTooLow,
    /// The request asks for a new authentication, and the identity provider can't prove one.
    ReauthenticationUnproven,
    /// Its last calls failed; it is asked again, and offered as soon as it may be tried.
    Failing,
}

impl Obstacle {
    fn of(closed: Closed, word: impl FnOnce() -> Arc<BTreeMap<String, String>>) -> Self {
        match closed {
            Closed::ConnectorBlocked | Closed::Suspended => Self::Blocked(word()),
            Closed::ConnectorUnknown | Closed::ConnectorOff => Self::Off,
            Closed::ServiceProviderInactive | Closed::Blocked => Self::NotForThisService,
            Closed::LevelTooHigh | Closed::LevelTooLow => Self::LevelTooLow,
            Closed::ReauthenticationUnproven => Self::ReauthenticationUnproven,
        }
    }
}

impl Connectors {
    /// Every connector in the service provider's order, those that it doesn't name by name in this language, with what
    /// stands in the way; those in trouble last. Else nothing is sorted here: there may be hundreds, and each login asks.
    #[must_use]
    pub fn choices(
        &self,
        client_id: &ClientId,
        demand: Demand,
        language: &str,
    ) -> Vec<ChoiceEntry> {
        let federation = self.federation.load();
        let unnamed = Order::default();
        let order = federation.active(client_id).map_or(&unnamed, |service| service.order.as_ref());
        let known = order
            .over(federation.lineup().in_language(language))
            .filter_map(|id| Some((id, federation.connector(id)?)));
        let at_once = self.at_once();
        let entry = |(id, facts): (&ConnectorId, &Arc<ConnectorFacts>)| {
            let standing = self.standing(id);
            let closed =
                gate::may(&at_once.facts(&federation, client_id, id), At::Asked(demand)).err();
            let obstacle = closed.map(|closed| Obstacle::of(closed, || self.word(client_id, id)));
            let obstacle =
                obstacle.or((standing == Standing::Failing).then_some(Obstacle::Failing));
            ChoiceEntry { id: id.clone(), shown: Arc::clone(&facts.shown), obstacle, standing }
        };
        let mut choices: Vec<ChoiceEntry> = known.map(entry).collect();
        if choices.iter().any(|choice| choice.standing != Standing::Well) {
            // Stable: among those alike the order stays.
            choices.sort_by_key(|choice| choice.standing);
        }
        choices
    }

    #[must_use]
    pub fn logo(&self, id: &ConnectorId) -> Option<Logo> {
        self.federation.load().connector(id)?.shown.logo.clone()
    }
}
