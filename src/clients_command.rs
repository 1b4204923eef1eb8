//! `passerelle clients`: the dynamically registered service providers of the running hub.

use clap::{Args, Subcommand};
use passerelle_admin::{RegistrationApproval, RegistrationRemoval};
use passerelle_grants::client_registration::{
    NewInitialToken, RegistrationList, RegistrationStatus, RegistrationSummary,
};
use passerelle_protocol::ids::Scope;

use super::hub_options::HubOptions;
use super::output::{out, outln, printable};
use super::{CommandResult, print_json};

#[derive(Subcommand)]
pub enum ClientsCommand {
    /// List the registrations, those that wait for approval first, and the initial access tokens.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Let a registered service provider sign users in, if it is still what was listed.
    Approve(ClientApproval),
    /// Refuse a registration that waits, or revoke one in use: its codes and tokens end at once.
    Remove(ClientRemoval),
    /// Print a registration as the file of a service provider, for the folder service-providers.
    /// The service provider keeps its client_id and its secret.
    Export {
        /// The client_id.
        client_id: String,
        #[command(flatten)]
        hub: HubOptions,
    },
    /// Create an initial access token and print it. It is shown this one time.
    CreateToken(NewToken),
    /// Revoke an initial access token. The registrations made with it stay.
    RevokeToken {
        /// Its id, as listed.
        id: String,
        #[command(flatten)]
        hub: HubOptions,
    },
}

#[derive(Args)]
pub struct ClientApproval {
    /// The client_id.
    client_id: String,
    /// The fingerprint that the list shows with it. Each change by the service provider changes it.
    #[arg(long)]
    fingerprint: String,
    /// Why: for example the number of the ticket. The audit log records it.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    hub: HubOptions,
}

#[derive(Args)]
pub struct ClientRemoval {
    /// The client_id.
    client_id: String,
    /// Why: for example the number of the ticket. The audit log records it.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    hub: HubOptions,
}

#[derive(Args)]
pub struct NewToken {
    /// Who gets it; the audit log records it.
    #[arg(long)]
    purpose: String,
    /// Registrations that it allows.
    #[arg(long, default_value_t = 1)]
    registrations: u32,
    /// Days until it expires.
    #[arg(long, default_value_t = 7)]
    days: u32,
    /// Scopes that the service providers may have, with a space between them.
    #[arg(long, default_value = "openid")]
    scopes: String,
    /// Host of their addresses; may be repeated. Default: any that no other service provider has.
    #[arg(long)]
    host: Vec<String>,
    /// Their registrations need no approval, unless the hub would call an address of them.
    #[arg(long)]
    approved: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    hub: HubOptions,
}

impl ClientsCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub async fn run(self) -> CommandResult<()> {
        match self {
            Self::List { json, hub } => {
                let list = hub.connect()?.registrations().await?;
                if json {
                    return print_json(&list);
                }
                out!("{}", printable(describe_list(&list)));
            }
            Self::Approve(ClientApproval { client_id, fingerprint, reason, hub }) => {
                let approval = RegistrationApproval { fingerprint, reason };
                hub.connect()?.approve_client(&client_id, &approval).await?;
                outln!("approved; the other hubs know it within two seconds");
            }
            Self::Remove(ClientRemoval { client_id, reason, hub }) => {
                let removal = RegistrationRemoval { reason };
                hub.connect()?.remove_client(&client_id, &removal).await?;
                outln!("removed; the other hubs know it within two seconds");
            }
            Self::Export { client_id, hub } => {
                out!("{}", printable(hub.connect()?.export_client(&client_id).await?.file));
            }
            Self::CreateToken(new) => new.create().await?,
            Self::RevokeToken { id, hub } => {
                hub.connect()?.revoke_initial_token(&id).await?;
                outln!("revoked");
            }
        }
        Ok(())
    }
}

impl NewToken {
    async fn create(self) -> CommandResult<()> {
        let new = NewInitialToken {
            purpose: self.purpose,
            registrations: self.registrations,
            days: self.days,
            scopes: self.scopes.split_ascii_whitespace().map(Scope::from).collect(),
            hosts: self.host,
            approved: self.approved,
        };
        let created = self.hub.connect()?.create_initial_token(&new).await?;
        if self.json {
            return print_json(&created);
        }
        outln!("{}", created.initial_access_token);
        Ok(())
    }
}

fn describe_registration(one: &RegistrationSummary) -> String {
    let status = one.status.as_str();
    let mut text = format!("{status:8}  {}\n  fingerprint: {}\n", one.client_id, one.fingerprint);
    if one.readable {
        let names = one.names.iter().map(|(language, name)| format!("{name:?} ({language})"));
        let scopes: Vec<&str> = one.scopes.iter().map(Scope::as_str).collect();
        text += &format!(
            "  names: {}\n  authentication: {}\n  scopes: {}\n  addresses: {}\n  contacts: {}\n",
            names.collect::<Vec<_>>().join(", "),
            one.token_endpoint_auth_method,
            scopes.join(" "),
            one.addresses.join(" "),
            one.contacts.join(", "),
        );
    } else {
        text += "  its record is lost or can't be read: remove it\n";
    }
    text + &format!("  registered {}, expires {}\n", one.registered_at, one.expires_at)
}

fn describe_list(list: &RegistrationList) -> String {
    let mut registrations: Vec<_> = list.registrations.iter().collect();
    registrations.sort_by_key(|one| one.status == RegistrationStatus::Approved);
    let mut text = String::new();
    for one in registrations {
        text += &describe_registration(one);
    }
    for token in &list.initial_access_tokens {
        text += &format!(
            "token {}  {} of {} registrations, expires {}: {}\n",
            token.id, token.used, token.registrations, token.expires_at, token.purpose
        );
    }
    if text.is_empty() {
        text += "there are no registrations and no initial access tokens\n";
    }
    text
}
