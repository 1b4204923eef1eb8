//! The blocks of hubs that share a store: one record there, which each of them reads every second.
//!
//! Owns: that a change is kept before it is acknowledged, and known everywhere soon after. A revision in the record grows
//! with each change: a store that tells of an older one, or of none, has lost what was acknowledged (a failover), and is
//! told again by whoever knows better. Without an answer the last known blocks stay in force, also after a restart: a copy of
//! them is in the file. Must not know: which store it is.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;

use super::file::Row;
use super::{Blocks, Commanded, Known, Survival, Unchanged};
use crate::env::Timestamp;
use crate::store::{Draft, Key, Kind, Replaced, Store, StoreFault, Version};

/// How often the record is read.
const ROUND: Duration = Duration::from_secs(1);
/// A change that lost a race is made anew on what the winner left, this often.
const ATTEMPTS: usize = 8;
/// Blocks have no end of their own, records have: after half of this it is written again.
const LIFE: Duration = Duration::from_secs(366 * 24 * 3600);

/// Of the record's format. Members that are not known are refused, not ignored: they might say whom a block spares.
const FORMAT: u64 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    version: u64,
    revision: u64,
    blocks: Vec<Row>,
}

/// What is known of the store's record.
#[derive(Default)]
pub(super) struct Reading {
    /// True once it was read, or found absent, by this process.
    read: bool,
    trouble: Option<String>,
}

/// The record as the store has it.
struct Found {
    at: Version,
    until: Timestamp,
    known: Known,
}

impl Blocks {
    /// From now on the blocks are those of every hub with this store. Call [`Self::refresh`] before anybody is served.
    pub fn share(&self, store: Arc<dyn Store>) {
        let _there_is_one = self.0.store.set(store);
    }

    /// Follows the changes of other hubs, for ever.
    pub async fn follow(self) {
        let mut round = tokio::time::interval(ROUND);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            round.tick().await;
            self.refresh().await;
        }
    }

    /// One round. Does nothing for a hub that is alone.
    pub async fn refresh(&self) {
        let Some(store) = self.0.store.get() else { return };
        let outcome = self.round(store.as_ref()).await;
        let trouble = outcome.err().map(|fault| fault.to_string());
        let mut reading = self.0.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match (&trouble, &reading.trouble) {
            (Some(why), None) => {
                tracing::error!(why, "the blocks can't be read; those known last stay in force")
            }
            (None, Some(_)) => tracing::info!("the blocks can be read again"),
            _ => {}
        }
        reading.read |= trouble.is_none();
        reading.trouble = trouble;
    }

    /// Why this hub must not be asked yet: it has never heard which blocks there are.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        let complaint = self.complaint()?;
        let reading = self.0.reading.lock().unwrap_or_else(PoisonError::into_inner);
        (!reading.read).then_some(complaint)
    }

    /// Why changes made at other hubs may be missing here.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let reading = self.0.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let why = reading.trouble.as_ref()?;
        Some(format!(
            "the blocks can't be read, and those known last stay in force: {why}; mend: see the store (docs/redis.md)"
        ))
    }

    async fn round(&self, store: &dyn Store) -> Result<(), Unchanged> {
        let now = self.now();
        let found = self.found(store, now).await?;
        let known = self.0.current.load_full();
        let at = found.as_ref().map(|found| found.at);
        match found {
            Some(found) if found.known.revision >= known.revision => {
                if found.until.since(now) < LIFE / 2 {
                    self.write(store, at, &found.known, now).await?;
                }
                if self.adopt(found.known) {
                    self.copy().await;
                }
            }
            None if known.revision == 0 && known.blocks.is_empty() => {}
            Some(_) | None => {
                let told =
                    Known { revision: known.revision.max(1), blocks: Arc::clone(&known.blocks) };
                if self.write(store, at, &told, now).await? {
                    self.adopt(told);
                    tracing::warn!(
                        "the store did not have the blocks that this hub knows of; it has been told"
                    );
                } else if at.is_none() && self.found(store, now).await?.is_none() {
                    // Nobody was faster: what was tampered with counts as absent, and yet is in the way.
                    return Err(Unchanged::Away(
                        "their record is there, and can't be opened".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Nothing has changed unless it is kept.
    pub(super) async fn change_shared<T>(
        &self,
        store: &dyn Store,
        change: impl Fn(&mut Vec<Commanded>) -> Option<T>,
    ) -> Result<Option<(T, Survival)>, Unchanged> {
        for _ in 0..ATTEMPTS {
            let now = self.now();
            let found = self.found(store, now).await?;
            let known = self.0.current.load_full();
            let at = found.as_ref().map(|found| found.at);
            let base = found
                .as_ref()
                .map(|found| &found.known)
                .filter(|found| found.revision >= known.revision);
            let base = base.unwrap_or(&known);
            let mut blocks = Vec::clone(&base.blocks);
            blocks.retain(|one| !one.block.is_over(now));
            let Some(made) = change(&mut blocks) else { return Ok(None) };
            let next =
                Known { revision: base.revision.saturating_add(1), blocks: Arc::new(blocks) };
            if self.write(store, at, &next, now).await? {
                self.adopt(next);
                self.copy().await;
                return Ok(Some((made, Survival::Kept)));
            }
        }
        Err(Unchanged::Away(
            "other hubs changed the blocks at the same moment, again and again".to_owned(),
        ))
    }

    async fn found(&self, store: &dyn Store, now: Timestamp) -> Result<Option<Found>, Unchanged> {
        let Some(record) = store.load(&key(), now).await.map_err(away)? else {
            return Ok(None);
        };
        let strange = |what: String| {
            Unchanged::Away(format!(
                "the blocks in the store make no sense to this release: {what}"
            ))
        };
        let kept: Kept =
            serde_json::from_slice(&record.value).map_err(|error| strange(error.to_string()))?;
        if kept.version != FORMAT {
            return Err(strange(format!("their format is not {FORMAT}")));
        }
        let blocks =
            kept.blocks.into_iter().map(Row::read).collect::<Result<_, _>>().map_err(strange)?;
        let known = Known { revision: kept.revision, blocks: Arc::new(blocks) };
        Ok(Some(Found { at: record.version, until: record.expires_at, known }))
    }

    /// False where somebody else was faster.
    async fn write(
        &self,
        store: &dyn Store,
        at: Option<Version>,
        known: &Known,
        now: Timestamp,
    ) -> Result<bool, Unchanged> {
        let blocks = known.blocks.iter().map(Row::of).collect();
        let kept = Kept { version: FORMAT, revision: known.revision, blocks };
        let value =
            serde_json::to_vec(&kept).map_err(|error| Unchanged::Away(error.to_string()))?;
        let expires_at = now + LIFE;
        match at {
            Some(version) => {
                let replaced =
                    store.replace(&key(), version, value, expires_at, now).await.map_err(away)?;
                Ok(matches!(replaced, Replaced::Done(_)))
            }
            None => {
                match store
                    .insert(
                        key(),
                        Draft { value, expires_at, unread_until: None, families: Arc::default() },
                        now,
                    )
                    .await
                {
                    Ok(_) => Ok(true),
                    Err(StoreFault::Exists) => Ok(false),
                    Err(fault) => Err(away(fault)),
                }
            }
        }
    }

    /// Takes it up, unless something younger is known; true if it tells anything new.
    fn adopt(&self, next: Known) -> bool {
        let _alone = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.0.current.load();
        if next.revision < known.revision {
            return false;
        }
        let is_news = *known.blocks != *next.blocks;
        self.0.current.store(Arc::new(next));
        is_news
    }

    /// For a start while the store is away.
    async fn copy(&self) {
        let blocks = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            // What is current then: of two copies at once the older one must not come last.
            let _alone = blocks.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
            super::file::write(&blocks.0.path, &blocks.0.current.load().blocks)
        });
        if let Ok(Err(fault)) = written.await {
            tracing::warn!(%fault, "this hub's copy of the blocks is old; the store has them");
        }
    }
}

fn key() -> Key {
    Key { kind: Kind::Blocks, name: "all".into() }
}

fn away(fault: StoreFault) -> Unchanged {
    Unchanged::Away(fault.to_string())
}
