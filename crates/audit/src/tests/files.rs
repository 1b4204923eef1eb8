//! Tests of files, rotation, starts and crashes.

use super::*;

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::with_prefix("passerelle-audit-").unwrap();
    let path = folder.path().join("deep/audit.jsonl");
    (folder, path)
}

fn all(path: &Path) -> Vec<Vec<u8>> {
    rotated_files(path)
        .unwrap()
        .into_iter()
        .chain([path.to_owned()])
        .map(|path| fs::read(path).unwrap())
        .collect()
}

/// Stops like a process: the thread keeps running, and its later lines are dropped.
async fn stop(audit: Audit) {
    audit.stop().await;
    drop(audit);
}

#[tokio::test]
async fn a_chain_goes_through_files_and_starts() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    let rotation = FileRotation { max_bytes: 1500, daily: true, keep_files: None, max_age: None };
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
    let report = verify_files(&files, TrustedCheckpoints::default(), Chains::One);
    assert_eq!(
        (report.result(), report.notes.len()),
        (VerificationResult::Intact, 0),
        "{report:?}"
    );
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
        finding_kinds(&verify_files(&without, TrustedCheckpoints::default(), Chains::One))[..],
        [FindingKind::Removed { .. }]
    ));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn only_full_files_beyond_those_to_keep_are_removed() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    let audit = world
        .on(&path, FileRotation { max_bytes: 1, daily: false, keep_files: Some(2), max_age: None });
    let stranger = path.with_file_name("audit-notes.jsonl");
    fs::write(&stranger, "mine").unwrap();
    for _ in 0..5 {
        received(&audit, 1);
        audit.flush();
    }
    stop(audit).await;
    assert_eq!((rotated_files(&path).unwrap().len(), stranger.exists()), (2, true));
    let report = verify_files(&all(&path), TrustedCheckpoints::default(), Chains::One);
    assert!(matches!(report.notes[0].kind, NoteKind::BeginsLater { .. }), "{report:?}");
    assert_eq!(report.result(), VerificationResult::Intact);
}

#[tokio::test]
async fn the_tail_of_a_killed_process_is_distinguished_from_tampering() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    for (cut, partial_line) in [(0, false), (10, true), (1, true)] {
        let _gone = fs::remove_dir_all(path.parent().unwrap());
        let audit = world.on(&path, FOR_EVER);
        received(&audit, 3);
        audit.flush();
        let killed = fs::read(&path).unwrap();
        stop(audit).await;
        fs::write(&path, &killed[..killed.len() - cut]).unwrap();

        let before = verify_files(&all(&path), TrustedCheckpoints::default(), Chains::One);
        assert_eq!(
            (before.result(), before.last_signed.unwrap().seq),
            (VerificationResult::Unproven, 1),
            "nothing is signed since the start"
        );
        let audit = world.on(&path, FOR_EVER);
        received(&audit, 1);
        stop(audit).await;
        let report = verify_files(&all(&path), TrustedCheckpoints::default(), Chains::One);
        let unsigned = if partial_line { 2 } else { 3 };
        assert_eq!(report.findings, [], "{cut}");
        assert_eq!(report.result(), VerificationResult::Unproven, "{cut} {report:?}");
        if cut != 1 {
            assert_eq!(
                report.notes[0].kind,
                NoteKind::Interrupted { unsigned, partial_line },
                "{cut}"
            );
        }
    }
}

#[tokio::test]
async fn half_a_line_that_was_changed_after_the_start_is_found() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    let audit = world.on(&path, FOR_EVER);
    received(&audit, 1);
    audit.flush();
    let killed = fs::read(&path).unwrap();
    stop(audit).await;
    fs::write(&path, &killed[..killed.len() - 10]).unwrap();
    stop(world.on(&path, FOR_EVER)).await;
    let text = fs::read_to_string(&path).unwrap();
    let forged = text.replacen(r#""sp":"sp""#, r#""sp":"me""#, 1);
    assert_eq!(verify(&text).result(), VerificationResult::Unproven);
    assert_eq!(finding_kinds(&verify(&text)), []);
    assert!(finding_kinds(&verify(&forged)).contains(&FindingKind::Malformed));
}

#[tokio::test]
async fn a_crash_between_two_files_breaks_no_chain() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    let audit = world
        .on(&path, FileRotation { max_bytes: 1, daily: false, keep_files: None, max_age: None });
    received(&audit, 2);
    audit.flush();
    stop(audit).await;
    fs::remove_file(&path).unwrap();
    stop(world.on(&path, FOR_EVER)).await;
    let report = verify_files(&all(&path), TrustedCheckpoints::default(), Chains::One);
    assert_eq!(finding_kinds(&report), [], "the new file continues the full one");
}

#[tokio::test]
async fn two_processes_do_not_write_one_chain() {
    let (_folder, path) = folder();
    let world = Fixture::new();
    let audit = world.on(&path, FOR_EVER);
    let second = FileSink::open(&path, FOR_EVER, NOON).map(|_| ());
    assert!(matches!(second, Err(AuditError::Locked { .. })), "{second:?}");
    stop(audit).await;
}

#[test]
fn a_foreign_file_is_not_touched() {
    let (_folder, path) = folder();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "dear diary\n").unwrap();
    let opened = FileSink::open(&path, FOR_EVER, NOON).map(|_| ());
    assert!(matches!(opened, Err(AuditError::NotAnAuditLog { .. })), "{opened:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear diary\n");
}

#[test]
fn an_unwritable_folder_is_named_with_its_fix() {
    let error = FileSink::open(Path::new("/proc/audit/audit.jsonl"), FOR_EVER, NOON)
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("audit.path"), "{error}");
}

#[test]
fn a_check_before_the_start_finds_what_the_start_would_and_creates_nothing() {
    let (folder, path) = folder();
    assert!(check_writable(&path).is_ok() && !path.parent().unwrap().exists());
    for nowhere in [folder.path().join("file/audit.jsonl"), "/proc/audit/audit.jsonl".into()] {
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(
            matches!(check_writable(&nowhere), Err(AuditError::Unwritable { .. })),
            "{}",
            nowhere.display()
        );
    }
    let foreign = folder.path().join("diary.jsonl");
    fs::write(&foreign, "dear diary\n").unwrap();
    assert!(matches!(check_writable(&foreign), Err(AuditError::NotAnAuditLog { .. })));
    let empty = folder.path().join("empty.jsonl");
    fs::write(&empty, "").unwrap();
    assert!(check_writable(&empty).is_ok());
}
