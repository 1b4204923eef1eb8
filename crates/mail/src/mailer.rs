//! Queues the codes and delivers the mails.
//!
//! A mail is stored before a request is answered, so that a restart loses none, and any hub that
//! shares the store delivers it. No request waits for the mail server.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::message::{MailContent, MailSender};
use super::person::{LoginOfPerson, MAIL_PERSON, MailPerson, login_key, named_key, person_key};
use super::queue::{Insertion, MailQueue, MailSettlement, QueuedMail};
use super::settings::{MailConfig, MailSettings, parse_address};
use super::smtp_client::{SEND_TIMEOUT, SmtpClient, SmtpError};
use passerelle_audit::{Audit, Event, EventKind, ExtensionEvent};
use passerelle_grants::HubCore;
use passerelle_hub::mail_codes::{MailCode, MailCodeError, MailCodes, MailUser};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::{ConnectorId, Secret, SupportId};
use passerelle_store::{Store, StoreError, stored_value};
use passerelle_telemetry::{CheckFinding, ExtensionMetric, ExtensionMetricType};

/// Time between two looks at the queue. Hubs start, and so look, at different times.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Delay of the second attempt; each further one waits twice as long.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(10);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(120);
/// Age of a waiting mail from which the hub reports a degradation.
const LONG_WAIT: Duration = Duration::from_secs(60);

/// Counter of mails.
pub(crate) static MAILS: ExtensionMetric = ExtensionMetric {
    name: "mails_total",
    metric_type: ExtensionMetricType::Counter,
    labels: &["outcome"],
    help: "Mails by outcome: sent (the server accepted it), deferred (an attempt failed and is repeated), rejected (by the server), expired (the code, before the server accepted it), dropped (the queue or the store had no room), limited (too many for the person or the address).",
};

/// Gauge of the queue.
pub(crate) static MAILS_WAITING: ExtensionMetric = ExtensionMetric {
    name: "mails_waiting",
    metric_type: ExtensionMetricType::Gauge,
    labels: &[],
    help: "Mails in the queue that all hubs of a store share, as this process read it last.",
};

/// Event of a mail that was lost.
pub(crate) const MAIL_UNDELIVERED: EventKind = EventKind::Extension(&ExtensionEvent {
    name: "mail_undelivered",
    meaning: "A mail with a one-time code was not sent.",
    fields: &["support_id"],
    is_unauthenticated: false,
});

/// Sends codes and remembers addresses; one for each hub.
pub(crate) struct Mailer {
    core: Arc<HubCore>,
    store: Arc<dyn Store>,
    config: MailConfig,
    sender: MailSender,
    client: Arc<SmtpClient>,
    queue: MailQueue,
    /// One for each mail that this hub may send at once.
    slots: Arc<Semaphore>,
    /// Signals that a mail may be due while there was no slot.
    wake: Notify,
    /// Why the last mail was not sent; `None` after one that was.
    last_error: ArcSwapOption<SmtpError>,
    /// What the last look at the queue found.
    backlog: ArcSwapOption<CheckFinding>,
}

impl Mailer {
    pub(crate) fn new(
        core: Arc<HubCore>,
        store: Arc<dyn Store>,
        settings: &MailSettings,
        sender: MailSender,
    ) -> Self {
        let config = settings.config.clone();
        let queue = MailQueue::new(
            Arc::clone(&store),
            to_usize(config.max_waiting),
            to_usize(config.mails_per_address),
        );
        Self {
            queue,
            core,
            store,
            sender,
            client: Arc::clone(&settings.client),
            slots: Arc::new(Semaphore::new(to_usize(config.connections))),
            wake: Notify::new(),
            last_error: ArcSwapOption::empty(),
            backlog: ArcSwapOption::empty(),
            config,
        }
    }

    fn env(&self) -> &Env {
        &self.core.env
    }

    fn count(&self, outcome: &str) {
        self.core.metrics.increment(&MAILS, &[outcome]);
    }

    /// Returns the audit log.
    pub(crate) fn audit(&self) -> &Audit {
        &self.core.audit
    }

    /// Returns that mails wait for long, with the fix.
    pub(crate) fn backlog(&self) -> Option<CheckFinding> {
        self.backlog.load_full().map(Arc::unwrap_or_clone)
    }

    /// Delivers the mails that are due. Never returns.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let _elapsed = tokio::time::timeout(POLL_INTERVAL, self.wake.notified()).await;
            self.start_due().await;
        }
    }

    /// Claims the mails that are due, as many as there are slots, and delivers them in the
    /// background.
    pub(crate) async fn start_due(self: &Arc<Self>) {
        let now = self.env().now();
        let waiting = match self.queue.load_all(now).await {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::warn!(%error, "the queue of mails can't be read");
                return;
            }
        };
        let count = i64::try_from(waiting.len()).unwrap_or(i64::MAX);
        self.core.metrics.set_gauge(&MAILS_WAITING, &[], count);
        self.backlog.store(self.find_backlog(&waiting, now).map(Arc::new));
        for mail in waiting {
            if is_too_late(&mail, now) {
                self.drop_expired(&mail, now).await;
            } else if mail.due_at <= now && !self.start_delivery(mail) {
                return;
            }
        }
    }

    /// Waits until every delivery that has begun is over.
    #[cfg(test)]
    pub(crate) async fn finish_deliveries(&self) {
        let _all = self.slots.acquire_many(self.config.connections).await;
    }

    fn find_backlog(&self, waiting: &[QueuedMail], now: Timestamp) -> Option<CheckFinding> {
        let late = waiting.iter().filter(|mail| now.since(mail.queued_at) >= LONG_WAIT).count();
        let error = self.last_error.load();
        let error = error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        (late > 0).then(|| {
            let message = format!("{late} mails wait for more than a minute{error}");
            CheckFinding::new(
                message,
                "check the mail server (docs/runbooks.md#passerellemailsundelivered)",
            )
        })
    }

    /// Starts the delivery of a mail. Returns false if there is no slot; then it waits.
    fn start_delivery(self: &Arc<Self>, mail: QueuedMail) -> bool {
        let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() else { return false };
        let mailer = Arc::clone(self);
        tokio::spawn(async move { mailer.deliver(mail, slot).await });
        true
    }

    async fn deliver(self: Arc<Self>, mail: QueuedMail, slot: OwnedSemaphorePermit) {
        let had_no_slot_left = self.slots.available_permits() == 0;
        match self.queue.claim(&mail, self.env().now()).await {
            Ok(Some(mail)) => self.deliver_claimed(&mail).await,
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a mail could not be claimed; it is tried again"),
        }
        drop(slot);
        if had_no_slot_left {
            self.wake.notify_one();
        }
    }

    async fn deliver_claimed(&self, mail: &QueuedMail) {
        let sent = self.send(mail).await;
        let now = self.env().now();
        let settlement = match &sent {
            Ok(()) => {
                self.last_error.store(None);
                self.count("sent");
                MailSettlement::Remove
            }
            Err(error @ SmtpError::Temporary(_)) => {
                let attempts = mail.attempts;
                tracing::warn!(%error, attempts, support_id = %mail.support_id, "mail deferred");
                self.last_error.store(Some(Arc::new(error.clone())));
                self.count("deferred");
                MailSettlement::RetryAt(now + self.jitter(retry_delay(attempts)))
            }
            Err(error @ SmtpError::Rejected(_)) => {
                tracing::warn!(%error, support_id = %mail.support_id, "mail rejected");
                self.record_loss(mail, "rejected");
                MailSettlement::Remove
            }
        };
        if let Err(error) = self.queue.remove_or_postpone(mail, settlement, now).await {
            tracing::warn!(%error, "the result of a mail could not be stored; it may be sent again");
        }
    }

    async fn send(&self, mail: &QueuedMail) -> Result<(), SmtpError> {
        let rejected = || SmtpError::Rejected("the mail can't be written".to_owned());
        let languages = Arc::clone(&self.core.federation.load().languages);
        let locale = languages.find(&mail.language).unwrap_or(languages.default_locale());
        let remaining = mail.expires_at.since(self.env().now());
        let content = MailContent::Code { code: &mail.code, service: &mail.service, remaining };
        let to = parse_address(&mail.address).ok_or_else(rejected)?;
        let message = self.sender.write_mail(to, &content, locale, self.env());
        let message = message.ok_or_else(rejected)?;
        self.client.send(message.envelope(), &message.formatted()).await
    }

    /// Removes a mail whose code would be of no use.
    async fn drop_expired(&self, mail: &QueuedMail, now: Timestamp) {
        // Of several hubs, the one that removed it counts it.
        if self.queue.remove_or_postpone(mail, MailSettlement::Remove, now).await == Ok(true) {
            tracing::warn!(attempts = mail.attempts, support_id = %mail.support_id, "mail expired");
            self.record_loss(mail, "expired");
        }
    }

    fn record_loss(&self, mail: &QueuedMail, outcome: &'static str) {
        self.count(outcome);
        self.core.audit.record(|| {
            Event::new(MAIL_UNDELIVERED).support_id(&mail.support_id).detail(Some(outcome))
        });
    }

    /// Returns the duration times a random factor between a half and one and a half.
    fn jitter(&self, duration: Duration) -> Duration {
        let [random, ..] = self.env().entropy().bits256();
        duration.mul_f64(0.5 + f64::from(random) / 256.0)
    }

    async fn update_person<R>(
        &self,
        user: &MailUser,
        change: impl Fn(&mut MailPerson, Timestamp) -> R,
    ) -> Result<R, MailCodeError> {
        let now = self.env().now();
        let key = person_key(user);
        let changed =
            stored_value::update(self.store.as_ref(), &key, now, |one| change(one, now)).await;
        changed.map_err(|error| unavailable(&error))
    }

    /// Returns the connector of a login whose support id an operator knows, and the person's record.
    /// `None` if no code was sent in it within a day.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn find_login(
        &self,
        support_id: &SupportId,
    ) -> Result<Option<(ConnectorId, String)>, StoreError> {
        let now = self.env().now();
        let found: LoginOfPerson =
            stored_value::load(self.store.as_ref(), &login_key(support_id), now).await?;
        let connector = ConnectorId::new(found.connector);
        Ok((!found.person.is_empty()).then_some((connector, found.person)))
    }

    /// Removes the address of a person's record. Returns whether it had one.
    ///
    /// # Errors
    /// The error of the store.
    pub(crate) async fn reset_address(&self, record: String) -> Result<bool, StoreError> {
        let (now, key) = (self.env().now(), named_key(record));
        stored_value::update(self.store.as_ref(), &key, now, |person: &mut MailPerson| {
            person.address.take().is_some()
        })
        .await
    }
}

#[async_trait]
impl MailCodes for Mailer {
    fn check_address(&self, address: &Secret<String>) -> Result<(), MailCodeError> {
        let parsed = parse_address(address.reveal());
        parsed.map(drop).ok_or(MailCodeError::AddressUnusable)
    }

    async fn stored_address(
        &self,
        user: &MailUser,
    ) -> Result<Option<Secret<String>>, MailCodeError> {
        let now = self.env().now();
        let person = stored_value::load(self.store.as_ref(), &person_key(user), now).await;
        let person: MailPerson = person.map_err(|error| unavailable(&error))?;
        Ok(person.address(now).map(|address| Secret::new(address.to_owned())))
    }

    async fn store_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError> {
        let lifetime = self.config.address_lifetime();
        self.update_person(user, |person, now| {
            person.store_address(address.reveal(), now + lifetime, now);
        })
        .await
    }

    async fn confirm_address(
        &self,
        user: &MailUser,
        address: &Secret<String>,
    ) -> Result<(), MailCodeError> {
        let lifetime = self.config.address_lifetime();
        let is_within = self.update_person(user, |person, now| {
            let is_within = person.may_enter_codes(now);
            if is_within {
                person.store_address(address.reveal(), now + lifetime, now);
            }
            is_within
        });
        limited_unless(is_within.await?)
    }

    async fn send_code(&self, code: MailCode) -> Result<(), MailCodeError> {
        let now = self.env().now();
        self.check_address(&code.address)?;
        let login = LoginOfPerson {
            person: person_key(&code.user).name.to_string(),
            connector: code.user.connector.to_string(),
        };
        let store = self.store.as_ref();
        let key = login_key(&code.support_id);
        let named = stored_value::update(store, &key, now, |one| {
            *one = login.clone();
        });
        // Without the record, an operator can't reset the address by this login.
        if let Err(error) = named.await {
            tracing::warn!(%error, "the person of a login with a code could not be stored");
        }
        let limit = to_usize(self.config.mails_per_person);
        if !self.update_person(&code.user, |person, now| person.take_mail(limit, now)).await? {
            self.count("limited");
            return Err(MailCodeError::Limited);
        }
        let mail = QueuedMail {
            id: self.env().entropy().token(),
            support_id: code.support_id,
            address: code.address.into_inner(),
            code: code.code.into_inner(),
            language: code.language,
            service: code.service,
            queued_at: now,
            expires_at: code.expires_at,
            attempts: 0,
            due_at: now,
        };
        match self.queue.insert(&mail, now).await {
            Ok(Insertion::Inserted) => {
                self.wake.notify_one();
                Ok(())
            }
            Ok(Insertion::Limited) => {
                self.count("limited");
                Err(MailCodeError::Limited)
            }
            Ok(Insertion::Full) => {
                tracing::error!("the queue of mails is full");
                self.record_loss(&mail, "dropped");
                Err(MailCodeError::Unavailable)
            }
            Err(error) => {
                self.record_loss(&mail, "dropped");
                Err(unavailable(&error))
            }
        }
    }

    async fn record_wrong_code(&self, user: &MailUser) -> Result<(), MailCodeError> {
        limited_unless(self.update_person(user, MailPerson::record_wrong_code).await?)
    }
}

fn limited_unless(is_within: bool) -> Result<(), MailCodeError> {
    if is_within { Ok(()) } else { Err(MailCodeError::Limited) }
}

fn unavailable(error: &StoreError) -> MailCodeError {
    tracing::warn!(%error, kind = MAIL_PERSON.name, "the store can't be used for mail");
    MailCodeError::Unavailable
}

/// Returns whether the mail would arrive when its code has expired: a login that is over, for
/// example before the store was restored.
fn is_too_late(mail: &QueuedMail, now: Timestamp) -> bool {
    mail.expires_at <= now + SEND_TIMEOUT
}

/// Returns the mean delay after this number of attempts.
fn retry_delay(attempts: u32) -> Duration {
    let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
    FIRST_RETRY_DELAY.saturating_mul(factor).min(MAX_RETRY_DELAY)
}

fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
