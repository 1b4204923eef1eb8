use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Log whose full files are removed after three days.
struct RetainedLog {
    _folder: TempDir,
    path: PathBuf,
    world: Fixture,
}

impl RetainedLog {
    fn new() -> Self {
        let folder = TempDir::with_prefix("passerelle-audit-").unwrap();
        let path = folder.path().join("audit.jsonl");
        Self { _folder: folder, path, world: Fixture::new() }
    }

    fn start(&self) -> Audit {
        let max_age = Some(3 * DAY);
        let rotation = FileRotation { max_bytes: 0, daily: true, keep_files: None, max_age };
        self.world.on(&self.path, rotation)
    }

    /// Lets the clock run, in steps that the writer sees.
    fn run_clock(&self, audit: &Audit, time: Duration) {
        let step = Duration::from_secs(600);
        for _ in 0..time.as_secs() / step.as_secs() {
            self.world.clock.advance(step);
            audit.flush();
        }
    }

    fn full_files(&self) -> Vec<PathBuf> {
        rotated_files(&self.path).unwrap()
    }
}

#[tokio::test]
async fn full_files_older_than_the_days_to_keep_are_removed() {
    let log = RetainedLog::new();
    let audit = log.start();
    for kept in [1, 2, 3, 3, 3] {
        received(&audit, 1);
        log.run_clock(&audit, DAY);
        assert_eq!(log.full_files().len(), kept);
    }
    audit.stop().await;
    drop(audit);
    let files = log.full_files().into_iter().chain([log.path.clone()]);
    let files: Vec<_> = files.map(|file| fs::read(file).unwrap()).collect();
    let report = verify_files(&files, TrustedCheckpoints::default(), Chains::One);
    assert_eq!(report.result(), VerificationResult::Intact, "{report:?}");
    log.world.clock.advance(10 * DAY);
    let audit = log.start();
    log.run_clock(&audit, 2 * HOUR);
    assert_eq!(log.full_files().len(), 1, "the file of the start is not full yet for three days");
}

#[tokio::test]
async fn attack_a_wrong_clock_removes_no_file() {
    let log = RetainedLog::new();
    let audit = log.start();
    received(&audit, 1);
    log.run_clock(&audit, 2 * DAY);
    let before = log.full_files();
    assert_eq!(before.len(), 2);
    // The clock of a running hub is set years ahead, and corrected within the hour.
    log.world.clock.advance(3000 * DAY);
    log.run_clock(&audit, HOUR - Duration::from_secs(600));
    assert!(before.iter().all(|file| file.exists()));
    audit.stop().await;
    drop(audit);
    // A hub starts with such a clock.
    let audit = log.start();
    log.run_clock(&audit, HOUR - Duration::from_secs(600));
    assert!(before.iter().all(|file| file.exists()));
}

#[tokio::test]
async fn a_file_that_cannot_be_removed_keeps_none_of_the_others() {
    let log = RetainedLog::new();
    let audit = log.start();
    received(&audit, 1);
    log.run_clock(&audit, DAY);
    // The oldest name belongs to a folder.
    fs::create_dir(log.path.with_file_name("audit-20200101T000000.000Z.jsonl")).unwrap();
    let first = log.full_files().pop().unwrap();
    log.run_clock(&audit, 4 * DAY);
    assert!(!first.exists());
}
