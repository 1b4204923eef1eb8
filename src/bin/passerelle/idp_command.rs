//! `passerelle idp`: what identity providers the running hub has, and switching them off and on again, at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use passerelle::actor::registry::{
    BlockRow, By, Circuit, ConnectorRow, ConnectorState, HealthRow, NewBlock,
};
use passerelle::app::administer::{AdministerFault, Administration};
use passerelle::config::access::Access;
use passerelle::config::{Environment, in_language, in_rfc3339};
use passerelle::env::Env;
use passerelle::ids::{ClientId, ConnectorId};
use passerelle::web::admin::Changed;

use super::in_system;
use super::output::{complain, out, outln};

/// The hub does not answer, or what answers is no hub.
const UNREACHED: u8 = 3;
/// The token is missing, or refused.
const NOT_LET_IN: u8 = 4;

/// Exit codes: 0 done; 1 refused, with the reason; 64 a wrong option; 3 the hub does not answer; 4 no token, or a wrong one.
#[derive(Subcommand)]
pub enum IdpCommand {
    /// Keep everybody, or the users of one service provider, away from an identity provider: at once, running logins too.
    Block {
        /// The connector's id: its file's stem.
        connector: String,
        /// Only for this service provider, by its client_id.
        #[arg(long)]
        sp: Option<String>,
        /// Why, for operators: shown by `idp list` and in the log.
        #[arg(long)]
        reason: String,
        /// What persons are told, as fr="…"; once for each language. A standard sentence without.
        #[arg(long, value_name = "LANGUAGE=TEXT")]
        message: Vec<String>,
        /// In force from this moment on, as 2027-03-01T00:00:00Z; without it at once.
        #[arg(long)]
        from: Option<String>,
        /// In force up to this moment; without it until it is lifted.
        #[arg(long)]
        until: Option<String>,
        /// Instead of --from and --until: for so long from now, as 90s, 30m, 2h or 7d.
        #[arg(long = "for", value_name = "TIME", conflicts_with_all = ["until", "from"], value_parser = duration)]
        lasting: Option<Duration>,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Lift what `idp block` has set.
    Unblock {
        /// The connector's id: all its blocks for everybody are lifted, or with --sp those for that service provider.
        #[arg(required_unless_present = "id", conflicts_with = "id")]
        connector: Option<String>,
        /// Only those for this service provider, by its client_id.
        #[arg(long, conflicts_with = "id")]
        sp: Option<String>,
        /// One block alone, by the id that `idp list` shows.
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// List every connector: on, off or blocked, by whom, why and until when.
    List {
        /// As JSON, for programs.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
}

#[derive(Args)]
pub struct HubOptions {
    /// Folder of passerelle.toml, which names the private listener and its token.
    #[arg(long, default_value = "config")]
    config: PathBuf,
    /// Address of the private listener, if it is not reached at private.listen: http://127.0.0.1:9090.
    #[arg(long, alias = "url", value_name = "URL")]
    private: Option<String>,
}

/// What went wrong, and the exit code that says so.
pub struct Failure(u8, String);

impl From<AdministerFault> for Failure {
    fn from(fault: AdministerFault) -> Self {
        let code = match &fault {
            AdministerFault::NoAnswer { .. }
            | AdministerFault::Stranger { .. }
            | AdministerFault::NoPort => UNREACHED,
            AdministerFault::NoToken
            | AdministerFault::TokenRefused { .. }
            | AdministerFault::TooMany { .. }
            | AdministerFault::Off { .. } => NOT_LET_IN,
            AdministerFault::Address(_) | AdministerFault::Refused(_) => 1,
        };
        Self(code, fault.to_string())
    }
}

impl Failure {
    /// Says what went wrong, if anything, and what to exit with.
    pub fn told(done: Result<(), Self>) -> ExitCode {
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(Self(code, what)) => {
                complain(what);
                ExitCode::from(code)
            }
        }
    }
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Self(1, what)
    }
}

impl IdpCommand {
    pub fn run(self) -> ExitCode {
        let done = in_system(async move { Ok(self.ask().await) })
            .map_err(Failure::from)
            .and_then(|done| done);
        Failure::told(done)
    }

    async fn ask(self) -> Result<(), Failure> {
        match self {
            Self::Block { connector, sp, reason, message, from, until, lasting, hub } => {
                let message = messages(&message)?;
                let until =
                    lasting.map(|lasting| in_rfc3339(Env::system().now() + lasting)).or(until);
                let service_provider = sp.map(ClientId::new);
                let new = NewBlock {
                    connector: ConnectorId::new(connector),
                    service_provider,
                    reason,
                    message,
                    from,
                    until,
                };
                tell("blocked", &hub.reach()?.block(&new).await?);
            }
            Self::Unblock { id: Some(id), hub, .. } => {
                tell("lifted", &hub.reach()?.unblock(&id).await?)
            }
            Self::Unblock { connector, sp, hub, .. } => {
                let (connector, sp) =
                    (ConnectorId::new(connector.unwrap_or_default()), sp.map(ClientId::new));
                unblock(&hub.reach()?, &connector, sp.as_ref()).await?;
            }
            Self::List { json, hub } => {
                let list = hub.reach()?.connectors().await?;
                if json {
                    outln!(
                        "{}",
                        serde_json::to_string_pretty(&list).map_err(|error| error.to_string())?
                    );
                } else {
                    out!("{}", list.connectors.iter().map(told).collect::<String>());
                    let orphaned = |block: &BlockRow| {
                        format!("{:<24} gone\n{}", block.connector.as_str(), line(block))
                    };
                    out!("{}", list.orphaned_blocks.iter().map(orphaned).collect::<String>());
                }
            }
        }
        Ok(())
    }
}

impl HubOptions {
    pub fn reach(&self) -> Result<Administration, Failure> {
        let access = Access::read(&self.config, &Environment::of_process())
            .map_err(|problems| unusable(&self.config, &problems))?;
        Ok(Administration::of(access, self.private.as_deref())?)
    }
}

fn unusable(folder: &Path, problems: &[passerelle::config::Problem]) -> String {
    let problems: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
    format!(
        "{} does not say how the hub is reached{problems}",
        folder.join("passerelle.toml").display()
    )
}

/// Lifts every block by command that says exactly this.
async fn unblock(
    hub: &Administration,
    connector: &ConnectorId,
    sp: Option<&ClientId>,
) -> Result<(), Failure> {
    let list = hub.connectors().await?;
    let of_row = list
        .connectors
        .iter()
        .find(|row| row.id == *connector)
        .map(|row| row.blocks.iter().collect());
    // A block outlives its connector's file, and keeps its name.
    let orphaned: Vec<&BlockRow> =
        list.orphaned_blocks.iter().filter(|block| block.connector == *connector).collect();
    let Some(blocks): Option<Vec<&BlockRow>> =
        of_row.or((!orphaned.is_empty()).then_some(orphaned))
    else {
        let known: Vec<&str> = list.connectors.iter().map(|row| row.id.as_str()).collect();
        return Err(
            format!("there is no connector {connector}; known: {}", known.join(", ")).into()
        );
    };
    let meant = |block: &&BlockRow| match (&block.service_providers, sp) {
        (None, None) => true,
        (Some(some), Some(sp)) => some.contains(sp),
        (None, Some(_)) | (Some(_), None) => false,
    };
    let ids: Vec<&str> =
        blocks.iter().copied().filter(meant).filter_map(|block| block.id.as_deref()).collect();
    for id in &ids {
        tell("lifted", &hub.unblock(id).await?);
    }
    // Whoever lifts a block wants to know what is still in the way.
    let rest: Vec<&BlockRow> = blocks
        .iter()
        .copied()
        .filter(|block| block.id.as_deref().is_none_or(|id| !ids.contains(&id)))
        .collect();
    let rest_told: String = rest.iter().map(|block| line(block)).collect();
    match (ids.is_empty(), rest.is_empty()) {
        (true, true) => Err(format!("nothing blocks {connector}").into()),
        (true, false) => Err(format!(
            "no block of {connector} that was set by command is meant; what there is (a file's ends with its [[block]] table):\n{rest_told}"
        )
        .into()),
        (false, true) => Ok(()),
        (false, false) => {
            out!("still there:\n{rest_told}");
            Ok(())
        }
    }
}

fn tell(what: &str, changed: &Changed) {
    out!("{what}: {}\n{}", changed.block.connector, line(&changed.block));
    if let Some(warning) = &changed.warning {
        complain(warning);
    }
}

/// One connector: its state in the first line, how its identity provider is doing and what blocks it below.
fn told(row: &ConnectorRow) -> String {
    let state = match row.state {
        ConnectorState::On => "on",
        ConnectorState::Off => "off",
        ConnectorState::Blocked => "blocked",
    };
    let (id, name) = (row.id.as_str(), in_language(&row.name, "en"));
    let levels = format!("{}..{}", row.lowest.as_str(), row.highest.as_str());
    let health = row.health.as_ref().map(ill).unwrap_or_default();
    format!(
        "{id:<24} {state:<8} {levels:<14} {name}\n{health}{}",
        row.blocks.iter().map(line).collect::<String>()
    )
}

/// Nothing of one that is well.
fn ill(health: &HealthRow) -> String {
    let what = match health.circuit {
        Circuit::Open => "fails, and is left alone",
        Circuit::HalfOpen => "has failed, and is tried again",
        Circuit::Closed if health.failure_ratio > 0.0 => "fails now and then",
        Circuit::Closed => return String::new(),
    };
    let within = health
        .p99_seconds
        .map(|seconds| format!(", 99 % took at most {seconds:.3} s"))
        .unwrap_or_default();
    format!(
        "  {what}: {:.0} % of the last minute's calls failed{within}\n",
        health.failure_ratio * 100.0
    )
}

fn line(block: &BlockRow) -> String {
    let by = match (block.by, &block.id) {
        (By::File, _) | (By::Command, None) => "by its file".to_owned(),
        (By::Command, Some(id)) => format!("by command {id}"),
    };
    let whom = block.service_providers.as_ref().map_or_else(
        || "for everybody".to_owned(),
        |some| format!("for {}", some.iter().map(ClientId::as_str).collect::<Vec<_>>().join(", ")),
    );
    let from = block
        .from
        .as_ref()
        .filter(|_| !block.in_force)
        .map_or(String::new(), |from| format!(", from {from}"));
    let until = block.until.as_ref().map_or(String::new(), |until| format!(", until {until}"));
    let force = if block.in_force { "blocked" } else { "to be blocked" };
    format!("  {force} {whom} {by}{from}{until}: {}\n", block.reason)
}

/// `fr=Fermé`, once for each language.
fn messages(given: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut messages = BTreeMap::new();
    for one in given {
        let (language, text) = one
            .split_once('=')
            .ok_or("--message needs a language: write it as --message fr=\"…\"")?;
        if messages.insert(language.to_owned(), text.to_owned()).is_some() {
            return Err(format!("--message is given twice for {language}"));
        }
    }
    Ok(messages)
}

/// `90s`, `30m`, `2h`, `7d`.
fn duration(text: &str) -> Result<Duration, String> {
    let seconds = |unit| match unit {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(3600),
        'd' => Some(86_400),
        _ => None,
    };
    let parsed = text.chars().next_back().and_then(seconds).and_then(|unit: u64| {
        let number: u64 = text.get(..text.len().saturating_sub(1))?.parse().ok()?;
        number.checked_mul(unit).filter(|seconds| (1..=366 * 86_400).contains(seconds))
    });
    parsed.map(Duration::from_secs).ok_or_else(|| {
        "write a number and a unit, as 90s, 30m, 2h or 7d; a year at most".to_owned()
    })
}
