//! `passerelle clients`: the dynamically registered service providers of the running hub.

use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};
use passerelle_extension::{AdminRequest, ExtensionCommand};
use passerelle_protocol::ids::Scope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::admin_routes::{ExportedClient, RegistrationApproval, RegistrationRemoval};
use super::operator::{
    CreatedInitialToken, NewInitialToken, RegistrationList, RegistrationSummary,
};
use super::records::RegistrationStatus;

/// The command.
pub(crate) const COMMAND: ExtensionCommand = ExtensionCommand {
    arguments: || {
        let about = "Approve, remove and export dynamically registered service providers, and create initial access tokens";
        let command = clap::Command::new("clients").about(about);
        ClientsCommand::augment_subcommands(command)
            .subcommand_required(true)
            .arg_required_else_help(true)
    },
    request: |arguments| parse(arguments)?.request(),
    describe: |arguments, response| parse(arguments)?.describe(response),
};

#[derive(Subcommand)]
enum ClientsCommand {
    /// List the registrations, those that wait for approval first, and the initial access tokens.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
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
    },
    /// Create an initial access token and print it. It is shown this one time.
    CreateToken(CreateInitialAccessToken),
    /// Revoke an initial access token. The registrations made with it stay.
    RevokeToken {
        /// Its id, as listed.
        id: String,
    },
}

#[derive(Args)]
struct ClientApproval {
    /// The client_id.
    client_id: String,
    /// The fingerprint that the list shows with it. Each change by the service provider changes it.
    #[arg(long)]
    fingerprint: String,
    /// Why: for example the number of the ticket. The audit log records it.
    #[arg(long)]
    reason: String,
}

#[derive(Args)]
struct ClientRemoval {
    /// The client_id.
    client_id: String,
    /// Why: for example the number of the ticket. The audit log records it.
    #[arg(long)]
    reason: String,
}

#[derive(Args)]
struct CreateInitialAccessToken {
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
}

fn parse(arguments: &ArgMatches) -> Result<ClientsCommand, String> {
    ClientsCommand::from_arg_matches(arguments).map_err(|error| error.to_string())
}

impl ClientsCommand {
    fn request(self) -> Result<AdminRequest, String> {
        Ok(match self {
            Self::List { json: _ } => AdminRequest::new("GET", &["clients"]),
            Self::Approve(ClientApproval { client_id, fingerprint, reason }) => with_body(
                AdminRequest::new("POST", &["clients", &client_id, "approve"]),
                &RegistrationApproval { fingerprint, reason },
            )?,
            Self::Remove(ClientRemoval { client_id, reason }) => with_body(
                AdminRequest::new("POST", &["clients", &client_id, "remove"]),
                &RegistrationRemoval { reason },
            )?,
            Self::Export { client_id } => AdminRequest::new("GET", &["clients", &client_id]),
            Self::CreateToken(new) => with_body(
                AdminRequest::new("POST", &["initial-access-tokens"]),
                &NewInitialToken {
                    purpose: new.purpose,
                    registrations: new.registrations,
                    days: new.days,
                    scopes: new.scopes.split_ascii_whitespace().map(Scope::from).collect(),
                    hosts: new.host,
                    approved: new.approved,
                },
            )?,
            Self::RevokeToken { id } => {
                AdminRequest::new("DELETE", &["initial-access-tokens", &id])
            }
        })
    }

    fn describe(self, response: Value) -> Result<String, String> {
        match self {
            Self::List { json } => {
                let list: RegistrationList = read(response)?;
                if json { to_json(&list) } else { Ok(describe_list(&list)) }
            }
            Self::Approve(_) => {
                Ok("approved; the other hubs know it within two seconds\n".to_owned())
            }
            Self::Remove(_) => {
                Ok("removed; the other hubs know it within two seconds\n".to_owned())
            }
            Self::Export { .. } => Ok(read::<ExportedClient>(response)?.file),
            Self::CreateToken(CreateInitialAccessToken { json, .. }) => {
                let created: CreatedInitialToken = read(response)?;
                let token = || Ok(format!("{}\n", created.initial_access_token));
                if json { to_json(&created) } else { token() }
            }
            Self::RevokeToken { .. } => Ok("revoked\n".to_owned()),
        }
    }
}

fn with_body(request: AdminRequest, body: &impl Serialize) -> Result<AdminRequest, String> {
    let body = serde_json::to_value(body).map_err(|error| error.to_string())?;
    Ok(AdminRequest { body: Some(body), ..request })
}

fn read<T: DeserializeOwned>(response: Value) -> Result<T, String> {
    let error = |error| format!("the response of the hub is not that of this version: {error}");
    serde_json::from_value(response).map_err(error)
}

fn to_json(value: &impl Serialize) -> Result<String, String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
    Ok(format!("{text}\n"))
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
