//! Reloads the configuration files of a running hub: applies changes atomically, and reports each
//! error once.

mod reporting;
mod watch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use self::reporting::{prevents_next_start, to_findings};
use self::watch::{FolderWatcher, QUIET_TIME};
use super::audit_log;
use super::build_error::BuildError;
use super::keys::SharedKeys;
use super::metrics_sampler::LabelPolicy;
use super::prepare::{DiscoveryPublisher, connector_spec};
use passerelle_config::config_digest::ConfigDigest;
use passerelle_config::reloadable_files::{FileKind, ScanOutcome};
use passerelle_config::settings_file::{SettingsFile, SettingsFileState};
use passerelle_config::{CertificateExpiry, ReloadableFiles};
use passerelle_connector::ConfiguredConnector;
use passerelle_federation::Federation;
use passerelle_grants::HubCore;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_hub::Connectors;
use passerelle_hub::registry::{ApplyConfig, ConnectorSpec, RegistryHandle};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::{Diagnostic, FieldDiagnostic, FieldDigests};
use passerelle_telemetry::CheckFinding;

/// Inputs of the reload loop.
pub(super) struct ReloadConfig {
    /// Labels of service providers in metrics.
    pub label_policy: LabelPolicy,
    /// The files as they were when the hub was built.
    pub files: ReloadableFiles,
    /// Problems of files that only a restart reads again.
    pub startup_diagnostics: Vec<Diagnostic>,
    /// Those of all files, as they were when the hub was built.
    pub certificates: Vec<CertificateExpiry>,
    pub connectors: passerelle_connector::ConnectorContext,
    pub discovery_publisher: DiscoveryPublisher,
    pub registry: RegistryHandle,
    /// Shows operators which connectors have an invalid file.
    pub published_connectors: Connectors,
    pub client_keys: Arc<KeyDirectory>,
    /// The hub's own keys, reloaded on the same occasions.
    pub hub_keys: SharedKeys,
    pub core: Arc<HubCore>,
    /// Interval between scans without an event.
    pub interval: Duration,
}

/// Handle of the reload loop: its status, and requests to reload at once. Cheap to clone.
#[derive(Clone)]
pub struct Reload {
    status: Arc<ArcSwap<ReloadStatus>>,
    settings_certificates: Arc<[CertificateExpiry]>,
    requests: mpsc::Sender<oneshot::Sender<()>>,
    hub_keys: SharedKeys,
}

/// Published status of the reload loop.
#[derive(Default)]
struct ReloadStatus {
    digest: ConfigDigest,
    findings: Vec<CheckFinding>,
    unusable: Vec<FileKind>,
    certificates: Vec<CertificateExpiry>,
}

impl Reload {
    /// Returns the digest of the active configuration.
    pub fn digest(&self) -> ConfigDigest {
        self.status.load().digest.clone()
    }

    /// Returns the errors in the files.
    pub fn findings(&self) -> Vec<CheckFinding> {
        self.status.load().findings.clone()
    }

    /// Returns the certificates that have expired or expire soon. Those of `passerelle.toml` are
    /// those of the start, which are in use until the next one.
    pub fn certificate_findings(&self, now: Timestamp) -> Vec<CheckFinding> {
        let status = self.status.load();
        let certificates = self.settings_certificates.iter().chain(&status.certificates);
        to_findings(certificates.filter_map(|certificate| certificate.warning_at(now)))
    }

    /// Returns why no user can log in: every connector, or every service provider, has a bad file.
    pub fn not_ready_reason(&self) -> Option<CheckFinding> {
        let what = match self.status.load().unusable.first()? {
            FileKind::ServiceProvider => "no file of a service provider is valid",
            _ => "no file of a connector is valid",
        };
        let fix = "correct a file; no restart is needed (docs/reload.md)";
        Some(CheckFinding::new(format!("{what}, so no user can log in"), fix))
    }

    /// Reloads the files and the hub's keys at once, and returns when they are in use.
    pub async fn reload_now(&self) {
        // Errors in the keys are reported by the probes and do not affect the files.
        let _complaint = self.hub_keys.reload().await;
        let (done, is_done) = oneshot::channel();
        if self.requests.send(done).await.is_ok() {
            // An error means that the loop has ended: there is nothing to wait for.
            let _gone = is_done.await;
        }
    }
}

impl ReloadConfig {
    /// Starts the reload loop in a task of its own. Must be called inside an actix system.
    pub(super) fn start(self) -> Reload {
        let (reload_sender, reload_requests) = mpsc::channel(1);
        let digest = self.files.digest();
        let refused = self.files.unverified_connectors();
        let running =
            self.files.connectors().into_iter().map(|(id, (_, fields))| (id, fields)).collect();
        let status = Arc::new(ArcSwap::from_pointee(ReloadStatus {
            digest,
            findings: to_findings(
                self.startup_diagnostics.iter().chain(&self.files.diagnostics()).chain(&refused),
            ),
            unusable: self.files.unusable_kinds(),
            certificates: self.files.certificate_expiries(),
        }));
        let settings_file = self.files.settings_file();
        let settings_certificates = self
            .certificates
            .into_iter()
            .filter(|certificate| certificate.is_referenced_by(settings_file.path()))
            .collect();
        let reload_loop = ReloadLoop {
            label_policy: self.label_policy,
            settings: SettingsFileState::Unchanged,
            files: Arc::new(Mutex::new(WatchedFiles {
                settings: settings_file,
                reloadable: self.files,
            })),
            builder: Arc::new(SnapshotBuilder {
                connectors: self.connectors,
                discovery_publisher: self.discovery_publisher,
            }),
            registry: self.registry,
            client_keys: self.client_keys,
            core: self.core,
            running,
            reported: BTreeMap::new(),
            reported_unverified: refused,
            startup_diagnostics: self.startup_diagnostics,
            status: Arc::clone(&status),
            published_connectors: self.published_connectors,
        };
        reload_loop.publish_connector_files();
        actix::spawn(reload_loop.run(self.interval, reload_requests));
        Reload { status, settings_certificates, requests: reload_sender, hub_keys: self.hub_keys }
    }
}

struct WatchedFiles {
    settings: SettingsFile,
    reloadable: ReloadableFiles,
}

struct ReloadLoop {
    label_policy: LabelPolicy,
    files: Arc<Mutex<WatchedFiles>>,
    builder: Arc<SnapshotBuilder>,
    registry: RegistryHandle,
    client_keys: Arc<KeyDirectory>,
    core: Arc<HubCore>,
    /// The fields from which each running connector was built.
    running: BTreeMap<ConnectorId, Arc<FieldDigests>>,
    /// Errors last logged for each file.
    reported: BTreeMap<String, Vec<Diagnostic>>,
    /// Errors that only `passerelle check` rejects, as last logged. The start logs the first ones.
    reported_unverified: Vec<Diagnostic>,
    /// Problems of files that only a restart reads again.
    startup_diagnostics: Vec<Diagnostic>,
    /// As last logged.
    settings: SettingsFileState,
    status: Arc<ArcSwap<ReloadStatus>>,
    published_connectors: Connectors,
}

/// Builds the next configuration.
struct SnapshotBuilder {
    connectors: passerelle_connector::ConnectorContext,
    discovery_publisher: DiscoveryPublisher,
}

/// Result of one scan of the files.
struct ScanResult {
    file_state: ScanOutcome,
    digest: ConfigDigest,
    diagnostics: Vec<Diagnostic>,
    unverified: Vec<Diagnostic>,
    invalid_counts: [(FileKind, usize); 6],
    unusable: Vec<FileKind>,
    settings: SettingsFileState,
    /// `None` if nothing has changed.
    next: Option<Result<Candidate, BuildError>>,
    /// `None` if nothing has changed.
    certificates: Option<Vec<CertificateExpiry>>,
    /// `None` if nothing has changed.
    domain_conflicts: Option<Vec<Diagnostic>>,
}

struct Candidate {
    connector_specs: Vec<ConnectorSpec>,
    federation: Federation,
}

impl ReloadLoop {
    /// Publishes which connectors have an invalid file. An identity provider that fails is probed
    /// at once if its connector's file was written or touched: an operator has corrected something.
    fn publish_connector_files(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        self.published_connectors.set_invalid_files(files.reloadable.invalid_connectors());
        for id in files.reloadable.take_written_connectors() {
            self.published_connectors.probe_now_if_failing(&id);
        }
    }

    async fn run(mut self, interval: Duration, mut requests: mpsc::Receiver<oneshot::Sender<()>>) {
        let folders = {
            let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.reloadable.watched_folders()
        };
        let mut watch = FolderWatcher::new();
        let mut waiting = Vec::new();
        loop {
            // Watch before reading, so that later writes are noticed.
            watch.watch_folders(folders.clone());
            let file_state = self.scan_and_apply().await;
            for done in waiting.drain(..) {
                let done: oneshot::Sender<()> = done;
                // The requester may be gone.
                let _sent = done.send(());
            }
            let interval =
                if file_state == ScanOutcome::BeingWritten { QUIET_TIME } else { interval };
            tokio::select! {
                () = watch.wait(interval) => {}
                done = requests.recv() => match done {
                    Some(done) => waiting.push(done),
                    // Every handle is gone: the hub has ended.
                    None => return,
                },
            }
        }
    }

    /// Reads the files on a blocking thread, and applies what has changed.
    async fn scan_and_apply(&mut self) -> ScanOutcome {
        let (files, builder) = (Arc::clone(&self.files), Arc::clone(&self.builder));
        let (running, status) = (self.running.clone(), self.status.load_full());
        let scan = tokio::task::spawn_blocking(move || {
            let mut files = files.lock().unwrap_or_else(PoisonError::into_inner);
            scan(&mut files, &builder, &running, &status.digest)
        });
        let result = match scan.await {
            Ok(result) => result,
            Err(error) => {
                self.core.metrics.record_config_reload("failed", self.core.env.now());
                tracing::error!(%error, "reading the configuration failed; the active configuration stays in use");
                return ScanOutcome::Complete;
            }
        };
        self.publish_connector_files();
        self.report_changes(&result.diagnostics);
        self.report_warnings(&result.unverified, result.domain_conflicts.iter().flatten());
        for (kind, count) in result.invalid_counts {
            self.core.metrics.set_invalid_config_files(kind.as_str(), count);
        }
        self.report_settings(result.settings);
        let current = result.diagnostics.iter().chain(&result.unverified);
        let mut findings = to_findings(self.startup_diagnostics.iter().chain(current));
        if let SettingsFileState::Invalid(diagnostics) = &self.settings {
            findings.extend(diagnostics.iter().map(prevents_next_start));
        }
        self.reported_unverified = result.unverified;
        let outcome = match result.next {
            None => "unchanged",
            Some(next) => match self.apply(next, &result.digest).await {
                Ok(()) => "changed",
                Err(error) => {
                    tracing::error!(
                        error,
                        "the new configuration can't be applied; the active configuration stays in use"
                    );
                    "failed"
                }
            },
        };
        let digest =
            if outcome == "changed" { result.digest } else { self.status.load().digest.clone() };
        let unusable = result.unusable;
        let certificates =
            result.certificates.unwrap_or_else(|| self.status.load().certificates.clone());
        self.status.store(Arc::new(ReloadStatus { digest, findings, unusable, certificates }));
        self.core.metrics.record_config_reload(outcome, self.core.env.now());
        result.file_state
    }

    /// Logs the connectors that only now are unverified, and the e-mail domains of several connectors.
    fn report_warnings<'a>(
        &self,
        unverified: &[Diagnostic],
        domain_conflicts: impl Iterator<Item = &'a Diagnostic>,
    ) {
        let is_new = |diagnostic: &&Diagnostic| !self.reported_unverified.contains(diagnostic);
        for diagnostic in unverified.iter().filter(is_new) {
            let problem = diagnostic.to_single_line();
            tracing::warn!(problem, "rejected by `passerelle check`, but served");
        }
        for conflict in domain_conflicts {
            let problem = conflict.to_single_line();
            tracing::warn!(problem, "an e-mail domain leads to no connector, or to several");
        }
    }

    /// Applies a configuration: prepares new keys and actors, switches everything at once, then
    /// removes the old ones.
    async fn apply(
        &mut self,
        next: Result<Candidate, BuildError>,
        digest: &ConfigDigest,
    ) -> Result<(), String> {
        let Candidate { connector_specs, federation } = next.map_err(|error| error.to_string())?;
        self.client_keys.prepare(&federation).map_err(|error| error.to_string())?;
        let connectors = federation.connectors().clone();
        for spec in &connector_specs {
            self.running.insert(spec.id.clone(), Arc::clone(&spec.fields));
        }
        self.running.retain(|id, _| connectors.contains_key(id));
        self.registry
            .apply(ApplyConfig { specs: connector_specs, federation })
            .await
            .map_err(|error| error.to_string())?;
        self.client_keys.retain(&self.core.federation.load());
        self.label_policy.apply(&self.core.federation.load(), &self.core.metrics);
        let (directory, env) = (Arc::clone(&self.client_keys), self.core.env.clone());
        actix::spawn(async move { directory.refresh(&env).await });
        let changes = self.status.load().digest.changes_to(digest);
        audit_log::record_config_changes(&self.core.audit, digest, &changes);
        tracing::info!(%changes, "configuration reloaded");
        Ok(())
    }
}

/// Checks that the connector of a valid file can be built.
///
/// # Errors
/// Returns a diagnostic at the key that prevents it.
pub(super) fn check_build(
    configured: &ConfiguredConnector,
    context: &passerelle_connector::ConnectorContext,
) -> Result<(), FieldDiagnostic> {
    passerelle_connector::build(configured, context.clone()).map(drop).map_err(|error| {
        let message = format!("makes the connector unusable: it {}", error.message);
        FieldDiagnostic { message, ..error }
    })
}

fn scan(
    WatchedFiles { settings, reloadable: files }: &mut WatchedFiles,
    builder: &SnapshotBuilder,
    running: &BTreeMap<ConnectorId, Arc<FieldDigests>>,
    before: &ConfigDigest,
) -> ScanResult {
    settings.check();
    let file_state = files.rescan(&|configured| check_build(configured, &builder.connectors));
    let digest = files.digest();
    let is_changed = digest != *before;
    let next = is_changed.then(|| builder.build_candidate(files, running));
    ScanResult {
        file_state,
        diagnostics: files.diagnostics(),
        unverified: files.unverified_connectors(),
        unusable: files.unusable_kinds(),
        invalid_counts: FileKind::ALL.map(|kind| (kind, files.bad_file_count(kind))),
        settings: settings.state().clone(),
        digest,
        next,
        certificates: is_changed.then(|| files.certificate_expiries()),
        domain_conflicts: is_changed.then(|| files.domain_conflicts()),
    }
}

impl SnapshotBuilder {
    fn build_candidate(
        &self,
        files: &ReloadableFiles,
        running: &BTreeMap<ConnectorId, Arc<FieldDigests>>,
    ) -> Result<Candidate, BuildError> {
        let connectors = files.connectors();
        let changed =
            connectors.iter().filter(|(id, (_, fields))| running.get(*id) != Some(fields));
        let connector_specs = changed
            .map(|(_, (configured, fields))| connector_spec(configured, fields, &self.connectors))
            .collect::<Result<_, _>>()?;
        Ok(Candidate {
            connector_specs,
            federation: self.discovery_publisher.with_discovery(files.build_federation()),
        })
    }
}
