//! What a disk and a crash may do to a log; in [`attacks`], what a person may who has it; in [`floods`], who has not; in
//! [`clock`], what the time may.

mod attacks;
mod clock;
mod device;
mod floods;
mod rewritten;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::file::{FileSink, Rotation, examine, old_files};
use super::memory::Memory;
use super::report::{Flaw, Note, Report, Verdict};
use super::verify::{Chains, Kept, Verifier};
use super::writer::{Found, start};
use super::*;
use crate::env::{Env, HandClock, SeededEntropy, Timestamp};
use crate::telemetry::Metrics;
use crate::token::Keyring;
use crate::token::verify::VerificationKeys;

const NOON: Timestamp = Timestamp::from_seconds(1_795_262_400);
static RING: LazyLock<Arc<Keyring>> = LazyLock::new(|| Arc::new(Keyring::ephemeral(NOON).unwrap()));
static OTHER: LazyLock<Arc<Keyring>> =
    LazyLock::new(|| Arc::new(Keyring::ephemeral(NOON).unwrap()));

fn keys(ring: &Keyring) -> VerificationKeys {
    VerificationKeys::from_jwks(&ring.verification_jwks(NOON)).unwrap()
}

struct World {
    clock: Arc<HandClock>,
    metrics: Arc<Metrics>,
}

impl World {
    fn new() -> Self {
        Self {
            clock: Arc::new(HandClock::at(NOON)),
            metrics: Arc::new(Metrics::new(NOON).unwrap()),
        }
    }

    fn means(&self, when_full: WhenFull) -> WriterConfig {
        WriterConfig {
            env: Env::new(Arc::clone(&self.clock) as _, Arc::new(SeededEntropy::new(1))),
            signer: Arc::clone(&RING) as _,
            metrics: Arc::clone(&self.metrics),
            issuer: "https://hub.example/api/v2".into(),
            node: "one".into(),
            when_full,
            log: "audit.jsonl".into(),
            seals: Vec::new(),
            finding: None,
            gather: Duration::ZERO,
        }
    }

    fn begin(&self, sink: impl Sink + 'static, found: Found, when_full: WhenFull) -> Audit {
        start(Box::new(sink), found, Event::of(Name::Start), self.means(when_full)).unwrap()
    }

    fn in_memory(&self, when_full: WhenFull) -> (Audit, Memory) {
        let memory = Memory::default();
        (self.begin(memory.clone(), Found::default(), when_full), memory)
    }

    fn on(&self, path: &Path, rotation: Rotation) -> Audit {
        let (sink, found) =
            FileSink::open(path, rotation, crate::env::Clock::now(self.clock.as_ref())).unwrap();
        self.begin(sink, found, WhenFull::Stop)
    }

    fn minute(&self) {
        self.clock.advance(Duration::from_secs(60));
    }
}

const FOR_EVER: Rotation = Rotation { size: 0, daily: false, keep: None };

fn received(audit: &Audit, times: usize) {
    for _ in 0..times {
        audit.tell(|| {
            Event::of(Name::AuthorizationReceived)
                .sp(&"sp".into())
                .support_id(&"0123456789AB".into())
        });
    }
}

fn verify_files<T: AsRef<[u8]>>(files: &[T], kept: Kept, chains: Chains) -> Report {
    let keys = keys(&RING);
    let mut verifier = Verifier::new(&keys, kept, chains);
    for (index, file) in files.iter().enumerate() {
        verifier.read(&format!("file {index}"), &mut file.as_ref()).unwrap();
    }
    verifier.finish()
}

fn verify(text: &str) -> Report {
    verify_files(&[text], Kept::default(), Chains::One)
}

fn flaws(report: &Report) -> Vec<Flaw> {
    report.findings.iter().map(|finding| finding.flaw.clone()).collect()
}

fn names(text: &str) -> Vec<String> {
    let name = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned()
    };
    text.lines().map(name).collect()
}

#[test]
fn off_makes_no_event() {
    Audit::off().tell(|| panic!("an event was made"));
    assert_eq!((Audit::off().admits(), Audit::off().complaints().len()), (Ok(()), 0));
}

#[test]
fn a_login_and_a_session_are_named_by_nothing_that_opens_them() {
    let world = World::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    let hash = crate::ids::InteractionHash::of_cookie("cookie");
    audit.tell(|| {
        Event::of(Name::CodeIssued).login(&hash).session(&crate::digest::fingerprint("session"))
    });
    audit.flush();
    let text = memory.text();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let (login, session) = (line["login"].as_str().unwrap(), line["session"].as_str().unwrap());
    assert_eq!((login.len(), session.len()), (16, 16));
    for secret in [hash.as_str(), "cookie", &crate::digest::fingerprint("session")] {
        assert!(
            !text.contains(secret) && !secret.contains(login) && !secret.contains(session),
            "{text}"
        );
    }
}

#[test]
fn a_full_disk_stops_new_logins_and_loses_nothing() {
    let world = World::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    audit.flush();
    memory.limit(Some(100));
    received(&audit, 3);
    audit.flush();
    assert_eq!(audit.admits(), Err(ErrorCode::AuditUnwritable));
    assert!(audit.complaints()[0].contains("can't be written"), "{:?}", audit.complaints());
    assert_eq!(verify(&memory.text()).notes[0].note, Note::Unfinished);
    memory.limit(None);
    audit.flush();
    assert_eq!((audit.admits(), audit.complaints().len()), (Ok(()), 0));
    assert_eq!(names(&memory.text())[2..], ["authorization_received"; 3]);
    assert_eq!(verify(&memory.text()).findings, []);
    assert!(world.metrics.render().contains("passerelle_audit_lost_total 0"));
}

#[test]
fn a_disk_that_stays_full_costs_events_and_the_log_says_how_many() {
    let world = World::new();
    let (audit, memory) = world.in_memory(WhenFull::GoOn);
    audit.flush();
    memory.limit(Some(0));
    let told = 40_000;
    for _ in 0..40 {
        received(&audit, told / 40);
        audit.flush();
    }
    assert_eq!((audit.admits(), audit.complaints().len()), (Ok(()), 1), "logins go on");
    memory.limit(None);
    audit.flush();
    let text = memory.text();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let lost = last["lost"].as_u64().unwrap();
    let written = names(&text).iter().filter(|name| *name == "authorization_received").count();
    assert_eq!(
        (last["event"].as_str(), written + usize::try_from(lost).unwrap()),
        (Some("lost"), told)
    );
    assert!(lost > 0 && written > 1000, "{lost} {written}");
    assert_eq!(verify(&text).findings, []);
    assert!(world.metrics.render().contains(&format!("passerelle_audit_lost_total {lost}")));
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
        fn is_full(&self, _: Timestamp) -> bool {
            false
        }
        fn rotate(&mut self, _: Timestamp) -> std::io::Result<()> {
            Ok(())
        }
    }
    let world = World::new();
    for (when_full, admits) in
        [(WhenFull::Stop, Err(ErrorCode::AuditUnwritable)), (WhenFull::GoOn, Ok(()))]
    {
        let audit = world.begin(Bomb, Found::default(), when_full);
        // Comes back when the thread is gone.
        audit.flush();
        received(&audit, 1);
        assert_eq!((audit.admits(), audit.complaints().len()), (admits, 1));
    }
    assert!(world.metrics.render().contains("passerelle_audit_lost_total 2"));
}

#[tokio::test]
async fn the_last_words_are_sealed() {
    let world = World::new();
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

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::with_prefix("passerelle-audit-").unwrap();
    let path = folder.path().join("deep/audit.jsonl");
    (folder, path)
}

fn all(path: &Path) -> Vec<Vec<u8>> {
    old_files(path)
        .unwrap()
        .into_iter()
        .chain([path.to_owned()])
        .map(|path| fs::read(path).unwrap())
        .collect()
}

/// As the operating system does it: the thread is left where it is, and lines that it would still write go nowhere.
async fn stop(audit: Audit) {
    audit.stop().await;
    drop(audit);
}

#[tokio::test]
async fn a_chain_goes_through_files_and_starts() {
    let (_folder, path) = folder();
    let world = World::new();
    let rotation = Rotation { size: 1500, daily: true, keep: None };
    for _ in 0..3 {
        let audit = world.on(&path, rotation.clone());
        for _ in 0..3 {
            received(&audit, 5);
            audit.flush();
        }
        world.clock.advance(Duration::from_secs(24 * 3600));
        received(&audit, 1);
        audit.flush();
        stop(audit).await;
    }
    let files = all(&path);
    assert!(files.len() > 6, "{}", files.len());
    let report = verify_files(&files, Kept::default(), Chains::One);
    assert_eq!((report.verdict(), report.notes.len()), (Verdict::Whole, 0), "{report:?}");
    for file in &files[1..] {
        assert!(
            String::from_utf8_lossy(file)
                .lines()
                .next()
                .unwrap()
                .contains(r#""event":"checkpoint""#)
        );
    }
    let mut without = files.clone();
    without.remove(2);
    assert!(matches!(
        flaws(&verify_files(&without, Kept::default(), Chains::One))[..],
        [Flaw::Removed { .. }]
    ));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn only_full_files_beyond_those_to_keep_are_removed() {
    let (_folder, path) = folder();
    let world = World::new();
    let audit = world.on(&path, Rotation { size: 1, daily: false, keep: Some(2) });
    let stranger = path.with_file_name("audit-notes.jsonl");
    fs::write(&stranger, "mine").unwrap();
    for _ in 0..5 {
        received(&audit, 1);
        audit.flush();
    }
    stop(audit).await;
    assert_eq!((old_files(&path).unwrap().len(), stranger.exists()), (2, true));
    let report = verify_files(&all(&path), Kept::default(), Chains::One);
    assert!(matches!(report.notes[0].note, Note::BeginsLater { .. }), "{report:?}");
    assert_eq!(report.verdict(), Verdict::Whole);
}

#[tokio::test]
async fn a_process_that_was_killed_leaves_a_tail_that_is_told_from_tampering() {
    let (_folder, path) = folder();
    let world = World::new();
    for (cut, half_a_line) in [(0, false), (10, true), (1, true)] {
        let _gone = fs::remove_dir_all(path.parent().unwrap());
        let audit = world.on(&path, FOR_EVER);
        received(&audit, 3);
        audit.flush();
        let killed = fs::read(&path).unwrap();
        stop(audit).await;
        fs::write(&path, &killed[..killed.len() - cut]).unwrap();

        let before = verify_files(&all(&path), Kept::default(), Chains::One);
        assert_eq!(
            (before.verdict(), before.sealed.unwrap().seq),
            (Verdict::Whole, 1),
            "not sealed since the start"
        );
        let audit = world.on(&path, FOR_EVER);
        received(&audit, 1);
        stop(audit).await;
        let report = verify_files(&all(&path), Kept::default(), Chains::One);
        let unsealed = if half_a_line { 2 } else { 3 };
        assert_eq!(report.verdict(), Verdict::Whole, "{cut} {report:?}");
        if cut != 1 {
            assert_eq!(report.notes[0].note, Note::CutOff { unsealed, half_a_line }, "{cut}");
        }
    }
}

#[tokio::test]
async fn half_a_line_that_was_changed_after_the_start_is_found() {
    let (_folder, path) = folder();
    let world = World::new();
    let audit = world.on(&path, FOR_EVER);
    received(&audit, 1);
    audit.flush();
    let killed = fs::read(&path).unwrap();
    stop(audit).await;
    fs::write(&path, &killed[..killed.len() - 10]).unwrap();
    stop(world.on(&path, FOR_EVER)).await;
    let text = fs::read_to_string(&path).unwrap();
    let forged = text.replacen(r#""sp":"sp""#, r#""sp":"me""#, 1);
    assert_eq!(verify(&text).verdict(), Verdict::Whole);
    assert!(flaws(&verify(&forged)).contains(&Flaw::Malformed));
}

#[tokio::test]
async fn a_crash_between_two_files_breaks_no_chain() {
    let (_folder, path) = folder();
    let world = World::new();
    let audit = world.on(&path, Rotation { size: 1, daily: false, keep: None });
    received(&audit, 2);
    audit.flush();
    stop(audit).await;
    fs::remove_file(&path).unwrap();
    stop(world.on(&path, FOR_EVER)).await;
    let report = verify_files(&all(&path), Kept::default(), Chains::One);
    assert_eq!(flaws(&report), [], "the new file goes on from the full one");
}

#[tokio::test]
async fn two_processes_do_not_write_one_chain() {
    let (_folder, path) = folder();
    let world = World::new();
    let audit = world.on(&path, FOR_EVER);
    let second = FileSink::open(&path, FOR_EVER, NOON).map(|_| ());
    assert!(matches!(second, Err(AuditFault::Taken { .. })), "{second:?}");
    stop(audit).await;
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let (_folder, path) = folder();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "dear diary\n").unwrap();
    let opened = FileSink::open(&path, FOR_EVER, NOON).map(|_| ());
    assert!(matches!(opened, Err(AuditFault::Foreign { .. })), "{opened:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary\n");
}

#[test]
fn a_folder_that_can_not_be_written_is_named_with_its_mend() {
    let fault = FileSink::open(Path::new("/proc/audit/audit.jsonl"), FOR_EVER, NOON)
        .map(|_| ())
        .unwrap_err();
    assert!(fault.to_string().contains("audit.path"), "{fault}");
}

#[test]
fn a_look_before_the_start_finds_what_the_start_would_and_makes_nothing() {
    let (folder, path) = folder();
    assert!(examine(&path).is_ok() && !path.parent().unwrap().exists());
    for nowhere in [folder.path().join("file/audit.jsonl"), "/proc/audit/audit.jsonl".into()] {
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(
            matches!(examine(&nowhere), Err(AuditFault::Unwritable { .. })),
            "{}",
            nowhere.display()
        );
    }
    let foreign = folder.path().join("diary.jsonl");
    fs::write(&foreign, "dear diary\n").unwrap();
    assert!(matches!(examine(&foreign), Err(AuditFault::Foreign { .. })));
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    assert!(examine(&empty).is_ok());
}
