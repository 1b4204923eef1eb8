//! What a stranger may do who sends requests as fast as he can.

use std::sync::{Arc, Mutex};

use super::super::memory::Memory;
use super::super::writer::Found;
use super::super::*;
use super::{World, flaws, names, received, verify};
use crate::env::Timestamp;

/// A disk that hangs for a while, as it does with each checkpoint.
struct Hanging(Arc<Mutex<()>>, Memory);

impl Sink for Hanging {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _moves = self.0.lock();
        self.1.write(bytes)
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

#[test]
fn a_flood_of_bad_requests_stops_no_login_and_drives_no_event_out() {
    let strangers = |audit: &Audit, times: usize| {
        for _ in 0..times {
            audit.tell(|| {
                Event::of(Name::AuthorizationRefused)
                    .code(ErrorCode::BadRequest)
                    .support_id(&"0123456789AB".into())
            });
        }
    };
    let told =
        |text: &str| names(text).iter().filter(|name| *name == "authorization_received").count();
    // While the disk hangs, the queue is what is flooded.
    let (world, gate, memory) = (World::new(), Arc::new(Mutex::new(())), Memory::default());
    let audit = {
        let _hangs = gate.lock().unwrap();
        let audit = world.begin(
            Hanging(Arc::clone(&gate), memory.clone()),
            Found::default(),
            WhenFull::Stop,
        );
        strangers(&audit, 10_000);
        assert_eq!(audit.admits(), Ok(()));
        received(&audit, 500);
        audit
    };
    audit.flush();
    assert_eq!(told(&memory.text()), 500);
    // While the disk is full, it is what waits for room.
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
    assert_eq!(told(&memory.text()), 500);
    assert_eq!(flaws(&verify(&memory.text())), []);
    assert!(names(&memory.text()).iter().any(|name| name == "lost"));
}
