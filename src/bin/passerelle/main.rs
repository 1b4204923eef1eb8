//! The `passerelle` program: parses arguments, loads the configuration and runs the command.

// These macros panic on a closed pipe; use `output` instead.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use passerelle::app::health::{self, HealthProbe};
use passerelle::app::{self, HubServer, ProgramDeps};
use passerelle::audit;
use passerelle::config::model::{LogConfig, LogFormat};
use passerelle::config::{self, Environment, LoadedConfig};
use passerelle::connector;
use passerelle::demo::Demo;
use passerelle::env::Env;
use passerelle::protocol::catalogue;
use passerelle::telemetry::{self, LineFormat};

mod audit_command;
mod check_command;
mod idp_command;
mod keys_command;
mod output;
mod register_command;
mod serve_command;
mod status_command;

use audit_command::AuditCommand;
use check_command::CheckCommand;
use idp_command::IdpCommand;
use keys_command::KeysCommand;
use output::{out, outln, print_error};
use register_command::RegisterCommand;
use serve_command::{Listeners, Signals, run_until_stopped};
use status_command::StatusCommand;

/// An identity federation hub.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
        /// Also fetch the metadata and keys of every identity provider.
        #[arg(long)]
        online: bool,
    },
    /// Show what a reload would change, and the affected service providers. Exit code 0: no change;
    /// 2: changes; 1: invalid files, or nothing to compare with.
    Plan {
        /// Folder of passerelle.toml.
        #[arg(long, default_value = "config")]
        config: PathBuf,
        /// Compare with the files of this folder instead of the configuration of the running hub.
        #[arg(long)]
        against: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
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
    Demo {
        /// Port of the standard hub; the others use the ports up to 22 above it. 0 chooses free
        /// ports.
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// List every error code.
    Errors {
        /// Print the Markdown page of the documentation.
        #[arg(long)]
        markdown: bool,
    },
    /// List every metric.
    Metrics {
        /// Print the Markdown page of the documentation.
        #[arg(long)]
        markdown: bool,
    },
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
    /// Verify the audit log.
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// List, block and unblock the identity providers of the running hub.
    Idp {
        #[command(subcommand)]
        command: IdpCommand,
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
    },
}

/// Exit code of an invalid command line (`EX_USAGE` of sysexits.h); clap's own 2 means warnings
/// here.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // `--help` and `--version` are errors in clap too.
            if error.use_stderr() {
                let _unread = error.print();
                return ExitCode::from(EXIT_USAGE);
            }
            let text = error.render();
            match std::io::stdout().is_terminal() {
                true => out!("{}", text.ansi()),
                false => out!("{text}"),
            }
            return output::finish(ExitCode::SUCCESS);
        }
    };
    output::finish(run(arguments.command).unwrap_or_else(|message| {
        print_error(message);
        ExitCode::FAILURE
    }))
}

fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Serve { config } => run_hub(&config)?,
        Command::Check { connector: Some(connector), .. } => return connector.run(),
        Command::Check { connector: None, config, online } => return check_config(&config, online),
        Command::Plan { config, against, json } => {
            return print_plan(&config, against.as_deref(), json);
        }
        Command::Health { address, ready } => {
            let probe = if ready { HealthProbe::Ready } else { HealthProbe::Alive };
            outln!(
                "{}",
                block_on(async {
                    health::probe_hub(address, probe).await.map_err(|error| error.to_string())
                })?
            );
        }
        Command::Demo { port } => run_demo(port)?,
        Command::Errors { markdown: true } => out!("{}", catalogue::render_markdown()),
        Command::Errors { markdown: false } => out!("{}", catalogue::render_table()),
        Command::Metrics { markdown } => out!("{}", list_metrics(markdown)?),
        Command::Acr { command: AcrCommand::Explain { config, sp, idp, acr, claims } } => {
            let explanation = app::explain::explain_levels(
                &load_config(&config)?,
                &sp,
                &idp,
                &acr,
                claims.as_deref(),
            );
            out!("{}", explanation.map_err(|unknown| unknown.to_string())?);
        }
        Command::Keys { command } => return command.run(),
        Command::Audit { command } => return Ok(command.run()),
        Command::Idp { command } => return Ok(command.run()),
        Command::Register { command } => return command.run(),
        Command::Status(command) => return Ok(command.run()),
        Command::Schemas { write, reference } => {
            write_schemas(write.as_deref(), reference.as_deref())?
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list_metrics(markdown: bool) -> Result<String, String> {
    let metrics =
        telemetry::Metrics::new(Env::system().now()).map_err(|fault| fault.to_string())?;
    let name = |metric: &telemetry::MetricDeclaration| format!("{}\n", metric.name);
    Ok(if markdown {
        telemetry::markdown_page(metrics.declared())
    } else {
        metrics.declared().iter().map(name).collect()
    })
}

fn run_hub(folder: &Path) -> Result<(), String> {
    let loaded = load_config(folder)?;
    init_logging(&loaded.settings.log)?;
    telemetry::log_panic_locations();
    for warning in loaded.warnings_at(Env::system().now()) {
        tracing::warn!(warning = warning.to_single_line(), "configuration warning");
    }
    for problem in loaded.check_failures() {
        tracing::warn!(
            problem = problem.to_single_line(),
            "rejected by `passerelle check`, but served"
        );
    }
    let listeners = Listeners::open(&loaded)?;
    block_on(async move {
        // Before the build, so that a hub stopped during its start saves what it has restored.
        let signals = Signals::listen()?;
        let program =
            HubServer::build(&loaded, ProgramDeps::system()).map_err(|fault| fault.to_string())?;
        let running = listeners.start(program)?;
        tracing::info!(issuer = loaded.issuer, address = %running.address, "serving");
        run_until_stopped(running, signals).await
    })
}

fn run_demo(port: u16) -> Result<(), String> {
    init_logging(&LogConfig { format: LogFormat::Human, filter: "warn".into() })?;
    block_on(async move {
        let demo = Demo::start(port, &Env::system()).map_err(|fault| fault.to_string())?;
        outln!("The demo runs until you press Ctrl+C.");
        for (platform, addresses) in [("standard", &demo.standard), ("high", &demo.high)] {
            outln!("{platform} platform");
            outln!("  hub                 {}", addresses.hub);
            outln!("  its metrics         {}/metrics", addresses.private);
            outln!(
                "  its console         {}/admin/ with the token in {}",
                addresses.private,
                addresses.admin_token.display()
            );
            outln!("  its folder          {}", addresses.folder.display());
            for provider in &addresses.identity_providers {
                outln!("  identity provider   {provider}");
            }
            outln!("  data provider       {}", addresses.data_provider);
        }
        outln!("\nA new file in connectors/ of a hub's folder adds an identity provider at once.");
        outln!("Open {}", demo.start_url);
        Signals::listen()?.stop().await;
        demo.stop().await;
        Ok(())
    })
}

fn check_config(folder: &Path, online: bool) -> Result<ExitCode, String> {
    let loaded = app::load_config(folder, &Environment::from_process());
    let report = config::report(&loaded, Env::system().now());
    let Ok(loaded) = loaded else {
        out!("{report}");
        return Ok(ExitCode::FAILURE);
    };
    let faults = app::find_startup_errors(&loaded, &Env::system());
    if !faults.is_empty() {
        outln!("The files are is_valid formed, but the hub would not start:");
        for fault in faults {
            outln!("  {fault}");
        }
        return Ok(ExitCode::FAILURE);
    }
    out!("{report}");
    let is_valid = loaded.check_failures().next().is_none();
    if !online {
        return Ok(if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (store, findings, client_keys) = block_on(async move {
        let store =
            app::probe_store(&loaded, &Env::system()).await.map_err(|fault| fault.to_string())?;
        let findings = app::probe_providers(&loaded, &Env::system())
            .await
            .map_err(|fault| fault.to_string())?;
        Ok((
            store,
            findings,
            app::probe_client_keys(&loaded, &Env::system())
                .await
                .map_err(|fault| fault.to_string())?,
        ))
    })?;
    let mut all_ok = is_valid;
    match store {
        None => {}
        Some(Ok(summary)) => outln!("store: {summary}"),
        Some(Err(fault)) => {
            all_ok = false;
            outln!("store: {fault}");
        }
    }
    for (asked, outcome) in findings {
        match outcome {
            Ok(()) => outln!("{asked}: ok"),
            Err(fault) => {
                all_ok = false;
                outln!("{asked}: {fault}");
            }
        }
    }
    for (client_id, outcome) in client_keys {
        match outcome {
            Ok(()) => outln!("service provider {client_id}: the keys at its jwks_uri are valid"),
            Err(fault) => {
                all_ok = false;
                outln!("service provider {client_id}: its jwks_uri: {fault}");
            }
        }
    }
    Ok(if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Exit code of `plan` if a reload would change something.
const EXIT_CHANGES: u8 = 2;

fn print_plan(folder: &Path, against: Option<&Path>, json: bool) -> Result<ExitCode, String> {
    let (next, env) = (load_config(folder)?, Env::system());
    let faults = app::plan::find_connector_errors(&next, &env);
    if !faults.is_empty() {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        return Err(format!("a reload would reject these files\n{}", faults.join("\n")));
    }
    let before = match against {
        Some(other) => load_config(other)?.files.digest(),
        None => block_on(async {
            app::plan::fetch_active_digest(next.settings.private.listen)
                .await
                .map_err(|fault| fault.to_string())
        })?,
    };
    let changes = before.changes_to(&next.files.digest());
    if json {
        outln!("{}", serde_json::to_string_pretty(&changes).map_err(|error| error.to_string())?);
    } else {
        out!("{}", changes.report());
    }
    Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_CHANGES) })
}

fn write_schemas(write: Option<&Path>, reference: Option<&Path>) -> Result<(), String> {
    if let Some(folder) = write {
        let written = config::write_schemas(folder, connector::KINDS)
            .and_then(|()| audit::write_schema(folder));
        written.map_err(|error| format!("{} can not be written: {error}", folder.display()))?;
    }
    if let Some(file) = reference {
        let text = config::reference_markdown(connector::KINDS);
        std::fs::write(file, text)
            .map_err(|error| format!("{} can not be written: {error}", file.display()))?;
    }
    if write.is_none() && reference.is_none() {
        for (name, schema) in config::schemas(connector::KINDS) {
            outln!("{name}: {schema:#}");
        }
    }
    Ok(())
}

fn load_config(folder: &Path) -> Result<LoadedConfig, String> {
    let loaded = app::load_config(folder, &Environment::from_process());
    let report = config::report(&loaded, Env::system().now());
    loaded.map_err(|_| format!("the configuration is invalid\n{report}"))
}

fn init_logging(log: &LogConfig) -> Result<(), String> {
    let format = match log.format {
        LogFormat::Human => LineFormat::Human,
        LogFormat::Json => LineFormat::Json,
    };
    telemetry::init_logging(format, &log.filter).map_err(|fault| fault.to_string())
}

fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    actix::System::new().block_on(work)
}
