//! The `passerelle` program: parses arguments, loads the configuration and runs the command.
//!
//! The hub is in `crates/`: docs/design/architecture.md says what each crate is responsible for, and
//! where a change goes.

// These macros panic on a closed pipe; use `output` instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::doc_markdown, reason = "doc comments are the help texts, which are plain text")]

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{ArgMatches, FromArgMatches as _, Parser, Subcommand};
use passerelle_config::LoadedConfig;
use passerelle_config::model::{LogConfig, LogFormat};
use passerelle_protocol::env::Env;
use passerelle_server::KINDS;
use passerelle_server::local_health::{self, HealthProbe};
use passerelle_settings::Environment;
use passerelle_telemetry::LineFormat;
use serde::Serialize;

/// Faster than the system's allocator, and gives memory back (docs/design/adr/0019-allocator.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod audit_command;
mod audit_proof_command;
mod check_command;
mod demo_command;
mod extension_command;
mod hub_options;
mod idp_command;
mod init_command;
mod keys_command;
mod login_command;
mod node_command;
mod notice_command;
mod output;
mod period_options;
mod person_command;
mod plan_command;
mod progress;
mod reference_command;
mod register_command;
mod serve_command;
mod shell_command;
mod stats_command;
mod status_command;

use audit_command::AuditCommand;
use check_command::{CheckCommand, CheckOptions};
use demo_command::DemoCommand;
use extension_command::{command_line, find_command};
use hub_options::admin_error_code;
use idp_command::IdpCommand;
use init_command::InitCommand;
use keys_command::KeysCommand;
use login_command::LoginCommand;
use node_command::NodeCommand;
use notice_command::NoticeCommand;
use output::{out, outln, print_error};
use person_command::PersonCommand;
use plan_command::PlanCommand;
use reference_command::{ErrorsCommand, MetricsCommand};
use register_command::RegisterCommand;
use shell_command::{CompletionsCommand, ManCommand};
use stats_command::StatsCommand;
use status_command::StatusCommand;

/// Version with the revision and the date of the source, where the build knows them.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let date = env!("SOURCE_DATE").parse().ok();
    let date = date.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    let date = date.map(|date| date.format("%Y-%m-%d").to_string()).unwrap_or_default();
    let parts = [env!("SOURCE_REVISION"), &date];
    let source: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match source.as_slice() {
        [] => env!("CARGO_PKG_VERSION").to_owned(),
        source => format!("{} ({})", env!("CARGO_PKG_VERSION"), source.join(", ")),
    }
});

/// An identity federation hub.
#[derive(Parser)]
#[command(name = "passerelle", version = VERSION.as_str(), about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a new configuration folder that a hub can start with: keys, secrets, a sandbox
    /// identity provider, a service provider, a person. On a terminal and without options it asks.
    Init(InitCommand),
    /// Run the hub.
    Serve {
        /// Folder of passerelle.toml.
        #[arg(long, default_value = "config")]
        config: PathBuf,
    },
    /// Check the configuration: every file, key and rule, and everything that the hub needs to
    /// start.
    #[command(args_conflicts_with_subcommands = true)]
    Check {
        #[command(subcommand)]
        connector: Option<CheckCommand>,
        /// Folder of passerelle.toml.
        #[arg(long, default_value = "config")]
        config: PathBuf,
        #[command(flatten)]
        options: CheckOptions,
    },
    /// Show what a reload would change, and the affected service providers. Exit code 0: no change;
    /// 2: changes; 1: invalid files, or nothing to compare with.
    Plan(PlanCommand),
    /// Check whether the hub on this machine is alive, for container health checks. Exit code 0 if
    /// so, 1 if not.
    Health {
        /// Address of the private listener.
        #[arg(long, default_value = "127.0.0.1:9090")]
        address: SocketAddr,
        /// Check whether it is ready for requests instead.
        #[arg(long)]
        ready: bool,
    },
    /// Run a demo on this machine: for each platform a hub and two sandbox identity providers, and
    /// a service provider.
    Demo(DemoCommand),
    /// List every error code, or explain one.
    Errors(ErrorsCommand),
    /// List every metric.
    Metrics(MetricsCommand),
    /// Explain levels of assurance.
    Acr {
        #[command(subcommand)]
        command: AcrCommand,
    },
    /// Create, list and rotate keys.
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// Verify the audit log, and prove events of it.
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Export statistics of the audit log.
    Stats {
        #[command(subcommand)]
        command: StatsCommand,
    },
    /// List, block and unblock the identity providers of the running hub.
    Idp {
        #[command(subcommand)]
        command: IdpCommand,
    },
    /// Publish, remove and list notices to the users of the running hub.
    Notice {
        #[command(subcommand)]
        command: NoticeCommand,
    },
    /// Find a login, or a person's recent logins, on all hubs.
    Login {
        #[command(subcommand)]
        command: LoginCommand,
    },
    /// End the sessions and refresh tokens of a person.
    Person {
        #[command(subcommand)]
        command: PersonCommand,
    },
    /// Reload, drain and resume the running hub.
    Node {
        #[command(subcommand)]
        command: NodeCommand,
    },
    /// Show the status of the running hub.
    Status(StatusCommand),
    /// Import and query the register of persons.
    Register {
        #[command(subcommand)]
        command: RegisterCommand,
    },
    /// Generate the JSON Schemas and the reference of the configuration.
    Schemas {
        /// Write the JSON Schemas into this folder.
        #[arg(long)]
        write: Option<PathBuf>,
        /// Write the reference into this file.
        #[arg(long)]
        reference: Option<PathBuf>,
    },
    /// Print the completion script of a shell.
    Completions(CompletionsCommand),
    /// Print the manual page, in the form that man reads.
    Man(ManCommand),
}

#[derive(Subcommand)]
enum AcrCommand {
    /// Explain the levels of a login: what is sent, what is accepted, what the service provider
    /// sees.
    Explain {
        /// Folder of passerelle.toml.
        #[arg(long, default_value = "config")]
        config: PathBuf,
        /// The service provider's client_id.
        #[arg(long)]
        sp: String,
        /// The connector's id: the name of its file without .toml.
        #[arg(long)]
        idp: String,
        /// The request's acr_values, as "eidas2" or "eidas3 eidas2".
        #[arg(long)]
        acr: String,
        /// The request's claims, as JSON.
        #[arg(long)]
        claims: Option<String>,
        /// Read no secret: for a machine where they are not present.
        #[arg(long)]
        without_secrets: bool,
    },
}

/// Outcome of a command; `main` prints the error.
type CommandResult<T = ExitCode> = Result<T, Box<dyn Error>>;

/// Exit code of an error without a code of its own.
const EXIT_FAILURE: u8 = 1;

/// Exit code of an invalid command line (`EX_USAGE` of sysexits.h); clap's own 2 means warnings
/// here.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    passerelle_server::install_extensions();
    let arguments = match command_line(KINDS.extensions).try_get_matches() {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` are errors in clap too.
            if error.use_stderr() {
                let _unread = error.print();
                return ExitCode::from(EXIT_USAGE);
            }
            let text = error.render();
            if output::has_colour(&std::io::stdout()) {
                out!("{}", text.ansi());
            } else {
                out!("{text}");
            }
            return output::finish(ExitCode::SUCCESS);
        }
    };
    output::finish(run_arguments(&arguments).unwrap_or_else(|error| {
        print_error(&error);
        ExitCode::from(error_code(&*error))
    }))
}

/// Returns the exit code of an error.
fn error_code(error: &(dyn Error + 'static)) -> u8 {
    error.downcast_ref().map_or(EXIT_FAILURE, admin_error_code)
}

fn run_arguments(arguments: &ArgMatches) -> CommandResult {
    let Some((command, arguments)) = find_command(KINDS.extensions, arguments) else {
        return run(Arguments::from_arg_matches(arguments)?.command);
    };
    block_on(extension_command::run(command, arguments))?;
    Ok(ExitCode::SUCCESS)
}

fn run(command: Command) -> CommandResult {
    match command {
        Command::Init(command) => command.run()?,
        Command::Serve { config } => serve_command::run_hub(&config)?,
        Command::Check { connector: Some(connector), .. } => return connector.run(),
        Command::Check { connector: None, config, options } => {
            return check_command::check_config(&config, options);
        }
        Command::Plan(command) => return command.run(),
        Command::Health { address, ready } => {
            let probe = if ready { HealthProbe::Ready } else { HealthProbe::Alive };
            outln!("{}", block_on(local_health::probe_hub(address, probe))?);
        }
        Command::Demo(command) => command.run()?,
        Command::Errors(command) => return command.run(),
        Command::Metrics(command) => return command.run(),
        Command::Acr { command } => command.run()?,
        Command::Keys { command } => return command.run(),
        Command::Audit { command } => return Ok(command.run()),
        Command::Stats { command } => command.run()?,
        Command::Idp { command } => block_on(command.run())?,
        Command::Notice { command } => block_on(command.run())?,
        Command::Login { command } => block_on(command.run())?,
        Command::Person { command } => block_on(command.run())?,
        Command::Node { command } => block_on(command.run())?,
        Command::Register { command } => return command.run(),
        Command::Status(command) => block_on(command.run())?,
        Command::Schemas { write, reference } => {
            write_schemas(write.as_deref(), reference.as_deref())?;
        }
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run()?,
    }
    Ok(ExitCode::SUCCESS)
}

impl AcrCommand {
    fn run(self) -> CommandResult<()> {
        let Self::Explain { config, sp, idp, acr, claims, without_secrets } = self;
        let loaded = load_config_with(&config, &environment(without_secrets))?;
        let claims = claims.as_deref();
        out!("{}", passerelle_server::explain::explain_levels(&loaded, &sp, &idp, &acr, claims)?);
        Ok(())
    }
}

fn write_schemas(write: Option<&Path>, reference: Option<&Path>) -> CommandResult<()> {
    if let Some(folder) = write {
        let written = passerelle_config::write_schemas(folder, KINDS)
            .and_then(|()| passerelle_audit::write_schema(folder));
        written.map_err(|error| format!("{} can not be written: {error}", folder.display()))?;
    }
    if let Some(file) = reference {
        let text = passerelle_config::reference_markdown(KINDS);
        std::fs::write(file, text)
            .map_err(|error| format!("{} can not be written: {error}", file.display()))?;
    }
    if write.is_none() && reference.is_none() {
        for (name, schema) in passerelle_config::schemas(KINDS) {
            outln!("{name}: {schema:#}");
        }
    }
    Ok(())
}

/// Returns the environment, from which no secret is read if they are not present.
fn environment(without_secrets: bool) -> Environment {
    let environment = Environment::from_process();
    if without_secrets { environment.without_secrets() } else { environment }
}

fn load_config(folder: &Path) -> CommandResult<LoadedConfig> {
    load_config_with(folder, &environment(false))
}

fn load_config_with(folder: &Path, environment: &Environment) -> CommandResult<LoadedConfig> {
    or_report(passerelle_server::load_config(folder, environment))
}

/// Loads the configuration for a start, which a bad file of a connector or a service provider does
/// not prevent.
fn load_usable_config(folder: &Path) -> CommandResult<LoadedConfig> {
    or_report(passerelle_server::load_usable_config(folder, &environment(false)))
}

fn or_report(
    loaded: Result<LoadedConfig, Vec<passerelle_settings::Diagnostic>>,
) -> CommandResult<LoadedConfig> {
    let report = passerelle_config::render_check_output(&loaded, Env::system().now());
    loaded.map_err(|_| format!("the configuration is invalid\n{report}").into())
}

fn init_logging(log: &LogConfig) -> CommandResult<()> {
    let format = match log.format {
        LogFormat::Human => LineFormat::Human,
        LogFormat::Json => LineFormat::Json,
    };
    Ok(passerelle_telemetry::init_logging(format, &log.filter)?)
}

/// Prints `value` as indented JSON.
fn print_json(value: &impl Serialize) -> CommandResult<()> {
    outln!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    actix::System::new().block_on(work)
}
