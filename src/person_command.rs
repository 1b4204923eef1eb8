//! `passerelle person`: ends the sessions of a person, and lists and ends their refresh tokens.

use clap::{Args, Subcommand};
use passerelle_admin::{LoginSearch, RefreshGrantRevocation};
use passerelle_federation::validity::format_rfc3339;
use passerelle_grants::RefreshGrantSummary;
use passerelle_protocol::env::Timestamp;

use super::hub_options::HubOptions;
use super::output::outln;
use super::{CommandResult, print_json};

#[derive(Subcommand)]
pub(crate) enum PersonCommand {
    /// End the sessions of a person at every hub that shares the store, with their codes and
    /// tokens. Service providers with a logout endpoint are notified.
    EndSessions {
        #[command(flatten)]
        person: NamedPersonOptions,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// List the refresh tokens of a person.
    ListGrants {
        #[command(flatten)]
        person: NamedPersonOptions,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// End the refresh tokens of a person, with their access tokens.
    RevokeGrants {
        #[command(flatten)]
        person: NamedPersonOptions,
        /// Only this one of the list.
        #[arg(long, allow_hyphen_values = true)]
        id: Option<String>,
        #[command(flatten)]
        hub: HubOptions,
    },
}

/// The person, and why. The audit log records who asked, and why.
#[derive(Args)]
pub(crate) struct NamedPersonOptions {
    /// The person's sub, as the service provider knows it; - reads it from standard input.
    #[arg(long, allow_hyphen_values = true)]
    sub: String,
    /// Why: for example the number of the ticket.
    #[arg(long)]
    reason: String,
}

impl NamedPersonOptions {
    fn read(self) -> std::io::Result<LoginSearch> {
        let Self { sub, reason } = self;
        let sub = if sub == "-" { std::io::read_to_string(std::io::stdin())? } else { sub };
        Ok(LoginSearch { sub: sub.trim_ascii().to_owned(), reason })
    }
}

impl PersonCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) async fn run(self) -> CommandResult<()> {
        match self {
            Self::EndSessions { person, hub } => {
                let ended = hub.connect()?.end_sessions(&person.read()?).await?.ended;
                outln!("{ended} sessions ended");
            }
            Self::ListGrants { person, json, hub } => {
                let list = hub.connect()?.refresh_grants(&person.read()?).await?;
                if json {
                    return print_json(&list);
                }
                list.grants.iter().for_each(print_grant);
                if list.grants.is_empty() {
                    outln!("no refresh token was found; the sub is different at each service");
                }
            }
            Self::RevokeGrants { person, id, hub } => {
                let LoginSearch { sub, reason } = person.read()?;
                let revocation = RefreshGrantRevocation { sub, reason, id };
                let revoked = hub.connect()?.revoke_refresh_grants(&revocation).await?.revoked;
                outln!("{revoked} refresh tokens ended");
            }
        }
        Ok(())
    }
}

fn print_grant(grant: &RefreshGrantSummary) {
    let time = |seconds| format_rfc3339(Timestamp::from_seconds(seconds));
    let scopes: Vec<&str> =
        grant.scopes.iter().map(passerelle_protocol::ids::Scope::as_str).collect();
    outln!(
        "{}  {}  login {}  granted {}, ends {}  {}",
        grant.id,
        grant.client_id,
        grant.support_id,
        time(grant.granted_at),
        time(grant.ends_at.min(grant.expires_at)),
        scopes.join(" ")
    );
}
