//! What everything else knows of a connector: what the gate judges, what the choice page shows, what evidence is weighed by.
//! How the identity provider is called is not here: that is the connector's own.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::blocks::Block;
use super::connectors::ConfiguredConnector;
use super::model::Levels;
use super::shown::Shown;

/// One connector, as its file has it.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectorFacts {
    /// For people, by language.
    pub name: Arc<BTreeMap<String, String>>,
    pub enabled: bool,
    pub levels: Levels,
    /// Methods to count on when the identity provider sends none.
    pub amr: Vec<String>,
    /// What this identity provider's `mfa` stands for.
    pub mfa: Vec<String>,
    /// What the choice page shows of it.
    pub shown: Arc<Shown>,
    /// Kill switches of its file.
    pub blocks: Arc<[Block]>,
    /// A new authentication is proven by the identity provider's `auth_time`, or vouched for by the operator.
    pub reauthenticates: bool,
    /// Its claims prove who a person is: it verifies identities, or is a sandbox.
    pub proves_identity: bool,
    /// People who may be sent there in a minute; `None` leaves it to the hub.
    pub departures_per_minute: Option<NonZeroU32>,
}

impl ConnectorFacts {
    #[must_use]
    pub fn of(configured: &ConfiguredConnector) -> Self {
        let (file, shown) = (&configured.file, Arc::new(Shown::of(configured)));
        Self {
            name: Arc::clone(&shown.name),
            shown,
            enabled: file.enabled,
            levels: file.levels,
            amr: file.amr.clone(),
            mfa: file.mfa.clone(),
            blocks: configured.blocks.clone().into(),
            reauthenticates: file.kind.reauthenticates(),
            proves_identity: file.proves_identity(),
            departures_per_minute: file.limits.departures_per_minute.and_then(NonZeroU32::new),
        }
    }
}
