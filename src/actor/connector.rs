//! One actor per identity provider: it owns the connector and how many calls may be under way, so that a slow or
//! broken identity provider harms nobody else (architecture, rule 4).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::Url;

use crate::connector::own_page::{SignedIn, Typed};
use crate::connector::{Connector, ConnectorFault};
use crate::ids::ConnectorId;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, Left};
use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::Metrics;

/// The longest that one upstream step may take: token, keys and userinfo, six seconds each (decisions 10).
const STEP_LIMIT: Duration = Duration::from_secs(18);

/// The longest that anyone waits for the actor's word: the step, and a little for its mailbox and its arbiter.
const PATIENCE: Duration = STEP_LIMIT.saturating_add(Duration::from_millis(500));

pub struct ConnectorActor {
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    calls: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

#[derive(Message)]
#[rtype(result = "Result<Left, ConnectorFault>")]
struct Begin(Departure);

#[derive(Message)]
#[rtype(result = "Result<Authentication, ConnectorFault>")]
struct Complete(Attempt, Arrival);

#[derive(Message)]
#[rtype(result = "Result<SignedIn, ConnectorFault>")]
struct SignIn(Typed);

#[derive(Message)]
#[rtype(result = "Result<Option<Url>, ConnectorFault>")]
struct End(Farewell);

#[derive(Message)]
#[rtype(result = "Result<(), ConnectorFault>")]
struct Warm;

impl ConnectorActor {
    pub fn new(id: ConnectorId, connector: Arc<dyn Connector>, calls: usize, metrics: Arc<Metrics>) -> Self {
        Self { id, connector, calls: Arc::new(Semaphore::new(calls)), metrics }
    }

    /// Runs one call beside the mailbox, never inside it: other logins' calls start meanwhile.
    fn call<T, F>(
        &self,
        operation: &'static str,
        work: impl FnOnce(Arc<dyn Connector>) -> F,
    ) -> ResponseFuture<Result<T, ConnectorFault>>
    where
        T: 'static,
        F: Future<Output = Result<T, ConnectorFault>> + 'static,
    {
        let Ok(permit) = Arc::clone(&self.calls).try_acquire_owned() else {
            self.metrics.connector_busy(&self.id, operation);
            return Box::pin(async { Err(ConnectorFault::new(ErrorCode::IdpBusy, "too many calls are under way")) });
        };
        let work = work(Arc::clone(&self.connector));
        let (metrics, id) = (Arc::clone(&self.metrics), self.id.clone());
        Box::pin(async move {
            let started = Instant::now();
            let outcome = tokio::time::timeout(STEP_LIMIT, work)
                .await
                .unwrap_or_else(|_| Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the step took too long")));
            drop(permit);
            metrics.connector_call(&id, operation, outcome.as_ref().map(|_| ()).map_err(|fault| fault.code), started.elapsed());
            outcome
        })
    }
}

impl Actor for ConnectorActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // Metadata is fetched ahead of the first login; the start of the hub never waits for it.
        ctx.notify(Warm);
    }
}

impl Handler<Begin> for ConnectorActor {
    type Result = ResponseFuture<Result<Left, ConnectorFault>>;
    fn handle(&mut self, Begin(departure): Begin, _: &mut Self::Context) -> Self::Result {
        self.call("begin", move |connector| async move { connector.begin(departure).await })
    }
}

impl Handler<Complete> for ConnectorActor {
    type Result = ResponseFuture<Result<Authentication, ConnectorFault>>;
    fn handle(&mut self, Complete(attempt, arrival): Complete, _: &mut Self::Context) -> Self::Result {
        let (metrics, id) = (Arc::clone(&self.metrics), self.id.clone());
        self.call("complete", move |connector| async move {
            let outcome = connector.complete(attempt, arrival).await;
            if let (Ok(_), Some(seconds)) = (&outcome, connector.skew_seconds()) {
                #[expect(clippy::cast_precision_loss, reason = "a skew of 2^52 seconds is beyond every clock")]
                metrics.connector_clock_skew(&id, seconds as f64);
            }
            outcome
        })
    }
}

impl Handler<SignIn> for ConnectorActor {
    type Result = ResponseFuture<Result<SignedIn, ConnectorFault>>;
    fn handle(&mut self, SignIn(typed): SignIn, _: &mut Self::Context) -> Self::Result {
        self.call("sign_in", move |connector| async move {
            match connector.password_page() {
                Some(page) => page.sign_in(typed).await,
                None => Err(ConnectorFault::new(ErrorCode::Internal, "this connector has no page with a password")),
            }
        })
    }
}

impl Handler<End> for ConnectorActor {
    type Result = ResponseFuture<Result<Option<Url>, ConnectorFault>>;
    fn handle(&mut self, End(farewell): End, _: &mut Self::Context) -> Self::Result {
        self.call("end", move |connector| async move { connector.end(farewell).await })
    }
}

impl Handler<Warm> for ConnectorActor {
    type Result = ResponseFuture<Result<(), ConnectorFault>>;
    fn handle(&mut self, _: Warm, _: &mut Self::Context) -> Self::Result {
        let id = self.id.clone();
        self.call("warm", move |connector| async move {
            let outcome = connector.warm().await;
            if let Err(fault) = &outcome {
                tracing::warn!(connector = %id, %fault, "the identity provider is not ready; it is asked again at the next login");
            }
            outcome
        })
    }
}

/// The way to a connector's actor. Cheap to clone.
#[derive(Clone)]
pub struct ConnectorHandle {
    address: Addr<ConnectorActor>,
}

impl ConnectorHandle {
    pub(super) const fn new(address: Addr<ConnectorActor>) -> Self {
        Self { address }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.address.connected()
    }

    /// # Errors
    /// The connector's fault; `IdpBusy` beyond its limit; `IdpTimeout` if its actor says nothing in time; `Internal` if
    /// its actor has died.
    pub async fn begin(&self, departure: Departure) -> Result<Left, ConnectorFault> {
        self.ask(Begin(departure)).await
    }

    /// # Errors
    /// As for `begin`.
    pub async fn complete(&self, attempt: Attempt, arrival: Arrival) -> Result<Authentication, ConnectorFault> {
        self.ask(Complete(attempt, arrival)).await
    }

    /// Judges what was typed on the connector's own page.
    ///
    /// # Errors
    /// As for `begin`.
    pub async fn sign_in(&self, typed: Typed) -> Result<SignedIn, ConnectorFault> {
        self.ask(SignIn(typed)).await
    }

    /// # Errors
    /// As for `begin`.
    pub async fn end(&self, farewell: Farewell) -> Result<Option<Url>, ConnectorFault> {
        self.ask(End(farewell)).await
    }

    /// # Errors
    /// As for `begin`.
    pub async fn warm(&self) -> Result<(), ConnectorFault> {
        self.ask(Warm).await
    }

    async fn ask<M, T>(&self, message: M) -> Result<T, ConnectorFault>
    where
        M: Message<Result = Result<T, ConnectorFault>> + Send + 'static,
        T: Send + 'static,
        ConnectorActor: Handler<M>,
    {
        match self.address.send(message).timeout(PATIENCE).await {
            Ok(outcome) => outcome,
            Err(MailboxError::Timeout) => {
                Err(ConnectorFault::new(ErrorCode::IdpTimeout, "the connector's actor said nothing in time"))
            }
            Err(MailboxError::Closed) => Err(died()),
        }
    }
}

fn died() -> ConnectorFault {
    ConnectorFault::new(ErrorCode::Internal, "the connector's actor has died; it is being replaced")
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::env::Timestamp;

    /// An identity provider that never says a word.
    struct Mute;

    #[async_trait::async_trait]
    impl Connector for Mute {
        async fn begin(&self, _: Departure) -> Result<Left, ConnectorFault> {
            pending().await
        }
        async fn complete(&self, _: Attempt, _: Arrival) -> Result<Authentication, ConnectorFault> {
            pending().await
        }
        async fn warm(&self) -> Result<(), ConnectorFault> {
            pending().await
        }
    }

    /// Keeps the actor from ever reading its mailbox again.
    #[derive(Message)]
    #[rtype(result = "()")]
    struct Hang;

    impl Handler<Hang> for ConnectorActor {
        type Result = ();
        fn handle(&mut self, _: Hang, ctx: &mut Self::Context) {
            ctx.wait(actix::fut::wrap_future(pending()));
        }
    }

    fn start(calls: usize) -> (ConnectorHandle, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
        let actor = ConnectorActor::new("mute".into(), Arc::new(Mute), calls, Arc::clone(&metrics));
        (ConnectorHandle::new(actor.start()), metrics)
    }

    #[actix::test]
    async fn an_actor_that_hangs_holds_nobody_for_ever() {
        tokio::time::pause();
        let (handle, _) = start(8);
        handle.address.send(Hang).await.unwrap();
        let (began, fault) = (Instant::now(), handle.warm().await.unwrap_err());
        assert_eq!((fault.code, began.elapsed().as_secs()), (ErrorCode::IdpTimeout, PATIENCE.as_secs()));
        assert_eq!(fault.detail, "the connector's actor said nothing in time");
    }

    #[actix::test]
    async fn a_call_beyond_the_limit_is_refused_and_counted() {
        let (handle, metrics) = start(0);
        assert_eq!(handle.warm().await.unwrap_err().code, ErrorCode::IdpBusy);
        let busy = ErrorCode::IdpBusy.entry().code;
        let line = format!("passerelle_connector_calls_total{{connector=\"mute\",operation=\"warm\",outcome=\"{busy}\"}}");
        assert!(metrics.render().contains(&line), "{}", metrics.render());
    }
}
