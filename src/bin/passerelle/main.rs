//! The thin binary: parse arguments, load the configuration, run.

// They panic where nobody reads any more: `output` writes.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use passerelle::app::health::{self, Probe};
use passerelle::app::{self, Parts, Program};
use passerelle::audit;
use passerelle::config::model::{Log, LogFormat};
use passerelle::config::{self, Environment, Loaded};
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
mod top_command;

use audit_command::AuditCommand;
use check_command::CheckCommand;
use idp_command::IdpCommand;
use keys_command::KeysCommand;
use output::{complain, out, outln};
use register_command::RegisterCommand;
use serve_command::{Listeners, Signals, until_stopped};
use top_command::TopCommand;

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
    /// Check the configuration: every file, key and rule, and all that the hub needs to start.
    #[command(args_conflicts_with_subcommands = true)]
    Check {
        #[command(subcommand)]
        one: Option<CheckCommand>,
        #[arg(long, default_value = "config")]
        config: PathBuf,
        /// Ask every identity provider for its metadata and keys as well.
        #[arg(long)]
        online: bool,
    },
    /// Say what a reload would change, and which service providers it touches. Ends with 0 if nothing, 2 if something would
    /// change, 1 if the files are faulty or there is nothing to hold them against.
    Plan {
        #[arg(long, default_value = "config")]
        config: PathBuf,
        /// Hold the files against those of this folder, instead of what a running hub has in use.
        #[arg(long)]
        against: Option<PathBuf>,
        /// For machines.
        #[arg(long)]
        json: bool,
    },
    /// Say whether the hub on this machine is alive, for a container's health check. Ends with 0 if so, else with 1.
    Health {
        /// Its private listener.
        #[arg(long, default_value = "127.0.0.1:9090")]
        address: SocketAddr,
        /// Ask whether it should be sent requests, instead.
        #[arg(long)]
        ready: bool,
    },
    /// Run both platforms, each a hub and two sandbox identity providers, and a service provider, all on this machine.
    Demo {
        /// Port of the standard hub; the others follow from it, up to 20 above. 0 takes free ones.
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// List every error code.
    Errors {
        /// As the Markdown page of the documentation.
        #[arg(long)]
        markdown: bool,
    },
    /// List every metric.
    Metrics {
        /// As the Markdown table of the documentation.
        #[arg(long)]
        markdown: bool,
    },
    /// Levels of assurance.
    Acr {
        #[command(subcommand)]
        command: AcrCommand,
    },
    /// Keys: those that sign tokens, and those that face identity providers.
    Keys {
        #[command(subcommand)]
        command: KeysCommand,
    },
    /// The audit log.
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Identity providers of the running hub: list, block, unblock.
    Idp {
        #[command(subcommand)]
        command: IdpCommand,
    },
    /// How the running hub is doing, in the terminal, anew each second.
    Top(TopCommand),
    /// The register of natural persons.
    Register {
        #[command(subcommand)]
        command: RegisterCommand,
    },
    /// Generate what editors and readers need to know of the configuration.
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
    /// Say what a login does with levels: what is sent, what is accepted, what the service provider sees.
    Explain {
        #[arg(long, default_value = "config")]
        config: PathBuf,
        /// The service provider's client_id.
        #[arg(long)]
        sp: String,
        /// The connector's id: its file's stem.
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

/// What a command line that is not understood ends with (EX_USAGE of sysexits.h); clap's own 2 says "warnings" here.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(told) => {
            // Help and version come this way too.
            if told.use_stderr() {
                let _unread = told.print();
                return ExitCode::from(USAGE);
            }
            let text = told.render();
            match std::io::stdout().is_terminal() {
                true => out!("{}", text.ansi()),
                false => out!("{text}"),
            }
            return output::end(ExitCode::SUCCESS);
        }
    };
    output::end(run(arguments.command).unwrap_or_else(|message| {
        complain(message);
        ExitCode::FAILURE
    }))
}

fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Serve { config } => serve(&config)?,
        Command::Check { one: Some(one), .. } => return one.run(),
        Command::Check { one: None, config, online } => return check(&config, online),
        Command::Plan { config, against, json } => return plan(&config, against.as_deref(), json),
        Command::Health { address, ready } => {
            let probe = if ready { Probe::Ready } else { Probe::Alive };
            outln!(
                "{}",
                in_system(async {
                    health::ask(address, probe).await.map_err(|unwell| unwell.to_string())
                })?
            );
        }
        Command::Demo { port } => demo(port)?,
        Command::Errors { markdown: true } => out!("{}", catalogue::markdown()),
        Command::Errors { markdown: false } => out!("{}", catalogue::table()),
        Command::Metrics { markdown } => out!("{}", metrics(markdown)?),
        Command::Acr { command: AcrCommand::Explain { config, sp, idp, acr, claims } } => {
            let explanation =
                app::explain::explain(&load(&config)?, &sp, &idp, &acr, claims.as_deref());
            out!("{}", explanation.map_err(|unknown| unknown.to_string())?);
        }
        Command::Keys { command } => return command.run(),
        Command::Audit { command } => return Ok(command.run()),
        Command::Idp { command } => return Ok(command.run()),
        Command::Register { command } => return command.run(),
        Command::Top(command) => return Ok(command.run()),
        Command::Schemas { write, reference } => schemas(write.as_deref(), reference.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn metrics(markdown: bool) -> Result<String, String> {
    let metrics =
        telemetry::Metrics::new(Env::system().now()).map_err(|fault| fault.to_string())?;
    let name = |metric: &telemetry::Declared| format!("{}\n", metric.name);
    Ok(if markdown {
        telemetry::page(metrics.declared())
    } else {
        metrics.declared().iter().map(name).collect()
    })
}

fn serve(folder: &Path) -> Result<(), String> {
    let loaded = load(folder)?;
    log_to(&loaded.settings.log)?;
    telemetry::tell_panics_by_place();
    for warning in loaded.warnings_at(Env::system().now()) {
        tracing::warn!(warning = warning.in_line(), "allowed, but worth a thought");
    }
    for problem in loaded.faults() {
        tracing::warn!(
            problem = problem.in_line(),
            "refused by `passerelle check`, and served all the same"
        );
    }
    let listeners = Listeners::take(&loaded)?;
    in_system(async move {
        // From here on, so that a hub which is told to go down while it starts leaves what it has taken up to the next one.
        let signals = Signals::listen()?;
        let program = Program::build(&loaded, Parts::real()).map_err(|fault| fault.to_string())?;
        let running = listeners.start(program)?;
        tracing::info!(issuer = loaded.issuer, address = %running.address, "serving");
        until_stopped(running, signals).await
    })
}

fn demo(port: u16) -> Result<(), String> {
    log_to(&Log { format: LogFormat::Human, filter: "warn".into() })?;
    in_system(async move {
        let demo = Demo::start(port, &Env::system()).map_err(|fault| fault.to_string())?;
        outln!("The demo runs until you press Ctrl+C.");
        for (platform, addresses) in [("standard", &demo.standard), ("high", &demo.high)] {
            outln!("{platform} platform");
            outln!("  hub                 {}", addresses.hub);
            outln!("  its metrics         {}/metrics", addresses.private);
            outln!(
                "  its window          {}/admin/ opened by the token in {}",
                addresses.private,
                addresses.admin_token.display()
            );
            outln!("  its folder          {}", addresses.folder.display());
            for provider in &addresses.identity_providers {
                outln!("  identity provider   {provider}");
            }
            outln!("  data provider       {}", addresses.data_provider);
        }
        outln!("\nA file in connectors/ of a hub's folder is one more identity provider, at once.");
        outln!("Open {}", demo.open);
        Signals::listen()?.stop().await;
        demo.stop().await;
        Ok(())
    })
}

fn check(folder: &Path, online: bool) -> Result<ExitCode, String> {
    let loaded = config::load(folder, &Environment::of_process());
    let report = config::report(&loaded, Env::system().now());
    let Ok(loaded) = loaded else {
        out!("{report}");
        return Ok(ExitCode::FAILURE);
    };
    let faults = app::check(&loaded, &Env::system());
    if !faults.is_empty() {
        outln!("The files are well formed, but the hub would not start:");
        for fault in faults {
            outln!("  {fault}");
        }
        return Ok(ExitCode::FAILURE);
    }
    out!("{report}");
    let well = loaded.faults().next().is_none();
    if !online {
        return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (store, findings, client_keys) = in_system(async move {
        let store =
            app::probe_store(&loaded, &Env::system()).await.map_err(|fault| fault.to_string())?;
        let findings =
            app::probe(&loaded, &Env::system()).await.map_err(|fault| fault.to_string())?;
        Ok((
            store,
            findings,
            app::probe_client_keys(&loaded, &Env::system())
                .await
                .map_err(|fault| fault.to_string())?,
        ))
    })?;
    let mut all_well = well;
    match store {
        None => {}
        Some(Ok(summary)) => outln!("store: {summary}"),
        Some(Err(fault)) => {
            all_well = false;
            outln!("store: {fault}");
        }
    }
    for (asked, outcome) in findings {
        match outcome {
            Ok(()) => outln!("{asked}: answers as it should"),
            Err(fault) => {
                all_well = false;
                outln!("{asked}: {fault}");
            }
        }
    }
    for (client_id, outcome) in client_keys {
        match outcome {
            Ok(()) => outln!("service provider {client_id}: the keys at its jwks_uri are fine"),
            Err(fault) => {
                all_well = false;
                outln!("service provider {client_id}: its jwks_uri: {fault}");
            }
        }
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What differs, for whoever is about to put files in place.
const CHANGES: u8 = 2;

fn plan(folder: &Path, against: Option<&Path>, json: bool) -> Result<ExitCode, String> {
    let (next, env) = (load(folder)?, Env::system());
    let faults = app::plan::faults(&next, &env);
    if !faults.is_empty() {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        return Err(format!("a reload would refuse these files\n{}", faults.join("\n")));
    }
    let before = match against {
        Some(other) => load(other)?.files.outline(),
        None => in_system(async {
            app::plan::in_use(next.settings.private.listen).await.map_err(|fault| fault.to_string())
        })?,
    };
    let changes = before.changes(&next.files.outline());
    if json {
        outln!("{}", serde_json::to_string_pretty(&changes).map_err(|error| error.to_string())?);
    } else {
        out!("{}", changes.report());
    }
    Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CHANGES) })
}

fn schemas(write: Option<&Path>, reference: Option<&Path>) -> Result<(), String> {
    if let Some(folder) = write {
        let written = config::write_schemas(folder).and_then(|()| audit::write_schema(folder));
        written.map_err(|error| format!("{} can not be written: {error}", folder.display()))?;
    }
    if let Some(file) = reference {
        let text = config::reference_markdown();
        std::fs::write(file, text)
            .map_err(|error| format!("{} can not be written: {error}", file.display()))?;
    }
    if write.is_none() && reference.is_none() {
        for (name, schema) in config::schemas() {
            outln!("{name}: {schema:#}");
        }
    }
    Ok(())
}

fn load(folder: &Path) -> Result<Loaded, String> {
    let loaded = config::load(folder, &Environment::of_process());
    let report = config::report(&loaded, Env::system().now());
    loaded.map_err(|_| format!("the configuration is not usable\n{report}"))
}

fn log_to(log: &Log) -> Result<(), String> {
    let format = match log.format {
        LogFormat::Human => LineFormat::Human,
        LogFormat::Json => LineFormat::Json,
    };
    telemetry::init_logging(format, &log.filter).map_err(|fault| fault.to_string())
}

fn in_system<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    actix::System::new().block_on(work)
}
