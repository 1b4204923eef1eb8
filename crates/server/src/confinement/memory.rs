//! Keeps the memory of the process, and so its keys, out of core dumps and the swap.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use super::PAGE;
use passerelle_telemetry::CheckFinding;

/// Disables core dumps. The process can't be attached to either, except by root.
pub(super) fn disable_core_dumps() -> Result<(), CheckFinding> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let limited = setrlimit(Resource::Core, none).or_else(|error| {
        // A filter of the service manager may forbid the call, and have set the limit.
        if getrlimit(Resource::Core) == none { Ok(()) } else { Err(error) }
    });
    limited.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable)).map_err(|error| {
        CheckFinding::new(
            format!("core dumps, which hold keys, can't be turned off: {error}"),
            format!("set LimitCORE=0 for the service, and see {PAGE}"),
        )
    })
}

/// Locks the pages that the process has and gets, each when it is first used.
pub(super) fn lock_memory() -> Result<(), CheckFinding> {
    // Beyond a limit each further allocation would fail.
    if getrlimit(Resource::Memlock).current.is_some() {
        return Err(CheckFinding::new(
            "process.lock_memory is set, and the memory is not locked: RLIMIT_MEMLOCK is limited",
            format!("set LimitMEMLOCK=infinity for the service, and see {PAGE}"),
        ));
    }
    let every = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(every).map_err(|error| {
        CheckFinding::new(
            format!("process.lock_memory is set, and the memory can't be locked: {error}"),
            format!("see {PAGE}"),
        )
    })
}
