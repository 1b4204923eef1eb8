//! `passerelle audit verify`: whether an audit log is what the hub wrote.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use passerelle::audit::last_seal::SealCheck;
use passerelle::audit::report::{Flaw, Note, Place, Report, Verdict};
use passerelle::audit::verify::{Chains, Head, Kept, Verifier};
use passerelle::env::Env;
use passerelle::token::keyfiles;
use passerelle::token::verify::VerificationKeys;
use serde_json::{Value, json};

use super::output::{complain, outln};

/// Nothing can be said: a file or a key is missing.
const UNPROVEN: u8 = 2;

#[derive(Subcommand)]
pub enum AuditCommand {
    /// Prove a log: find lines that were removed, changed, moved, put in twice or cut off. Ends with 0 if it is whole as far as
    /// it is sealed, 1 if somebody did something to it, 2 if that can't be told.
    Verify {
        /// Every file of the log that there is; their order is found out.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Key sets of the hub, as kept over time. Without one, the keys of `--keys` count.
        #[arg(long)]
        jwks: Vec<PathBuf>,
        /// The hub's folder of keys.
        #[arg(long, default_value = "config/keys")]
        keys: PathBuf,
        /// Text with checkpoints that were kept elsewhere, such as the hub's log: finds an end that was cut off.
        #[arg(long)]
        checkpoints: Vec<PathBuf>,
        /// The files hold several chains, as standard output gives one for each start.
        #[arg(long)]
        several_chains: bool,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
}

impl AuditCommand {
    pub fn run(self) -> ExitCode {
        let Self::Verify { files, jwks, keys, checkpoints, several_chains, json } = self;
        let chains = if several_chains { Chains::Several } else { Chains::One };
        let report =
            match known(&jwks, &keys).and_then(|keys| verify(files, &keys, &checkpoints, chains)) {
                Ok(report) => report,
                Err(message) => {
                    complain(message);
                    return ExitCode::from(UNPROVEN);
                }
            };
        let verdict = report.verdict();
        if json {
            let verdict = match verdict {
                Verdict::Whole => "whole",
                Verdict::TamperedWith => "tampered_with",
                Verdict::Unproven => "unproven",
            };
            let mut value = serde_json::to_value(&report).unwrap_or_default();
            if let Value::Object(members) = &mut value {
                members.insert("verdict".to_owned(), verdict.into());
            }
            outln!("{value:#}");
        } else {
            tell(&report, verdict);
        }
        match verdict {
            Verdict::Whole => ExitCode::SUCCESS,
            Verdict::TamperedWith => ExitCode::FAILURE,
            Verdict::Unproven => ExitCode::from(UNPROVEN),
        }
    }
}

/// Every public key that may have signed: of all the sets, or of the folder, whosever turn it is now.
fn known(sets: &[PathBuf], folder: &Path) -> Result<VerificationKeys, String> {
    let mut all = Vec::new();
    for path in sets {
        let bytes = std::fs::read(path)
            .map_err(|error| format!("{} can't be read: {error}", path.display()))?;
        let set: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let keys = set.get("keys").and_then(Value::as_array);
        let no_set = || format!("{} is no JWK Set: {{\"keys\": […]}}", path.display());
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
        let ring = keyfiles::load(folder, now).map_err(|fault| {
            format!("{fault}\nThe hub's keys are needed: name its folder by --keys, or key sets that were kept by --jwks")
        })?;
        all.extend(
            ring.states(now)
                .into_iter()
                .filter_map(|(key, _)| serde_json::from_str(key.public_jwk()).ok()),
        );
    }
    let set = json!({ "keys": all }).to_string();
    VerificationKeys::from_jwks(set.as_bytes()).map_err(|fault| fault.to_string())
}

fn verify(
    mut files: Vec<PathBuf>,
    keys: &VerificationKeys,
    checkpoints: &[PathBuf],
    chains: Chains,
) -> Result<Report, String> {
    let unreadable =
        |path: &Path, error: std::io::Error| format!("{} can't be read: {error}", path.display());
    let mut text = String::new();
    for path in checkpoints {
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    let kept = Kept::in_text(&text, keys);
    if !checkpoints.is_empty() && kept.is_empty() {
        return Err("none of the files given by --checkpoints holds a checkpoint that one of the keys has signed".to_owned());
    }
    if chains == Chains::One {
        // A chain counts through all of its files. Files of which the first line makes no sense come first, and are told.
        files.sort_by_cached_key(|path| first_of(path).map_or(0, |head| head.seq));
    }
    let mut verifier = Verifier::new(keys, kept, chains);
    for path in files {
        let file = File::open(&path).map_err(|error| unreadable(&path, error))?;
        let name = path.display().to_string();
        verifier
            .read(&name, &mut BufReader::new(file))
            .map_err(|error| unreadable(&path, error))?;
    }
    Ok(verifier.finish())
}

/// The first line that makes sense.
fn first_of(path: &Path) -> Option<Head> {
    let file = BufReader::new(File::open(path).ok()?);
    file.split(b'\n').take(2).find_map(|line| Head::read(&[line.ok()?.as_slice(), b"\n"].concat()))
}

fn tell(report: &Report, verdict: Verdict) {
    let at = |place: &Place| format!("{}:{}", place.file, place.line);
    for finding in &report.findings {
        outln!("{}: {}", at(&finding.place), in_words(&finding.flaw));
    }
    if report.more > 0 {
        outln!("and {} more findings", report.more);
    }
    for noted in &report.notes {
        outln!("{}: note: {}", at(&noted.place), noted_in_words(&noted.note));
    }
    for kid in &report.unknown_keys {
        outln!(
            "unproven: checkpoints are signed with the key {kid}, which was not given; if the hub never had it, they are forged"
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
        outln!("no line of an audit log");
    }
    match (&report.sealed, &report.last) {
        (Some(sealed), Some(last)) if sealed.seq + 1 >= last.seq => {
            outln!(
                "sealed to its end by {} checkpoints, the last at {}",
                report.checkpoints,
                sealed.time
            );
        }
        (Some(sealed), _) => outln!(
            "not sealed since {}: what follows line {} can't be proven yet",
            sealed.time,
            sealed.seq
        ),
        (None, _) => outln!("not sealed at all"),
    }
    outln!(
        "{}",
        match verdict {
            Verdict::Whole => "The log is whole.",
            Verdict::TamperedWith => "SOMEBODY DID SOMETHING TO THIS LOG.",
            Verdict::Unproven => "Nothing speaks against the log, but it could not be proven.",
        }
    );
}

fn in_words(flaw: &Flaw) -> String {
    match flaw {
        Flaw::Malformed => "this is no line of an audit log".to_owned(),
        Flaw::Changed { seq } => format!("line {seq} was changed: it is not what the next line says it was"),
        Flaw::Removed { from, to } if from == to => format!("line {from} is missing before this one"),
        Flaw::Removed { from, to } => format!("lines {from} to {to} are missing before this one"),
        Flaw::Moved { seq } => format!("line {seq} stands where it does not belong"),
        Flaw::Duplicated { seq } => format!("line {seq} is there a second time"),
        Flaw::BegunAnew => {
            "a chain begins anew behind another one; expected only of standard output (--several-chains)".to_owned()
        }
        Flaw::SealBroken { seq, why } => format!("the checkpoint in line {seq} does not hold: {why}"),
        Flaw::Truncated { last, kept } => {
            format!("the end was cut off after line {last}: a checkpoint that was kept elsewhere is over line {kept}")
        }
        Flaw::Unsealed { from, to, seconds } => {
            format!("lines {from} to {to} stand up to {seconds} seconds after the last checkpoint; a hub seals them within 90")
        }
        Flaw::NotAsSealed { from, to, sealed, check } => {
            let what = match check {
                SealCheck::Missing => "the log ended before",
                SealCheck::Changed | SealCheck::Matched | SealCheck::Unknown | SealCheck::Unreadable => {
                    "another line stood in the place of"
                }
            };
            format!(
                "when the hub started here, {what} the checkpoint in line {sealed} that it had kept:                  lines {from} to {to} are not, or no longer, as the hub wrote them"
            )
        }
        Flaw::NotCompared { seq } => format!(
            "the start in line {seq} could not compare the log with its last checkpoint: the copies of it, or a file of the log, could not be read"
        ),
        Flaw::OtherThanKept { seq } => format!("line {seq} is not the one that a checkpoint kept elsewhere is over"),
    }
}

fn noted_in_words(note: &Note) -> String {
    match note {
        Note::BeginsLater { seq } => format!("begins with line {seq}; those before are not among these files"),
        Note::CutOff { unsealed, half_a_line } => {
            let half = if *half_a_line { ", and half a line" } else { "" };
            format!("the process before was cut off: {unsealed} lines{half} were not sealed before this start")
        }
        Note::SealUnknown { .. } => "this start knew no seal of the lines before it: the copies outside of the log were removed, or an older release wrote them".to_owned(),
        Note::BeginsAnew => "a chain of its own begins".to_owned(),
        Note::Unfinished => "the last line has no end yet: the hub is at work on it, or was cut off".to_owned(),
    }
}
