//! `passerelle idp`: lists, blocks and unblocks the identity providers of the running hub.

use std::collections::{BTreeMap, BTreeSet};

use clap::Subcommand;
use passerelle_admin::BlockChange;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::localized_text::text_in_language;
use passerelle_hub::registry::{BlockRow, ConnectorRow, HealthRow, NewBlock};
use passerelle_hub::runtime_entries::EntryOrigin;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_server::admin_client::AdminClient;

use super::hub_options::HubOptions;
use super::output::{out, outln, print_error};
use super::period_options::PeriodOptions;
use super::{CommandResult, print_json};

/// Exit codes: 0 success; 1 rejected, with the reason; 3 the hub does not answer; 4 missing or
/// wrong token; 64 wrong option.
#[derive(Subcommand)]
pub(crate) enum IdpCommand {
    /// Block an identity provider for all users or for those of some service providers: at once, for
    /// logins in progress too.
    Block {
        /// The connector's id: its file's stem.
        connector: String,
        /// Only for the service provider with this client_id; may be repeated.
        #[arg(long)]
        sp: Vec<String>,
        /// Why, for operators: shown by `idp list` and in the log.
        #[arg(long)]
        reason: String,
        /// Message for users, as fr="…"; once for each language. Default: a standard sentence.
        #[arg(long, value_name = "LANGUAGE=TEXT")]
        message: Vec<String>,
        #[command(flatten)]
        period: PeriodOptions,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Lift blocks that were set by `idp block`.
    Unblock {
        /// The connector's id: its blocks for all users are lifted, or with --sp those for that
        /// service provider.
        #[arg(required_unless_present = "id", conflicts_with = "id")]
        connector: Option<String>,
        /// Only blocks for exactly the service providers with these client_ids; may be repeated.
        #[arg(long, conflicts_with = "id")]
        sp: Vec<String>,
        /// Only the block with this id, as shown by `idp list`.
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Probe an identity provider at once, and print whether it works; exit code 1 if it fails.
    Probe {
        /// The connector's id: its file's stem.
        connector: String,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// List every connector with its state and its blocks.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
}

impl IdpCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns an error if the hub rejects the request or does not answer.
    pub(crate) async fn run(self) -> CommandResult<()> {
        match self {
            Self::Block { connector, sp, reason, message, period, hub } => {
                let message = parse_texts("--message", &message)?;
                let named: Vec<ClientId> = sp.into_iter().map(ClientId::new).collect();
                let new = NewBlock {
                    connector: ConnectorId::new(connector),
                    service_providers: (!named.is_empty()).then_some(named),
                    reason,
                    message,
                    until: period.end(),
                    from: period.from,
                };
                print_change("blocked", &hub.connect()?.block(&new).await?);
            }
            Self::Unblock { id: Some(id), hub, .. } => {
                print_change("lifted", &hub.connect()?.unblock(&id).await?);
            }
            Self::Unblock { connector, sp, hub, .. } => {
                let connector = ConnectorId::new(connector.unwrap_or_default());
                let named: BTreeSet<ClientId> = sp.into_iter().map(ClientId::new).collect();
                lift_blocks(&hub.connect()?, &connector, &named).await?;
            }
            Self::Probe { connector, hub } => {
                let outcome = hub.connect()?.probe(&connector).await?;
                if !outcome.works {
                    return Err(outcome.sentence().into());
                }
                outln!("{}", outcome.sentence());
            }
            Self::List { json, hub } => {
                let list = hub.connect()?.connectors().await?;
                if json {
                    print_json(&list)?;
                } else {
                    out!("{}", list.connectors.iter().map(format_connector).collect::<String>());
                    let orphaned = |block: &BlockRow| {
                        format!("{:<24} gone\n{}", block.connector.as_str(), format_block(block))
                    };
                    out!("{}", list.orphaned_blocks.iter().map(orphaned).collect::<String>());
                }
            }
        }
        Ok(())
    }
}

/// Lifts every block by command for exactly these users.
async fn lift_blocks(
    hub: &AdminClient,
    connector: &ConnectorId,
    service_providers: &BTreeSet<ClientId>,
) -> CommandResult<()> {
    let list = hub.connectors().await?;
    let of_row = list
        .connectors
        .iter()
        .find(|row| row.id == *connector)
        .map(|row| row.blocks.iter().collect());
    // A block remains when its connector's file is removed.
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
    let meant = |block: &&BlockRow| {
        block
            .service_providers
            .as_ref()
            .map_or(service_providers.is_empty(), |some| some == service_providers)
    };
    let ids: Vec<&str> =
        blocks.iter().copied().filter(meant).filter_map(|block| block.id.as_deref()).collect();
    for id in &ids {
        print_change("lifted", &hub.unblock(id).await?);
    }
    // Show the blocks that remain.
    let rest: Vec<&BlockRow> = blocks
        .iter()
        .copied()
        .filter(|block| block.id.as_deref().is_none_or(|id| !ids.contains(&id)))
        .collect();
    let rest_text: String = rest.iter().map(|block| format_block(block)).collect();
    match (ids.is_empty(), rest.is_empty()) {
        (true, true) => Err(format!("nothing blocks {connector}").into()),
        (true, false) => Err(format!(
            "no matching block of {connector} was set by a command; its blocks (remove one set by file from its [[block]] table):\n{rest_text}"
        )
        .into()),
        (false, true) => Ok(()),
        (false, false) => {
            out!("remaining blocks:\n{rest_text}");
            Ok(())
        }
    }
}

fn print_change(what: &str, changed: &BlockChange) {
    out!("{what}: {}\n{}", changed.block.connector, format_block(&changed.block));
    if let Some(warning) = &changed.warning {
        print_error(warning);
    }
}

/// Formats one connector: its state, then its health and its blocks.
fn format_connector(row: &ConnectorRow) -> String {
    let state = row.state.as_str();
    let (id, name) = (row.id.as_str(), text_in_language(&row.name, "en"));
    let levels = format!("{}..{}", row.lowest.as_str(), row.highest.as_str());
    let health = row.health.as_ref().map(format_health).unwrap_or_default();
    format!(
        "{id:<24} {state:<9} {levels:<14} {name}\n{health}{}",
        row.blocks.iter().map(format_block).collect::<String>()
    )
}

/// Formats the health of a connector; empty if it is healthy.
fn format_health(health: &HealthRow) -> String {
    let what = match health.circuit {
        CircuitState::Open => "circuit open",
        CircuitState::HalfOpen => "circuit half-open",
        CircuitState::Closed if health.failure_ratio > 0.0 => "some calls fail",
        CircuitState::Closed => return String::new(),
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

fn format_block(block: &BlockRow) -> String {
    let by = match (block.origin, &block.id) {
        (EntryOrigin::File, _) | (EntryOrigin::Command, None) => "by its file".to_owned(),
        (EntryOrigin::Command, Some(id)) => format!("by command {id}"),
    };
    let users = block.service_providers.as_ref().map_or_else(
        || "for all users".to_owned(),
        |some| format!("for {}", some.iter().map(ClientId::as_str).collect::<Vec<_>>().join(", ")),
    );
    let from = block
        .from
        .as_ref()
        .filter(|_| !block.in_force)
        .map_or(String::new(), |from| format!(", from {from}"));
    let until = block.until.as_ref().map_or(String::new(), |until| format!(", until {until}"));
    let force = if block.in_force { "blocked" } else { "to be blocked" };
    format!("  {force} {users} {by}{from}{until}: {}\n", block.reason)
}

/// Parses the values of an option such as `fr=Fermé`, one for each language.
pub(crate) fn parse_texts(
    option: &str,
    given: &[String],
) -> Result<BTreeMap<String, String>, String> {
    let mut texts = BTreeMap::new();
    for one in given {
        let (language, text) = one
            .split_once('=')
            .ok_or_else(|| format!("{option} needs a language: write it as {option} fr=\"…\""))?;
        if texts.insert(language.to_owned(), text.to_owned()).is_some() {
            return Err(format!("{option} is given twice for {language}"));
        }
    }
    Ok(texts)
}
