//! `passerelle audit prove` and `passerelle audit verify-proof`: events of one login with their
//! proof, for a reader who must not see the rest of the log.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use passerelle_audit::EventKind;
use passerelle_audit::proof::{LoginProof, ProofError, Prover};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use serde_json::Value;

use super::audit_command::{EXIT_UNVERIFIED, KeyArguments, read_error, sort_by_first_line};
use super::output::{TextColour, outln, paint, print_error, printable};
use super::progress::FileProgress;

/// Maximum size of a proof; one of a login takes some 20 kB.
const MAX_PROOF_BYTES: u64 = 16 << 20;

#[derive(Args)]
pub(crate) struct ProveArguments {
    /// Support id of the login: the reference on the person's page.
    #[arg(value_parser = parse_support_id)]
    support_id: SupportId,
    /// Files of the log, in any order: at least the one with the login and its next checkpoint.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Prove only events of this name, for example code_issued. Default: all of the login.
    #[arg(long, value_name = "NAME", value_parser = parse_event)]
    event: Option<String>,
    #[command(flatten)]
    keys: KeyArguments,
}

#[derive(Args)]
pub(crate) struct VerifyProofArguments {
    /// The exported proof; - for standard input.
    file: PathBuf,
    #[command(flatten)]
    keys: KeyArguments,
}

fn parse_support_id(typed: &str) -> Result<SupportId, String> {
    let id = SupportId::parse(typed);
    id.ok_or_else(|| "is no support id: 12 letters and digits, as 7K2M9QX4T0BC".to_owned())
}

fn parse_event(name: &str) -> Result<String, String> {
    let known = EventKind::find(name).map(|_| name.to_owned());
    known.ok_or_else(|| "is no audit event; docs/audit.md lists them".to_owned())
}

impl ProveArguments {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if a file or a key can't be read.
    pub(crate) fn run(mut self) -> Result<ExitCode, String> {
        let keys = self.keys.load()?;
        sort_by_first_line(&mut self.files);
        let mut prover = Prover::new(&keys, self.support_id.clone(), self.event);
        let progress = FileProgress::new("Searching", &self.files);
        for path in &self.files {
            let read = progress.open(path).and_then(|mut file| prover.read_file(&mut file));
            read.map_err(|error| read_error(path, error))?;
        }
        drop(progress);
        let (proof, errors) = prover.finish();
        if !proof.events.is_empty() {
            let text = serde_json::to_string_pretty(&proof).map_err(|error| error.to_string())?;
            outln!("{text}");
        }
        for error in &errors {
            print_error(error);
        }
        if proof.events.is_empty() && errors.is_empty() {
            print_error(format_args!(
                "no such event of the login {} is in these files",
                self.support_id
            ));
            return Ok(ExitCode::FAILURE);
        }
        if errors.contains(&ProofError::RootMismatch) {
            print_error("run `passerelle audit verify` with all files of the log");
        }
        Ok(exit_code(&errors))
    }
}

impl VerifyProofArguments {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the proof or a key can't be read.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        let proof = read_proof(&self.file)?;
        let keys = self.keys.load()?;
        let results = match proof.verify(&keys) {
            Ok(results) if !results.is_empty() => results,
            Ok(_) => return Err("the proof has no event".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let mut errors = Vec::new();
        for (line, result) in results {
            match result {
                Ok(claims) => {
                    outln!("{}", printable(describe_event(line)));
                    let signed_at = Timestamp::from_seconds(claims.iat);
                    outln!(
                        "  proven: line {} of the log of node {}, signed by {} at {}",
                        parse_seq(line),
                        printable(&claims.node),
                        printable(&claims.iss),
                        passerelle_audit::chain::to_rfc3339(signed_at)
                    );
                }
                Err(error) => {
                    outln!(
                        "{}\n  NOT PROVEN: {}",
                        printable(describe_event(line)),
                        printable(&error)
                    );
                    errors.push(error);
                }
            }
        }
        let (text, colour) = if errors.is_empty() {
            ("The hub wrote every event as shown.", TextColour::Green)
        } else {
            ("NOT EVERY EVENT IS PROVEN.", TextColour::Red)
        };
        outln!("{}", paint(text, colour));
        Ok(exit_code(&errors))
    }
}

/// Returns the exit code: a modified event outweighs a missing key.
fn exit_code(errors: &[ProofError]) -> ExitCode {
    if errors.iter().any(|error| !error.is_inconclusive()) {
        ExitCode::FAILURE
    } else if errors.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_UNVERIFIED)
    }
}

fn read_proof(path: &Path) -> Result<LoginProof, String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(MAX_PROOF_BYTES).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_PROOF_BYTES).read_to_end(&mut bytes))
    };
    read.map_err(|error| read_error(path, error))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| format!("{} is not a proof of an audit event: {error}", path.display()))
}

fn parse_seq(line: &str) -> u64 {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    line.get("seq").and_then(Value::as_u64).unwrap_or(0)
}

/// Returns time, name and fields of an event, without those of the chain.
fn describe_event(line: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(line) else { return line.to_owned() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let head = ["time", "event"].map(|name| members.get(name).map(text).unwrap_or_default());
    let is_shown = |name: &str| !["v", "seq", "prev", "time", "event", "node"].contains(&name);
    let fields: String = members
        .iter()
        .filter(|(name, _)| is_shown(name))
        .map(|(name, value)| format!(" {name}={}", text(value)))
        .collect();
    format!("{}{fields}", head.join(" "))
}
