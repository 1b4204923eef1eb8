//! `passerelle keys`: makes, lists and rotates the hub's keys.

use std::path::PathBuf;

use clap::Subcommand;
use passerelle::env::{Env, Timestamp};
use passerelle::token::keyfiles::{self, Made, Purpose};
use passerelle::token::keyring::LEAD;

#[derive(Subcommand)]
pub enum KeysCommand {
    /// Make the first keys, EC P-256 and RSA of each sort, or those that are missing; and the key of the subjects if a
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
    /// Make the next keys. Those that sign are published at once and sign twenty minutes later; those that identity
    /// providers encrypt to are published after a minute, and their predecessors go on opening for thirty days.
    Rotate {
        #[arg(long, default_value = "config/keys")]
        dir: PathBuf,
    },
}

impl KeysCommand {
    pub fn run(self) -> Result<(), String> {
        let env = Env::system();
        match self {
            Self::New { dir, subject_key } => {
                for made in keyfiles::create(&dir, &env).map_err(|fault| fault.to_string())? {
                    println!("made {} ({})", made.kid, made.purpose.as_str());
                }
                if let Some(path) = subject_key {
                    let outcome = keyfiles::create_subject_key(&path, &env).map_err(|fault| fault.to_string())?;
                    println!("subject key {}: {outcome:?}", path.display());
                }
            }
            Self::List { dir } => {
                for row in keyfiles::list(&dir, env.now()).map_err(|fault| fault.to_string())? {
                    let until = row.until.map_or_else(|| "-".to_owned(), in_words);
                    let (purpose, since) = (row.purpose.as_str(), in_words(row.since));
                    println!("{}  {purpose}  {}  {:?}  since {since}  until {until}", row.kid, row.alg, row.state);
                }
            }
            Self::Rotate { dir } => {
                let rotation = keyfiles::rotate(&dir, &env, LEAD).map_err(|fault| fault.to_string())?;
                for Made { purpose, kid, from } in &rotation.added {
                    let from = in_words(*from);
                    match purpose {
                        Purpose::Tokens | Purpose::Assertion => {
                            println!("made {kid} ({}): published now, signs from {from}", purpose.as_str())
                        }
                        Purpose::Encryption => println!("made {kid} ({}): opens now, published from {from}", purpose.as_str()),
                    }
                }
                for kid in &rotation.removed {
                    println!("removed {kid}: nothing signed by it, or sealed to it, is alive");
                }
            }
        }
        Ok(())
    }
}

/// A moment as an operator reads it, in UTC.
fn in_words(at: Timestamp) -> String {
    let seconds = i64::try_from(at.seconds()).unwrap_or(i64::MAX);
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}
