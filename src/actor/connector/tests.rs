use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;
use crate::actor::health::Cause;
use crate::env::{Clock as _, HandClock, SeededEntropy, Timestamp};

/// An identity provider that never says a word.
struct Mute;

#[async_trait::async_trait]
impl Connector for Mute {
    async fn begin(&self, _: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        pending().await
    }
    async fn complete(&self, _: Attempt, _: Arrival) -> Result<Authentication, ConnectorFault> {
        pending().await
    }
    async fn end(&self, _: Farewell) -> Result<Option<Url>, ConnectorFault> {
        pending().await
    }
    async fn warm(&self) -> Result<(), ConnectorFault> {
        pending().await
    }
}

/// One that is down until it is said to be back, and counts who asks.
#[derive(Default)]
struct Fragile {
    is_back: AtomicBool,
    asked: AtomicUsize,
    probed: AtomicUsize,
}

impl Fragile {
    fn answer(&self) -> Result<(), ConnectorFault> {
        let is_back = self.is_back.load(Ordering::SeqCst);
        if is_back { Ok(()) } else { Err(ConnectorFault::new(ErrorCode::IdpUnreachable, "down")) }
    }
}

#[async_trait::async_trait]
impl Connector for Fragile {
    async fn begin(&self, _: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        pending().await
    }
    async fn complete(&self, _: Attempt, _: Arrival) -> Result<Authentication, ConnectorFault> {
        pending().await
    }
    async fn end(&self, _: Farewell) -> Result<Option<Url>, ConnectorFault> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.answer().map(|()| None)
    }
    async fn warm(&self) -> Result<(), ConnectorFault> {
        Ok(())
    }
    async fn probe(&self) -> Result<(), ConnectorFault> {
        self.probed.fetch_add(1, Ordering::SeqCst);
        self.answer()
    }
}

/// One whose logouts wait for a word of the test's.
#[derive(Default)]
struct Held {
    go: Notify,
    begun: Notify,
}

#[async_trait::async_trait]
impl Connector for Held {
    async fn begin(&self, _: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        pending().await
    }
    async fn complete(&self, _: Attempt, _: Arrival) -> Result<Authentication, ConnectorFault> {
        pending().await
    }
    async fn end(&self, _: Farewell) -> Result<Option<Url>, ConnectorFault> {
        self.begun.notify_one();
        self.go.notified().await;
        Ok(None)
    }
    async fn warm(&self) -> Result<(), ConnectorFault> {
        Ok(())
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

/// The end of the actor, as a panic would bring it.
#[derive(Message)]
#[rtype(result = "()")]
struct Die;

impl Handler<Die> for ConnectorActor {
    type Result = ();
    fn handle(&mut self, _: Die, ctx: &mut Self::Context) {
        ctx.terminate();
    }
}

impl ConnectorHandle {
    pub async fn kill(&self) {
        self.address.send(Die).await.unwrap();
        while self.is_alive() {
            tokio::task::yield_now().await;
        }
    }
}

const ROOMY: Limits = Limits { calls: 8, queue: 0, wait: Duration::ZERO };

struct World {
    handle: ConnectorHandle,
    metrics: Arc<Metrics>,
    clock: Arc<HandClock>,
}

fn start(connector: Arc<dyn Connector>, limits: Limits) -> World {
    let metrics = Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap());
    let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1_700_000_000)));
    let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
    let surroundings = Surroundings { env, metrics: Arc::clone(&metrics) };
    let actor = ConnectorActor::new("mute".into(), connector, limits, Arc::default(), surroundings);
    World { handle: actor.run(Actor::start), metrics, clock }
}

fn farewell() -> Farewell {
    Farewell {
        id_token: crate::ids::Secret::new("eyJ".into()),
        return_uri: "https://hub.example/".into(),
        state: "s".into(),
    }
}

#[actix::test]
async fn an_actor_that_hangs_holds_nobody_for_ever() {
    tokio::time::pause();
    let world = start(Arc::new(Mute), ROOMY);
    world.handle.address.send(Hang).await.unwrap();
    let (began, fault) = (Instant::now(), world.handle.warm().await.unwrap_err());
    assert_eq!(
        (fault.code, began.elapsed().as_secs()),
        (ErrorCode::IdpTimeout, patience(ROOMY).as_secs())
    );
    assert_eq!(fault.detail, "the connector's actor said nothing in time");
}

#[actix::test]
async fn a_call_beyond_the_limit_is_refused_and_counted() {
    let world = start(Arc::new(Mute), Limits { calls: 0, ..ROOMY });
    assert_eq!(world.handle.end(farewell()).await.unwrap_err().code, ErrorCode::IdpBusy);
    let busy = ErrorCode::IdpBusy.entry().code;
    let line = format!(
        "passerelle_connector_calls_total{{connector=\"mute\",operation=\"end\",outcome=\"{busy}\"}}"
    );
    assert!(world.metrics.render().contains(&line), "{}", world.metrics.render());
}

#[actix::test]
async fn few_wait_and_only_for_a_moment() {
    tokio::time::pause();
    let held = Arc::new(Held::default());
    let limits = Limits { calls: 1, queue: 1, wait: Duration::from_millis(500) };
    let world = start(Arc::clone(&held) as _, limits);
    world.handle.warm().await.unwrap();
    let ask = || {
        let handle = world.handle.clone();
        actix::spawn(async move {
            (handle.end(farewell()).await.map_err(|fault| fault.detail), Instant::now())
        })
    };
    // In paused time: until all that can be done is done.
    let settle = || tokio::time::sleep(Duration::from_millis(1));
    let first = ask();
    held.begun.notified().await;
    let began = Instant::now();
    let second = ask();
    settle().await;
    // The third finds the queue full and hears it at once; the second waits in vain.
    let (third, second) = (ask().await.unwrap(), second.await.unwrap());
    assert_eq!(third.0.unwrap_err(), "too many calls are under way and waiting");
    assert!((third.1 - began).as_millis() < 10);
    assert_eq!(second.0.unwrap_err(), "no call under way has ended while this one waited");
    assert!((500..510).contains(&(second.1 - began).as_millis()));
    // One that waits when a call ends takes its turn.
    let waiting = ask();
    settle().await;
    held.go.notify_one();
    assert!(first.await.unwrap().0.is_ok());
    held.begun.notified().await;
    held.go.notify_one();
    assert!(waiting.await.unwrap().0.is_ok());
    assert_eq!(
        world.handle.standing(),
        Standing::Well,
        "the hub's own limits are no failure of the identity provider's"
    );
}

#[actix::test]
async fn one_whose_circuit_is_open_is_not_called_until_a_probe_finds_it_working() {
    let fragile = Arc::new(Fragile::default());
    let world = start(Arc::clone(&fragile) as _, ROOMY);
    let health = Arc::clone(world.handle.health());
    for _ in 0..2 {
        world.handle.probe(Probe::Documents).await;
    }
    let now = world.clock.now();
    let (cause, _) = health.evidence(now).condemned.unwrap();
    health.open(cause, now);
    assert_eq!(world.handle.standing(), Standing::Failing);
    assert_eq!(world.handle.end(farewell()).await.unwrap_err().code, ErrorCode::IdpInTrouble);
    assert_eq!(fragile.asked.load(Ordering::SeqCst), 0, "it is not called");
    let text = {
        world.metrics.connectors_cleared();
        world.handle.report(&"mute".into(), &world.metrics);
        world.metrics.render()
    };
    assert!(
        text.contains("passerelle_connector_breaker{connector=\"mute\",state=\"open\"} 1"),
        "{text}"
    );
    assert!(text.contains("passerelle_connector_failure_ratio{connector=\"mute\"} 1"), "{text}");
    let in_trouble = ErrorCode::IdpInTrouble.entry().code;
    assert!(text.contains(&format!("operation=\"end\",outcome=\"{in_trouble}\"}} 1")), "{text}");
    fragile.is_back.store(true, Ordering::SeqCst);
    world.handle.probe(Probe::Documents).await;
    assert_eq!(
        (fragile.probed.load(Ordering::SeqCst), world.handle.standing()),
        (3, Standing::Well)
    );
    assert!(world.handle.end(farewell()).await.is_ok());
}

#[actix::test]
async fn a_circuit_is_told_of_once_with_the_reasons_counted() {
    use tracing::instrument::WithSubscriber as _;
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_writer(move || written.clone())
        .finish();
    let fragile = Arc::new(Fragile::default());
    let world = start(Arc::clone(&fragile) as _, ROOMY);
    let (health, now) = (world.handle.health(), world.clock.now());
    for _ in 0..3 {
        health.record_documents(
            ProbeOutcome::Failed(ErrorCode::IdpTimeout),
            false,
            Duration::from_secs(6),
            now,
        );
    }
    let turn = health.open(Cause::Documents, now);
    assert_eq!(health.open(Cause::Documents, now), None);
    async { log_turn(&"mute".into(), turn) }.with_subscriber(subscriber).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["level"], &line["connector"]), (&"ERROR".into(), &"mute".into()));
    assert_eq!(
        (&line["reasons"], &line["failed"], &line["cause"]),
        (&"Y020004 3".into(), &3.into(), &"documents".into())
    );
}
