//! The confinement of the process, tried by a process that confines itself: a test that runs this
//! file's tests again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use passerelle_config::model::ConfinementConfig;
use passerelle_server::confinement::{ProcessNeeds, apply_protections, forbid_executable_mappings};
#[cfg(feature = "pkcs11")]
use passerelle_testkit::softhsm::{installed_module, skip_without_softhsm};
use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use tempfile::TempDir;

use crate::folder::{SETTINGS, VARIABLE, valid_config_folder};

/// The folder of a run in a child.
const CHILD: &str = "CONFINEMENT_TEST_FOLDER";

/// Runs one of these tests again, as a process whose only thread is the test's.
fn run_again(test: &str, folder: &Path) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(CHILD, folder)
        .env("RUST_BACKTRACE", "0");
    child.output().unwrap()
}

fn assert_passes(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("state")).unwrap();
    fs::write(folder.path().join("outside"), "as it was").unwrap();
    let output = run_again(test, folder.path());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stdout));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("outside")).unwrap(), "as it was");
}

/// The folder, in a child that this has confined; in the parent it runs the child.
fn confined(test: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else {
        assert_passes(test);
        return None;
    };
    let needs = ProcessNeeds::default();
    let mut findings =
        apply_protections(&ConfinementConfig::default(), &[folder.join("state")], needs);
    // The harness has a thread, and `serve` has none.
    findings.retain(|finding| !finding.message.contains("threads were started before"));
    assert_eq!(findings, [], "this kernel can't show it");
    Some(folder)
}

fn assert_denied<T: std::fmt::Debug>(what: &str, result: std::io::Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied, "{what}");
}

#[test]
fn code_injected_into_the_hub_writes_nothing_outside_its_folders() {
    let name = "confinement::code_injected_into_the_hub_writes_nothing_outside_its_folders";
    let Some(folder) = confined(name) else { return };
    let (outside, state) = (folder.join("outside"), folder.join("state"));
    assert_denied("an existing file", fs::write(&outside, "changed"));
    assert_denied("a new file", fs::write(folder.join("new"), "new"));
    assert_denied("a removal", fs::remove_file(&outside));
    assert_denied("a folder", fs::create_dir(folder.join("folder")));
    assert_denied("a link", std::os::unix::fs::symlink("/etc/passwd", state.join("link")));
    let truncated = fs::OpenOptions::new().write(true).truncate(true).open(&outside);
    assert_denied("a truncation", truncated);
    fs::write(state.join("one"), "one").unwrap();
    // A thread that starts later is confined too.
    let path = outside.clone();
    let by_thread = std::thread::spawn(move || fs::write(path, "changed")).join().unwrap();
    assert_denied("another thread", by_thread);
    // A file moved out, or one that lies outside moved in to be changed there.
    assert!(fs::rename(state.join("one"), folder.join("moved")).is_err());
    assert!(fs::rename(&outside, state.join("moved")).is_err());
    assert!(fs::hard_link(&outside, state.join("hard")).is_err());
}

#[test]
fn code_injected_into_the_hub_runs_no_program_and_no_process() {
    let name = "confinement::code_injected_into_the_hub_runs_no_program_and_no_process";
    let Some(folder) = confined(name) else { return };
    assert!(Command::new("/bin/true").status().is_err());
    // A program that the attacker has written where the hub may write.
    let planted = folder.join("state/planted");
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&planted).unwrap();
    file.write_all(&fs::read("/bin/true").unwrap()).unwrap();
    drop(file);
    assert!(Command::new(&planted).status().is_err());
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_ascii_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
}

#[test]
fn code_injected_into_the_hub_reopens_it_to_no_debugger_and_no_core_dump() {
    let name = "confinement::code_injected_into_the_hub_reopens_it_to_no_debugger_and_no_core_dump";
    if confined(name).is_none() {
        return;
    }
    use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    assert_eq!(set_dumpable_behavior(DumpableBehavior::Dumpable), Err(Errno::PERM));
    assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
}

#[test]
fn code_injected_into_the_hub_signals_no_other_process() {
    let name = "confinement::code_injected_into_the_hub_signals_no_other_process";
    if confined(name).is_none() {
        return;
    }
    use rustix::process::{
        PidfdFlags, Resource, Rlimit, Signal, getpid, getppid, kill_current_process_group,
        kill_process, kill_process_group, pidfd_open, prlimit, setpriority_process,
        test_kill_process,
    };
    let parent = getppid().unwrap();
    assert_eq!(test_kill_process(parent), Err(Errno::PERM));
    assert_eq!(kill_process(parent, Signal::CONT), Err(Errno::PERM));
    assert_eq!(kill_process_group(parent, Signal::CONT), Err(Errno::PERM));
    assert_eq!(kill_current_process_group(Signal::CONT), Err(Errno::PERM));
    assert_eq!(pidfd_open(parent, PidfdFlags::empty()).err(), Some(Errno::PERM));
    assert_eq!(setpriority_process(Some(parent), 19), Err(Errno::PERM));
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    assert_eq!(prlimit(Some(parent), Resource::Fsize, none).err(), Some(Errno::PERM));
    test_kill_process(getpid()).unwrap();
}

/// Landlock restricts none of these, so that they are denied everywhere.
#[test]
fn code_injected_into_the_hub_changes_no_mode_owner_time_or_attribute() {
    let name = "confinement::code_injected_into_the_hub_changes_no_mode_owner_time_or_attribute";
    let Some(folder) = confined(name) else { return };
    let own = folder.join("state/own");
    fs::write(&own, "own").unwrap();
    for path in [folder.join("outside"), own] {
        let before = fs::metadata(&path).unwrap();
        let file = fs::File::open(&path).unwrap();
        let open_to_all = || fs::Permissions::from_mode(0o4777);
        assert_denied("a mode", fs::set_permissions(&path, open_to_all()));
        assert_denied("a mode by descriptor", file.set_permissions(open_to_all()));
        let (user, group) = (before.uid(), before.gid());
        assert_denied("an owner", std::os::unix::fs::chown(&path, Some(user), Some(group)));
        assert_denied("an owner by descriptor", fchown(&file, Some(user), Some(group)));
        assert_denied("a time", file.set_modified(std::time::SystemTime::UNIX_EPOCH));
        let flags = rustix::fs::XattrFlags::empty();
        let attribute = rustix::fs::setxattr(&path, "user.planted", b"x", flags);
        assert_eq!(attribute, Err(Errno::PERM));
        let after = fs::metadata(&path).unwrap();
        assert_eq!((before.mode(), before.mtime()), (after.mode(), after.mtime()));
    }
}

/// Returns a listener outside of the hub's folders, in a child.
fn listen_outside() -> Option<UnixListener> {
    let folder = std::env::var_os(CHILD).map(PathBuf::from)?;
    Some(UnixListener::bind(folder.join("daemon.sock")).unwrap())
}

#[test]
fn code_injected_into_the_hub_reaches_no_daemon_by_a_unix_socket() {
    let name = "confinement::code_injected_into_the_hub_reaches_no_daemon_by_a_unix_socket";
    let daemon = listen_outside();
    let Some(folder) = confined(name) else { return };
    assert!(daemon.is_some());
    assert_denied("a daemon", UnixStream::connect(folder.join("daemon.sock")).map(drop));
    assert_denied("a datagram", UnixDatagram::unbound().map(drop));
    assert_denied("datagrams of a pair", UnixDatagram::pair().map(drop));
    // The hub relays connections over a pair of its own.
    UnixStream::pair().unwrap();
}

#[test]
fn a_hub_with_a_redis_at_a_unix_socket_reaches_it() {
    let name = "confinement::a_hub_with_a_redis_at_a_unix_socket_reaches_it";
    let daemon = listen_outside();
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else {
        assert_passes(name);
        return;
    };
    let needs = ProcessNeeds { unix_sockets: true };
    let _findings =
        apply_protections(&ConfinementConfig::default(), &[folder.join("state")], needs);
    UnixStream::connect(folder.join("daemon.sock")).unwrap();
    drop(daemon);
}

#[cfg(feature = "pkcs11")]
#[test]
fn code_that_an_attacker_writes_into_memory_or_a_state_file_does_not_run() {
    let name = "confinement::code_that_an_attacker_writes_into_memory_or_a_state_file_does_not_run";
    // A library runs code when it is loaded.
    let Some(library) = installed_module() else { return skip_without_softhsm() };
    let Some(folder) = confined(name) else { return };
    let memory = rustix::fs::memfd_create("code", rustix::fs::MemfdFlags::empty());
    assert_eq!(memory.err(), Some(Errno::PERM));
    let plant = |planted: &Path| fs::write(planted, fs::read(library).unwrap()).unwrap();
    let load = |planted: &Path| cryptoki::context::Pkcs11::new(planted).map(drop);
    let planted = folder.join("state/first.so");
    plant(&planted);
    load(&planted).unwrap();
    forbid_executable_mappings().unwrap();
    let planted = folder.join("state/second.so");
    plant(&planted);
    assert!(load(&planted).is_err());
    // What the hub does goes on: threads, names, files.
    let resolve = || ("localhost", 80).to_socket_addrs().unwrap().next().is_some();
    assert!(std::thread::spawn(resolve).join().unwrap());
    passerelle_writes(&folder.join("state"));
}

#[test]
fn what_a_hub_does_works_while_it_is_confined() {
    let name = "confinement::what_a_hub_does_works_while_it_is_confined";
    let Some(folder) = confined(name) else { return };
    let state = folder.join("state");
    passerelle_writes(&state);
    assert_eq!(fs::read_to_string(folder.join("outside")).unwrap(), "as it was");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = std::thread::spawn(move || TcpStream::connect(address).unwrap());
    listener.accept().unwrap();
    drop(peer.join().unwrap());
    // The resolver of the C library, with its modules and its configuration.
    assert!("localhost:80".to_socket_addrs().unwrap().next().is_some());
}

/// Replaces, appends, rotates and removes, as the audit log and the state do.
fn passerelle_writes(state: &Path) {
    let (log, rotated) = (state.join("a/audit.jsonl"), state.join("a/audit-1.jsonl"));
    passerelle_protocol::atomic_file::replace_file(&log, b"one").unwrap();
    passerelle_protocol::atomic_file::replace_file(&log, b"two").unwrap();
    fs::rename(&log, &rotated).unwrap();
    fs::OpenOptions::new().append(true).create(true).open(&log).unwrap();
    fs::rename(&log, state.join("moved")).unwrap();
    fs::OpenOptions::new().write(true).truncate(true).open(&rotated).unwrap();
    fs::remove_file(&rotated).unwrap();
}

#[test]
fn a_hub_that_must_be_confined_does_not_start_without_it() {
    let folder = valid_config_folder();
    // Locked memory needs an unlimited RLIMIT_MEMLOCK, which this run takes away.
    let settings = "[process]\nconfinement = \"required\"\nlock_memory = true\n";
    fs::write(folder.path().join("passerelle.toml"), format!("{SETTINGS}\n{settings}")).unwrap();
    let script = "ulimit -l 64; exec \"$0\" serve --config \"$1\"";
    let mut serve = Command::new("bash");
    serve.args(["-c", script, env!("CARGO_BIN_EXE_passerelle")]).arg(folder.path());
    let output = serve.env(VARIABLE.0, VARIABLE.1).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("process.confinement = \"required\""), "{text}");
    assert!(text.contains("LimitMEMLOCK=infinity"), "{text}");
}

/// Runs `serve` as on a kernel without Landlock: its first call is answered as unknown.
fn serve_without_landlock(test: &str, mode: &str) -> (TempDir, Child) {
    let folder = valid_config_folder();
    let settings = format!("{SETTINGS}\n[process]\nconfinement = \"{mode}\"\n");
    fs::write(folder.path().join("passerelle.toml"), settings).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(CHILD, folder.path())
        .env(VARIABLE.0, VARIABLE.1);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (folder, child)
}

/// In the child: becomes the hub.
fn become_a_hub_without_landlock() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let calls = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, unknown, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    let mut hub = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    panic!("{}", hub.args(["serve", "--config"]).arg(folder).exec());
}

#[test]
fn a_hub_on_a_kernel_without_landlock_reports_it_and_is_degraded() {
    become_a_hub_without_landlock();
    let name = "confinement::a_hub_on_a_kernel_without_landlock_reports_it_and_is_degraded";
    let (_folder, mut hub) = serve_without_landlock(name, "best-effort");
    let mut lines = BufReader::new(hub.stderr.take().unwrap()).lines().map(Result::unwrap);
    let warning = lines.find(|line| line.contains("not fully confined")).unwrap();
    assert!(warning.contains("this kernel has no Landlock"), "{warning}");
    let private = lines.find(|line| line.contains("starting service: \"private\"")).unwrap();
    let address = private.rsplit(' ').next().unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    hub.kill().unwrap();
    hub.wait().unwrap();
    assert!(answer.contains("\"process\":[\"this kernel has no Landlock"), "{answer}");
}

#[test]
fn a_hub_that_must_be_confined_does_not_start_without_landlock() {
    become_a_hub_without_landlock();
    let name = "confinement::a_hub_that_must_be_confined_does_not_start_without_landlock";
    let (_folder, hub) = serve_without_landlock(name, "required");
    let output = hub.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("this kernel has no Landlock"), "{text}");
}
