//! Refuses to start a hub with less memory than it needs: an allocation that fails aborts the
//! process without a reason, and the kernel kills one that exceeds its control group.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

const MIB: u64 = 1024 * 1024;

/// Memory for the program, its keys, and some hundred logins (docs/limits.md, "Memory").
const MIN_MEMORY_BYTES: u64 = 128 * MIB;

/// Address space: stacks and the allocator's arenas are reserved, and hardly used.
const MIN_ADDRESS_SPACE_BYTES: u64 = 512 * MIB;

/// Error returned when the process may use too little memory.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryLimitError {
    #[error(
        "the process may use {} MiB of memory (its control group, or the machine), and a hub needs at least {}: raise MemoryMax= of the service, or the memory limit of the container (docs/limits.md)", .0 / MIB, MIN_MEMORY_BYTES / MIB
    )]
    Memory(u64),
    #[error(
        "the process may use {} MiB of address space (RLIMIT_AS), and a hub needs at least {}: raise LimitAS= of the service, or ulimit -v (docs/limits.md)", .0 / MIB, MIN_ADDRESS_SPACE_BYTES / MIB
    )]
    AddressSpace(u64),
}

/// Checks the memory that this process may use.
///
/// # Errors
/// `Memory`, `AddressSpace`.
pub fn check_memory_limit() -> Result<(), MemoryLimitError> {
    let cgroup = read_cgroup_limit(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| parse_total(&text));
    check_limits(cgroup.into_iter().chain(machine).min(), getrlimit(Resource::As).current)
}

fn check_limits(memory: Option<u64>, address_space: Option<u64>) -> Result<(), MemoryLimitError> {
    if let Some(bytes) = memory.filter(|bytes| *bytes < MIN_MEMORY_BYTES) {
        return Err(MemoryLimitError::Memory(bytes));
    }
    match address_space.filter(|bytes| *bytes < MIN_ADDRESS_SPACE_BYTES) {
        Some(bytes) => Err(MemoryLimitError::AddressSpace(bytes)),
        None => Ok(()),
    }
}

/// Returns the least `memory.max` of the process's control group and of those above it (cgroup v2).
/// `None` without one.
fn read_cgroup_limit(own: &Path, mounted: &Path) -> Option<u64> {
    let text = fs::read_to_string(own).ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = Path::new(path).ancestors().map(|group| mounted.join(group).join("memory.max"));
    groups.filter_map(|file| fs::read_to_string(file).ok()?.trim_ascii().parse().ok()).min()
}

/// Returns the bytes of `MemTotal` in `/proc/meminfo`.
fn parse_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim_ascii().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_an_error_that_names_the_minimum() {
        assert_eq!(check_limits(None, None), Ok(()));
        assert_eq!(check_limits(Some(MIN_MEMORY_BYTES), Some(MIN_ADDRESS_SPACE_BYTES)), Ok(()));
        let error = check_limits(Some(96 * MIB), None).unwrap_err();
        assert_eq!(error, MemoryLimitError::Memory(96 * MIB));
        let message = error.to_string();
        assert!(message.contains("96 MiB") && message.contains("at least 128"), "{message}");
        let error = check_limits(None, Some(300 * MIB)).unwrap_err().to_string();
        assert!(error.contains("300 MiB") && error.contains("at least 512"), "{error}");
    }

    #[test]
    fn the_least_limit_of_the_control_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (own, mounted) = (folder.path().join("cgroup"), folder.path().join("fs"));
        let limits = [("", "1073741824"), ("system.slice", "max"), ("system.slice/hub", "100")];
        for (group, limit) in limits {
            fs::create_dir_all(mounted.join(group)).unwrap();
            fs::write(mounted.join(group).join("memory.max"), format!("{limit}\n")).unwrap();
        }
        for (line, limit) in [
            ("0::/system.slice/hub", Some(100)),
            ("0::/system.slice", Some(1_073_741_824)),
            ("0::/", Some(1_073_741_824)),
            ("12:memory:/old", None),
        ] {
            fs::write(&own, format!("1:name=x:/\n{line}\n")).unwrap();
            assert_eq!(read_cgroup_limit(&own, &mounted), limit, "{line}");
        }
        assert_eq!(read_cgroup_limit(&folder.path().join("none"), &mounted), None);
    }

    #[test]
    fn the_machines_memory_is_read() {
        let text = "MemTotal:         131072 kB\nMemFree:   1 kB\n";
        assert_eq!(parse_total(text), Some(128 * MIB));
        assert_eq!(parse_total("MemFree: 1 kB\n"), None);
        assert_eq!(check_memory_limit(), Ok(()), "of this machine");
    }
}
