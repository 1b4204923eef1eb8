//! Denies by seccomp the system calls that a hub never makes.
//!
//! It is a list of what is denied: the allow-list of deploy/systemd/passerelle.service comes on top,
//! and a new C library must not stop a hub.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use libc::c_long;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
    apply_filter_all_threads,
};

use super::{PAGE, ProcessNeeds};
use passerelle_telemetry::CheckFinding;

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
    libc::SYS_tkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_setpgid,
    // Files without a name, which could become code.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Modes, owners, times and attributes of files, which Landlock does not restrict. The hub creates
    // its files with their final modes.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
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

/// Calls of newer kernels, with the same number on every architecture.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

#[cfg(target_arch = "x86_64")]
const DENIED_OF_ARCH: &[c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_uselib,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    // Calls with a number of their own in the x32 ABI.
    X32 + 520, // execve
    X32 + 521, // ptrace
    X32 + 524, // rt_sigqueueinfo
    X32 + 528, // kexec_load
    X32 + 539, // process_vm_readv
    X32 + 540, // process_vm_writev
    X32 + 536, // rt_tgsigqueueinfo
    X32 + 545, // execveat
    X32 + 514, // ioctl
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_OF_ARCH: &[c_long] = &[];

/// Bit that marks a system call of the x32 ABI, which a kernel may accept beside the 64-bit ABI.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

/// Options of `prctl` that open the process to core dumps and debuggers:
/// `PR_SET_DUMPABLE`, `PR_SET_MM`, and `PR_SET_PTRACER` of the security module Yama.
const DENIED_OPTIONS: [u64; 3] = [4, 35, 0x5961_6d61];
/// Commands of `fcntl` that send signals to other processes, or make them wait: `F_SETOWN`,
/// `F_SETSIG`, `F_SETOWN_EX` and `F_SETLEASE`.
const DENIED_DESCRIPTOR_COMMANDS: [u64; 4] = [8, 10, 15, 1024];
/// Requests of `ioctl` that type into a terminal, send signals, or change the attributes of files:
/// TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, `FS_IOC_SETFLAGS` and `FS_IOC_FSSETXATTR`.
const DENIED_DEVICE_REQUESTS: [u64; 6] = [0x5412, 0x541c, 0x8901, 0x8902, 0x4008_6602, 0x401c_5820];

/// Denies the calls for every thread of the process.
pub(super) fn restrict_system_calls(needs: ProcessNeeds) -> Result<(), CheckFinding> {
    // The C library then starts threads by `clone`, whose flags a filter can read.
    let unsupported = with_x32(BTreeMap::from([(libc::SYS_clone3, Vec::new())]));
    apply_filter(Ok(unsupported), libc::ENOSYS)?;
    apply_filter(denied_calls(needs), libc::EPERM)
}

/// Denies every mapping of executable pages: from then on, no code is loaded.
pub(super) fn forbid_executable_mappings() -> Result<(), CheckFinding> {
    let rule = argument_has_flags(2, libc::PROT_EXEC).map(|rule| vec![rule]);
    let calls = rule.map(|rules| with_x32(BTreeMap::from([(libc::SYS_mmap, rules)])));
    apply_filter(calls, libc::EPERM)
}

fn apply_filter(
    calls: Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::Error>,
    error: i32,
) -> Result<(), CheckFinding> {
    calls
        .and_then(|calls| build_filter(calls, error))
        .and_then(|filter| apply_filter_all_threads(&filter))
        .map_err(|error| finding(&error))
}

fn finding(error: &seccompiler::Error) -> CheckFinding {
    CheckFinding::new(
        format!("seccomp can't restrict the system calls of this process: {error}"),
        format!("use a kernel and a container runtime with seccomp filters, and see {PAGE}"),
    )
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
fn denied_calls(
    needs: ProcessNeeds,
) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::Error> {
    let mut calls: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().chain(DENIED_OF_ARCH).map(|call| (*call, Vec::new())).collect();
    calls.insert(libc::SYS_clone, vec![new_process()?]);
    calls.insert(libc::SYS_socket, vec![other_family(needs)?]);
    // A pair of datagram sockets can be connected elsewhere; one of streams can't.
    let datagrams = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| {
        let kind = u64::from(kind.unsigned_abs());
        let condition = SeccompCondition::new(1, Dword, MaskedEq(0xf), kind)?;
        Ok::<_, seccompiler::Error>(SeccompRule::new(vec![condition])?)
    });
    if !needs.unix_sockets {
        calls.insert(libc::SYS_socketpair, datagrams.into_iter().collect::<Result<_, _>>()?);
    }
    // No page is both writable and executable: code that an attacker writes into memory can't be
    // run. `forbid_executable_mappings` denies code in a file.
    let writable_code = libc::PROT_WRITE | libc::PROT_EXEC;
    calls.insert(libc::SYS_mmap, vec![argument_has_flags(2, writable_code)?]);
    calls.insert(libc::SYS_mprotect, vec![argument_has_flags(2, libc::PROT_EXEC)?]);
    calls.insert(libc::SYS_pkey_mprotect, vec![argument_has_flags(2, libc::PROT_EXEC)?]);
    calls.insert(libc::SYS_shmat, vec![argument_has_flags(2, libc::SHM_EXEC)?]);
    // Signals to other processes of the same user, and their limits. The C library sends signals to
    // its own threads by `tgkill`.
    for call in
        [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo]
    {
        calls.insert(call, vec![argument_differs(0, &[u64::from(std::process::id())])?]);
    }
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        calls.insert(call, vec![argument_differs(0, &[0, u64::from(std::process::id())])?]);
    }
    calls.insert(libc::SYS_prctl, argument_is_one(0, &DENIED_OPTIONS)?);
    calls.insert(libc::SYS_fcntl, argument_is_one(1, &DENIED_DESCRIPTOR_COMMANDS)?);
    calls.insert(libc::SYS_ioctl, argument_is_one(1, &DENIED_DEVICE_REQUESTS)?);
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

/// A socket of another family than the hub's: packets, netlink, virtual machines; and, for most
/// hubs, Unix sockets, which lead to the daemons of the machine.
fn other_family(needs: ProcessNeeds) -> Result<SeccompRule, seccompiler::Error> {
    let mut families = vec![libc::AF_INET, libc::AF_INET6];
    if needs.unix_sockets {
        families.push(libc::AF_UNIX);
    }
    let families = families.into_iter().map(|family| u64::from(family.unsigned_abs()));
    argument_differs(0, &families.collect::<Vec<_>>())
}

/// Matches if the argument is none of the values.
fn argument_differs(argument: u8, values: &[u64]) -> Result<SeccompRule, seccompiler::Error> {
    let differs = |value: &u64| SeccompCondition::new(argument, Dword, Ne, *value);
    Ok(SeccompRule::new(values.iter().map(differs).collect::<Result<_, _>>()?)?)
}

/// Matches if the argument is one of the values.
fn argument_is_one(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let is = |value: &u64| {
        let condition = SeccompCondition::new(argument, Dword, Eq, *value)?;
        Ok(SeccompRule::new(vec![condition])?)
    };
    values.iter().map(is).collect()
}

/// Matches if the argument has all of the flags.
fn argument_has_flags(argument: u8, flags: i32) -> Result<SeccompRule, seccompiler::Error> {
    let flags = u64::from(flags.unsigned_abs());
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, Qword, MaskedEq(flags), flags)?])?)
}
