//! Sends logout tokens to the service providers of a session that has ended by a logout (OpenID
//! Connect Back-Channel Logout 1.0 §2).
//!
//! Responsible for which tokens wait, who delivers them, how often, and when the hub gives up. A
//! notice is stored before the session ends, so that a restart loses none, and any hub that shares
//! the store delivers it. A service provider may get a token twice, never none, unless it joined
//! the session during the logout and the hub stops in that moment. Does not depend on why a session
//! ends.

mod backlog;
mod delivery;
mod notice;
mod queue;
mod slots;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use futures_util::stream;

use self::backlog::find_backlog;
use self::delivery::{DeliveryClient, DeliveryOutcome};
pub use self::notice::{LogoutNotice, derive_sid};
use self::queue::{NoticeQueue, QueuedNotice, Settlement};
use self::slots::{DeliverySlot, DeliverySlots};
use super::HubCore;
use super::response_signer::ResponseSigner;
use passerelle_audit::{Event, EventKind};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_store::Store;
use passerelle_telemetry::CheckFinding;

/// Time between two looks at the queue. Hubs start, and so look, at different times.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Delay of the second attempt; each further one waits three times as long.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(5);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(600);
/// Time after a logout beyond which no further attempt begins.
const GIVE_UP_AFTER: Duration = Duration::from_secs(3600);

/// Notices of one session after [`LogoutNotifier::store`]: what this hub delivers first, and what
/// [`LogoutNotifier::discard`] removes.
#[derive(Default)]
pub struct StoredNotices {
    bucket: Option<usize>,
    claimed: Vec<(QueuedNotice, DeliverySlot)>,
    /// Notices for which there was no room in the queue: one attempt is all they get.
    unstored: Vec<QueuedNotice>,
    /// Ids of all notices, stored or not.
    ids: Vec<String>,
}

/// Queue and delivery of logout tokens; one per process.
pub struct LogoutNotifier {
    core: Arc<HubCore>,
    queue: NoticeQueue,
    client: DeliveryClient,
    slots: Arc<DeliverySlots>,
    /// What the last look at the queue found.
    backlog: ArcSwapOption<CheckFinding>,
}

impl LogoutNotifier {
    /// Creates the notifier; `capacity` notices may wait.
    pub(super) fn new(
        core: Arc<HubCore>,
        store: Arc<dyn Store>,
        signer: Arc<ResponseSigner>,
        capacity: usize,
    ) -> Self {
        Self {
            queue: NoticeQueue::new(store, capacity),
            client: DeliveryClient::new(Arc::clone(&core), signer),
            core,
            slots: Arc::default(),
            backlog: ArcSwapOption::empty(),
        }
    }

    /// Returns whose logout tokens wait for long, with the fix.
    pub fn warning(&self) -> Option<CheckFinding> {
        self.backlog.load_full().map(Arc::unwrap_or_clone)
    }

    fn env(&self) -> &Env {
        &self.core.env
    }

    /// Stores the notices of a session that is about to end. [`Self::deliver`] sends them; if this
    /// hub stops before, any hub does.
    pub async fn store(&self, notices: Vec<LogoutNotice>) -> StoredNotices {
        if notices.is_empty() {
            return StoredNotices::default();
        }
        let (now, entropy) = (self.env().now(), self.env().entropy());
        let mut stored = StoredNotices::default();
        let mut queued = Vec::with_capacity(notices.len());
        for notice in notices {
            let slot = self.slots.reserve(&notice.client_id);
            let entry = QueuedNotice::new(notice, entropy.token(), now, slot.is_some());
            stored.ids.push(entry.id.clone());
            queued.push(entry.clone());
            stored.claimed.extend(slot.map(|slot| (entry, slot)));
        }
        let random = entropy.bits256();
        match self.queue.insert(&random, queued, now).await {
            Ok((bucket, rejected)) => {
                stored.bucket = Some(bucket);
                stored.claimed.retain(|(entry, _)| rejected.iter().all(|out| out.id != entry.id));
                stored.unstored = rejected;
            }
            Err((error, queued)) => {
                tracing::error!(%error, "logout tokens could not be stored; each is sent once only");
                stored.claimed.clear();
                stored.unstored = queued;
            }
        }
        stored
    }

    /// Removes notices of a session that another request has ended, which has stored its own.
    pub async fn discard(&self, stored: StoredNotices) {
        let Some(bucket) = stored.bucket else { return };
        let removed = stored.ids.into_iter().map(|id| (id, Settlement::Remove)).collect();
        self.store_settlements(bucket, removed).await;
    }

    /// Delivers the notices in the background, each for the first time.
    pub fn deliver(self: &Arc<Self>, stored: StoredNotices) {
        let StoredNotices { bucket, claimed, unstored, .. } = stored;
        if let Some(bucket) = bucket
            && !claimed.is_empty()
        {
            let notifier = Arc::clone(self);
            tokio::spawn(async move { notifier.deliver_claimed(bucket, claimed).await });
        }
        for entry in unstored {
            let Some(slot) = self.slots.reserve(&entry.notice.client_id) else {
                self.record(&entry, "dropped", Some(ErrorCode::LogoutTokenUndelivered));
                continue;
            };
            let notifier = Arc::clone(self);
            tokio::spawn(async move {
                match notifier.send_once(&entry, slot).await {
                    DeliveryOutcome::Retry(reason) => {
                        log_failure(&entry, &reason, "not stored, so not retried");
                        notifier.record(&entry, "dropped", Some(ErrorCode::LogoutTokenUndelivered));
                    }
                    outcome => drop(notifier.conclude(&entry, outcome)),
                }
            });
        }
    }

    /// Delivers the tokens that are due. Never returns. Does nothing while no service provider
    /// receives logout tokens.
    pub async fn run(self: Arc<Self>) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            if self.core.federation.load().sends_logout_tokens() {
                self.start_due().await;
            } else {
                self.backlog.store(None);
            }
        }
    }

    /// Claims the notices that are due, and delivers them in the background.
    pub async fn start_due(self: &Arc<Self>) {
        let now = self.env().now();
        let buckets = match self.queue.load_all(now).await {
            Ok(buckets) => buckets,
            Err(error) => {
                tracing::warn!(%error, "the queue of logout tokens can't be read");
                self.backlog.store(None);
                return;
            }
        };
        let waiting = buckets.iter().map(|bucket| bucket.entries.len()).sum();
        self.core.metrics.set_waiting_logout_tokens(waiting);
        let entries = buckets.iter().flat_map(|bucket| &bucket.entries);
        self.backlog.store(find_backlog(entries, now).map(Arc::new));
        for bucket in buckets {
            let index = bucket.index;
            let reserve = |client_id: &ClientId| self.slots.reserve(client_id);
            let claimed = self.queue.claim(bucket, reserve, now).await;
            if !claimed.is_empty() {
                let notifier = Arc::clone(self);
                tokio::spawn(async move { notifier.deliver_claimed(index, claimed).await });
            }
        }
    }

    /// Delivers claimed notices concurrently. The results are stored as they come, several at once,
    /// so that a slow receiver delays no other.
    async fn deliver_claimed(
        self: Arc<Self>,
        bucket: usize,
        claimed: Vec<(QueuedNotice, DeliverySlot)>,
    ) {
        let count = claimed.len();
        let deliveries = claimed.into_iter().map(|(entry, slot)| {
            let notifier = &self;
            async move {
                let outcome = notifier.send_once(&entry, slot).await;
                let settlement = notifier.conclude(&entry, outcome);
                (entry.id, settlement)
            }
        });
        let mut done = stream::iter(deliveries).buffer_unordered(count).ready_chunks(count);
        while let Some(settled) = done.next().await {
            self.store_settlements(bucket, settled).await;
        }
    }

    async fn store_settlements(&self, bucket: usize, settled: Vec<(String, Settlement)>) {
        if let Err(error) = self.queue.apply_settlements(bucket, settled, self.env().now()).await {
            tracing::warn!(%error, "the result of logout tokens could not be stored; they are sent again");
        }
    }

    async fn send_once(&self, entry: &QueuedNotice, slot: DeliverySlot) -> DeliveryOutcome {
        let outcome = self.client.send_logout_token(&entry.notice).await;
        drop(slot);
        outcome
    }

    /// Records the outcome of a delivery, and decides what follows.
    fn conclude(&self, entry: &QueuedNotice, outcome: DeliveryOutcome) -> Settlement {
        match outcome {
            DeliveryOutcome::Delivered => self.record(entry, "delivered", None),
            DeliveryOutcome::Withdrawn => self.record(entry, "withdrawn", None),
            DeliveryOutcome::Rejected(status) => {
                log_failure(entry, &format!("the response has status {status}"), "not retried");
                self.record(entry, "rejected", Some(ErrorCode::LogoutTokenRejected));
            }
            DeliveryOutcome::Retry(reason) => {
                let now = self.env().now();
                let next = now + self.jitter(retry_delay(entry.attempts));
                if next.since(entry.created_at) < GIVE_UP_AFTER {
                    log_failure(entry, &reason, "retried");
                    self.core.metrics.record_logout_token(&entry.notice.client_id, "failed");
                    return Settlement::RetryAt(next);
                }
                log_failure(entry, &reason, "given up");
                self.record(entry, "given_up", Some(ErrorCode::LogoutTokenUndelivered));
            }
        }
        Settlement::Remove
    }

    /// Counts the last result of a notice, and records it in the audit log and the login's
    /// timeline.
    fn record(&self, entry: &QueuedNotice, outcome: &'static str, code: Option<ErrorCode>) {
        let core = &self.core;
        let LogoutNotice { client_id, support_id, .. } = &entry.notice;
        core.metrics.record_logout_token(client_id, outcome);
        if outcome == "withdrawn" {
            return;
        }
        core.audit.record(|| {
            let event = match code {
                None => Event::new(EventKind::LogoutTokenDelivered),
                Some(code) => Event::new(EventKind::LogoutTokenUndelivered).code(code),
            };
            support_id.iter().fold(event.sp(client_id), Event::support_id)
        });
    }

    /// Returns the duration times a random factor between a half and one and a half.
    fn jitter(&self, duration: Duration) -> Duration {
        let [random, ..] = self.env().entropy().bits256();
        duration.mul_f64(0.5 + f64::from(random) / 256.0)
    }
}

fn log_failure(entry: &QueuedNotice, reason: &str, what_follows: &'static str) {
    let (client_id, attempts) = (&entry.notice.client_id, entry.attempts);
    tracing::warn!(%client_id, attempts, reason, what_follows, "logout token not accepted");
}

/// Returns the mean delay after this number of attempts.
fn retry_delay(attempts: u32) -> Duration {
    let factor = 3_u32.saturating_pow(attempts.saturating_sub(1));
    FIRST_RETRY_DELAY.saturating_mul(factor).min(MAX_RETRY_DELAY)
}

#[cfg(test)]
mod tests;
