//! `passerelle audit`: verifies that an audit log is as the hub wrote it, exports events with their
//! proof, and verifies such a proof.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use passerelle_audit::continuity::first_seq;
use passerelle_audit::last_checkpoint::CheckpointCheck;
use passerelle_audit::report::{
    FindingKind, LineLocation, NoteKind, VerificationReport, VerificationResult,
};
use passerelle_audit::verify::{Chains, TrustedCheckpoints, Verifier};
use passerelle_jose::keyfiles;
use passerelle_jose::verify::VerificationKeys;
use passerelle_protocol::env::Env;
use serde_json::{Value, json};

use super::audit_proof_command::{ProveArguments, VerifyProofArguments};
use super::keys_command::{config_folder, open_listed_keys};
use super::output::{TextColour, outln, paint, print_error};
use super::progress::FileProgress;

/// Exit code if nothing is proven because a file or a key is missing.
pub(crate) const EXIT_UNVERIFIED: u8 = 2;

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify a log: find lines that were removed, changed, moved, duplicated or truncated. Exit
    /// code 0: the log is intact, and a checkpoint covers its last line; 1: it has been modified;
    /// 2: neither can be proven.
    Verify(VerifyArguments),
    /// Export the events of a login, each with its proof, and nothing else of the log. Prints JSON.
    /// Exit code 0: every event is proven; 1: there is none, or the log has been modified; 2: a key
    /// or a checkpoint is missing.
    Prove(ProveArguments),
    /// Check an exported proof, without the log. Exit code 0: the hub wrote every event as shown;
    /// 1: one is not proven; 2: the proof or a key is missing or unreadable.
    VerifyProof(VerifyProofArguments),
}

#[derive(Args)]
pub(crate) struct VerifyArguments {
    /// All files of the log, in any order.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    keys: KeyArguments,
    /// Text with checkpoints saved elsewhere, such as the hub's log; they reveal a truncated end.
    #[arg(long)]
    checkpoints: Vec<PathBuf>,
    /// The files hold several chains: standard output gets a new one at each start.
    #[arg(long)]
    several_chains: bool,
    /// A hub is writing the log: its last checkpoint must be at most 90 seconds old, and later
    /// lines may wait for the next one.
    #[arg(long)]
    running: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The hub's public keys.
#[derive(Args)]
pub(crate) struct KeyArguments {
    /// Saved key sets of the hub. Default: the keys in the folder of --keys.
    #[arg(long)]
    jwks: Vec<PathBuf>,
    /// Key folder of the hub.
    #[arg(long, default_value = "config/keys")]
    keys: PathBuf,
}

impl KeyArguments {
    /// Loads every key that may have signed.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) fn load(&self) -> Result<VerificationKeys, String> {
        load_verification_keys(&self.jwks, &self.keys)
    }
}

impl AuditCommand {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let outcome = match self {
            Self::Verify(arguments) => arguments.run(),
            Self::Prove(arguments) => arguments.run(),
            Self::VerifyProof(arguments) => arguments.run(),
        };
        outcome.unwrap_or_else(|message| {
            print_error(message);
            ExitCode::from(EXIT_UNVERIFIED)
        })
    }
}

impl VerifyArguments {
    fn run(self) -> Result<ExitCode, String> {
        let Self { files, keys, checkpoints, several_chains, running, json } = self;
        let chains = if several_chains { Chains::Several } else { Chains::One };
        let mut report = verify_files(files, &keys.load()?, &checkpoints, chains)?;
        if running {
            report.expect_running_hub(Env::system().now());
        }
        let result = report.result();
        if json {
            let word = match result {
                VerificationResult::Intact => "intact",
                VerificationResult::Modified => "modified",
                VerificationResult::Unproven => "unproven",
            };
            let mut value = serde_json::to_value(&report).unwrap_or_default();
            if let Value::Object(members) = &mut value {
                members.insert("result".to_owned(), word.into());
            }
            outln!("{value:#}");
        } else {
            print_report(&report, result);
        }
        Ok(match result {
            VerificationResult::Intact => ExitCode::SUCCESS,
            VerificationResult::Modified => ExitCode::FAILURE,
            VerificationResult::Unproven => ExitCode::from(EXIT_UNVERIFIED),
        })
    }
}

/// Loads every public key that may have signed: those of all sets, or of the folder, current or
/// not.
fn load_verification_keys(sets: &[PathBuf], folder: &Path) -> Result<VerificationKeys, String> {
    let mut all = Vec::new();
    for path in sets {
        let bytes = std::fs::read(path)
            .map_err(|error| format!("{} can't be read: {error}", path.display()))?;
        let set: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let keys = set.get("keys").and_then(Value::as_array);
        let no_set = || format!("{} is not a JWK Set: {{\"keys\": […]}}", path.display());
        all.extend(
            keys.ok_or_else(no_set)?
                .iter()
                .filter(|key| !all.contains(*key))
                .cloned()
                .collect::<Vec<_>>(),
        );
    }
    if sets.is_empty() {
        let now = Env::system().now();
        let config = config_folder(None, Some(folder));
        let folder = open_listed_keys(config.as_deref(), folder)?;
        let ring = keyfiles::load_keyring(folder, now).map_err(|error| {
            format!("{error}\nThe hub's keys are needed: give its key folder with --keys, or saved key sets with --jwks")
        })?;
        all.extend(
            ring.states(now)
                .into_iter()
                .filter_map(|(key, _)| serde_json::from_str(key.public_jwk()).ok()),
        );
    }
    let set = json!({ "keys": all }).to_string();
    VerificationKeys::from_jwks(set.as_bytes()).map_err(|error| error.to_string())
}

fn verify_files(
    mut files: Vec<PathBuf>,
    keys: &VerificationKeys,
    checkpoints: &[PathBuf],
    chains: Chains,
) -> Result<VerificationReport, String> {
    let mut text = String::new();
    for path in checkpoints {
        let bytes = std::fs::read(path).map_err(|error| read_error(path, error))?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let trusted = TrustedCheckpoints::from_text(&text, keys);
    if !checkpoints.is_empty() && trusted.is_empty() {
        return Err(
            "no file given with --checkpoints holds a checkpoint signed by one of the keys"
                .to_owned(),
        );
    }
    if chains == Chains::One {
        sort_by_first_line(&mut files);
    }
    let mut verifier = Verifier::new(keys, trusted, chains);
    let progress = FileProgress::new("Verifying", &files);
    for path in files {
        let name = path.display().to_string();
        let read = progress.open(&path).and_then(|mut file| verifier.read_file(&name, &mut file));
        read.map_err(|error| read_error(&path, error))?;
    }
    Ok(verifier.finish())
}

/// Sorts the files of one chain, which numbers its lines through all of them. Files with an invalid
/// first line come first.
pub(crate) fn sort_by_first_line(files: &mut [PathBuf]) {
    files.sort_by_cached_key(|path| first_seq(path).ok().flatten().unwrap_or(0));
}

/// Describes why a file can't be read.
pub(crate) fn read_error(path: &Path, error: std::io::Error) -> String {
    format!("{} can't be read: {error}", path.display())
}

fn print_report(report: &VerificationReport, result: VerificationResult) {
    let at = |place: &LineLocation| format!("{}:{}", place.file, place.line);
    for finding in &report.findings {
        outln!("{}: {}", at(&finding.location), describe_finding(&finding.kind));
    }
    if report.omitted_findings > 0 {
        outln!("and {} more findings", report.omitted_findings);
    }
    for note in &report.notes {
        outln!("{}: note: {}", at(&note.location), describe_note(&note.kind));
    }
    for kid in &report.unknown_keys {
        outln!(
            "unproven: checkpoints are signed with key {kid}, which was not given; if the hub never had it, they are forged"
        );
    }
    if let (Some(first), Some(last)) = (&report.first, &report.last) {
        outln!(
            "{} lines, {} ({}) to {} ({})",
            report.lines,
            first.seq,
            first.time,
            last.seq,
            last.time
        );
    } else {
        outln!("no audit log lines found");
    }
    print_end(report);
    let unproven_end = report.last_signed.is_some() && report.unproven_lines > 0;
    let inherited = format!(
        "No modification was found, but {} lines are unproven: no process signed them before it ended, and they may have been replaced, or others cut off, before the next start.",
        report.inherited_lines
    );
    let (text, colour) = match result {
        VerificationResult::Intact => ("The log is intact.", TextColour::Green),
        VerificationResult::Modified => ("THE LOG HAS BEEN MODIFIED.", TextColour::Red),
        VerificationResult::Unproven if unproven_end => (
            "No modification was found, but the end of the log is not proven: it may have been truncated or rewritten.",
            TextColour::Yellow,
        ),
        VerificationResult::Unproven if report.has_unsigned_end() => {
            (inherited.as_str(), TextColour::Yellow)
        }
        VerificationResult::Unproven => {
            ("No modification was found, but the log could not be verified.", TextColour::Yellow)
        }
    };
    outln!("{}", paint(text, colour));
}

/// Prints how far the log is proven.
fn print_end(report: &VerificationReport) {
    let Some(signed) = &report.last_signed else { return outln!("no checkpoint found") };
    let (line, time, checkpoints) = (signed.seq, &signed.time, report.checkpoints);
    match (report.unproven_lines, report.awaiting_checkpoint) {
        (0, 0) if report.has_unsigned_end() => outln!(
            "signed to its last line by {checkpoints} checkpoints, the last at {time}; {} lines unproven, see the notes",
            report.inherited_lines
        ),
        (0, 0) => outln!(
            "proven to its last line by {checkpoints} checkpoints, the last at {time}; only a later checkpoint that was kept elsewhere shows that no line followed (--checkpoints)"
        ),
        (0, waiting) => outln!(
            "proven to line {line} by {checkpoints} checkpoints, the last at {time}; {waiting} lines wait for the next checkpoint"
        ),
        (unproven, _) => outln!(
            "proven to line {line} ({time}); {unproven} lines after the last checkpoint unproven"
        ),
    }
}

fn describe_finding(finding: &FindingKind) -> String {
    match finding {
        FindingKind::Malformed => "not a line of an audit log".to_owned(),
        FindingKind::Changed { seq } => {
            format!("line {seq} was changed: its hash differs from the one in the next line")
        }
        FindingKind::Removed { from, to } if from == to => {
            format!("line {from} is missing before this one")
        }
        FindingKind::Removed { from, to } => {
            format!("lines {from} to {to} are missing before this one")
        }
        FindingKind::Moved { seq } => format!("line {seq} is out of order"),
        FindingKind::Duplicated { seq } => format!("line {seq} is duplicated"),
        FindingKind::SecondChain => {
            "a second chain begins here; expected only of standard output (--several-chains)"
                .to_owned()
        }
        FindingKind::InvalidCheckpoint { seq, reason: why } => {
            format!("the checkpoint in line {seq} is invalid: {why}")
        }
        FindingKind::Truncated { last, trusted } => {
            format!(
                "the log is truncated after line {last}: a checkpoint saved elsewhere covers line {trusted}"
            )
        }
        FindingKind::NotSigned { from, to, seconds } => {
            format!(
                "lines {from} to {to} were written up to {seconds} seconds after the last checkpoint; a hub signs them within 90"
            )
        }
        FindingKind::DiffersFromLastCheckpoint { from, to, checkpoint_seq: signed, check } => {
            let what = match check {
                CheckpointCheck::Missing => "the log ended before",
                CheckpointCheck::Changed
                | CheckpointCheck::Matched
                | CheckpointCheck::Unknown
                | CheckpointCheck::Unreadable => "another line replaced",
            };
            format!(
                "when the hub started here, {what} the checkpoint in line {signed} that it had saved: lines {from} to {to} are not as the hub wrote them"
            )
        }
        FindingKind::LastCheckpointUnreadable { seq } => format!(
            "the hub could not compare the log with its last checkpoint at the start in line {seq}: the copies of the checkpoint, or a file of the log, could not be read"
        ),
        FindingKind::DiffersFromTrusted { seq } => {
            format!("line {seq} differs from the one that a checkpoint saved elsewhere covers")
        }
    }
}

fn describe_note(note: &NoteKind) -> String {
    match note {
        NoteKind::BeginsLater { seq } => format!("begins with line {seq}; earlier lines are not in these files"),
        NoteKind::Interrupted { unsigned, partial_line } => {
            let partial = if *partial_line { " and a partial line" } else { "" };
            format!("the previous process was killed: {unsigned} lines{partial} were not signed before this start, so they are unproven")
        }
        NoteKind::NotStopped { .. } => "the previous process wrote no stop: it was killed, or the log was cut off at its last checkpoint, so it is unproven that no line followed".to_owned(),
        NoteKind::LastCheckpointUnknown { .. } => "this start found no checkpoint of the lines before it: the copies outside of the log were removed".to_owned(),
        NoteKind::NewChain => "a new chain begins".to_owned(),
        NoteKind::Unfinished => "the last line is incomplete: the hub is writing it, or was killed".to_owned(),
    }
}
