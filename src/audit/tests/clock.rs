//! What the machine's clock may do to a log.

use std::time::Duration;

use super::super::*;
use super::{World, flaws, names, received, verify};

#[test]
fn a_clock_that_was_set_back_leaves_the_log_sealed() {
    let world = World::new();
    // The key signs from noon on.
    world.clock.advance(Duration::from_secs(7200));
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    audit.flush();
    world.clock.set_back(Duration::from_secs(3600));
    received(&audit, 1);
    audit.flush();
    let seals = || names(&memory.text()).iter().filter(|name| *name == "checkpoint").count();
    assert_eq!(seals(), 2);
    received(&audit, 1);
    audit.flush();
    assert_eq!(seals(), 2, "each minute from there on");
    assert_eq!(flaws(&verify(&memory.text())), []);
}
