//! L1 · Service providers and data providers: tokens, refusals, logouts, their keys and secrets.
//!
//! Owns: under which name a service provider appears (`[metrics] service_provider_labels`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use prometheus::{GaugeVec, IntCounterVec};

use super::declare::Declare;
use super::{Metrics, code, forget, unix};
use crate::env::Timestamp;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::TelemetryFault;

/// In place of a client's id, where it is not known who asked; or none was registered under it.
const NOBODY: &str = "(not known)";

pub(super) struct Clients {
    logouts: IntCounterVec,
    tokens_issued: IntCounterVec,
    token_refusals: IntCounterVec,
    introspections: IntCounterVec,
    revocations: IntCounterVec,
    key_fetches: IntCounterVec,
    keys_fetched: GaugeVec,
    secret_expires: GaugeVec,
    /// The class of each client. `None`: each appears by its id.
    classes: ArcSwapOption<BTreeMap<ClientId, Arc<str>>>,
}

impl Clients {
    pub fn new(declare: &Declare<'_>) -> Result<Self, TelemetryFault> {
        Ok(Self {
            logouts: declare.counters("logouts_total", "Logout requests, by what came of them.", &["outcome"])?,
            tokens_issued: declare.counters("tokens_issued_total", "Codes and tokens issued.", &["kind"])?,
            token_refusals: declare.counters(
                "token_refusals_total",
                "Requests with or for a token refused, by the service provider or data provider (or its class) that asked.",
                &["client", "reason"],
            )?,
            introspections: declare.counters(
                "introspections_total",
                "Tokens that a data provider asked about.",
                &["data_provider", "outcome"],
            )?,
            revocations: declare.counters("revocations_total", "Requests to forget a token.", &["outcome"])?,
            key_fetches: declare.counters(
                "client_key_fetches_total",
                "Fetches of the keys at a client's jwks_uri.",
                &["client", "outcome"],
            )?,
            keys_fetched: declare.float_gauges(
                "client_keys_fetched_timestamp_seconds",
                "When the keys of a jwks_uri that are in use were fetched, the oldest of a class; 0 where there are none yet.",
                &["client"],
            )?,
            secret_expires: declare.float_gauges(
                "client_secret_expires_timestamp_seconds",
                "When a client is without a valid secret unless it gets another, the earliest of a class; absent for one without end.",
                &["client"],
            )?,
            classes: ArcSwapOption::empty(),
        })
    }

    pub fn forget(&self, client: &dyn Fn(&str) -> bool) {
        let stays = |label: &str| label == NOBODY || client(label);
        forget(&self.token_refusals, "client", &stays);
        forget(&self.key_fetches, "client", &stays);
        forget(&self.introspections, "data_provider", client);
    }
}

impl Metrics {
    /// From now on each of these appears by its class, and any other as not known.
    pub fn classes(&self, classes: BTreeMap<ClientId, Arc<str>>) {
        self.clients.classes.store(Some(Arc::new(classes)));
    }

    /// Series of connectors and clients that are not among these end, so that what is gone does not stay for ever.
    pub fn keep(&self, connector: impl Fn(&str) -> bool, clients: impl Iterator<Item = ClientId>) {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for client in clients {
            names.insert(self.service_label(&client).to_string());
            // Data providers appear by their id in any case.
            names.insert(client.as_str().to_owned());
        }
        let client = |label: &str| names.contains(label);
        self.connectors.forget(&connector);
        self.logins.forget(&connector, &client);
        self.clients.forget(&client);
    }

    pub(super) fn service_label(&self, client_id: &ClientId) -> Label {
        match self.clients.classes.load().as_ref() {
            None => Label::Id(client_id.clone()),
            Some(classes) => classes
                .get(client_id)
                .map_or(Label::Nobody, |class| Label::Class(Arc::clone(class))),
        }
    }

    /// `outcome` is one of a handful: `provider`, `here`, `asked`, `nobody`, `refused`, `returned`.
    pub fn logout(&self, outcome: &'static str) {
        self.clients.logouts.with_label_values(&[outcome]).inc();
    }

    pub fn token_issued(&self, kind: &'static str) {
        self.clients.tokens_issued.with_label_values(&[kind]).inc();
    }

    /// `client_id`: of a registered client, where it is known who asked.
    pub fn token_refused(&self, client_id: Option<&ClientId>, why: ErrorCode) {
        let client = client_id.map_or(Label::Nobody, |client_id| self.service_label(client_id));
        self.clients.token_refusals.with_label_values(&[&*client, code(why)]).inc();
    }

    /// `outcome` is one of a handful.
    pub fn client_keys_asked(&self, client_id: &ClientId, outcome: &'static str) {
        self.clients
            .key_fetches
            .with_label_values(&[&*self.service_label(client_id), outcome])
            .inc();
    }

    /// All that publish keys; `None`: there are none yet, and nothing can be sealed for the client.
    pub fn client_keys_fetched(
        &self,
        clients: impl Iterator<Item = (ClientId, Option<Timestamp>)>,
    ) {
        self.clients.keys_fetched.reset();
        for (label, at) in self.earliest(clients.map(|(id, at)| (id, at.map_or(0.0, unix)))) {
            self.clients.keys_fetched.with_label_values(&[&label]).set(at);
        }
    }

    /// All whose last secret has an end.
    pub fn client_secrets_expire(&self, clients: impl Iterator<Item = (ClientId, Timestamp)>) {
        self.clients.secret_expires.reset();
        for (label, at) in self.earliest(clients.map(|(id, at)| (id, unix(at)))) {
            self.clients.secret_expires.with_label_values(&[&label]).set(at);
        }
    }

    fn earliest(&self, dated: impl Iterator<Item = (ClientId, f64)>) -> BTreeMap<String, f64> {
        let mut earliest: BTreeMap<String, f64> = BTreeMap::new();
        for (client_id, at) in dated {
            let known = earliest.entry(self.service_label(&client_id).to_string()).or_insert(at);
            *known = known.min(at);
        }
        earliest
    }

    /// `outcome` is `active` or `inactive`; the data provider is a registered one.
    pub fn introspected(&self, data_provider: &ClientId, outcome: &'static str) {
        self.clients.introspections.with_label_values(&[data_provider.as_str(), outcome]).inc();
    }

    /// `outcome` is `revoked`, or `nothing` where the token was not there or not the client's.
    pub fn revoked(&self, outcome: &'static str) {
        self.clients.revocations.with_label_values(&[outcome]).inc();
    }
}

/// What a client is called in labels, without a copy.
pub(super) enum Label {
    Id(ClientId),
    Class(Arc<str>),
    Nobody,
}

impl std::ops::Deref for Label {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Self::Id(id) => id.as_str(),
            Self::Class(class) => class,
            Self::Nobody => NOBODY,
        }
    }
}
