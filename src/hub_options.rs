//! How a command reaches the running hub, and its exit codes.

use std::path::PathBuf;

use clap::Args;
use passerelle_config::command_settings::AdminAccess;
use passerelle_server::KINDS;
use passerelle_server::admin_client::{AdminClient, AdminClientError};
use passerelle_settings::{Diagnostic, Environment};

use super::{CommandResult, EXIT_FAILURE};

/// Exit code if no hub answers.
const EXIT_UNREACHABLE: u8 = 3;
/// Exit code if the token is missing or rejected.
const EXIT_UNAUTHORIZED: u8 = 4;

#[derive(Args)]
pub(crate) struct HubOptions {
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
    /// Returns the options of the hub of a configuration folder.
    pub(crate) const fn for_folder(config: PathBuf, token_file: Option<PathBuf>) -> Self {
        Self { config, private: None, token_file }
    }

    /// Returns a client of the running hub.
    ///
    /// # Errors
    /// Returns an error if the options and the configuration do not define how to reach the hub.
    pub(crate) fn connect(&self) -> CommandResult<AdminClient> {
        let environment = Environment::from_process();
        let unusable = |problems: Vec<Diagnostic>| self.unusable_settings(&problems);
        let private = self.private.as_deref();
        let Some(file) = &self.token_file else {
            let access = AdminAccess::read(&self.config, &environment, KINDS).map_err(unusable)?;
            return Ok(AdminClient::new(access, private)?);
        };
        let url = if let Some(private) = private {
            // An invalid passerelle.toml must not prevent an emergency block.
            private.to_owned()
        } else {
            let address = AdminAccess::read_address(&self.config, &environment, KINDS);
            AdminClient::listener_url(address.map_err(unusable)?)?
        };
        Ok(AdminClient::with_token_file(url, file)?)
    }

    fn unusable_settings(&self, problems: &[Diagnostic]) -> String {
        let problems: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
        let file = self.config.join("passerelle.toml");
        format!(
            "{} does not define how to reach the hub; with --private URL and --token-file FILE the command does not read it{problems}",
            file.display()
        )
    }
}

/// Returns the exit code of an error of the running hub.
pub(crate) const fn admin_error_code(error: &AdminClientError) -> u8 {
    match error {
        AdminClientError::Unreachable { .. }
        | AdminClientError::NotAHub { .. }
        | AdminClientError::NoPort => EXIT_UNREACHABLE,
        AdminClientError::NoToken
        | AdminClientError::TokenFile { .. }
        | AdminClientError::TokenRejected { .. }
        | AdminClientError::FileTokenRejected { .. }
        | AdminClientError::TooManyAttempts { .. }
        | AdminClientError::Disabled { .. } => EXIT_UNAUTHORIZED,
        AdminClientError::Address(_)
        | AdminClientError::Rejected(_)
        | AdminClientError::Request => EXIT_FAILURE,
    }
}
