//! `passerelle login`: finds a login on all hubs.

use clap::Subcommand;
use passerelle_admin::console::{LoginView, NamedParty, NodeAnswer, PersonLogins};

use super::hub_options::HubOptions;
use super::output::{out, outln, printable};
use super::{CommandResult, print_json};

#[derive(Subcommand)]
pub(crate) enum LoginCommand {
    /// Show one login: what happened, on which hub, and what to do about it.
    Show {
        /// Support id of the login: the reference on the person's page.
        #[arg(required = true, num_args = 1..=3)]
        support_id: Vec<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// List a person's recent logins. The audit log records who searched, and why.
    List {
        /// The person's sub, as the service provider knows it; - reads it from standard input.
        #[arg(long, allow_hyphen_values = true)]
        sub: String,
        /// Why: for example the number of the ticket.
        #[arg(long)]
        reason: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
}

impl LoginCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) async fn run(self) -> CommandResult<()> {
        match self {
            Self::Show { support_id, json, hub } => {
                let login = hub.connect()?.login(&support_id.concat()).await?;
                if json {
                    return print_json(&login);
                }
                out!("{}", printable(describe_login(&login)));
            }
            Self::List { sub, reason, json, hub } => {
                let sub = if sub == "-" { std::io::read_to_string(std::io::stdin())? } else { sub };
                let found = hub.connect()?.search_logins(sub.trim_ascii(), &reason).await?;
                if json {
                    return print_json(&found);
                }
                print_logins(&found);
            }
        }
        Ok(())
    }
}

fn describe_login(login: &LoginView) -> String {
    let party = |party: &Option<NamedParty>| {
        party
            .as_ref()
            .map_or_else(|| "-".to_owned(), |party| format!("{} ({})", party.name, party.id))
    };
    let mut text = format!(
        "Login {}: {}\n  service provider:  {}\n  identity provider: {}\n  started {}, last event {}\n",
        login.support_id,
        login.state,
        party(&login.service_provider),
        party(&login.identity_provider),
        login.started_at,
        login.last_event_at
    );
    if let Some(refusal) = &login.refusal {
        text += &format!(
            "\n{} {}\n  {}\n  caused by: {}; who can fix it: {}\n",
            refusal.code, refusal.description, refusal.advice, refusal.origin, refusal.responsible
        );
    }
    text += "\n";
    for event in &login.events {
        let seconds = format!("+{}.{:03} s", event.after_ms / 1000, event.after_ms % 1000);
        let with = event.identity_provider.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
        let code = event.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        let node = event.node.as_ref().map(|node| format!(" [{node}]")).unwrap_or_default();
        let detail = event.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        text += &format!("{seconds:>12}  {}{with}{code}{node}{detail}\n", event.event);
    }
    if login.omitted_events > 0 {
        text += &format!("{} events in the middle are not kept\n", login.omitted_events);
    }
    text + &describe_nodes(&login.nodes)
}

fn print_logins(found: &PersonLogins) {
    for login in &found.logins {
        let sp = login.service_provider.as_ref().map_or("-", |party| party.id.as_str());
        let idp = login.identity_provider.as_ref().map_or("-", |party| party.id.as_str());
        outln!("{}  {}  {sp}  {idp}  {}", login.last_event_at, login.support_id, login.meaning);
    }
    if found.logins.is_empty() {
        outln!("no login was found; the sub is different at each service");
    }
    out!("{}", printable(describe_nodes(&found.nodes)));
}

fn describe_nodes(nodes: &[NodeAnswer]) -> String {
    let mut text = "\nasked:\n".to_owned();
    for node in nodes {
        text += &format!("  {}: {}\n", node.node, node.summary());
    }
    text
}
