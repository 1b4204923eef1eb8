//! L2 · The way to the servers: connected when it is needed, tried once more when an answer is lost, left alone when it
//! fails again and again.
//!
//! Owns: time limits, reconnection, the circuit, a thread. Must not know: records.
//!
//! Each runtime (a web worker, an actor's arbiter) has a connection of its own, whose calls are pipelined: what drives a
//! connection is a task of the runtime that it was made on, so that no call crosses threads, and none is lost when
//! those end one after the other. What is known of the servers is known to all: the first fault hangs all of them up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::runtime::{self, Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::inspect::{self, Inspected};
use super::scripts::{self, Script};
use super::target::{Connection, Target};
use crate::egress::breaker::{Breaker, Condition, FAILURES};
use crate::telemetry::Metrics;

/// How long the circuit stays open: a failover takes a few seconds, and nobody should wait longer than it.
const PAUSE: Duration = Duration::from_secs(1);
/// After a connection that could not be made, the next try waits; twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How long somebody else's dial is waited for at least.
const SHORTEST_PATIENCE: Duration = Duration::from_secs(1);
/// How often a link on which nothing is asked is looked at: `/readyz` must know.
const LOOK: Duration = Duration::from_secs(1);

/// Why there is no answer.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It failed several times in a row and is spared for a second.
    #[error("it is left alone for a moment after several failures")]
    Spared,
    #[error("no connection: {0}")]
    Unreachable(String),
    #[error("no answer in time")]
    Late,
    /// The connection broke, or the server is about to change places: what was asked may have been done.
    #[error("the connection is lost: {0}")]
    Lost(String),
    #[error("it is out of memory")]
    Full,
    /// It must not be used as it is set up.
    #[error("{0}")]
    Unfit(String),
    /// It does not know the script by its name.
    #[error("it does not know the script")]
    NoScript,
    /// It understands, and refuses.
    #[error("it refuses: {0}")]
    Refused(String),
}

impl Trouble {
    const fn label(&self) -> &'static str {
        match self {
            Self::Spared => "spared",
            Self::Unreachable(_) => "unreachable",
            Self::Late => "late",
            Self::Lost(_) => "lost",
            Self::Full => "full",
            Self::Unfit(_) => "unfit",
            Self::NoScript => "no_script",
            Self::Refused(_) => "refused",
        }
    }

    /// A second try may do better; every call can be repeated (see [`super::scripts`]).
    const fn may_pass(&self) -> bool {
        matches!(self, Self::Late | Self::Lost(_))
    }

    /// It is the servers that fail, not what was asked of them.
    const fn is_away(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Late | Self::Lost(_) | Self::Unfit(_))
    }
}

impl From<RedisError> for Trouble {
    fn from(error: RedisError) -> Self {
        use ServerErrorKind as S;
        match error.kind() {
            ErrorKind::Server(
                S::ReadOnly
                | S::MasterDown
                | S::ClusterDown
                | S::BusyLoading
                | S::TryAgain
                | S::Moved
                | S::Ask,
            )
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::Parse => Self::Lost(error.to_string()),
            ErrorKind::Server(S::NoScript) => Self::NoScript,
            ErrorKind::Io if error.is_timeout() => Self::Late,
            ErrorKind::Io => Self::Lost(error.to_string()),
            _ => match error.code() {
                Some("OOM") => Self::Full,
                // Too few replicas to take a write safely: a failover is under way. A disk that takes none. An endless script.
                Some("NOREPLICAS" | "UNBLOCKED" | "MISCONF" | "BUSY") => {
                    Self::Lost(error.to_string())
                }
                _ => Self::Refused(error.to_string()),
            },
        }
    }
}

/// What a caller of [`Link::send`] gets back.
#[derive(Clone, Copy)]
enum Reply {
    /// The answer to the only command.
    Single,
    /// The answers to all commands, in their order.
    Array,
}

pub struct Link {
    target: Target,
    limit: Duration,
    /// The thread that looks after the servers while nobody asks.
    home: Handle,
    line: Mutex<Line>,
    /// One dials, the others wait for what comes of it.
    dialing: tokio::sync::Mutex<()>,
    breaker: Breaker,
    metrics: Arc<Metrics>,
    /// What it looks after itself with, and a key under which nothing ever lies.
    look: (Script, String),
    /// Dropped with the link: that ends the thread.
    _alive: oneshot::Sender<()>,
}

#[derive(Default)]
struct Line {
    /// Of each runtime.
    connections: HashMap<runtime::Id, Connection>,
    /// Grows when all are hung up, so that a fault of an older connection is not held against a newer one.
    era: u64,
    failures: u32,
    not_before: Option<Instant>,
    /// What was wrong last; `None` when all is well.
    trouble: Option<Trouble>,
    /// Why the last look was refused: by servers that are there, and do not let this user write.
    refused: Option<Trouble>,
}

impl Link {
    /// # Errors
    /// The operating system gives no thread.
    pub fn new(
        target: Target,
        limit: Duration,
        prefix: &str,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Arc<Self>> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let home = runtime.handle().clone();
        let (alive, until_dropped) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("store-redis".into())
            .spawn(move || runtime.block_on(until_dropped))?;
        let watcher = Arc::clone(&metrics);
        watcher.redis_breaker(Condition::Closed.label(), &Condition::LABELS);
        let told = Box::new(move |from, to| tell(&watcher, from, to));
        let link = Arc::new(Self {
            target,
            limit,
            home,
            line: Mutex::default(),
            dialing: tokio::sync::Mutex::default(),
            breaker: Breaker::pausing(PAUSE, told),
            metrics,
            look: (scripts::look(), format!("{prefix}:-")),
            _alive: alive,
        });
        link.home.spawn(look_after(Arc::downgrade(&link)));
        Ok(link)
    }

    pub fn described(&self) -> String {
        self.target.described()
    }

    /// What keeps it from answering, as far as is known without asking.
    pub fn complaint(&self) -> Option<Trouble> {
        self.with_line(|line| line.trouble.clone().or_else(|| line.refused.clone()))
    }

    /// Runs it on the link's own thread.
    pub fn at_home(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.home.spawn(task);
    }

    /// Runs a script on one key.
    pub async fn run(
        &self,
        script: &Script,
        key: &str,
        arguments: &[&[u8]],
    ) -> Result<Value, Trouble> {
        let by_name = script.by_name(key, arguments);
        match self.ask(script.verb, &by_name).await {
            // The server has started anew, or is another one.
            Err(Trouble::NoScript) => self.ask(script.verb, &script.by_body(key, arguments)).await,
            answer => answer,
        }
    }

    /// Asks, once more if the answer is lost.
    pub async fn ask(&self, verb: &'static str, cmd: &Cmd) -> Result<Value, Trouble> {
        self.send(verb, std::slice::from_ref(cmd), Reply::Single).await
    }

    /// Sends several commands in one round trip, again if an answer is lost. Returns an array of their answers.
    pub async fn ask_many(&self, verb: &'static str, commands: &[Cmd]) -> Result<Value, Trouble> {
        self.send(verb, commands, Reply::Array).await
    }

    async fn send(
        &self,
        verb: &'static str,
        commands: &[Cmd],
        reply: Reply,
    ) -> Result<Value, Trouble> {
        let Some(pass) = self.breaker.enter(Instant::now()) else {
            self.metrics.redis_failed(Trouble::Spared.label());
            return Err(Trouble::Spared);
        };
        let mut answer = self.try_once(verb, commands, reply).await;
        if answer.as_ref().is_err_and(Trouble::may_pass) {
            self.metrics.redis_retried();
            answer = self.try_once(verb, commands, reply).await;
        }
        match &answer {
            Err(trouble) if trouble.is_away() => {
                self.with_line(|line| line.trouble = Some(trouble.clone()));
                pass.failed(Instant::now());
            }
            _ => {
                self.with_line(|line| line.trouble = None);
                pass.succeeded();
            }
        }
        answer
    }

    async fn try_once(
        &self,
        verb: &'static str,
        commands: &[Cmd],
        reply: Reply,
    ) -> Result<Value, Trouble> {
        let asked = async {
            let (mut connection, era) = self.connection().await?;
            let began = Instant::now();
            let asked = async {
                match (commands, reply) {
                    ([command], Reply::Single) => connection.ask(command).await,
                    _ => connection.ask_many(commands).await,
                }
            };
            let answer = tokio::time::timeout(self.limit, asked).await;
            self.metrics.redis_round_trip(verb, began.elapsed());
            let answer =
                answer.map_err(|_| Trouble::Late).and_then(|answer| answer.map_err(Trouble::from));
            if answer.as_ref().is_err_and(Trouble::may_pass) && !connection.mends_itself() {
                self.hang_up(era);
            }
            answer
        };
        asked.await.inspect_err(|trouble| self.metrics.redis_failed(trouble.label()))
    }

    /// What the servers say of themselves.
    pub async fn inspect(&self) -> Result<Inspected, Trouble> {
        let (mut connection, _) = self.connection().await?;
        let inspected =
            tokio::time::timeout(self.limit.saturating_mul(2), inspect::inspect(&mut connection))
                .await;
        Ok(inspected.map_err(|_| Trouble::Late)??)
    }

    /// This runtime's connection, and the era that it is of.
    async fn connection(&self) -> Result<(Connection, u64), Trouble> {
        let here = Handle::current().id();
        let current = || {
            self.with_line(|line| {
                line.connections.get(&here).map(|connection| (connection.clone(), line.era))
            })
        };
        if let Some(current) = current() {
            return Ok(current);
        }
        // A dial has limits of its own, and is not given up before; whoever waits for somebody else's dial has this one.
        let patience = self.limit.saturating_mul(2).max(SHORTEST_PATIENCE);
        let Ok(_one_dials) = tokio::time::timeout(patience, self.dialing.lock()).await else {
            return Err(Trouble::Unreachable(format!("none after {} ms", patience.as_millis())));
        };
        if let Some(current) = current() {
            return Ok(current);
        }
        if let Some(trouble) = self.with_line(|line| line.waits(Instant::now())) {
            return Err(trouble);
        }
        let era = self.with_line(|line| line.era);
        let dialed = self.dial().await;
        self.with_line(|line| match dialed {
            Ok(connection) => {
                // Unless all have been hung up meanwhile: then it may be one to a server that has gone.
                if line.era == era {
                    line.connections.insert(here, connection.clone());
                }
                (line.failures, line.not_before) = (0, None);
                Ok((connection, era))
            }
            Err(trouble) => {
                let wait = FIRST_WAIT.saturating_mul(1 << line.failures.min(10)).min(LONGEST_WAIT);
                line.failures += 1;
                line.not_before = Some(Instant::now() + wait);
                line.trouble = Some(trouble.clone());
                Err(trouble)
            }
        })
    }

    /// Connects, and looks at what is there: after a failover it is another server, perhaps set up otherwise.
    async fn dial(&self) -> Result<Connection, Trouble> {
        let mut connection =
            self.target.dial(self.limit).await.map_err(|error| match Trouble::from(error) {
                Trouble::Lost(why) | Trouble::Refused(why) => Trouble::Unreachable(why),
                Trouble::Late => Trouble::Unreachable("it took too long".to_owned()),
                other => other,
            })?;
        let inspected =
            tokio::time::timeout(self.limit.saturating_mul(2), inspect::inspect(&mut connection))
                .await;
        inspected.map_err(|_| Trouble::Late)??.judge().map_err(Trouble::Unfit)?;
        Ok(connection)
    }

    fn hang_up(&self, era: u64) {
        self.with_line(|line| {
            if line.era == era {
                line.era += 1;
                line.connections.clear();
            }
        });
    }

    fn with_line<T>(&self, act: impl FnOnce(&mut Line) -> T) -> T {
        act(&mut self.line.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Line {
    fn waits(&self, now: Instant) -> Option<Trouble> {
        let waits = self.not_before.is_some_and(|until| now < until);
        waits.then(|| self.trouble.clone().unwrap_or(Trouble::Spared))
    }
}

/// Asks from time to time, until the link is dropped: a hub that nobody asks must know when the store is back, and when the
/// server that it reads from is no longer the primary, though that one itself may not have heard of it.
async fn look_after(link: Weak<Link>) {
    let mut round = tokio::time::interval(LOOK);
    round.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        round.tick().await;
        let Some(link) = link.upgrade() else { return };
        let (look, key) = &link.look;
        let looked = link.run(look, key, &[]).await;
        // What else comes of it is noted where it happens.
        let refused = looked.err().filter(|trouble| matches!(trouble, Trouble::Refused(_)));
        link.with_line(|line| line.refused = refused);
    }
}

fn tell(metrics: &Metrics, from: Condition, to: Condition) {
    metrics.redis_breaker(to.label(), &Condition::LABELS);
    match (from, to) {
        (_, Condition::Open) => {
            tracing::error!(failures = FAILURES, "the store does not answer: no login goes on")
        }
        (_, Condition::Closed) => tracing::info!("the store answers again"),
        (_, Condition::HalfOpen) => {}
    }
}
