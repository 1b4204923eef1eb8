//! Long commands: a progress line on a terminal, none in a pipe, and what a signal leaves behind.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use crate::folder::{VARIABLE, valid_config_folder};

const HEADER: &str = "given_names,family_name,birthdate,gender,birthplace,birthcountry,status\n";
const ADA: &str = "Ada,LOVELACE,1962-08-24,female,75107,99100,active\n";

fn program(arguments: &[&OsStr]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(arguments).env(VARIABLE.0, VARIABLE.1).stdout(Stdio::piped());
    command
}

/// A configuration folder with one person in its register.
fn folder_with_register() -> TempDir {
    let folder = valid_config_folder();
    fs::write(folder.path().join("register.csv"), format!("{HEADER}{ADA}")).unwrap();
    folder
}

fn import_command(folder: &Path, source: &Path) -> Command {
    let words = ["register".as_ref(), "import".as_ref(), source.as_os_str(), "--config".as_ref()];
    program(&[words.as_slice(), &[folder.as_os_str()]].concat())
}

/// Runs a command whose standard error is a terminal. Returns what the terminal received.
fn run_on_terminal(mut command: Command) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let side = OpenOptions::new().write(true).open(OsStr::from_bytes(name.to_bytes())).unwrap();
    command.env("TERM", "xterm").env_remove("NO_COLOR").stderr(side);
    let mut child = command.spawn().unwrap();
    // The command keeps the end of the child open.
    drop(command);
    let (mut terminal, mut shown) = (File::from(terminal), Vec::new());
    // Ends with EIO when the child has closed its end.
    let _closed = terminal.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

fn create_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_long_command_shows_its_progress_on_a_terminal_and_nothing_in_a_pipe() {
    let folder = folder_with_register();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("source.csv"), format!("{HEADER}{ADA}")).unwrap();
    fs::write(path("audit.jsonl"), "{}\n").unwrap();
    let import = || import_command(folder.path(), &path("source.csv"));
    let statistics = || {
        let log = path("audit.jsonl");
        let words = ["stats", "export", "--month", "2026-11"].map(OsStr::new);
        program(&[words.as_slice(), &[log.as_os_str()]].concat())
    };
    let cases: [(&dyn Fn() -> Command, &str); 2] =
        [(&import, "Reading the source: "), (&statistics, "Counting: ")];
    for (command, step) in cases {
        let shown = run_on_terminal(command());
        assert!(shown.contains(step) && shown.contains(" left"), "{step}: {shown:?}");
        let output = command().stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains(step), "{step}: {text:?}");
    }
}

#[test]
fn an_interrupted_import_leaves_the_register_as_it_was_and_no_other_file() {
    let folder = folder_with_register();
    let sources = tempfile::tempdir().unwrap();
    let source = sources.path().join("source.csv");
    create_pipe(&source);
    let files = || fs::read_dir(folder.path()).unwrap().count();
    let files_before = files();
    let mut child = import_command(folder.path(), &source).stderr(Stdio::piped()).spawn().unwrap();
    // Opens when the import does, which handles signals from then on.
    let mut rows = OpenOptions::new().write(true).open(&source).unwrap();
    rows.write_all(HEADER.as_bytes()).unwrap();
    send(&child, Signal::INT);
    // The import reads on until it notices the signal, and then closes the pipe.
    let accepted = (0..2_000_000).take_while(|_| rows.write_all(ADA.as_bytes()).is_ok()).count();
    assert!(accepted < 2_000_000, "the import goes on");
    let status = child.wait().unwrap();
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(status.code(), Some(1), "{message}");
    assert!(message.contains("interrupted: nothing is imported"), "{message}");
    let register = fs::read_to_string(folder.path().join("register.csv")).unwrap();
    assert_eq!(register, format!("{HEADER}{ADA}"));
    assert_eq!(files(), files_before, "a part of the register is left");
}

#[test]
fn a_command_that_only_reads_ends_at_once_when_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("audit.jsonl");
    create_pipe(&log);
    let words = ["stats", "export", "--month", "2026-11"].map(OsStr::new);
    let mut child = program(&[words.as_slice(), &[log.as_os_str()]].concat()).spawn().unwrap();
    let _writer = OpenOptions::new().write(true).open(&log).unwrap();
    // A shell's background commands ignore SIGINT, and so do the programs that they start.
    send(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
