use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use url::Url;

use super::handle::response_timeout;
use super::*;
use crate::health::{OpenCause, ProbeOutcome};
use crate::hub_clock::HubClock;
use passerelle_connector::{ConnectorError, MeasuredSkew};
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use passerelle_federation::{Federation, UnavailableDisplay};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::env::{Clock as _, Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_telemetry::Metrics;

/// An identity provider that never answers.
struct FakeHangingIdp;

#[async_trait::async_trait]
impl Connector for FakeHangingIdp {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        pending().await
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        pending().await
    }
    async fn end_session(&self, _: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        pending().await
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        pending().await
    }
}

/// An identity provider that is down until `is_back`, and counts calls.
#[derive(Default)]
struct FakeFailingIdp {
    is_back: AtomicBool,
    asked: AtomicUsize,
    probed: AtomicUsize,
}

impl FakeFailingIdp {
    fn answer(&self) -> Result<(), ConnectorError> {
        let is_back = self.is_back.load(Ordering::SeqCst);
        if is_back { Ok(()) } else { Err(ConnectorError::new(ErrorCode::IdpUnreachable, "down")) }
    }
}

#[async_trait::async_trait]
impl Connector for FakeFailingIdp {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        pending().await
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        pending().await
    }
    async fn end_session(&self, _: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.answer().map(|()| None)
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }
    async fn probe(&self) -> Result<(), ConnectorError> {
        self.probed.fetch_add(1, Ordering::SeqCst);
        self.answer()
    }
}

/// An identity provider whose logouts wait for the test.
#[derive(Default)]
struct FakeWaitingIdp {
    go: Notify,
    begun: Notify,
}

#[async_trait::async_trait]
impl Connector for FakeWaitingIdp {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        pending().await
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        pending().await
    }
    async fn end_session(&self, _: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        self.begun.notify_one();
        self.go.notified().await;
        Ok(None)
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        Ok(())
    }
}

/// Stops the actor from reading its mailbox.
#[derive(Message)]
#[rtype(result = "()")]
struct Hang;

impl Handler<Hang> for ConnectorActor {
    type Result = ();
    fn handle(&mut self, _: Hang, ctx: &mut Self::Context) {
        ctx.wait(actix::fut::wrap_future(pending()));
    }
}

/// Ends the actor as a panic would.
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
    pub(crate) async fn kill(&self) {
        self.address.send(Die).await.unwrap();
        while self.is_alive() {
            tokio::task::yield_now().await;
        }
    }
}

const ROOMY: ConnectorCallLimits = ConnectorCallLimits { calls: 8, queue: 0, wait: Duration::ZERO };

struct TestActor {
    handle: ConnectorHandle,
    metrics: Arc<Metrics>,
    clock: Arc<ManualClock>,
}

fn start(connector: Arc<dyn Connector>, limits: ConnectorCallLimits) -> TestActor {
    start_with_clock(connector, limits, HubClock::default())
}

fn start_with_clock(
    connector: Arc<dyn Connector>,
    limits: ConnectorCallLimits,
    hub_clock: HubClock,
) -> TestActor {
    let metrics = Arc::new(Metrics::new().unwrap());
    let clock = Arc::new(ManualClock::at(Timestamp::from_seconds(1_700_000_000)));
    let env = Env::new(Arc::clone(&clock) as Arc<_>, Arc::new(SeededEntropy::new(1)));
    let federation = Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled);
    let deps = ConnectorActorDeps {
        env,
        metrics: Arc::clone(&metrics),
        clock: hub_clock,
        federation: federation.into(),
    };
    let actor = ConnectorActor::new("mute".into(), connector, limits, Arc::default(), deps);
    TestActor { handle: actor.start_with(Actor::start), metrics, clock }
}

/// Starts an actor whose identity provider never answers.
pub(crate) fn start_hanging() -> ConnectorHandle {
    start(Arc::new(FakeHangingIdp), ROOMY).handle
}

fn request() -> EndSessionRequest {
    EndSessionRequest {
        session_hint: passerelle_protocol::ids::Secret::new("eyJ".into()),
        post_logout_redirect_uri: "https://hub.example/".into(),
        state: "s".into(),
    }
}

#[actix::test]
async fn a_call_to_a_hanging_actor_times_out() {
    tokio::time::pause();
    let actor = start(Arc::new(FakeHangingIdp), ROOMY);
    actor.handle.address.send(Hang).await.unwrap();
    let (began, error) = (
        Instant::now(),
        actor.handle.send(ConnectorCall::new(CallKind::Preload, super::preload)).await.unwrap_err(),
    );
    assert_eq!(
        (error.code, began.elapsed().as_secs()),
        (ErrorCode::IdpTimeout, response_timeout(ROOMY).as_secs())
    );
    assert_eq!(error.detail, "the connector's actor did not answer in time");
}

#[actix::test]
async fn a_call_beyond_the_limit_is_refused_and_counted() {
    let actor = start(Arc::new(FakeHangingIdp), ConnectorCallLimits { calls: 0, ..ROOMY });
    assert_eq!(actor.handle.end_session(request()).await.unwrap_err().code, ErrorCode::IdpBusy);
    let busy = ErrorCode::IdpBusy.entry().code;
    let line = format!(
        "passerelle_connector_calls_total{{connector=\"mute\",operation=\"end_session\",outcome=\"{busy}\"}}"
    );
    assert!(actor.metrics.render().contains(&line), "{}", actor.metrics.render());
}

#[actix::test]
async fn the_queue_is_short_and_its_wait_bounded() {
    tokio::time::pause();
    let held = Arc::new(FakeWaitingIdp::default());
    let limits = ConnectorCallLimits { calls: 1, queue: 1, wait: Duration::from_millis(500) };
    let actor = start(Arc::clone(&held) as _, limits);
    actor.handle.send(ConnectorCall::new(CallKind::Preload, super::preload)).await.unwrap();
    let ask = || {
        let handle = actor.handle.clone();
        actix::spawn(async move {
            (handle.end_session(request()).await.map_err(|error| error.detail), Instant::now())
        })
    };
    // In paused time: until nothing more can run.
    let settle = || tokio::time::sleep(Duration::from_millis(1));
    let first = ask();
    held.begun.notified().await;
    let began = Instant::now();
    let second = ask();
    settle().await;
    // The third finds the queue full and is refused at once; the second waits in vain.
    let (third, second) = (ask().await.unwrap(), second.await.unwrap());
    assert_eq!(third.0.unwrap_err(), "too many calls are running and queued");
    assert!((third.1 - began).as_millis() < 10);
    assert_eq!(second.0.unwrap_err(), "no running call ended while this one waited");
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
        actor.handle.circuit_state(),
        CircuitState::Closed,
        "the hub's own limits count as a failure of the identity provider"
    );
}

#[actix::test]
async fn a_call_in_flight_when_its_actor_dies_ends_and_is_counted() {
    let held = Arc::new(FakeWaitingIdp::default());
    let actor = start(Arc::clone(&held) as _, ROOMY);
    let handle = actor.handle.clone();
    let call = actix::spawn(async move { handle.end_session(request()).await });
    held.begun.notified().await;
    actor.handle.kill().await;
    assert!(!actor.handle.is_alive());
    held.go.notify_one();
    assert!(call.await.unwrap().is_ok(), "the user who waits gets no answer");
    let text = actor.metrics.render();
    assert!(text.contains("operation=\"end_session\",outcome=\"ok\"} 1"), "{text}");
}

#[actix::test]
async fn an_identity_provider_with_an_open_circuit_is_not_called_until_a_probe_succeeds() {
    let fragile = Arc::new(FakeFailingIdp::default());
    let actor = start(Arc::clone(&fragile) as _, ROOMY);
    for _ in 0..2 {
        assert!(actor.handle.probe().await.is_err());
    }
    let now = actor.clock.now();
    let open = move |health: &mut Health| {
        let (cause, _) = health.evidence(now).open_cause.unwrap();
        health.open_circuit(cause, now);
    };
    actor.handle.update_health(open).await;
    assert_eq!(actor.handle.circuit_state(), CircuitState::Open);
    assert_eq!(
        actor.handle.end_session(request()).await.unwrap_err().code,
        ErrorCode::IdpCircuitOpen
    );
    assert_eq!(fragile.asked.load(Ordering::SeqCst), 0, "it was called");
    let text = {
        actor.metrics.clear_connector_gauges();
        actor.handle.publish_metrics(&"mute".into(), &actor.metrics);
        actor.metrics.render()
    };
    assert!(
        text.contains("passerelle_connector_circuit_state{connector=\"mute\",state=\"open\"} 1"),
        "{text}"
    );
    assert!(text.contains("passerelle_connector_failure_ratio{connector=\"mute\"} 1"), "{text}");
    let in_trouble = ErrorCode::IdpCircuitOpen.entry().code;
    assert!(
        text.contains(&format!("operation=\"end_session\",outcome=\"{in_trouble}\"}} 1")),
        "{text}"
    );
    fragile.is_back.store(true, Ordering::SeqCst);
    assert_eq!(actor.handle.probe().await, Ok(()));
    assert_eq!(
        (fragile.probed.load(Ordering::SeqCst), actor.handle.circuit_state()),
        (3, CircuitState::Closed)
    );
    assert!(actor.handle.end_session(request()).await.is_ok());
}

#[actix::test]
async fn an_opened_circuit_is_logged_once_with_the_reasons_counted() {
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
    let actor = start(Arc::new(FakeFailingIdp::default()), ROOMY);
    let now = actor.clock.now();
    let failed = ProbeOutcome::Failed(ErrorCode::IdpTimeout);
    let fail = move |health: &mut Health| {
        health.record_document_probe(failed, false, Duration::from_secs(6), now);
    };
    let open = move |health: &mut Health| health.open_circuit(OpenCause::Documents, now);
    // On this thread, as the actor is.
    let _logging = tracing::subscriber::set_default(subscriber);
    for _ in 0..3 {
        actor.handle.update_health(fail).await;
    }
    actor.handle.update_health(open).await;
    actor.handle.update_health(open).await;
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim_ascii()).unwrap();
    assert_eq!((&line["level"], &line["connector"]), (&"ERROR".into(), &"mute".into()));
    assert_eq!(
        (&line["reasons"], &line["failures"], &line["cause"]),
        (&"Y020004 3".into(), &3.into(), &"documents".into())
    );
}

/// An identity provider whose clock differs so, and whose ID tokens come too late.
struct FakeIdpWithClock(MeasuredSkew);

impl FakeIdpWithClock {
    fn stating(seconds: i64) -> Arc<dyn Connector> {
        Arc::new(Self(MeasuredSkew { seconds, certificate_limit: None }))
    }

    fn with_refused_certificate(limit: u64, seconds: i64) -> Arc<dyn Connector> {
        Arc::new(Self(MeasuredSkew { seconds, certificate_limit: Some(limit) }))
    }
}

#[async_trait::async_trait]
impl Connector for FakeIdpWithClock {
    async fn begin_login(
        &self,
        _: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        pending().await
    }
    async fn complete_login(
        &self,
        _: LoginAttempt,
        _: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        Err(ConnectorError::new(ErrorCode::IdTokenFuture, "it was issued in the future"))
    }
    async fn preload(&self) -> Result<(), ConnectorError> {
        let refused = self
            .0
            .certificate_limit
            .map(|_| ConnectorError::new(ErrorCode::IdpCertificateTime, "certificate expired"));
        refused.map_or(Ok(()), Err)
    }
    fn clock_skew(&self) -> Option<MeasuredSkew> {
        Some(self.0)
    }
}

#[actix::test]
async fn certificates_that_expire_by_the_hubs_own_clock_disable_no_identity_provider() {
    let shared = HubClock::default();
    let idp = FakeIdpWithClock::with_refused_certificate(1_600_000_000, -9_000_000);
    let actor = start_with_clock(idp, ROOMY, shared.clone());
    let preload = async || {
        actor
            .handle
            .send(ConnectorCall::new(CallKind::Preload, super::preload))
            .await
            .unwrap_err()
            .code
    };
    let metric = "passerelle_connector_clock_skew_seconds{";
    assert_eq!(preload().await, ErrorCode::IdpCertificateTime);
    assert!(!actor.metrics.render().contains(metric), "its certificate may have expired");
    let other = FakeIdpWithClock::with_refused_certificate(1_500_000_000, -8_000_000);
    shared.add(&other);
    assert_eq!(preload().await, ErrorCode::HubClock);
    assert!(actor.metrics.render().contains(metric));
}

fn attempt() -> Box<LoginAttempt> {
    let request = UpstreamAuthorizationRequest {
        state: String::new(),
        nonce: String::new(),
        verifier: passerelle_protocol::ids::Secret::new(String::new()),
        redirect_uri: String::new(),
        level: passerelle_federation::assurance::Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: None,
        forwarded: BTreeMap::new(),
        requester: None,
        ui_locales: None,
    };
    let redirect = passerelle_federation::testing::samples::authorization_redirect();
    let redirected_at = Timestamp::from_seconds(1_700_000_000);
    Box::new(LoginAttempt { connector: "mute".into(), request, redirected_at, redirect })
}

#[actix::test]
async fn a_wrong_clock_of_the_hub_is_named_and_disables_no_identity_provider() {
    let shared = HubClock::default();
    let other = FakeIdpWithClock::stating(3598);
    let actor = start_with_clock(FakeIdpWithClock::stating(3600), ROOMY, shared.clone());
    let log_in = async |network: u8| {
        let network = ClientNetwork::containing([192, 0, network, 1].into());
        let login = actor.handle.complete_login(attempt(), CallbackParams::default(), network);
        login.await.map(drop).unwrap_err()
    };
    // One identity provider may be wrong itself.
    assert_eq!(log_in(0).await.code, ErrorCode::IdTokenFuture);
    // Two that agree are right.
    shared.add(&other);
    for network in 1..20 {
        let error = log_in(network).await;
        assert_eq!(error.code, ErrorCode::HubClock);
        assert!(error.detail.contains("+3600 s"), "{}", error.detail);
    }
    let now = actor.clock.now();
    let evidence = actor.handle.update_health(move |health| health.evidence(now)).await;
    assert_eq!(evidence.unwrap().open_cause, None);
    let skew = "passerelle_connector_clock_skew_seconds{connector=\"mute\"} 3600";
    assert!(actor.metrics.render().contains(skew), "measured although no login succeeded");
}
