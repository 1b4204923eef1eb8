//! How a command reaches the running hub, and its exit codes.

use std::path::PathBuf;

use clap::Args;
use passerelle::app::admin_client::{AdminClient, AdminClientError};
use passerelle::config::Environment;
use passerelle::config::admin_access::AdminAccess;
use passerelle::ids::Secret;

use super::{CommandResult, EXIT_FAILURE};

/// Exit code if no hub answers.
const EXIT_UNREACHABLE: u8 = 3;
/// Exit code if the token is missing or rejected.
const EXIT_UNAUTHORIZED: u8 = 4;

#[derive(Args)]
pub struct HubOptions {
    /// Folder of passerelle.toml, which sets the private listener and its token.
    #[arg(long, default_value = "config")]
    config: PathBuf,
    /// Address of the private listener, if it differs from private.listen: http://127.0.0.1:9090.
    #[arg(long, alias = "url", value_name = "URL")]
    private: Option<String>,
    /// File of your own token (private.operators), instead of private.admin_token: the audit log
    /// then names you.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl HubOptions {
    /// Returns a client of the running hub.
    ///
    /// # Errors
    /// Returns an error if the configuration does not define how to reach the hub.
    pub fn connect(&self) -> CommandResult<AdminClient> {
        let mut access =
            AdminAccess::read(&self.config, &Environment::from_process()).map_err(|problems| {
                let problems: String =
                    problems.iter().map(|problem| format!("\n{problem}")).collect();
                let file = self.config.join("passerelle.toml");
                format!("{} does not define how to reach the hub{problems}", file.display())
            })?;
        if let Some(file) = &self.token_file {
            let token = std::fs::read_to_string(file)
                .map_err(|error| format!("{} can't be read: {error}", file.display()))?;
            access.admin_token = Some(Secret::new(token.trim().to_owned()));
        }
        Ok(AdminClient::new(access, self.private.as_deref())?)
    }
}

/// Returns the exit code of an error of the running hub.
pub const fn admin_error_code(error: &AdminClientError) -> u8 {
    match error {
        AdminClientError::Unreachable { .. }
        | AdminClientError::NotAHub { .. }
        | AdminClientError::NoPort => EXIT_UNREACHABLE,
        AdminClientError::NoToken
        | AdminClientError::TokenRejected { .. }
        | AdminClientError::TooManyAttempts { .. }
        | AdminClientError::Disabled { .. } => EXIT_UNAUTHORIZED,
        AdminClientError::Address(_)
        | AdminClientError::Rejected(_)
        | AdminClientError::Request => EXIT_FAILURE,
    }
}
