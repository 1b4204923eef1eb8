//! Tests of disks and crashes; in [`attacks`], of attackers who can write the file; in [`floods`],
//! of unauthenticated clients; in [`clock`], of the machine's clock; in [`proofs`], of proofs of
//! single events; in [`retention`], of old files.

mod attacks;
mod clock;
mod device;
mod files;
mod floods;
mod proofs;
mod retention;
mod rewritten;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::file::{FileRotation, FileSink, check_writable, rotated_files};
use super::report::{FindingKind, NoteKind, VerificationReport, VerificationResult};
use super::testing::memory_sink::MemorySink;
use super::verify::{Chains, TrustedCheckpoints, Verifier};
use super::writer::{LogEnd, start};
use super::*;
use passerelle_jose::Keyring;
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_telemetry::Metrics;

const NOON: Timestamp = Timestamp::from_seconds(1_795_262_400);
static RING: LazyLock<Arc<Keyring>> = LazyLock::new(|| Arc::new(Keyring::ephemeral(NOON).unwrap()));
static OTHER: LazyLock<Arc<Keyring>> =
    LazyLock::new(|| Arc::new(Keyring::ephemeral(NOON).unwrap()));

fn keys(ring: &Keyring) -> VerificationKeys {
    VerificationKeys::from_jwks(&ring.verification_jwks(NOON)).unwrap()
}

struct Fixture {
    clock: Arc<ManualClock>,
    metrics: Arc<Metrics>,
}

impl Fixture {
    fn new() -> Self {
        Self { clock: Arc::new(ManualClock::at(NOON)), metrics: Arc::new(Metrics::new().unwrap()) }
    }

    fn writer_config(&self, when_full: WhenFull) -> WriterConfig {
        WriterConfig {
            env: Env::new(Arc::clone(&self.clock) as _, Arc::new(SeededEntropy::new(1))),
            signer: Arc::clone(&RING) as _,
            metrics: Arc::clone(&self.metrics),
            issuer: "https://hub.example/api/v2".into(),
            node: "one".into(),
            when_full,
            log: "audit.jsonl".into(),
            checkpoint_stores: Vec::new(),
            startup_finding: None,
            batch_delay: Duration::ZERO,
        }
    }

    fn begin(&self, sink: impl Sink + 'static, found: LogEnd, when_full: WhenFull) -> Audit {
        start(Box::new(sink), found, Event::new(EventKind::Start), self.writer_config(when_full))
            .unwrap()
    }

    fn in_memory(&self, when_full: WhenFull) -> (Audit, MemorySink) {
        let memory = MemorySink::default();
        (self.begin(memory.clone(), LogEnd::default(), when_full), memory)
    }

    fn on(&self, path: &Path, rotation: FileRotation) -> Audit {
        let (sink, found) = FileSink::open(
            path,
            rotation,
            passerelle_protocol::env::Clock::now(self.clock.as_ref()),
        )
        .unwrap();
        self.begin(sink, found, WhenFull::Stop)
    }

    fn pass_a_minute(&self) {
        self.clock.advance(Duration::from_secs(60));
    }
}

const FOR_EVER: FileRotation =
    FileRotation { max_bytes: 0, daily: false, keep_files: None, max_age: None };

fn received(audit: &Audit, times: usize) {
    for _ in 0..times {
        audit.record(|| {
            Event::new(EventKind::AuthorizationReceived)
                .sp(&"sp".into())
                .support_id(&"0123456789AB".into())
        });
    }
}

fn verify_files<T: AsRef<[u8]>>(
    files: &[T],
    kept: TrustedCheckpoints,
    chains: Chains,
) -> VerificationReport {
    let keys = keys(&RING);
    let mut verifier = Verifier::new(&keys, kept, chains);
    for (index, file) in files.iter().enumerate() {
        verifier.read_file(&format!("file {index}"), &mut file.as_ref()).unwrap();
    }
    verifier.finish()
}

fn verify(text: &str) -> VerificationReport {
    verify_files(&[text], TrustedCheckpoints::default(), Chains::One)
}

fn finding_kinds(report: &VerificationReport) -> Vec<FindingKind> {
    report.findings.iter().map(|finding| finding.kind.clone()).collect()
}

fn names(text: &str) -> Vec<String> {
    let name = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned()
    };
    text.lines().map(name).collect()
}

#[test]
fn a_switched_off_log_builds_no_event() {
    Audit::off().record(|| panic!("an event was made"));
    assert_eq!((Audit::off().check_admission(), Audit::off().warnings().len()), (Ok(()), 0));
}

#[test]
fn names_of_a_login_and_a_session_give_no_access_to_them() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    let hash = passerelle_protocol::ids::InteractionHash::from_cookie("cookie");
    audit.record(|| {
        Event::new(EventKind::CodeIssued)
            .login(&hash)
            .session(&passerelle_protocol::digest::sha256_base64url("session"))
    });
    audit.flush();
    let text = memory.text();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let (login, session) = (line["login"].as_str().unwrap(), line["session"].as_str().unwrap());
    assert_eq!((login.len(), session.len()), (16, 16));
    for secret in
        [hash.as_str(), "cookie", &passerelle_protocol::digest::sha256_base64url("session")]
    {
        assert!(
            !text.contains(secret) && !secret.contains(login) && !secret.contains(session),
            "{text}"
        );
    }
}

#[test]
fn a_full_disk_stops_new_logins_and_loses_nothing() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    audit.flush();
    memory.limit(Some(100));
    received(&audit, 3);
    audit.flush();
    assert_eq!(audit.check_admission(), Err(ErrorCode::AuditUnwritable));
    assert!(audit.warnings()[0].message.contains("can't be written"), "{:?}", audit.warnings());
    assert_eq!(verify(&memory.text()).notes[0].kind, NoteKind::Unfinished);
    memory.limit(None);
    audit.flush();
    assert_eq!((audit.check_admission(), audit.warnings().len()), (Ok(()), 0));
    assert_eq!(names(&memory.text())[2..], ["authorization_received"; 3]);
    assert_eq!(verify(&memory.text()).findings, []);
    assert!(world.metrics.render().contains("passerelle_audit_events_lost_total 0"));
}

#[test]
fn events_lost_on_a_full_disk_are_counted_in_the_log() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::GoOn);
    audit.flush();
    memory.limit(Some(0));
    let recorded = 40_000;
    for _ in 0..40 {
        received(&audit, recorded / 40);
        audit.flush();
    }
    assert_eq!((audit.check_admission(), audit.warnings().len()), (Ok(()), 1), "logins continue");
    memory.limit(None);
    audit.flush();
    let text = memory.text();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let lost = last["lost"].as_u64().unwrap();
    let written = names(&text).iter().filter(|name| *name == "authorization_received").count();
    assert_eq!(
        (last["event"].as_str(), written + usize::try_from(lost).unwrap()),
        (Some("events_lost"), recorded)
    );
    assert!(lost > 0 && written > 1000, "{lost} {written}");
    assert_eq!(verify(&text).findings, []);
    assert!(world.metrics.render().contains(&format!("passerelle_audit_events_lost_total {lost}")));
}

#[test]
fn a_writer_that_died_takes_no_new_logins() {
    struct Bomb;
    impl Sink for Bomb {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            panic!("in the sink")
        }
        fn sync(&mut self) -> std::io::Result<()> {
            Ok(())
        }
        fn needs_rotation(&self, _: Timestamp) -> bool {
            false
        }
        fn rotate(&mut self, _: Timestamp) -> std::io::Result<()> {
            Ok(())
        }
    }
    let world = Fixture::new();
    for (when_full, admits) in
        [(WhenFull::Stop, Err(ErrorCode::AuditUnwritable)), (WhenFull::GoOn, Ok(()))]
    {
        let audit = world.begin(Bomb, LogEnd::default(), when_full);
        // Returns when the thread has died.
        audit.flush();
        received(&audit, 1);
        assert_eq!((audit.check_admission(), audit.warnings().len()), (admits, 1));
    }
    assert!(world.metrics.render().contains("passerelle_audit_events_lost_total 2"));
}

#[tokio::test]
async fn the_last_lines_get_a_checkpoint() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    received(&audit, 1);
    audit.stop().await;
    assert_eq!(
        names(&memory.text()),
        ["start", "checkpoint", "authorization_received", "stop", "checkpoint"]
    );
    received(&audit, 1);
    assert_eq!(names(&memory.text()).len(), 5);
}
