//! `passerelle keys`: makes, lists and rotates the hub's keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use passerelle::app::administer::Administration;
use passerelle::config::access::Access;
use passerelle::config::{Environment, Problem};
use passerelle::env::{Env, Timestamp};
use passerelle::token::keyfiles::{self, KeyRow, Made, Purpose, Rotation};
use passerelle::token::keyring::{JWKS_CACHE, KeyState, LEAD};

use super::in_system;
use super::output::{complain, outln};

/// How soon a running hub reads the folder again that nobody has told it of.
const UNASKED: &str = "a running hub reads them within 30 s, or at once on SIGHUP";

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Make the first keys, EC P-256 and RSA of 3072 bits, or those that are missing; and the key of the subjects if a
    /// file is named for it.
    New {
        #[arg(long, default_value = "config/keys")]
        dir: PathBuf,
        /// File of the pairwise subjects' key; never overwritten.
        #[arg(long)]
        subject_key: Option<PathBuf>,
    },
    /// List the keys and what each is good for.
    List {
        #[arg(long, default_value = "config/keys")]
        dir: PathBuf,
    },
    /// Make the next keys, and have the running hub read them. Those that sign are published at once, and sign after
    /// lifetimes.signing_key_lead_seconds; those that identity providers encrypt to are published after a minute, and
    /// their predecessors go on opening for thirty days.
    Rotate(RotateArguments),
}

#[derive(Args)]
pub struct RotateArguments {
    /// Folder of passerelle.toml, which names the keys' folder, the lead and the private listener; the folder around the
    /// keys' where only that is named.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Folder of the keys, where passerelle.toml does not name it.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seconds until the new keys sign, instead of lifetimes.signing_key_lead_seconds: 0 where a key was stolen.
    #[arg(long, value_name = "SECONDS")]
    lead: Option<u64>,
    /// Address of the private listener, if it is not reached at private.listen: http://127.0.0.1:9090.
    #[arg(long, value_name = "URL")]
    private: Option<String>,
}

impl KeysCommand {
    pub fn run(self) -> Result<ExitCode, String> {
        let env = Env::system();
        match self {
            Self::New { dir, subject_key } => {
                for made in keyfiles::create(&dir, &env).map_err(|fault| fault.to_string())? {
                    outln!("made {} ({})", made.kid, made.purpose.as_str());
                }
                if let Some(path) = subject_key {
                    let outcome = keyfiles::create_subject_key(&path, &env)
                        .map_err(|fault| fault.to_string())?;
                    outln!("subject key {}: {outcome:?}", path.display());
                }
            }
            Self::List { dir } => {
                print_table(&keyfiles::list(&dir, env.now()).map_err(|fault| fault.to_string())?)
            }
            Self::Rotate(arguments) => return arguments.run(&env),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_table(rows: &[KeyRow]) {
    let head = ["KID", "USE", "ALG", "STATE", "SINCE", "UNTIL"].map(str::to_owned);
    let cells = |row: &KeyRow| {
        let state = match row.state {
            KeyState::Current => "current",
            KeyState::Next => "next",
            KeyState::Retired { .. } => "retired",
        };
        let until = row.until.map_or_else(|| "-".to_owned(), in_words);
        [
            row.kid.clone(),
            row.purpose.as_str().into(),
            row.alg.into(),
            state.into(),
            in_words(row.since),
            until,
        ]
    };
    let table: Vec<[String; 6]> = [head].into_iter().chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        table.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    for row in &table {
        let padded: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        outln!("{}", padded.join("  ").trim_end());
    }
}

impl RotateArguments {
    fn run(self, env: &Env) -> Result<ExitCode, String> {
        let access = self.access()?;
        let folder = self.dir.or_else(|| access.as_ref().map(|access| access.keys.clone()));
        let folder = folder.unwrap_or_else(|| "config/keys".into());
        let lead = self
            .lead
            .map(Duration::from_secs)
            .or_else(|| access.as_ref().map(|access| access.signing_key_lead));
        let lead = lead.unwrap_or(LEAD);
        let rotation = keyfiles::rotate(&folder, env, lead).map_err(|fault| fault.to_string())?;
        report(&rotation);
        if lead < JWKS_CACHE {
            outln!(
                "service providers keep the key set for {} s: some will refuse tokens until then",
                JWKS_CACHE.as_secs()
            );
        }
        let Some(access) = access.filter(|access| access.admin_token.is_some()) else {
            outln!("{UNASKED}");
            return Ok(ExitCode::SUCCESS);
        };
        Ok(announce(access, self.private.as_deref(), &rotation))
    }

    /// `None` where no passerelle.toml is named or lies around the keys' folder.
    fn access(&self) -> Result<Option<Access>, String> {
        let around = self.dir.as_deref().map(|dir| {
            dir.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
        });
        let folder = self.config.as_deref().or(around).unwrap_or(Path::new("config"));
        if self.config.is_none() && !folder.join("passerelle.toml").exists() {
            return Ok(None);
        }
        let unusable = |problems: Vec<Problem>| {
            let problems: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
            format!(
                "{} is not usable, and nothing was rotated{problems}",
                folder.join("passerelle.toml").display()
            )
        };
        Access::read(folder, &Environment::of_process()).map(Some).map_err(unusable)
    }
}

fn report(rotation: &Rotation) {
    for Made { purpose, kid, from } in &rotation.added {
        let from = in_words(*from);
        match purpose {
            Purpose::Tokens | Purpose::Assertion => {
                outln!("made {kid} ({}): published now, signs from {from}", purpose.as_str());
            }
            Purpose::Encryption => {
                outln!("made {kid} ({}): opens now, published from {from}", purpose.as_str())
            }
        }
    }
    for kid in &rotation.removed {
        outln!("removed {kid}: nothing signed by it, or sealed to it, is alive");
    }
}

/// Has the running hub read the keys, and says what came of it. The rotation is done in any case.
fn announce(access: Access, private: Option<&str>, rotation: &Rotation) -> ExitCode {
    let private = private.map(str::to_owned);
    let asked = in_system(async move {
        let hub =
            Administration::of(access, private.as_deref()).map_err(|fault| fault.to_string())?;
        let keys = hub.reload_keys().await.map_err(|fault| fault.to_string())?;
        Ok((hub.address().to_owned(), keys.kids))
    });
    match asked {
        Ok((address, kids)) if rotation.added.iter().all(|made| kids.contains(&made.kid)) => {
            outln!(
                "the hub at {address} has read them; any other node within 30 s, or at once on SIGHUP"
            );
        }
        Ok((address, _)) => {
            complain(format_args!(
                "the hub at {address} reads its keys from another folder, and has none of these"
            ));
            return ExitCode::FAILURE;
        }
        Err(why) => {
            outln!("{UNASKED}");
            complain(format_args!("the running hub was not told: {why}"));
        }
    }
    ExitCode::SUCCESS
}

/// A moment as an operator reads it, in UTC.
fn in_words(at: Timestamp) -> String {
    let seconds = i64::try_from(at.seconds()).unwrap_or(i64::MAX);
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}
