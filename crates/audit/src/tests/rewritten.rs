//! Tests of logs that were replaced after their last checkpoint.

use std::fs;

use super::super::chain::{ChainPosition, line_hash};
use super::super::continuity::leads_to_end;
use super::super::last_checkpoint::{
    CheckpointCheck, CheckpointFile, CheckpointStore, LastCheckpoint, check_log_end, load_newest,
};
use super::*;

/// Returns the hub's first two lines, `start` and a checkpoint, followed by forged lines that
/// chain.
fn forged_behind(first: &str, times: &[u64], event: EventKind) -> String {
    let sealed: String = first.lines().take(2).map(|line| format!("{line}\n")).collect();
    let last = sealed.lines().last().unwrap();
    let mut chain = ChainPosition { seq: 2, hash: line_hash(format!("{last}\n").as_bytes()) };
    let mut bytes = Vec::new();
    for seconds in times {
        let event = Event::new(event).sp(&"forged".into());
        chain.append(&mut bytes, &event, NOON + Duration::from_secs(*seconds), "one");
    }
    sealed + std::str::from_utf8(&bytes).unwrap()
}

fn first_lines() -> String {
    let (audit, memory) = Fixture::new().in_memory(WhenFull::Stop);
    audit.flush();
    memory.text()
}

#[test]
fn lines_that_no_checkpoint_covers_for_longer_than_90_seconds_are_found() {
    let text = forged_behind(&first_lines(), &[10, 90, 91, 300], EventKind::LogoutRequested);
    let report = verify(&text);
    assert_eq!(finding_kinds(&report), [FindingKind::NotSigned { from: 3, to: 6, seconds: 300 }]);
    assert_eq!(
        (report.result(), report.findings[0].location.line),
        (VerificationResult::Modified, 5),
        "the first one that is too late"
    );
    assert_eq!(
        finding_kinds(&verify(&forged_behind(
            &first_lines(),
            &[10, 90],
            EventKind::LogoutRequested
        ))),
        []
    );
}

#[test]
fn forged_starts_do_not_hide_missing_checkpoints() {
    let mut text = forged_behind(&first_lines(), &[60], EventKind::Start);
    text.push_str(
        forged_behind(&first_lines(), &[60, 200, 240], EventKind::LogoutRequested)
            .split_inclusive('\n')
            .nth(3)
            .unwrap(),
    );
    let report = verify(&text);
    assert!(
        finding_kinds(&report)
            .iter()
            .any(|kind| matches!(kind, FindingKind::NotSigned { seconds: 200, .. })),
        "{report:?}"
    );
}

#[test]
fn after_suspension_of_the_machine_a_checkpoint_covers_the_new_lines() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    received(&audit, 1);
    audit.flush();
    world.clock.advance(Duration::from_secs(3600));
    received(&audit, 1);
    audit.flush();
    assert_eq!(names(&memory.text())[3..], ["checkpoint", "authorization_received"]);
    assert_eq!(finding_kinds(&verify(&memory.text())), []);
}

/// Audit log of a hub, with its last checkpoint in a state folder.
struct SavedLog {
    world: Fixture,
    folder: TempDir,
}

impl SavedLog {
    fn new() -> Self {
        Self { world: Fixture::new(), folder: TempDir::with_prefix("passerelle-audit-").unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log/audit.jsonl")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Starts like a hub.
    fn start(&self, rotation: FileRotation) -> (Audit, CheckpointCheck) {
        let path = self.path();
        let (sink, found) = FileSink::open(
            &path,
            rotation,
            passerelle_protocol::env::Clock::now(self.world.clock.as_ref()),
        )
        .unwrap();
        let mut checkpoints: Vec<Box<dyn CheckpointStore>> =
            vec![Box::new(CheckpointFile::in_folder(&self.state()))];
        let known = load_newest(&mut checkpoints, "audit.jsonl");
        let check = check_log_end(&known, &found.chain, |checkpoint| {
            leads_to_end(&path, checkpoint, &found.chain)
        });
        let begin = Event::new(EventKind::Start)
            .last_checkpoint(check, known.ok().flatten().map(|checkpoint| checkpoint.seq));
        let config = WriterConfig {
            checkpoint_stores: checkpoints,
            startup_finding: None,
            ..self.world.writer_config(WhenFull::Stop)
        };
        (super::start(Box::new(sink), found, begin, config).unwrap(), check)
    }

    /// Runs for so many minutes with events, and stops in order.
    async fn run(&self, minutes: usize) -> CheckpointCheck {
        let (audit, check) = self.start(FOR_EVER);
        for _ in 0..minutes {
            received(&audit, 3);
            audit.flush();
            self.world.pass_a_minute();
            audit.flush();
        }
        audit.stop().await;
        check
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }
}

#[tokio::test]
async fn a_log_that_was_rewritten_after_its_first_checkpoint_while_the_hub_was_down_is_found() {
    let log = SavedLog::new();
    assert_eq!(log.run(5).await, CheckpointCheck::Unknown, "the first start");
    let lines = log.text().lines().count() as u64;
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    assert_eq!(verify(&log.text()).result(), VerificationResult::Intact);

    // All within 90 seconds, so that the times show nothing.
    let known = log.text().lines().count() as u64;
    log.write(&forged_behind(&log.text(), &vec![30; 40], EventKind::LogoutRequested));
    assert_eq!(finding_kinds(&verify(&log.text())), [], "the log alone can't show it");
    assert_eq!(log.run(1).await, CheckpointCheck::Changed);
    let report = verify(&log.text());
    let found = FindingKind::DiffersFromLastCheckpoint {
        from: 3,
        to: 42,
        checkpoint_seq: known,
        check: CheckpointCheck::Changed,
    };
    assert_eq!(
        (finding_kinds(&report), report.result()),
        (vec![found.clone()], VerificationResult::Modified)
    );
    assert!(lines < known);

    // The finding is signed itself, and stays.
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    assert_eq!(finding_kinds(&verify(&log.text())), [found]);
}

#[tokio::test]
async fn a_log_that_was_cut_while_the_hub_was_down_is_found() {
    let log = SavedLog::new();
    log.run(3).await;
    let whole = log.text();
    let known = whole.lines().count() as u64;
    log.write(&whole.lines().take(6).map(|line| format!("{line}\n")).collect::<String>());
    assert_eq!(log.run(1).await, CheckpointCheck::Missing);
    let found = FindingKind::DiffersFromLastCheckpoint {
        from: 7,
        to: known,
        checkpoint_seq: known,
        check: CheckpointCheck::Missing,
    };
    assert_eq!(finding_kinds(&verify(&log.text())), [found]);

    let log = SavedLog::new();
    log.run(3).await;
    fs::remove_file(log.path()).unwrap();
    assert_eq!(log.run(1).await, CheckpointCheck::Missing, "removed as a whole");
    assert_eq!(verify(&log.text()).result(), VerificationResult::Modified);
}

#[tokio::test]
async fn a_signed_line_copied_beside_a_rewritten_log_does_not_vouch_for_it() {
    let log = SavedLog::new();
    log.run(5).await;
    let genuine = log.text();
    let known = genuine.lines().count();
    let sealed = format!("{}\n", genuine.lines().last().unwrap());
    let forged = forged_behind(&genuine, &vec![30; known + 8], EventKind::LogoutRequested);
    let (old, new): (Vec<_>, Vec<_>) =
        forged.split_inclusive('\n').enumerate().partition(|(index, _)| *index < known);
    let text = |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| *line).collect::<String>();
    let beside = |time: &str| log.path().with_file_name(format!("audit-{time}.jsonl"));
    fs::write(beside("20261121T120000.000Z"), text(&old)).unwrap();
    fs::write(beside("20261121T130000.000Z"), sealed).unwrap();
    log.write(&text(&new));
    assert_eq!(log.run(1).await, CheckpointCheck::Changed);
    fs::remove_file(beside("20261121T130000.000Z")).unwrap();
    let report = verify_files(
        &[text(&old).into_bytes(), fs::read(log.path()).unwrap()],
        super::TrustedCheckpoints::default(),
        Chains::One,
    );
    assert_eq!(report.result(), VerificationResult::Modified, "{report:?}");
}

#[tokio::test]
async fn a_killed_process_and_a_new_file_match_their_last_checkpoint() {
    let log = SavedLog::new();
    let (audit, _) = log.start(FOR_EVER);
    received(&audit, 3);
    audit.flush();
    log.world.pass_a_minute();
    audit.flush();
    received(&audit, 700);
    audit.flush();
    drop(audit);
    // It ends without `stop` once its last handle is dropped.
    while fs::File::open(log.path().with_extension("lock")).unwrap().try_lock().is_err() {
        std::thread::yield_now();
    }
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    let report = verify(&log.text());
    assert!(
        report.findings.is_empty()
            && matches!(report.notes[0].kind, NoteKind::Interrupted { unsigned: 700, .. }),
        "{report:?}"
    );

    let log = SavedLog::new();
    let each = FileRotation { max_bytes: 1, daily: false, keep_files: Some(0), max_age: None };
    for expected in [CheckpointCheck::Unknown, CheckpointCheck::Matched, CheckpointCheck::Matched] {
        let (audit, check) = log.start(each.clone());
        assert_eq!(check, expected, "no older file is kept");
        received(&audit, 3);
        audit.flush();
        audit.stop().await;
    }
}

impl SavedLog {
    /// Returns a log of some minutes, and the copy of its first checkpoint.
    async fn with_first_copy() -> (Self, Vec<u8>) {
        let log = Self::new();
        let (audit, _) = log.start(FOR_EVER);
        audit.flush();
        let first = fs::read(log.state().join("audit-last-checkpoint.json")).unwrap();
        audit.stop().await;
        drop(audit);
        log.run(5).await;
        (log, first)
    }

    fn set_copy_back(&self, copy: &[u8]) {
        fs::write(self.state().join("audit-last-checkpoint.json"), copy).unwrap();
    }
}

/// Attack: the hub's own user sets the copy of the checkpoint back, and rewrites what follows it.
#[tokio::test]
async fn a_copy_of_the_checkpoint_that_was_set_back_does_not_vouch_for_a_rewritten_log() {
    let (log, first) = SavedLog::with_first_copy().await;
    log.set_copy_back(&first);
    log.write(&forged_behind(&log.text(), &[30; 40], EventKind::LogoutRequested));
    assert_eq!(log.run(1).await, CheckpointCheck::Matched, "the copy fits");
    // For ever: later checkpoints take nothing back.
    for _ in 0..2 {
        let report = verify(&log.text());
        assert_eq!(finding_kinds(&report), []);
        assert_eq!(
            (report.result(), report.inherited_lines),
            (VerificationResult::Unproven, 40),
            "{report:?}"
        );
        assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    }
}

/// Attack: the same, with a forged start before the genuine one.
#[tokio::test]
async fn a_forged_start_does_not_hide_lines_that_no_process_signed() {
    let (log, first) = SavedLog::with_first_copy().await;
    log.set_copy_back(&first);
    let mut text = forged_behind(&log.text(), &[30; 40], EventKind::LogoutRequested);
    let start = forged_behind(&text, &vec![30; 41], EventKind::Start);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mut start: Value = serde_json::from_str(start.lines().last().unwrap()).unwrap();
    start["prev"] = line_hash(format!("{}\n", text.lines().last().unwrap()).as_bytes()).into();
    assert_eq!(start["seq"].as_u64(), last["seq"].as_u64().map(|seq| seq + 1));
    text.push_str(&format!("{start}\n"));
    log.write(&text);
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    let report = verify(&log.text());
    assert_eq!(
        (report.result(), report.inherited_lines),
        (VerificationResult::Unproven, 41),
        "{report:?}"
    );
}

/// Attack: the same, with an end that was cut off at a checkpoint.
#[tokio::test]
async fn a_copy_of_the_checkpoint_that_was_set_back_does_not_vouch_for_a_cut_log() {
    let (log, first) = SavedLog::with_first_copy().await;
    log.set_copy_back(&first);
    log.write(&log.text().lines().take(2).map(|line| format!("{line}\n")).collect::<String>());
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
    let report = verify(&log.text());
    assert_eq!(report.result(), VerificationResult::Unproven, "{report:?}");
    assert!(matches!(report.notes[0].kind, NoteKind::NotStopped { seq: 3 }), "{report:?}");
}

#[tokio::test]
async fn copies_that_were_removed_as_well_are_noted() {
    let log = SavedLog::new();
    log.run(2).await;
    fs::remove_dir_all(log.state()).unwrap();
    assert_eq!(log.run(1).await, CheckpointCheck::Unknown);
    let report = verify(&log.text());
    assert_eq!(report.result(), VerificationResult::Intact);
    assert!(
        matches!(report.notes[0].kind, NoteKind::LastCheckpointUnknown { seq: 13 }),
        "{report:?}"
    );
}

#[tokio::test]
async fn a_corrupted_copy_of_the_last_checkpoint_does_not_hide_a_rewritten_log() {
    let log = SavedLog::new();
    log.run(5).await;
    log.write(&forged_behind(&log.text(), &[30; 40], EventKind::LogoutRequested));
    fs::write(log.state().join("audit-last-checkpoint.json"), "{").unwrap();
    assert_eq!(log.run(1).await, CheckpointCheck::Unreadable);
    let report = verify(&log.text());
    assert_eq!(
        (finding_kinds(&report), report.result()),
        (vec![FindingKind::LastCheckpointUnreadable { seq: 43 }], VerificationResult::Modified)
    );
    assert_eq!(log.run(1).await, CheckpointCheck::Matched);
}

#[tokio::test]
async fn a_dangling_link_or_a_folder_named_as_a_full_file_does_not_hide_a_rewritten_log() {
    for is_link in [true, false] {
        let log = SavedLog::new();
        log.run(5).await;
        let known = log.text().lines().count();
        let forged = forged_behind(&log.text(), &[30; 40], EventKind::LogoutRequested);
        let lines: Vec<&str> = forged.split_inclusive('\n').collect();
        fs::write(
            log.path().with_file_name("audit-20261121T120000.000Z.jsonl"),
            lines[..known].concat(),
        )
        .unwrap();
        log.write(&lines[known..].concat());
        let obstacle = log.path().with_file_name("audit-20991231T000000.000Z.jsonl");
        if is_link {
            std::os::unix::fs::symlink("/nonexistent", &obstacle).unwrap();
        } else {
            fs::create_dir(&obstacle).unwrap();
        }
        assert_eq!(log.run(1).await, CheckpointCheck::Unreadable);
        let whole = lines[..known].concat() + &log.text();
        assert_eq!(
            finding_kinds(&verify(&whole)),
            [FindingKind::LastCheckpointUnreadable { seq: 43 }]
        );
    }
}

/// Store that fails each save while `is_away` holds.
#[derive(Clone, Default)]
struct FlakyStore {
    is_away: Arc<std::sync::atomic::AtomicBool>,
    kept: Arc<std::sync::Mutex<Option<LastCheckpoint>>>,
}

impl CheckpointStore for FlakyStore {
    fn load(&mut self) -> std::io::Result<Option<LastCheckpoint>> {
        Ok(self.kept.lock().unwrap().clone())
    }

    fn save(&mut self, checkpoint: &LastCheckpoint) -> std::io::Result<()> {
        if self.is_away.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        *self.kept.lock().unwrap() = Some(checkpoint.clone());
        Ok(())
    }
}

#[test]
fn a_failed_save_is_retried_once_the_store_answers_again() {
    let world = Fixture::new();
    let place = FlakyStore::default();
    place.is_away.store(true, std::sync::atomic::Ordering::SeqCst);
    let memory = MemorySink::default();
    let config = WriterConfig {
        checkpoint_stores: vec![Box::new(place.clone())],
        ..world.writer_config(WhenFull::Stop)
    };
    let audit = super::start(
        Box::new(memory.clone()),
        LogEnd::default(),
        Event::new(EventKind::Start),
        config,
    )
    .unwrap();
    audit.flush();
    assert!(
        audit.warnings()[0].message.contains("can't be saved outside"),
        "{:?}",
        audit.warnings()
    );
    place.is_away.store(false, std::sync::atomic::Ordering::SeqCst);
    world.clock.advance(Duration::from_secs(10));
    audit.flush();
    assert_eq!(names(&memory.text()), ["start", "checkpoint"], "before the next checkpoint");
    assert_eq!(place.kept.lock().unwrap().as_ref().map(|checkpoint| checkpoint.seq), Some(2));
    assert_eq!(audit.warnings(), []);
}
