//! Tests of strangers who flood the hub with requests.

use std::sync::{Arc, Mutex};

use super::super::testing::memory_sink::MemorySink;
use super::super::writer::LogEnd;
use super::super::*;
use super::{Fixture, finding_kinds, names, received, verify};
use passerelle_protocol::env::Timestamp;

/// Disk that hangs for a while, as with each checkpoint.
struct HangingDisk(Arc<Mutex<()>>, MemorySink);

impl Sink for HangingDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _moves = self.0.lock();
        self.1.write(bytes)
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

#[test]
fn a_flood_of_bad_requests_stops_no_login_and_displaces_no_event() {
    let strangers = |audit: &Audit, times: usize| {
        for _ in 0..times {
            audit.record(|| {
                Event::new(EventKind::AuthorizationRefused)
                    .code(ErrorCode::BadRequest)
                    .support_id(&"0123456789AB".into())
            });
        }
    };
    let received_count =
        |text: &str| names(text).iter().filter(|name| *name == "authorization_received").count();
    // While the disk hangs, the queue is flooded.
    let (world, gate, memory) = (Fixture::new(), Arc::new(Mutex::new(())), MemorySink::default());
    let audit = {
        let _hangs = gate.lock().unwrap();
        let audit = world.begin(
            HangingDisk(Arc::clone(&gate), memory.clone()),
            LogEnd::default(),
            WhenFull::Stop,
        );
        strangers(&audit, 10_000);
        assert_eq!(audit.check_admission(), Ok(()));
        received(&audit, 500);
        audit
    };
    audit.flush();
    assert_eq!(received_count(&memory.text()), 500);
    // While the disk is full, the buffer is flooded.
    let (audit, memory) = world.in_memory(WhenFull::GoOn);
    audit.flush();
    memory.limit(Some(0));
    for _ in 0..30 {
        strangers(&audit, 1000);
        audit.flush();
    }
    received(&audit, 500);
    memory.limit(None);
    audit.flush();
    assert_eq!(received_count(&memory.text()), 500);
    assert_eq!(finding_kinds(&verify(&memory.text())), []);
    assert!(names(&memory.text()).iter().any(|name| name == "events_lost"));
}
