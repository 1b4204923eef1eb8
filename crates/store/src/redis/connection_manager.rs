//! Manages the connections to the Redis servers.
//!
//! Responsible for timeouts, reconnection, retries and the circuit breaker. Does not depend on
//! records.
//!
//! Each runtime (an arbiter, or the store's own thread) has its own connection with pipelined
//! calls. The task that drives a connection runs on the runtime that opened it, so no call crosses
//! threads, and none is lost when runtimes end one after the other. The first failure of any
//! connection disconnects all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::runtime::{self, Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::call_error::RedisCallError;
use super::client::{Connection, RedisClient};
use super::outage_log::OutageLog;
use super::scripts::{self, Script};
use super::server_info::{self, DeploymentInfo};
use super::settings::RedisMode;
use passerelle_egress::circuit_breaker::CircuitBreaker;
use passerelle_telemetry::Metrics;

/// Time that the circuit stays open. A failover takes a few seconds.
const CIRCUIT_OPEN_TIME: Duration = Duration::from_secs(1);
/// Delay after the first failed connection attempt. It doubles with each further failure.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(50);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(2);
/// Minimum time to wait for a connection attempt of another task.
const MIN_CONNECT_WAIT: Duration = Duration::from_secs(1);
/// Interval of the health check, by which `/readyz` knows the state of an idle store.
const HEALTH_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Form of the result of [`ConnectionManager::send`].
#[derive(Clone, Copy)]
enum Reply {
    /// Reply to the only command.
    Single,
    /// Array of the replies to all commands, in order.
    Array,
}

/// Connections to the servers, shared by all runtimes of the process.
pub(super) struct ConnectionManager {
    client: RedisClient,
    call_timeout: Duration,
    /// Runtime of the store's own thread, which runs the health checks.
    runtime: Handle,
    state: Mutex<ConnectionState>,
    /// Held while connecting; other tasks wait for the result.
    connect_lock: tokio::sync::Mutex<()>,
    breaker: CircuitBreaker,
    metrics: Arc<Metrics>,
    /// Script of the health check, and a key that never exists.
    ping: (Script, String),
    /// Dropped with the manager, which ends the thread.
    _alive: oneshot::Sender<()>,
}

#[derive(Default)]
struct ConnectionState {
    /// Connection of each runtime.
    connections: HashMap<runtime::Id, Connection>,
    /// Incremented when all are disconnected, so that a late failure of an older connection does
    /// not disconnect newer ones.
    generation: u64,
    /// Whether the last server that was connected to is a node of a Cluster.
    is_cluster: bool,
    connect_failures: u32,
    next_attempt_at: Option<Instant>,
    /// Last outage; `None` after a success.
    last_error: Option<RedisCallError>,
    /// Rejection of the last health check: the servers are up, but this user can't write.
    health_check_error: Option<RedisCallError>,
}

impl ConnectionManager {
    /// Starts the store's thread and its health checks.
    ///
    /// # Errors
    /// The operating system can't start the thread.
    pub(super) fn new(
        client: RedisClient,
        call_timeout: Duration,
        prefix: &str,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, until_dropped) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("store-redis".into())
            .spawn(move || runtime.block_on(until_dropped))?;
        let outage_log = OutageLog::new(Arc::clone(&metrics));
        let manager = Arc::new_cyclic(|manager: &Weak<Self>| Self {
            breaker: CircuitBreaker::with_open_time(CIRCUIT_OPEN_TIME, {
                let manager = Weak::clone(manager);
                Box::new(move |from, to| {
                    let error = manager.upgrade().and_then(|manager| manager.last_error());
                    outage_log.report_change(from, to, error.as_ref());
                })
            }),
            client,
            call_timeout,
            runtime: handle,
            state: Mutex::default(),
            connect_lock: tokio::sync::Mutex::default(),
            metrics,
            ping: (scripts::ping(), format!("{prefix}:-")),
            _alive: alive,
        });
        manager.runtime.spawn(run_health_checks(Arc::downgrade(&manager)));
        Ok(manager)
    }

    /// Describes the servers, for the log.
    pub(super) fn description(&self) -> String {
        self.client.description()
    }

    /// Returns the last error, without a network call.
    pub(super) fn last_error(&self) -> Option<RedisCallError> {
        self.with_state(|state| {
            state.last_error.clone().or_else(|| state.health_check_error.clone())
        })
    }

    /// Runs a task on the store's own thread.
    pub(super) fn spawn_on_store_thread(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    /// Runs a script on one key.
    ///
    /// # Errors
    /// Any [`RedisCallError`] but `NoScript`.
    pub(super) async fn run_script(
        &self,
        script: &Script,
        key: &str,
        arguments: &[&[u8]],
    ) -> Result<Value, RedisCallError> {
        self.run_script_on_keys(script, &[key], arguments).await
    }

    /// Runs a script on several keys of one server.
    ///
    /// # Errors
    /// Any [`RedisCallError`] but `NoScript`.
    pub(super) async fn run_script_on_keys(
        &self,
        script: &Script,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<Value, RedisCallError> {
        let by_hash = script.by_hash(keys, arguments);
        match self.query(script.verb, &by_hash).await {
            // The server was restarted or replaced.
            Err(RedisCallError::NoScript) => {
                self.query(script.verb, &script.by_body(keys, arguments)).await
            }
            answer => answer,
        }
    }

    /// Returns whether one server holds all keys: only then may a script work on several. The only
    /// node of a Cluster, too, refuses keys of several slots.
    pub(super) fn has_one_server(&self) -> bool {
        self.client.mode() != RedisMode::Cluster && !self.with_state(|state| state.is_cluster)
    }

    /// Runs a command; retries once if the reply is lost.
    ///
    /// # Errors
    /// Any [`RedisCallError`].
    pub(super) async fn query(
        &self,
        verb: &'static str,
        cmd: &Cmd,
    ) -> Result<Value, RedisCallError> {
        self.send(verb, std::slice::from_ref(cmd), Reply::Single).await
    }

    /// Runs several commands in one round trip and returns an array of their replies. Retries once.
    ///
    /// # Errors
    /// Any [`RedisCallError`].
    pub(super) async fn query_many(
        &self,
        verb: &'static str,
        commands: &[Cmd],
    ) -> Result<Value, RedisCallError> {
        self.send(verb, commands, Reply::Array).await
    }

    async fn send(
        &self,
        verb: &'static str,
        commands: &[Cmd],
        reply: Reply,
    ) -> Result<Value, RedisCallError> {
        let Some(permit) = self.breaker.try_acquire(Instant::now()) else {
            self.metrics.record_redis_error(RedisCallError::CircuitOpen.label());
            return Err(RedisCallError::CircuitOpen);
        };
        let mut answer = self.send_once(verb, commands, reply).await;
        if answer.as_ref().is_err_and(RedisCallError::is_retryable) {
            self.metrics.record_redis_retry();
            answer = self.send_once(verb, commands, reply).await;
        }
        match &answer {
            Err(error) if error.is_outage() => {
                self.with_state(|state| state.last_error = Some(error.clone()));
                permit.record_failure(Instant::now());
            }
            _ => {
                self.with_state(|state| state.last_error = None);
                permit.record_success();
            }
        }
        answer
    }

    async fn send_once(
        &self,
        verb: &'static str,
        commands: &[Cmd],
        reply: Reply,
    ) -> Result<Value, RedisCallError> {
        let call = async {
            let (mut connection, generation) = self.connection().await?;
            let began = Instant::now();
            let call = async {
                match (commands, reply) {
                    ([command], Reply::Single) => connection.query(command).await,
                    _ => connection.query_many(commands).await,
                }
            };
            let answer = tokio::time::timeout(self.call_timeout, call).await;
            self.metrics.record_redis_round_trip(verb, began.elapsed());
            let answer = answer
                .map_err(|_| RedisCallError::Timeout)
                .and_then(|answer| answer.map_err(RedisCallError::from));
            if answer.as_ref().is_err_and(RedisCallError::is_retryable) && !connection.reconnects()
            {
                self.disconnect_all(generation);
            }
            answer
        };
        call.await.inspect_err(|error| self.metrics.record_redis_error(error.label()))
    }

    /// Queries the configuration and clock of the servers.
    ///
    /// # Errors
    /// Any [`RedisCallError`].
    pub(super) async fn query_servers(&self) -> Result<DeploymentInfo, RedisCallError> {
        let (mut connection, _) = self.connection().await?;
        let info = tokio::time::timeout(
            self.call_timeout.saturating_mul(2),
            server_info::query_deployment(&mut connection),
        )
        .await;
        Ok(info.map_err(|_| RedisCallError::Timeout)??)
    }

    /// Returns this runtime's connection and its generation. Connects if there is none.
    async fn connection(&self) -> Result<(Connection, u64), RedisCallError> {
        let here = Handle::current().id();
        let current = || {
            self.with_state(|state| {
                state
                    .connections
                    .get(&here)
                    .map(|connection| (connection.clone(), state.generation))
            })
        };
        if let Some(current) = current() {
            return Ok(current);
        }
        // Connecting has its own timeouts. Tasks that wait for another task's attempt have this
        // one.
        let wait_limit = self.call_timeout.saturating_mul(2).max(MIN_CONNECT_WAIT);
        let Ok(_guard) = tokio::time::timeout(wait_limit, self.connect_lock.lock()).await else {
            return Err(RedisCallError::Unreachable(format!(
                "none after {} ms",
                wait_limit.as_millis()
            )));
        };
        if let Some(current) = current() {
            return Ok(current);
        }
        if let Some(error) = self.with_state(|state| state.back_off_error(Instant::now())) {
            return Err(error);
        }
        let generation = self.with_state(|state| state.generation);
        let connected = self.connect().await;
        self.with_state(|state| match connected {
            Ok(connection) => {
                // If all were disconnected meanwhile, it may lead to a server that is gone.
                if state.generation == generation {
                    state.connections.insert(here, connection.clone());
                }
                (state.connect_failures, state.next_attempt_at) = (0, None);
                Ok((connection, generation))
            }
            Err(error) => {
                let wait = MIN_RECONNECT_DELAY
                    .saturating_mul(1 << state.connect_failures.min(10))
                    .min(MAX_RECONNECT_DELAY);
                state.connect_failures += 1;
                state.next_attempt_at = Some(Instant::now() + wait);
                state.last_error = Some(error.clone());
                Err(error)
            }
        })
    }

    /// Connects and checks the server: after a failover it is another one, perhaps unsafely
    /// configured.
    async fn connect(&self) -> Result<Connection, RedisCallError> {
        let mut connection =
            self.client.connect(self.call_timeout).await.map_err(
                |error| match RedisCallError::from(error) {
                    RedisCallError::ConnectionLost(reason) | RedisCallError::Rejected(reason) => {
                        RedisCallError::Unreachable(reason)
                    }
                    RedisCallError::Timeout => {
                        RedisCallError::Unreachable("it took too long".to_owned())
                    }
                    other => other,
                },
            )?;
        let info = tokio::time::timeout(
            self.call_timeout.saturating_mul(2),
            server_info::query_deployment(&mut connection),
        )
        .await;
        let info = info.map_err(|_| RedisCallError::Timeout)??;
        info.check_suitability().map_err(RedisCallError::Misconfigured)?;
        self.with_state(|state| state.is_cluster = info.is_cluster());
        Ok(connection)
    }

    fn disconnect_all(&self, generation: u64) {
        self.with_state(|state| {
            if state.generation == generation {
                state.generation += 1;
                state.connections.clear();
            }
        });
    }

    fn with_state<T>(&self, act: impl FnOnce(&mut ConnectionState) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ConnectionState {
    fn back_off_error(&self, now: Instant) -> Option<RedisCallError> {
        let waits = self.next_attempt_at.is_some_and(|until| now < until);
        waits.then(|| self.last_error.clone().unwrap_or(RedisCallError::CircuitOpen))
    }
}

/// Runs health checks until the manager is dropped. An idle hub thereby learns when the store is
/// back, and when the server that it reads from is no longer the primary.
async fn run_health_checks(manager: Weak<ConnectionManager>) {
    let mut round = tokio::time::interval(HEALTH_CHECK_INTERVAL);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        let Some(manager) = manager.upgrade() else { return };
        let (script, key) = &manager.ping;
        let result = manager.run_script(script, key, &[]).await;
        // Other errors are recorded where they happen.
        let rejection = result.err().filter(|error| matches!(error, RedisCallError::Rejected(_)));
        manager.with_state(|state| state.health_check_error = rejection);
    }
}
