//! What a device that takes nothing may do to a log.

use super::*;

/// The real thing: a device that is always full.
#[test]
#[cfg(target_os = "linux")]
fn a_device_that_is_full_is_refused_by_the_file_sink() {
    let world = World::new();
    struct Full(fs::File);
    impl Sink for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            std::io::Write::write(&mut self.0, bytes)
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
    let audit = world.begin(Full(fs::File::create("/dev/full").unwrap()), Found::default(), WhenFull::Stop);
    audit.flush();
    assert_eq!(audit.admits(), Err(ErrorCode::AuditUnwritable));
    assert!(audit.complaints()[0].contains("No space left"), "{:?}", audit.complaints());
}
