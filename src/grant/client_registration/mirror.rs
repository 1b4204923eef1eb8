//! The copy of the registrations in the federation of this hub.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tokio::time::MissedTickBehavior;

use super::index::{
    ClientEntry, RECORD_LIFETIME, RECORD_RENEWAL_AGE, RegistrationIndex, RegistrationRecord,
    RegistrationStatus, index_key, registration_key,
};
use super::{CLIENT_ID_PREFIX, ClientRegistrations, MIN_MISS_INTERVAL_MS, REFRESH_INTERVAL};
use crate::config::federation::RegisteredClients;
use crate::config::{KeySource, ServiceProvider};
use crate::digest;
use crate::env::Timestamp;
use crate::grant::records::decode_record;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;

/// Time between two records of a client's use.
const USE_RESOLUTION: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// What this hub last read.
#[derive(Default)]
pub(super) struct Mirror {
    /// SHA-256 of the index; `None` before the first read and when it is absent.
    hash: Option<[u8; 32]>,
    entries: Vec<ClientEntry>,
    /// Each client with the name of the record that it was built from.
    clients: BTreeMap<ClientId, (String, Arc<ServiceProvider>)>,
    /// Records of expired registrations, which nothing names any longer.
    expired: Vec<String>,
    has_failed: bool,
}

impl ClientRegistrations {
    /// Reads the registrations every two seconds, for ever.
    pub async fn run(self: Arc<Self>) {
        let mut round = tokio::time::interval(REFRESH_INTERVAL);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            round.tick().await;
            self.maintain().await;
        }
    }

    /// Reads the registrations, records uses and removes what has expired, once.
    pub async fn maintain(&self) {
        self.refresh().await;
        self.record_uses().await;
    }

    /// Reads the registrations at once if this hub doesn't know the client but another one may. A
    /// client of the configuration costs no store call.
    pub async fn ensure_known(&self, client_id: &str) {
        if !client_id.starts_with(CLIENT_ID_PREFIX)
            || self.services.federation.load().client_named(client_id).is_some()
        {
            return;
        }
        let now = self.services.env.now().millis();
        let last = self.last_miss_ms.load(Ordering::Relaxed);
        let is_due = now.abs_diff(last) >= MIN_MISS_INTERVAL_MS;
        let order = Ordering::Relaxed;
        if is_due && self.last_miss_ms.compare_exchange(last, now, order, order).is_ok() {
            self.refresh().await;
        }
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

    async fn synchronize(&self, mirror: &mut Mirror) -> Result<(), ErrorCode> {
        let now = self.services.env.now();
        let found = self.services.store.load(&index_key(), now).await?;
        let hash = found.as_ref().map(|found| digest::sha256(&found.value));
        let has_expired = |entry: &ClientEntry| entry.expires_at(&self.config) <= now;
        if hash == mirror.hash && !mirror.entries.iter().any(has_expired) {
            return Ok(());
        }
        let mut index: RegistrationIndex =
            found.map(|found| decode_record(&found.value)).transpose()?.unwrap_or_default();
        let expired = index.clients.iter().filter(|entry| has_expired(entry));
        mirror.expired.extend(expired.map(|entry| entry.record.clone()));
        index.remove_expired(&self.config, now);
        self.build_clients(mirror, &index.clients, now).await?;
        (mirror.hash, mirror.entries) = (hash, index.clients);
        self.publish(mirror);
        Ok(())
    }

    /// Builds the clients whose records are new, and drops those that the index doesn't name.
    async fn build_clients(
        &self,
        mirror: &mut Mirror,
        entries: &[ClientEntry],
        now: Timestamp,
    ) -> Result<(), ErrorCode> {
        let is_current = |entry: &&ClientEntry| {
            let known = mirror.clients.get(&entry.client_id);
            known.is_some_and(|(record, _)| *record == entry.record)
        };
        let new: Vec<&ClientEntry> = entries.iter().filter(|entry| !is_current(entry)).collect();
        let keys: Vec<_> = new.iter().map(|entry| registration_key(&entry.record)).collect();
        let records = self.services.store.load_many(&keys, now).await?;
        for (entry, record) in new.into_iter().zip(records) {
            let built = record.and_then(|record| {
                let record: RegistrationRecord = decode_record(&record.value).ok()?;
                (record.client_id == entry.client_id).then_some(record)
            });
            let built = built.and_then(|record| self.build_client(&record));
            if let Some(service) = built {
                let built = (entry.record.clone(), Arc::new(service));
                mirror.clients.insert(entry.client_id.clone(), built);
            } else {
                mirror.clients.remove(&entry.client_id);
                tracing::warn!(client_id = %entry.client_id, "a registration is not usable");
            }
        }
        mirror.clients.retain(|id, _| entries.iter().any(|entry| entry.client_id == *id));
        Ok(())
    }

    fn build_client(&self, record: &RegistrationRecord) -> Option<ServiceProvider> {
        let text = self.file_text(record).ok()?;
        self.services.checker.check(&text).ok()
    }

    /// Puts the clients into the federation, and has the keys of approved ones fetched.
    fn publish(&self, mirror: &Mirror) {
        let mut registered = RegisteredClients::new();
        for entry in &mirror.entries {
            let Some((_, service)) = mirror.clients.get(&entry.client_id) else { continue };
            let service = match entry.status {
                RegistrationStatus::Approved => Arc::clone(service),
                RegistrationStatus::Pending => {
                    let mut pending = ServiceProvider::clone(service);
                    pending.registration.active = false;
                    Arc::new(pending)
                }
            };
            registered.insert(entry.client_id.clone(), service);
        }
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
            if self.renew_record(&entry.record, now).await == Ok(true) {
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
            return;
        }
        for name in expired {
            self.remove_record(&name).await;
        }
    }

    /// Extends the lifetime of a record.
    async fn renew_record(&self, name: &str, now: Timestamp) -> Result<bool, ErrorCode> {
        let (store, key) = (&self.services.store, registration_key(name));
        let Some(found) = store.load(&key, now).await? else { return Ok(false) };
        let value = found.value.to_vec();
        store.replace(&key, found.version, value, now + RECORD_LIFETIME, now).await?;
        Ok(true)
    }
}
