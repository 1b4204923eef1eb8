//! Metrics of service providers and data providers: tokens, errors, logouts, keys and secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec};

use super::declare::metric_table;
use super::{Metrics, code_label, remove_series, unix_seconds};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;

/// Label value of an unknown client.
pub(super) const UNKNOWN_CLIENT: &str = "(unknown)";

metric_table! {
    /// Metrics of service providers and data providers.
    struct ClientMetrics {
        logouts: IntCounterVec("logouts_total", ["outcome"])
            "Logout requests by outcome: identity_provider, local, no_session, confirmation, rejected, returned, upstream (by a logout token of the identity provider), operator.";
        logout_tokens: IntCounterVec("logout_tokens_total", ["client", "outcome"])
            "Back-channel logout tokens by service provider (or its class) and outcome: delivered, failed (retried), rejected, given_up, dropped (no room to store it, and the only attempt failed), withdrawn (no longer registered).";
        logout_tokens_waiting: IntGaugeVec("logout_tokens_waiting", [])
            "Logout tokens that wait for delivery in the store, as this process read it last.";
        tokens_issued: IntCounterVec("tokens_issued_total", ["kind"])
            "Codes and tokens issued.";
        bound_tokens: IntCounterVec("sender_constrained_tokens_total", ["method"])
            "Access tokens that are bound to a key, by method: dpop, mtls.";
        token_errors: IntCounterVec("token_request_errors_total", ["client", "error"])
            "Rejected requests with or for a token, by service provider or data provider (or its class) and error code.";
        introspections: IntCounterVec("introspections_total", ["data_provider", "outcome"])
            "Introspection requests, by data provider and outcome.";
        revocations: IntCounterVec("revocations_total", ["outcome"])
            "Revocation requests by outcome: revoked, not_found.";
        pushed_requests: IntCounterVec("pushed_authorization_requests_total", ["outcome"])
            "Pushed authorization requests by outcome: accepted, or the error of the response, for example invalid_client, invalid_request or invalid_request_object.";
        key_fetches: IntCounterVec("client_key_fetches_total", ["client", "outcome"])
            "Fetches of the keys at a client's jwks_uri.";
        keys_fetched: GaugeVec("client_keys_last_fetch_timestamp_seconds", ["client"])
            "Time of the last successful fetch of a jwks_uri, the oldest of a class; 0 before the first one.";
        secret_expires: GaugeVec("client_secret_expiry_timestamp_seconds", ["client"])
            "Expiry time of a client's last secret, the earliest of a class; absent for a secret without expiry.";
    }
}

impl ClientMetrics {
    /// Removes the series of clients that are rejected by `client`.
    pub(super) fn remove_series(&self, client: &dyn Fn(&str) -> bool) {
        let stays = |label: &str| label == UNKNOWN_CLIENT || client(label);
        remove_series(&self.token_errors, "client", &stays);
        remove_series(&self.key_fetches, "client", &stays);
        remove_series(&self.logout_tokens, "client", &stays);
        remove_series(&self.introspections, "data_provider", client);
    }
}

impl Metrics {
    /// Labels these clients by class, and any other as unknown.
    pub fn set_client_classes(&self, classes: BTreeMap<ClientId, Arc<str>>) {
        self.classes.store(Some(Arc::new(classes)));
    }

    /// Removes the series of connectors and clients that are not among these.
    pub fn retain_series(
        &self,
        connector: impl Fn(&str) -> bool,
        clients: impl Iterator<Item = ClientId>,
    ) {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for client in clients {
            names.insert(self.client_label(&client).to_string());
            // Data providers are always labelled by id.
            names.insert(client.as_str().to_owned());
        }
        let client = |label: &str| names.contains(label);
        self.connectors.remove_series(&connector);
        self.extensions.remove_series("connector", &connector);
        self.logins.remove_series(&connector, &client);
        self.clients.remove_series(&client);
    }

    /// Returns the label of a client: its id, its class, or unknown.
    pub(super) fn client_label(&self, client_id: &ClientId) -> ClientLabel {
        match self.classes.load().as_ref() {
            None => ClientLabel::Id(client_id.clone()),
            Some(classes) => classes
                .get(client_id)
                .map_or(ClientLabel::Unknown, |class| ClientLabel::Class(Arc::clone(class))),
        }
    }

    /// Records a logout request. `outcome` is one of the constants in the help text.
    pub fn record_logout(&self, outcome: &'static str) {
        self.clients.logouts.with([outcome]).inc();
    }

    /// Records an issued code or token.
    pub fn record_issued_token(&self, kind: &'static str) {
        self.clients.tokens_issued.with([kind]).inc();
    }

    /// Records an access token that is bound to a key.
    pub fn record_bound_token(&self, method: &'static str) {
        self.clients.bound_tokens.with([method]).inc();
    }

    /// Records a rejected request. `client_id` is that of a registered client, if known.
    pub fn record_token_error(&self, client_id: Option<&ClientId>, why: ErrorCode) {
        let client =
            client_id.map_or(ClientLabel::Unknown, |client_id| self.client_label(client_id));
        self.clients.token_errors.with([&*client, code_label(why)]).inc();
    }

    /// Records an outcome of a logout token to a service provider.
    pub fn record_logout_token(&self, client_id: &ClientId, outcome: &'static str) {
        let client = self.client_label(client_id);
        self.clients.logout_tokens.with([&*client, outcome]).inc();
    }

    /// Sets the number of logout tokens that wait for delivery.
    pub fn set_waiting_logout_tokens(&self, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.clients.logout_tokens_waiting.with([]).set(count);
    }

    /// Records a fetch of a `jwks_uri`. `outcome` is one of a few constants.
    pub fn record_client_key_fetch(&self, client_id: &ClientId, outcome: &'static str) {
        self.clients.key_fetches.with([&*self.client_label(client_id), outcome]).inc();
    }

    /// Sets the last fetch of every client with a `jwks_uri`; `None` before the first one.
    pub fn set_client_keys_fetched(
        &self,
        clients: impl Iterator<Item = (ClientId, Option<Timestamp>)>,
    ) {
        self.clients.keys_fetched.0.reset();
        for (label, at) in
            self.earliest_by_label(clients.map(|(id, at)| (id, at.map_or(0.0, unix_seconds))))
        {
            self.clients.keys_fetched.with([&label]).set(at);
        }
    }

    /// Sets the expiry of every client whose last secret expires.
    pub fn set_client_secret_expiry(&self, clients: impl Iterator<Item = (ClientId, Timestamp)>) {
        self.clients.secret_expires.0.reset();
        for (label, at) in self.earliest_by_label(clients.map(|(id, at)| (id, unix_seconds(at)))) {
            self.clients.secret_expires.with([&label]).set(at);
        }
    }

    fn earliest_by_label(
        &self,
        dated: impl Iterator<Item = (ClientId, f64)>,
    ) -> BTreeMap<String, f64> {
        let mut earliest: BTreeMap<String, f64> = BTreeMap::new();
        for (client_id, at) in dated {
            let known = earliest.entry(self.client_label(&client_id).to_string()).or_insert(at);
            *known = known.min(at);
        }
        earliest
    }

    /// Records an introspection by a registered data provider. `outcome` is `active` or `inactive`.
    pub fn record_introspection(&self, data_provider: &ClientId, outcome: &'static str) {
        self.clients.introspections.with([data_provider.as_str(), outcome]).inc();
    }

    /// Records a pushed authorization request; `error` is why it was rejected.
    pub fn record_pushed_request(&self, error: Option<ErrorCode>) {
        let outcome = error.map_or("accepted", |code| code.entry().oauth);
        self.clients.pushed_requests.with([outcome]).inc();
    }

    /// Records a revocation. `outcome` is `revoked`, or `not_found` for a token that is unknown or
    /// another client's.
    pub fn record_revocation(&self, outcome: &'static str) {
        self.clients.revocations.with([outcome]).inc();
    }
}

/// Label value of a client, without a copy.
pub(super) enum ClientLabel {
    Id(ClientId),
    Class(Arc<str>),
    Unknown,
}

impl std::ops::Deref for ClientLabel {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Self::Id(id) => id.as_str(),
            Self::Class(class) => class,
            Self::Unknown => UNKNOWN_CLIENT,
        }
    }
}
