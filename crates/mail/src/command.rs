//! `passerelle person reset-mail`.

use clap::{Args, FromArgMatches as _};
use passerelle_extension::{AdminRequest, ExtensionCommand};

use super::admin_routes::{MailAddressReset, MailAddressResetResult};

/// The command, a subcommand of the hub's own `person`.
pub(crate) const COMMAND: ExtensionCommand = ExtensionCommand {
    arguments: || {
        let about = "Remove the confirmed mail address of a person who can't read that mailbox any more. The next code goes to the address that the identity provider states";
        let reset = ResetMail::augment_args(clap::Command::new("reset-mail").about(about));
        clap::Command::new("person").subcommand(reset)
    },
    request: |arguments| {
        let (_, own) = arguments.subcommand().ok_or("reset-mail is missing")?;
        let ResetMail { support_id, reason } =
            ResetMail::from_arg_matches(own).map_err(|error| error.to_string())?;
        let body = serde_json::to_value(MailAddressReset { support_id, reason });
        let body = body.map_err(|error| error.to_string())?;
        let request = AdminRequest::new("POST", &["mail-addresses", "reset"]);
        Ok(AdminRequest { body: Some(body), ..request })
    },
    describe: |_, response| {
        let error = |error| format!("the response of the hub is not that of this version: {error}");
        let MailAddressResetResult { removed } = serde_json::from_value(response).map_err(error)?;
        Ok(if removed { "removed\n" } else { "the person had no confirmed address\n" }.to_owned())
    },
};

#[derive(Args)]
struct ResetMail {
    /// Support id of a login of the person in the last 24 hours, as the page shows it. Verify the
    /// identity of the person first: the next login with the password confirms another address.
    #[arg(long)]
    support_id: String,
    /// Why: for example the number of the ticket. The audit log records it.
    #[arg(long)]
    reason: String,
}
