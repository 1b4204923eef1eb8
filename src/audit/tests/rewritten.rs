//! A log that was replaced behind its last seal: while the hub was down, or without a hub.

use std::fs;

use super::super::chain::{Chain, hash};
use super::super::descent::leads_to_end;
use super::super::last_seal::{LastSeal, SealCheck, SealFile, SealStore, compare, load_newest};
use super::*;

/// The hub's first two lines, `start` and a checkpoint, and others behind them that only chain.
fn forged_behind(first: &str, times: &[u64], event: Name) -> String {
    let sealed: String = first.lines().take(2).map(|line| format!("{line}\n")).collect();
    let last = sealed.lines().last().unwrap();
    let mut chain = Chain { seq: 2, hash: hash(format!("{last}\n").as_bytes()) };
    let mut bytes = Vec::new();
    for seconds in times {
        let event = Event::of(event).sp(&"forged".into());
        chain.append(&mut bytes, &event, NOON + Duration::from_secs(*seconds), "one");
    }
    sealed + std::str::from_utf8(&bytes).unwrap()
}

fn first_lines() -> String {
    let (audit, memory) = World::new().in_memory(WhenFull::Stop);
    audit.flush();
    memory.text()
}

#[test]
fn lines_that_no_checkpoint_covers_for_longer_than_90_seconds_are_found() {
    let text = forged_behind(&first_lines(), &[10, 90, 91, 300], Name::LogoutAsked);
    let report = verify(&text);
    assert_eq!(flaws(&report), [Flaw::Unsealed { from: 3, to: 6, seconds: 300 }]);
    assert_eq!(
        (report.verdict(), report.findings[0].place.line),
        (Verdict::TamperedWith, 5),
        "the first that stands too late"
    );
    assert_eq!(flaws(&verify(&forged_behind(&first_lines(), &[10, 90], Name::LogoutAsked))), []);
}

#[test]
fn forged_starts_make_no_span_shorter() {
    let mut text = forged_behind(&first_lines(), &[60], Name::Start);
    text.push_str(
        forged_behind(&first_lines(), &[60, 200, 240], Name::LogoutAsked)
            .split_inclusive('\n')
            .nth(3)
            .unwrap(),
    );
    let report = verify(&text);
    assert!(
        flaws(&report).iter().any(|flaw| matches!(flaw, Flaw::Unsealed { seconds: 200, .. })),
        "{report:?}"
    );
}

#[test]
fn a_machine_that_slept_leaves_no_line_behind_an_old_checkpoint() {
    let world = World::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    received(&audit, 1);
    audit.flush();
    world.clock.advance(Duration::from_secs(3600));
    received(&audit, 1);
    audit.flush();
    assert_eq!(names(&memory.text())[3..], ["checkpoint", "authorization_received"]);
    assert_eq!(flaws(&verify(&memory.text())), []);
}

/// A hub's audit log with its last seal in a state folder.
struct Kept {
    world: World,
    folder: TempDir,
}

impl Kept {
    fn new() -> Self {
        Self { world: World::new(), folder: TempDir::with_prefix("passerelle-audit-").unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("log/audit.jsonl")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// As a hub starts.
    fn start(&self, rotation: Rotation) -> (Audit, SealCheck) {
        let path = self.path();
        let (sink, found) =
            FileSink::open(&path, rotation, crate::env::Clock::now(self.world.clock.as_ref()))
                .unwrap();
        let mut seals: Vec<Box<dyn SealStore>> = vec![Box::new(SealFile::in_folder(&self.state()))];
        let known = load_newest(&mut seals, "audit.jsonl");
        let check = compare(&known, &found.chain, |seal| leads_to_end(&path, seal, &found.chain));
        let begin =
            Event::of(Name::Start).last_seal(check, known.ok().flatten().map(|seal| seal.seq));
        let means = WriterConfig { seals, finding: None, ..self.world.means(WhenFull::Stop) };
        (super::start(Box::new(sink), found, begin, means).unwrap(), check)
    }

    /// A run of so many minutes with events, ended in order.
    async fn run(&self, minutes: usize) -> SealCheck {
        let (audit, check) = self.start(FOR_EVER);
        for _ in 0..minutes {
            received(&audit, 3);
            audit.flush();
            self.world.minute();
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
    let log = Kept::new();
    assert_eq!(log.run(5).await, SealCheck::Unknown, "the first start");
    let lines = log.text().lines().count() as u64;
    assert_eq!(log.run(1).await, SealCheck::Matched);
    assert_eq!(verify(&log.text()).verdict(), Verdict::Whole);

    // All within a minute and a half, so that the times say nothing.
    let known = log.text().lines().count() as u64;
    log.write(&forged_behind(&log.text(), &vec![30; 40], Name::LogoutAsked));
    assert_eq!(flaws(&verify(&log.text())), [], "the log alone can't tell");
    assert_eq!(log.run(1).await, SealCheck::Changed);
    let report = verify(&log.text());
    let found = Flaw::NotAsSealed { from: 3, to: 42, sealed: known, check: SealCheck::Changed };
    assert_eq!((flaws(&report), report.verdict()), (vec![found.clone()], Verdict::TamperedWith));
    assert!(lines < known);

    // The finding is sealed itself, and stays.
    assert_eq!(log.run(1).await, SealCheck::Matched);
    assert_eq!(flaws(&verify(&log.text())), [found]);
}

#[tokio::test]
async fn a_log_that_was_cut_while_the_hub_was_down_is_found() {
    let log = Kept::new();
    log.run(3).await;
    let whole = log.text();
    let known = whole.lines().count() as u64;
    log.write(&whole.lines().take(6).map(|line| format!("{line}\n")).collect::<String>());
    assert_eq!(log.run(1).await, SealCheck::Missing);
    let found = Flaw::NotAsSealed { from: 7, to: known, sealed: known, check: SealCheck::Missing };
    assert_eq!(flaws(&verify(&log.text())), [found]);

    let log = Kept::new();
    log.run(3).await;
    fs::remove_file(log.path()).unwrap();
    assert_eq!(log.run(1).await, SealCheck::Missing, "taken away as a whole");
    assert_eq!(verify(&log.text()).verdict(), Verdict::TamperedWith);
}

#[tokio::test]
async fn a_sealed_line_that_was_copied_beside_a_rewritten_log_does_not_vouch_for_it() {
    let log = Kept::new();
    log.run(5).await;
    let genuine = log.text();
    let known = genuine.lines().count();
    let sealed = format!("{}\n", genuine.lines().last().unwrap());
    let forged = forged_behind(&genuine, &vec![30; known + 8], Name::LogoutAsked);
    let (old, new): (Vec<_>, Vec<_>) =
        forged.split_inclusive('\n').enumerate().partition(|(index, _)| *index < known);
    let text = |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| *line).collect::<String>();
    let beside = |time: &str| log.path().with_file_name(format!("audit-{time}.jsonl"));
    fs::write(beside("20261121T120000.000Z"), text(&old)).unwrap();
    fs::write(beside("20261121T130000.000Z"), sealed).unwrap();
    log.write(&text(&new));
    assert_eq!(log.run(1).await, SealCheck::Changed);
    fs::remove_file(beside("20261121T130000.000Z")).unwrap();
    let report = verify_files(
        &[text(&old).into_bytes(), fs::read(log.path()).unwrap()],
        super::Kept::default(),
        Chains::One,
    );
    assert_eq!(report.verdict(), Verdict::TamperedWith, "{report:?}");
}

#[tokio::test]
async fn a_killed_process_and_a_new_file_match_their_last_seal() {
    let log = Kept::new();
    let (audit, _) = log.start(FOR_EVER);
    received(&audit, 3);
    audit.flush();
    log.world.minute();
    audit.flush();
    received(&audit, 700);
    audit.flush();
    drop(audit);
    // It ends without last words once its last handle is gone.
    while fs::File::open(log.path().with_extension("lock")).unwrap().try_lock().is_err() {
        std::thread::yield_now();
    }
    assert_eq!(log.run(1).await, SealCheck::Matched);
    let report = verify(&log.text());
    assert!(
        report.findings.is_empty()
            && matches!(report.notes[0].note, Note::CutOff { unsealed: 700, .. }),
        "{report:?}"
    );

    let log = Kept::new();
    let each = Rotation { size: 1, daily: false, keep: Some(0) };
    for expected in [SealCheck::Unknown, SealCheck::Matched, SealCheck::Matched] {
        let (audit, check) = log.start(each.clone());
        assert_eq!(check, expected, "no older file is kept");
        received(&audit, 3);
        audit.flush();
        audit.stop().await;
    }
}

#[tokio::test]
async fn copies_that_were_removed_as_well_are_noted() {
    let log = Kept::new();
    log.run(2).await;
    fs::remove_dir_all(log.state()).unwrap();
    assert_eq!(log.run(1).await, SealCheck::Unknown);
    let report = verify(&log.text());
    assert_eq!(report.verdict(), Verdict::Whole);
    assert!(matches!(report.notes[0].note, Note::SealUnknown { seq: 13 }), "{report:?}");
}

#[tokio::test]
async fn a_corrupted_copy_of_the_last_seal_does_not_hide_a_rewritten_log() {
    let log = Kept::new();
    log.run(5).await;
    log.write(&forged_behind(&log.text(), &[30; 40], Name::LogoutAsked));
    fs::write(log.state().join("audit-seal.json"), "{").unwrap();
    assert_eq!(log.run(1).await, SealCheck::Unreadable);
    let report = verify(&log.text());
    assert_eq!(
        (flaws(&report), report.verdict()),
        (vec![Flaw::NotCompared { seq: 43 }], Verdict::TamperedWith)
    );
    assert_eq!(log.run(1).await, SealCheck::Matched);
}

#[tokio::test]
async fn a_dangling_link_or_a_folder_named_as_a_full_file_does_not_hide_a_rewritten_log() {
    for is_link in [true, false] {
        let log = Kept::new();
        log.run(5).await;
        let known = log.text().lines().count();
        let forged = forged_behind(&log.text(), &[30; 40], Name::LogoutAsked);
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
        assert_eq!(log.run(1).await, SealCheck::Unreadable);
        let whole = lines[..known].concat() + &log.text();
        assert_eq!(flaws(&verify(&whole)), [Flaw::NotCompared { seq: 43 }]);
    }
}

/// A place that refuses each save while `is_away` holds.
#[derive(Clone, Default)]
struct FlakyPlace {
    is_away: Arc<std::sync::atomic::AtomicBool>,
    kept: Arc<std::sync::Mutex<Option<LastSeal>>>,
}

impl SealStore for FlakyPlace {
    fn load(&mut self) -> std::io::Result<Option<LastSeal>> {
        Ok(self.kept.lock().unwrap().clone())
    }

    fn save(&mut self, seal: &LastSeal) -> std::io::Result<()> {
        if self.is_away.load(std::sync::atomic::Ordering::SeqCst) {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        *self.kept.lock().unwrap() = Some(seal.clone());
        Ok(())
    }
}

#[test]
fn a_seal_that_could_not_be_kept_is_kept_once_its_place_answers_again() {
    let world = World::new();
    let place = FlakyPlace::default();
    place.is_away.store(true, std::sync::atomic::Ordering::SeqCst);
    let memory = Memory::default();
    let means = WriterConfig { seals: vec![Box::new(place.clone())], ..world.means(WhenFull::Stop) };
    let audit =
        super::start(Box::new(memory.clone()), Found::default(), Event::of(Name::Start), means)
            .unwrap();
    audit.flush();
    assert!(audit.complaints()[0].contains("can't be kept outside"), "{:?}", audit.complaints());
    place.is_away.store(false, std::sync::atomic::Ordering::SeqCst);
    world.clock.advance(Duration::from_secs(10));
    audit.flush();
    assert_eq!(names(&memory.text()), ["start", "checkpoint"], "before the next checkpoint");
    assert_eq!(place.kept.lock().unwrap().as_ref().map(|seal| seal.seq), Some(2));
    assert_eq!(audit.complaints(), [""; 0]);
}
