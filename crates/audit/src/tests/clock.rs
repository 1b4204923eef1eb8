//! Tests of the machine's clock.

use std::time::Duration;

use super::super::*;
use super::{Fixture, finding_kinds, names, received, verify};

#[test]
fn a_clock_that_was_set_back_does_not_stop_checkpoints() {
    let world = Fixture::new();
    // The key signs from noon on.
    world.clock.advance(Duration::from_secs(7200));
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    audit.flush();
    world.clock.set_back(Duration::from_secs(3600));
    received(&audit, 1);
    audit.flush();
    let checkpoints = || names(&memory.text()).iter().filter(|name| *name == "checkpoint").count();
    assert_eq!(checkpoints(), 2);
    received(&audit, 1);
    audit.flush();
    assert_eq!(checkpoints(), 2, "each minute from there on");
    assert_eq!(finding_kinds(&verify(&memory.text())), []);
}
