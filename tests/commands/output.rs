//! Commands when their output can't be written: the pipe is closed, or the device is full.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::folder::{VARIABLE, valid_config_folder};

/// Exit code of a command whose output can't be written.
const OUTPUT_LOST: i32 = 74;

fn commands(folder: &Path) -> Vec<Vec<String>> {
    let keys = folder.join("keys").display().to_string();
    let log = folder.join("audit.jsonl");
    fs::write(&log, "no line\n").unwrap();
    let (log, folder) = (log.display().to_string(), folder.display().to_string());
    let connector = format!("{folder}/connectors/persons.toml");
    [
        vec!["errors"],
        vec!["errors", "--markdown"],
        vec!["errors", "--json"],
        vec!["completions", "bash"],
        vec!["man"],
        vec!["metrics"],
        vec!["metrics", "--markdown"],
        vec!["schemas"],
        vec!["--help"],
        vec!["keys", "list", "--dir", &keys],
        vec!["keys", "list", "--dir", &keys, "--json"],
        vec!["audit", "verify", "--keys", &keys, &log],
        vec!["audit", "verify", "--json", "--keys", &keys, &log],
        vec!["check", "--config", &folder],
        vec!["check", "--config", &folder, "--json"],
        vec!["check", "connector", &connector, "--config", &folder],
        vec!["check", "connector", &connector, "--config", &folder, "--json"],
        vec!["plan", "--config", &folder, "--against", &folder],
        vec!["plan", "--config", &folder, "--against", &folder, "--json"],
    ]
    .into_iter()
    .map(|command| command.into_iter().map(str::to_owned).collect())
    .collect()
}

fn run(command: &[String], output: Stdio) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    process
        .args(command)
        .env(VARIABLE.0, VARIABLE.1)
        .stdout(output)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

/// The writing end of a pipe whose reading end is closed.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn no_command_panics_on_a_closed_pipe() {
    let folder = valid_config_folder();
    for command in commands(folder.path()) {
        let (closed, open) = (run(&command, closed_pipe()), run(&command, Stdio::piped()));
        let text = String::from_utf8(closed.stderr).unwrap();
        assert_eq!(text, "", "{command:?}");
        assert_eq!(
            closed.status.code(),
            open.status.code(),
            "{command:?}: the exit code is the same"
        );
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let folder = valid_config_folder();
    for command in commands(folder.path()) {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = run(&command, full.into());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            text.starts_with("passerelle: standard output can't be written: "),
            "{command:?}: {text}"
        );
        assert_eq!(
            (text.lines().count(), output.status.code()),
            (1, Some(OUTPUT_LOST)),
            "{command:?}: {text}"
        );
    }
}

#[test]
fn a_diagnostic_that_no_one_reads_is_no_panic_either() {
    let folder = valid_config_folder();
    let absent = folder.path().join("absent").display().to_string();
    let command = ["serve", "--config", &absent].map(str::to_owned);
    let mut process = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    assert_eq!(process.args(&command).stderr(closed_pipe()).status().unwrap().code(), Some(1));
}
