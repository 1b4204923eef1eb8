//! Denies by seccomp the system calls that a hub never makes.
//!
//! It is a list of what is denied: the allow-list of deploy/systemd/passerelle.service comes on top,
//! and a new C library must not stop a hub.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter_all_threads,
};

use super::PAGE;
use crate::telemetry::CheckFinding;

/// Calls that fail with `EPERM`, whatever their arguments.
const DENIED: &[c_long] = &[
    // Other programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Kernel interfaces that many privilege escalations have used.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_personality,
    // The kernel itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Users, and the machine's name and clock.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
];

#[cfg(target_arch = "x86_64")]
const DENIED_OF_ARCH: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    // Calls with a number of their own in the x32 ABI.
    X32 + 520, // execve
    X32 + 521, // ptrace
    X32 + 528, // kexec_load
    X32 + 539, // process_vm_readv
    X32 + 540, // process_vm_writev
    X32 + 545, // execveat
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_OF_ARCH: &[c_long] = &[];

/// Bit that marks a system call of the x32 ABI, which a kernel may accept beside the 64-bit ABI.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

/// Address families of the sockets that the hub makes.
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];

/// Denies the calls for every thread of the process.
pub(super) fn restrict_system_calls() -> Result<(), CheckFinding> {
    let filters = build_filters().map_err(|error| finding(&error))?;
    filters
        .iter()
        .try_for_each(|filter| apply_filter_all_threads(filter).map_err(|error| finding(&error)))
}

fn finding(error: &seccompiler::Error) -> CheckFinding {
    CheckFinding::new(
        format!("seccomp can't restrict the system calls of this process: {error}"),
        format!("use a kernel and a container runtime with seccomp filters, and see {PAGE}"),
    )
}

fn build_filters() -> Result<[BpfProgram; 2], seccompiler::Error> {
    // The C library then starts threads by `clone`, whose flags a filter can read.
    let unsupported = with_x32(BTreeMap::from([(libc::SYS_clone3, Vec::new())]));
    Ok([build_filter(unsupported, libc::ENOSYS)?, build_filter(denied_calls()?, libc::EPERM)?])
}

fn build_filter(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::Error> {
    let failure = SeccompAction::Errno(error.unsigned_abs());
    let arch = TargetArch::try_from(ARCH)?;
    Ok(SeccompFilter::new(calls, SeccompAction::Allow, failure, arch)?.try_into()?)
}

/// Returns the denied calls; one with rules is denied if one of the rules matches.
fn denied_calls() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::Error> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().chain(DENIED_OF_ARCH).map(|call| (*call, Vec::new())).collect();
    calls.insert(libc::SYS_clone, vec![new_process()?]);
    calls.insert(libc::SYS_socket, vec![other_family()?]);
    // No page is both writable and executable: code that an attacker writes into memory can't be
    // run. Code in a file still can.
    calls.insert(libc::SYS_mmap, vec![has_flags(libc::PROT_WRITE | libc::PROT_EXEC)?]);
    calls.insert(libc::SYS_mprotect, vec![has_flags(libc::PROT_EXEC)?]);
    calls.insert(libc::SYS_pkey_mprotect, vec![has_flags(libc::PROT_EXEC)?]);
    Ok(with_x32(calls))
}

/// Adds the numbers of the x32 ABI with the same rules.
#[cfg(target_arch = "x86_64")]
fn with_x32(mut calls: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    for (call, rules) in calls.clone() {
        calls.entry(call | X32).or_insert(rules);
    }
    calls
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(calls: BTreeMap<i64, Vec<SeccompRule>>) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls
}

/// A `clone` that makes a process and no thread.
fn new_process() -> Result<SeccompRule, seccompiler::Error> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    Ok(SeccompRule::new(vec![SeccompCondition::new(0, Qword, MaskedEq(thread), 0)?])?)
}

/// A socket of another family than the hub's: packets, netlink, virtual machines.
fn other_family() -> Result<SeccompRule, seccompiler::Error> {
    let others = FAMILIES
        .into_iter()
        .map(|family| SeccompCondition::new(0, Dword, Ne, u64::from(family.unsigned_abs())));
    Ok(SeccompRule::new(others.collect::<Result<_, _>>()?)?)
}

/// A third argument with all of `flags`: the protection of pages.
fn has_flags(flags: i32) -> Result<SeccompRule, seccompiler::Error> {
    let flags = u64::from(flags.unsigned_abs());
    Ok(SeccompRule::new(vec![SeccompCondition::new(2, Qword, MaskedEq(flags), flags)?])?)
}
