//! `passerelle audit` and `passerelle stats` on a log of the real writer: `verify` finds each attack
//! by an attacker who can write the files and can't sign, and `prove` proves one login.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use passerelle_audit::file::{FileRotation, FileSink, rotated_files};
use passerelle_audit::last_checkpoint::CheckpointFile;
use passerelle_audit::{Audit, Event, EventKind, WhenFull, WriterConfig, writer};
use passerelle_jose::keyfiles;
use passerelle_protocol::acr::Level;
use passerelle_protocol::env::Env;
use passerelle_telemetry::Metrics;
use passerelle_testkit::env::{ManualClock, SeededEntropy};
use tempfile::TempDir;

use crate::folder::valid_config_folder;

const OURS: &str = "7K2M9QX4T0BC";
const THEIRS: &str = "0123456789AB";
const DAY: Duration = Duration::from_secs(24 * 3600);

struct Log {
    folder: TempDir,
    env: Env,
    clock: Arc<ManualClock>,
}

impl Log {
    /// Writes a log of three days, with one file each.
    fn new() -> Self {
        // The keys must exist before the time of the manual clock.
        let folder = valid_config_folder();
        let clock = Arc::new(ManualClock::at(Env::system().now()));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let log = Self { folder, env, clock };
        let audit = log.start();
        for _ in 0..3 {
            for id in [THEIRS, OURS, THEIRS] {
                audit.record(|| {
                    let issued = Event::new(EventKind::CodeIssued).sp(&"town-hall".into());
                    issued.idp(&"impots".into()).level(Level::Eidas1).support_id(&id.into())
                });
            }
            audit.flush();
            log.clock.advance(DAY);
            audit.flush();
        }
        log.stop(audit);
        log
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit/audit.jsonl")
    }

    fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    fn checkpoint(&self) -> PathBuf {
        self.folder.path().join("elsewhere/checkpoint.json")
    }

    fn start(&self) -> Audit {
        let rotation = FileRotation { max_bytes: 0, daily: true, keep_files: None, max_age: None };
        let (sink, found) = FileSink::open(&self.path(), rotation, self.env.now()).unwrap();
        let config = WriterConfig {
            signer: Arc::new(keyfiles::load_keyring(&self.keys(), self.env.now()).unwrap()),
            metrics: Arc::new(Metrics::new().unwrap()),
            issuer: "https://hub.example/api/v2".into(),
            node: "hub-1".into(),
            when_full: WhenFull::Stop,
            log: "audit.jsonl".into(),
            checkpoint_stores: vec![Box::new(CheckpointFile::at(&self.checkpoint()))],
            startup_finding: None,
            batch_delay: Duration::ZERO,
            env: self.env.clone(),
        };
        writer::start(Box::new(sink), found, Event::new(EventKind::Start), config).unwrap()
    }

    fn stop(&self, audit: Audit) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(audit.stop());
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = rotated_files(&self.path()).unwrap();
        files.push(self.path());
        files
    }

    fn run(&self, arguments: &[&str], files: &[PathBuf]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
        command.args(arguments).arg("--keys").arg(self.keys()).args(files);
        outcome(&command.output().unwrap())
    }

    fn verify(&self, arguments: &[&str]) -> (i32, String) {
        self.run(&[&["audit", "verify"], arguments].concat(), &self.files())
    }

    /// Changes the lines of one file.
    fn edit(&self, file: &Path, change: impl FnOnce(&mut Vec<String>)) {
        let text = fs::read_to_string(file).unwrap();
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        change(&mut lines);
        fs::write(file, lines.concat()).unwrap();
    }
}

fn outcome(output: &Output) -> (i32, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn assert_found(found: (i32, String), code: i32, message: &str) {
    assert!(found.0 == code && found.1.contains(message), "{found:?}");
}

#[test]
fn an_untouched_log_of_several_files_is_intact() {
    let log = Log::new();
    assert_eq!(log.files().len(), 4);
    assert_found(log.verify(&[]), 0, "proven to its last line");
    assert_found(log.verify(&["--running"]), 0, "The log is intact.");
    let checkpoint = log.checkpoint().display().to_string();
    assert_found(log.verify(&["--checkpoints", &checkpoint]), 0, "The log is intact.");
}

#[test]
fn a_log_that_was_truncated_is_found() {
    let log = Log::new();
    // Behind its last checkpoint, and at one.
    log.edit(&log.files()[2].clone(), |lines| lines.truncate(lines.len() - 1));
    fs::remove_file(log.path()).unwrap();
    fs::rename(log.files()[2].clone(), log.path()).unwrap();
    assert_found(log.verify(&[]), 2, "lines after the last checkpoint unproven");
    assert_found(log.verify(&[]), 2, "may have been truncated or rewritten");
    let checkpoint = log.checkpoint().display().to_string();
    let found = log.verify(&["--checkpoints", &checkpoint]);
    assert_found(found, 1, "the log is truncated after line");
    log.edit(&log.path(), |lines| lines.truncate(1));
    let found = log.verify(&["--checkpoints", &checkpoint]);
    assert_found(found, 1, "the log is truncated after line");
}

#[test]
fn a_log_that_was_rewritten_after_a_stop_is_found_by_the_copy_of_its_last_checkpoint() {
    let log = Log::new();
    let genuine = log.files();
    let file = genuine.last().unwrap().clone();
    // Lines that chain, behind the file's first checkpoint; the attacker can't sign.
    log.edit(&file, |lines| {
        let count = lines.len();
        lines.truncate(1);
        for _ in 1..count {
            let last: serde_json::Value = serde_json::from_str(lines.last().unwrap()).unwrap();
            let line = serde_json::json!({
                "v": 1, "seq": last["seq"].as_u64().unwrap() + 1,
                "prev": passerelle_audit::chain::line_hash(lines.last().unwrap().as_bytes()),
                "time": last["time"], "event": "logout_requested", "node": "hub-1",
            });
            lines.push(format!("{line}\n"));
        }
    });
    assert_found(log.verify(&[]), 2, "lines after the last checkpoint unproven");
    let checkpoint = log.checkpoint().display().to_string();
    let found = log.verify(&["--checkpoints", &checkpoint]);
    assert_found(found, 1, "differs from the one that a checkpoint saved elsewhere covers");
}

#[test]
fn a_line_that_was_removed_is_found() {
    let log = Log::new();
    log.edit(&log.files()[1].clone(), |lines| drop(lines.remove(2)));
    assert_found(log.verify(&[]), 1, "is missing before this one");
}

#[test]
fn a_file_that_was_removed_is_found() {
    let log = Log::new();
    fs::remove_file(&log.files()[1]).unwrap();
    assert_found(log.verify(&[]), 1, "are missing before this one");
}

#[test]
fn a_line_that_was_moved_is_found() {
    let log = Log::new();
    log.edit(&log.files()[1].clone(), |lines| lines.swap(1, 2));
    assert_found(log.verify(&[]), 1, "is out of order");
}

#[test]
fn one_login_is_proven_offline_and_shows_no_other() {
    let log = Log::new();
    let (code, proof) = log.run(&["audit", "prove", OURS], &log.files());
    assert_eq!(code, 0, "{proof}");
    assert!(!proof.contains(THEIRS), "{proof}");
    let file = log.folder.path().join("proof.json");
    fs::write(&file, &proof).unwrap();
    // The log is not needed any more.
    fs::remove_dir_all(log.path().parent().unwrap()).unwrap();
    let check = || log.run(&["audit", "verify-proof"], std::slice::from_ref(&file));
    let (code, text) = check();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("code_issued sp=town-hall idp=impots"), "{text}");
    assert!(text.contains("signed by https://hub.example/api/v2"), "{text}");
    fs::write(&file, proof.replace("town-hall", "city-hall")).unwrap();
    assert_found(check(), 1, "NOT PROVEN");
}

#[test]
fn an_unknown_login_a_wrong_id_and_an_unknown_event_are_named() {
    let log = Log::new();
    let files = log.files();
    assert_found(log.run(&["audit", "prove", "ZZZZZZZZZZZZ"], &files), 1, "no such event");
    assert_found(log.run(&["audit", "prove", "short"], &files), 64, "is no support id");
    let found = log.run(&["audit", "prove", OURS, "--event", "codeissued"], &files);
    assert_found(found, 64, "is no audit event");
}

#[test]
fn logins_of_a_month_are_exported_as_csv_and_json_without_personal_data() {
    let log = Log::new();
    let (first, last) = (log.first_line_time(), log.files());
    let month = &first[..7];
    let run = |options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
        command.args(["stats", "export", "--month", month]).args(options).args(&last);
        outcome(&command.output().unwrap())
    };
    let (code, csv) = run(&[]);
    assert_eq!(code, 0, "{csv}");
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("month,service_provider,identity_provider,level,logins"));
    assert!(lines.next().unwrap().starts_with(&format!("{month},town-hall,impots,eidas1,")));
    assert!(!csv.contains(OURS) && !csv.contains(THEIRS));
    let (_, json) = run(&["--json"]);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[0]["service_provider"], "town-hall");
}

impl Log {
    /// Returns the time of the first line.
    fn first_line_time(&self) -> String {
        let text = fs::read_to_string(&self.files()[0]).unwrap();
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        line["time"].as_str().unwrap().to_owned()
    }
}
