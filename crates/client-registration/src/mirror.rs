//! The copy of the registrations in the federation of this hub.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::time::MissedTickBehavior;

use super::error_codes;
use super::records::{
    ClientEntry, RECORD_LIFETIME, RECORD_RENEWAL_AGE, RegistrationIndex, RegistrationRecord,
    RegistrationStatus, decode_record, index_key, registration_key,
};
use super::{ClientRegistrations, MIN_MISS_INTERVAL_MS, REFRESH_INTERVAL};
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::{RegisteredClients, ServiceProvider};
use passerelle_grants::dynamic_clients::DynamicClients;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_store::{Record, RecordKey, StoreError};
use passerelle_telemetry::{ExtensionMetric, ExtensionMetricType};

/// Time between two records of a client's use.
const USE_RESOLUTION: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

pub(super) static REGISTRATIONS: ExtensionMetric = ExtensionMetric {
    name: "client_registrations",
    metric_type: ExtensionMetricType::Gauge,
    labels: &["status"],
    help: "Dynamically registered clients by status: pending (they wait for an operator), approved; as this process read them last. Absent where registration is off.",
};

/// What this hub last read.
#[derive(Default)]
pub(super) struct RegistrationMirror {
    /// SHA-256 of the index; `None` before the first read and when it is absent.
    hash: Option<[u8; 32]>,
    entries: Vec<ClientEntry>,
    /// Each client with the name of the record that it was built from.
    clients: BTreeMap<ClientId, (String, Arc<ServiceProvider>)>,
    /// Clients whose records could not be loaded.
    unread: BTreeSet<ClientId>,
    /// Records of expired registrations, which nothing names any longer.
    expired: Vec<String>,
    /// Records that are encrypted with an outdated key of the store.
    outdated: Vec<RecordKey>,
    has_read_index: bool,
    has_failed: bool,
}

/// An approved client of another developer.
pub(super) struct OtherClient {
    pub service: Arc<ServiceProvider>,
    /// Whether a registration that has no other hosts may use its hosts and names.
    pub may_share: bool,
}

impl RegistrationMirror {
    /// Drops the clients that the index doesn't name, or names with another record. Returns true if
    /// each client of the index is left.
    fn retain_current(&mut self) -> bool {
        let named = self.entries.iter().map(|entry| (&entry.client_id, entry.record.as_str()));
        let named: BTreeMap<&ClientId, &str> = named.collect();
        self.clients.retain(|id, (record, _)| named.get(id) == Some(&record.as_str()));
        self.clients.len() == named.len()
    }
}

#[async_trait]
impl DynamicClients for ClientRegistrations {
    async fn ensure_known(&self, client_id: &str) -> Result<(), ErrorCode> {
        let is_known = || self.services.federation.load().client_named(client_id).is_some();
        if !client_id.starts_with(ClientId::REGISTERED_PREFIX) || is_known() {
            return Ok(());
        }
        let now = self.services.env.now().millis();
        let last = self.last_miss_ms.load(Ordering::Relaxed);
        let is_due = now.abs_diff(last) >= MIN_MISS_INTERVAL_MS;
        let order = Ordering::Relaxed;
        if is_due && self.last_miss_ms.compare_exchange(last, now, order, order).is_ok() {
            self.refresh().await;
        }
        let mirror = self.mirror.lock().await;
        let may_exist = mirror.has_failed || mirror.unread.contains(client_id);
        if may_exist && !is_known() { Err(ErrorCode::StoreUnavailable) } else { Ok(()) }
    }

    fn record_use(&self, client_id: &ClientId) {
        if client_id.is_assigned_by_hub()
            && self.services.federation.load().registered().contains_key(client_id)
        {
            let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            used.insert(client_id.clone());
        }
    }

    fn pending_error(&self, client_id: &ClientId) -> Option<ErrorCode> {
        let is_pending = self.services.federation.load().is_pending(client_id);
        is_pending.then_some(error_codes::CLIENT_ID_PENDING)
    }
}

impl ClientRegistrations {
    /// Reads the registrations every two seconds. Never returns.
    pub async fn run(self: Arc<Self>) {
        let mut round = tokio::time::interval(REFRESH_INTERVAL);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            round.tick().await;
            self.maintain().await;
        }
    }

    /// Runs one round of maintenance: reads the registrations, rewrites records that an outdated
    /// key encrypts, records uses, and removes expired registrations.
    pub async fn maintain(&self) {
        self.refresh().await;
        self.rewrite_outdated_records().await;
        self.record_uses().await;
    }

    /// Reads the registrations. On an error the last known ones stay in force.
    pub async fn refresh(&self) {
        let mut mirror = self.mirror.lock().await;
        let outcome = self.synchronize(&mut mirror).await;
        match (&outcome, mirror.has_failed) {
            (Err(code), false) => {
                let code = code.entry().code;
                tracing::error!(code, "reading the registrations failed; the known ones stay");
            }
            (Ok(()), true) => tracing::info!("reading the registrations works again"),
            _ => {}
        }
        mirror.has_failed = outcome.is_err();
    }

    async fn synchronize(&self, mirror: &mut RegistrationMirror) -> Result<(), ErrorCode> {
        let now = self.services.env.now();
        let found = self.services.store.load(&index_key(), now).await?;
        let is_first = !std::mem::replace(&mut mirror.has_read_index, true);
        if is_first && found.as_ref().is_some_and(|found| found.has_outdated_key) {
            mirror.outdated.push(index_key());
        }
        let hash = found.as_ref().map(|found| digest::sha256(&found.value));
        let has_expired = |entry: &ClientEntry| entry.expires_at(&self.config) <= now;
        let is_current = hash == mirror.hash && mirror.unread.is_empty();
        if is_current && !mirror.entries.iter().any(has_expired) {
            return Ok(());
        }
        let mut index: RegistrationIndex =
            found.map(|found| decode_record(&found.value)).transpose()?.unwrap_or_default();
        // Also those that another hub has removed from the index: it may have failed before it
        // removed their records.
        let known = mirror.entries.iter().chain(&index.clients);
        let expired = known.filter(|entry| has_expired(entry)).map(|entry| entry.record.clone());
        mirror.expired.extend(expired.collect::<BTreeSet<_>>());
        index.remove_expired(&self.config, now);
        (mirror.hash, mirror.entries) = (hash, index.clients);
        let is_complete = mirror.retain_current();
        // A removal or another status is in force whether or not the records can be loaded.
        self.publish(mirror);
        if !is_complete {
            self.build_clients(mirror, now).await;
            self.publish(mirror);
        }
        Ok(())
    }

    /// Builds the clients whose records are new. A record that can't be read makes its client alone
    /// unusable; one that can't be loaded is tried again by the next call.
    async fn build_clients(&self, mirror: &mut RegistrationMirror, now: Timestamp) {
        let is_new = |entry: &&ClientEntry| !mirror.clients.contains_key(&entry.client_id);
        let new: Vec<ClientEntry> = mirror.entries.iter().filter(is_new).cloned().collect();
        let mut unread = BTreeSet::new();
        for (entry, loaded) in new.iter().zip(self.load_records(&new, now).await) {
            let found = match loaded {
                Ok(found) => found,
                Err(error) => {
                    unread.insert(entry.client_id.clone());
                    if !mirror.unread.contains(&entry.client_id) {
                        let client_id = &entry.client_id;
                        tracing::error!(%client_id, %error, "a registration could not be loaded");
                    }
                    continue;
                }
            };
            if found.as_ref().is_some_and(|found| found.has_outdated_key) {
                mirror.outdated.push(registration_key(&entry.record));
            }
            let record = found.and_then(|found| self.decode_registration(entry, &found));
            if let Some(service) = record.and_then(|record| self.build_client(&record)) {
                let built = (entry.record.clone(), Arc::new(service));
                mirror.clients.insert(entry.client_id.clone(), built);
            } else {
                tracing::warn!(client_id = %entry.client_id, "a registration is not usable");
            }
        }
        mirror.unread = unread;
    }

    /// Loads records together, or each by itself if one of them keeps the others from being loaded.
    async fn load_records(
        &self,
        entries: &[ClientEntry],
        now: Timestamp,
    ) -> Vec<Result<Option<Record>, StoreError>> {
        let keys: Vec<_> = entries.iter().map(|entry| registration_key(&entry.record)).collect();
        let store = &self.services.store;
        match store.load_many(&keys, now).await {
            Ok(records) => records.into_iter().map(Ok).collect(),
            Err(_) => join_all(keys.iter().map(|key| store.load(key, now))).await,
        }
    }

    fn build_client(&self, record: &RegistrationRecord) -> Option<ServiceProvider> {
        let text = self.file_text(record).ok()?;
        (self.services.check_client_file)(&text).ok()
    }

    /// Returns the approved clients of other developers: of those that registered otherwise than
    /// with this initial access token.
    pub(super) async fn clients_of_others(
        &self,
        client_id: &ClientId,
        token: Option<&str>,
    ) -> Vec<OtherClient> {
        let mirror = self.mirror.lock().await;
        let is_of_other = |entry: &&ClientEntry| {
            entry.client_id != *client_id
                && (token.is_none() || entry.token.as_deref() != token)
                && self.current_status(entry) == RegistrationStatus::Approved
        };
        let others = mirror.entries.iter().filter(is_of_other);
        let with_service = others.filter_map(|entry| {
            let (_, service) = mirror.clients.get(&entry.client_id)?;
            let are_both_open = token.is_none() && entry.token.is_none();
            let may_share = self.config.shared_hosts && are_both_open;
            Some(OtherClient { service: Arc::clone(service), may_share })
        });
        with_service.collect()
    }

    /// Sets the gauges of registrations by status.
    pub(super) fn record_counts(&self, entries: &[ClientEntry]) {
        let has_status = |status| {
            entries.iter().filter(move |entry| self.current_status(entry) == status).count()
        };
        for status in [RegistrationStatus::Pending, RegistrationStatus::Approved] {
            let count = i64::try_from(has_status(status)).unwrap_or(i64::MAX);
            self.services.metrics.set_gauge(&REGISTRATIONS, &[status.as_str()], count);
        }
    }

    /// Puts the clients into the federation, and has the keys of approved ones fetched.
    fn publish(&self, mirror: &RegistrationMirror) {
        let mut registered = RegisteredClients::new();
        for entry in &mirror.entries {
            let Some((_, service)) = mirror.clients.get(&entry.client_id) else { continue };
            let service = match self.current_status(entry) {
                RegistrationStatus::Approved => Arc::clone(service),
                RegistrationStatus::Pending => {
                    let mut pending = ServiceProvider::clone(service);
                    pending.registration.active = false;
                    Arc::new(pending)
                }
            };
            registered.insert(entry.client_id.clone(), service);
        }
        self.record_counts(&mirror.entries);
        let has_fetched_keys = registered.values().any(|service| {
            service.registration.active && matches!(service.keys, KeySource::Uri(_))
        });
        self.services.federation.replace_registered(&Arc::new(registered));
        let federation = self.services.federation.load();
        let directory = &self.services.client_keys;
        if let Err(error) = directory.prepare(&federation) {
            tracing::error!(%error, "the keys of a registered client can't be fetched");
        }
        directory.retain(&federation);
        if has_fetched_keys {
            let (directory, env) = (Arc::clone(directory), self.services.env.clone());
            tokio::spawn(async move { directory.refresh(&env).await });
        }
    }

    /// Records which clients signed users in, at most once a day for each, and removes expired
    /// registrations from the store.
    async fn record_uses(&self) {
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        let now = self.services.env.now();
        let (due, expired): (Vec<ClientEntry>, Vec<String>) = {
            let mut mirror = self.mirror.lock().await;
            let expired = std::mem::take(&mut mirror.expired);
            let is_due = |entry: &&ClientEntry| {
                used.contains(&entry.client_id) && now.since(entry.active_at) >= USE_RESOLUTION
            };
            (mirror.entries.iter().filter(is_due).cloned().collect(), expired)
        };
        if due.is_empty() && expired.is_empty() {
            return;
        }
        let mut renewed = Vec::new();
        for entry in due.iter().filter(|entry| now.since(entry.renewed_at) >= RECORD_RENEWAL_AGE) {
            if self.renew_record(&registration_key(&entry.record), now).await == Ok(true) {
                renewed.push(entry.client_id.clone());
            }
        }
        let written = self.update_index(|index| {
            for entry in &due {
                if let Some(entry) = index.client_mut(entry.client_id.as_str()) {
                    entry.active_at = now;
                    if renewed.contains(&entry.client_id) {
                        entry.renewed_at = now;
                    }
                }
            }
            Ok(())
        });
        if let Err(error) = written.await {
            tracing::warn!(code = error.code.entry().code, "uses of clients were not recorded");
            self.mirror.lock().await.expired.extend(expired);
            self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(used);
            return;
        }
        for name in expired {
            self.remove_record(&name).await;
        }
    }

    /// Writes the records again that are encrypted with an outdated key of the store. Each process
    /// does it once for what it finds: hubs whose first keys differ would otherwise never stop.
    async fn rewrite_outdated_records(&self) {
        let outdated = std::mem::take(&mut self.mirror.lock().await.outdated);
        for key in outdated {
            if let Err(code) = self.renew_record(&key, self.services.env.now()).await {
                let code = code.entry().code;
                tracing::warn!(code, "the record of a registration keeps an outdated key for now");
                self.mirror.lock().await.outdated.push(key);
            }
        }
    }

    /// Writes a record again, which extends its lifetime and encrypts it with the store's first key.
    async fn renew_record(&self, key: &RecordKey, now: Timestamp) -> Result<bool, ErrorCode> {
        let store = &self.services.store;
        let Some(found) = store.load(key, now).await? else { return Ok(false) };
        let value = found.value.to_vec();
        store.replace(key, found.version, value, now + RECORD_LIFETIME, now).await?;
        Ok(true)
    }
}
