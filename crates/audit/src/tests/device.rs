//! Tests of full devices.

use super::*;

/// On `/dev/full`, which is always full.
#[test]
#[cfg(target_os = "linux")]
fn a_full_device_stops_new_logins() {
    let world = Fixture::new();
    struct FullDevice(fs::File);
    impl Sink for FullDevice {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            std::io::Write::write(&mut self.0, bytes)
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
    let audit = world.begin(
        FullDevice(fs::File::create("/dev/full").unwrap()),
        LogEnd::default(),
        WhenFull::Stop,
    );
    audit.flush();
    assert_eq!(audit.check_admission(), Err(ErrorCode::AuditUnwritable));
    let search = Event::new(EventKind::LoginsSearched);
    assert!(!audit.record_required(search), "a search that no line names");
    assert!(audit.warnings()[0].message.contains("No space left"), "{:?}", audit.warnings());
}

#[test]
fn after_minutes_of_a_full_disk_the_log_verifies_and_reports_the_loss() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::GoOn);
    audit.flush();
    memory.limit(Some(0));
    // More than the 4 MB of the buffer.
    for _ in 0..40 {
        received(&audit, 1000);
        audit.flush();
    }
    for _ in 0..5 {
        world.pass_a_minute();
        received(&audit, 1);
        audit.flush();
    }
    memory.limit(None);
    audit.flush();
    let names = names(&memory.text());
    assert_eq!(
        names.iter().filter(|name| *name == "checkpoint").count(),
        6,
        "one at the start and one for each minute"
    );
    assert_eq!(names.last().unwrap(), "events_lost");
    world.pass_a_minute();
    audit.flush();
    let report = verify(&memory.text());
    assert_eq!((finding_kinds(&report), report.result()), (vec![], VerificationResult::Intact));
}
