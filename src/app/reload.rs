//! A running hub's files, read again: what they say is put to use in one switch, and what is wrong with them is said once.

mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use self::watch::{QUIET, Watch};
use super::counted::Naming;
use super::keys::SharedKeys;
use super::prepare::{Publication, plan};
use super::{BuildFault, audit};
use crate::actor::registry::{Plan, RegistryHandle, Switch};
use crate::audit::{Audit, Event, Name};
use crate::config::files::{Found, Sort};
use crate::config::outline::{Fields, Outline};
use crate::config::{Federation, Files, Problem};
use crate::connector;
use crate::env::Env;
use crate::grant::client_keys::KeyDirectory;
use crate::ids::ConnectorId;
use crate::telemetry::Metrics;
use crate::web::admin::KeyReload as _;

/// What the files are followed with.
pub(super) struct Follower {
    /// Under which names service providers are counted.
    pub naming: Naming,
    /// As they were when the hub was put together.
    pub files: Files,
    pub connectors: connector::ConnectorContext,
    pub publication: Publication,
    pub registry: RegistryHandle,
    pub client_keys: Arc<KeyDirectory>,
    /// The hub's own, which are read at the same occasion.
    pub own_keys: SharedKeys,
    pub metrics: Arc<Metrics>,
    pub audit: Audit,
    pub env: Env,
    /// Between two readings that nothing gave occasion to.
    pub round: Duration,
}

/// What there is to be seen of the following, and the way to hurry it. Cheap to clone.
#[derive(Clone)]
pub struct Reload {
    shown: Arc<ArcSwap<Shown>>,
    now: mpsc::Sender<oneshot::Sender<()>>,
    own_keys: SharedKeys,
}

#[derive(Default)]
struct Shown {
    outline: Outline,
    complaints: Vec<String>,
}

impl Reload {
    /// What the files in use say, in short.
    #[must_use]
    pub fn outline(&self) -> Outline {
        self.shown.load().outline.clone()
    }

    /// What is wrong with the files, a line each.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        self.shown.load().complaints.clone()
    }

    /// Has the files and the hub's keys read without waiting for an occasion, and comes back when what they say is in use.
    pub async fn now(&self) {
        // Keys that can't be read are complained of by the probes; the files have nothing to do with them.
        let _complaint = self.own_keys.reload().await;
        let (done, is_done) = oneshot::channel();
        if self.now.send(done).await.is_ok() {
            // An error means that nobody follows any more: there is nothing to wait for.
            let _gone = is_done.await;
        }
    }
}

impl Follower {
    /// Follows from now on, in a task of its own. Must be called inside an actix system.
    pub(super) fn start(self) -> Reload {
        let (now, asked) = mpsc::channel(1);
        let outline = self.files.outline();
        let refused = self.files.refused();
        let running =
            self.files.connectors().into_iter().map(|(id, (_, fields))| (id, fields)).collect();
        let shown =
            Arc::new(ArcSwap::from_pointee(Shown { outline, complaints: in_lines(&refused) }));
        let following = Following {
            naming: self.naming,
            settings: self.files.settings(),
            files: Arc::new(Mutex::new(self.files)),
            building: Arc::new(Building {
                connectors: self.connectors,
                publication: self.publication,
            }),
            registry: self.registry,
            client_keys: self.client_keys,
            metrics: self.metrics,
            audit: self.audit,
            env: self.env,
            running,
            told: BTreeMap::new(),
            refused,
            shown: Arc::clone(&shown),
        };
        actix::spawn(following.follow(self.round, asked));
        Reload { shown, now, own_keys: self.own_keys }
    }
}

struct Following {
    naming: Naming,
    files: Arc<Mutex<Files>>,
    building: Arc<Building>,
    registry: RegistryHandle,
    client_keys: Arc<KeyDirectory>,
    metrics: Arc<Metrics>,
    audit: Audit,
    env: Env,
    /// What each running connector was built from.
    running: BTreeMap<ConnectorId, Arc<Fields>>,
    /// What was said of each file when it was last said.
    told: BTreeMap<String, Vec<Problem>>,
    /// What `passerelle check` refuses, as last logged: the start logs the first of it.
    refused: Vec<Problem>,
    settings: Option<[u8; 32]>,
    shown: Arc<ArcSwap<Shown>>,
}

/// What a snapshot is built with.
struct Building {
    connectors: connector::ConnectorContext,
    publication: Publication,
}

/// What one reading came to.
struct Read {
    found: Found,
    outline: Outline,
    complaints: Vec<Problem>,
    refused: Vec<Problem>,
    bad: [(Sort, usize); 5],
    settings: Option<[u8; 32]>,
    /// Only if something has changed.
    next: Option<Result<Next, BuildFault>>,
}

struct Next {
    plans: Vec<Plan>,
    federation: Federation,
}

impl Following {
    async fn follow(mut self, round: Duration, mut asked: mpsc::Receiver<oneshot::Sender<()>>) {
        let folders = self.files.lock().unwrap_or_else(PoisonError::into_inner).folders();
        let mut watch = Watch::new();
        let mut waiting = Vec::new();
        loop {
            // Watched before it is read, so that nothing that is written after goes unseen.
            watch.over(folders.clone());
            let found = self.look().await;
            for done in waiting.drain(..) {
                let done: oneshot::Sender<()> = done;
                // Whoever asked may have gone.
                let _sent = done.send(());
            }
            let round = if found == Found::BeingWritten { QUIET } else { round };
            tokio::select! {
                () = watch.wait(round) => {}
                done = asked.recv() => match done {
                    Some(done) => waiting.push(done),
                    // Nobody is left who could be served.
                    None => return,
                },
            }
        }
    }

    /// Reads the files on a thread where nobody waits, and puts to use what has changed.
    async fn look(&mut self) -> Found {
        let (files, building) = (Arc::clone(&self.files), Arc::clone(&self.building));
        let (running, shown) = (self.running.clone(), self.shown.load_full());
        let reading = tokio::task::spawn_blocking(move || {
            let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
            read(&mut files, &building, &running, &shown.outline)
        });
        let read = match reading.await {
            Ok(read) => read,
            Err(fault) => {
                self.metrics.config_read("failed", self.env.now());
                tracing::error!(%fault, "reading the configuration failed; what was in use stays");
                return Found::Settled;
            }
        };
        self.tell(&read.complaints);
        for problem in read.refused.iter().filter(|problem| !self.refused.contains(problem)) {
            tracing::warn!(
                problem = problem.in_line(),
                "refused by `passerelle check`, and served all the same"
            );
        }
        for (sort, count) in read.bad {
            self.metrics.config_files_bad(sort.as_str(), count);
        }
        if read.settings != self.settings {
            self.settings = read.settings;
            tracing::warn!("passerelle.toml has changed: it is read by a restart only");
        }
        let complaints = in_lines(read.complaints.iter().chain(&read.refused));
        self.refused = read.refused;
        let outcome = match read.next {
            None => "unchanged",
            Some(next) => match self.switch(next, &read.outline).await {
                Ok(()) => "changed",
                Err(fault) => {
                    tracing::error!(
                        fault,
                        "the configuration that was read can't be put to use; what was in use stays"
                    );
                    "failed"
                }
            },
        };
        let outline =
            if outcome == "changed" { read.outline } else { self.shown.load().outline.clone() };
        self.shown.store(Arc::new(Shown { outline, complaints }));
        self.metrics.config_read(outcome, self.env.now());
        read.found
    }

    /// New keys and actors are there before anyone can need them; then everything changes at once; then the old ones go.
    async fn switch(
        &mut self,
        next: Result<Next, BuildFault>,
        outline: &Outline,
    ) -> Result<(), String> {
        let Next { plans, federation } = next.map_err(|fault| fault.to_string())?;
        self.client_keys.prepare(&federation).map_err(|fault| fault.to_string())?;
        let connectors = federation.connectors().clone();
        let kept = federation.clone();
        for plan in &plans {
            self.running.insert(plan.id.clone(), Arc::clone(&plan.fields));
        }
        self.running.retain(|id, _| connectors.contains_key(id));
        self.registry
            .switch(Switch { plans, federation })
            .await
            .map_err(|fault| fault.to_string())?;
        self.client_keys.retain(&kept);
        self.naming.apply(&kept, &self.metrics);
        let (directory, env) = (Arc::clone(&self.client_keys), self.env.clone());
        actix::spawn(async move { directory.refresh(&env).await });
        let changes = self.shown.load().outline.changes(outline);
        audit::applied(&self.audit, outline, &changes);
        tracing::info!(%changes, "the configuration has changed, and is in use");
        Ok(())
    }

    /// One line when a file turns bad, or bad in another way, and one when it is good again.
    fn tell(&mut self, complaints: &[Problem]) {
        let mut now: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
        for problem in complaints {
            now.entry(problem.file.clone()).or_default().push(problem.clone());
        }
        for (file, problems) in
            now.iter().filter(|(file, problems)| self.told.get(*file) != Some(*problems))
        {
            let fault = problems.iter().map(Problem::in_line).collect::<Vec<_>>().join("; and ");
            tracing::error!(
                file,
                fault,
                "a configuration file is bad; its last good version stays, if it had one"
            );
            self.audit.tell(|| Event::of(Name::ConfigKeptBack).file(file));
        }
        for file in self.told.keys().filter(|file| !now.contains_key(*file)) {
            tracing::info!(file, "a configuration file that was bad is good again, or gone");
        }
        self.told = now;
    }
}

fn in_lines<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> Vec<String> {
    problems.into_iter().map(Problem::in_line).collect()
}

fn read(
    files: &mut Files,
    building: &Building,
    running: &BTreeMap<ConnectorId, Arc<Fields>>,
    before: &Outline,
) -> Read {
    let none = Arc::default();
    let found = files.read(&|configured| match plan(configured, &none, &building.connectors) {
        Ok(_) => Ok(()),
        Err(BuildFault::Connector { fault, .. }) => Err((fault.key.to_owned(), fault.mend)),
        Err(fault) => Err((String::new(), fault.to_string())),
    });
    let outline = files.outline();
    let next = (outline != *before).then(|| building.next(files, running));
    Read {
        found,
        complaints: files.complaints(),
        refused: files.refused(),
        bad: Sort::ALL.map(|sort| (sort, files.bad(sort))),
        settings: files.settings(),
        outline,
        next,
    }
}

impl Building {
    fn next(
        &self,
        files: &Files,
        running: &BTreeMap<ConnectorId, Arc<Fields>>,
    ) -> Result<Next, BuildFault> {
        let connectors = files.connectors();
        let changed =
            connectors.iter().filter(|(id, (_, fields))| running.get(*id) != Some(fields));
        let plans = changed
            .map(|(_, (configured, fields))| plan(configured, fields, &self.connectors))
            .collect::<Result<_, _>>()?;
        Ok(Next { plans, federation: self.publication.published(files.federation())? })
    }
}
