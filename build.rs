//! Tells the program its revision and the date of its source, for `passerelle --version`.
//!
//! Both come from git, or from `revision.txt`, which `git archive` fills in, so that a build from a
//! tarball has them without git; `SOURCE_REVISION` and `SOURCE_DATE_EPOCH` override them. The
//! date is that of the commit and not of the build, so that equal sources build equal programs.
//! Builds without optimization have neither: a commit would recompile everything. The names don't
//! begin with `PASSERELLE_`, because `cargo run` passes them on and they are no settings.

use std::env;
use std::process::Command;

fn main() {
    for input in ["build.rs", "revision.txt"] {
        println!("cargo::rerun-if-changed={input}");
    }
    for variable in ["SOURCE_REVISION", "SOURCE_DATE_EPOCH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let is_optimized = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = if is_optimized { archived().or_else(committed) } else { None };
    let (revision, seconds) = found.unzip();
    let revision = set_variable("SOURCE_REVISION").or(revision).unwrap_or_default();
    let seconds = set_variable("SOURCE_DATE_EPOCH").or(seconds).unwrap_or_default();
    println!("cargo::rustc-env=SOURCE_REVISION={revision}");
    println!("cargo::rustc-env=SOURCE_DATE={seconds}");
}

fn set_variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads what `git archive` wrote.
fn archived() -> Option<(String, String)> {
    let text = std::fs::read_to_string("revision.txt").ok()?;
    let (revision, seconds) = text.trim_ascii().split_once(' ')?;
    let is_filled = revision.bytes().all(|c| c.is_ascii_hexdigit());
    is_filled.then(|| (shorten(revision), seconds.to_owned()))
}

/// Asks git, unless the folder is not the root of a work tree: a tarball may lie in another one's.
fn committed() -> Option<(String, String)> {
    std::path::Path::new(".git").exists().then_some(())?;
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    let text = git(&["log", "-1", "--format=%H %ct"])?;
    let (revision, seconds) = text.split_once(' ')?;
    let is_clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    let suffix = if is_clean { "" } else { "-modified" };
    Some((shorten(revision) + suffix, seconds.to_owned()))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_ascii().to_owned())
}

fn shorten(revision: &str) -> String {
    revision.chars().take(12).collect()
}
