//! `passerelle keys`: creates, lists and rotates the hub's keys.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use passerelle_audit::chain::to_rfc3339;
use passerelle_config::command_settings::{AdminAccess, KeySettings};
use passerelle_jose::key_passphrase::KeyPassphrase;
use passerelle_jose::keyfiles::{
    self, CreatedKey, KeyFolder, KeyPurpose, KeyRotation, KeyRow, RemovedKey,
};
use passerelle_jose::keyring::{DEFAULT_ROTATION_LEAD, JWKS_MAX_AGE, KeyState};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_server::KINDS;
use passerelle_server::admin_client::AdminClient;
use passerelle_server::key_device::HubKeyDevices;
use passerelle_settings::{Diagnostic, Environment};
use serde::Serialize;

use super::output::{outln, print_error};
use super::progress::Cancellation;
use super::{CommandResult, block_on, print_json};

/// When a running hub reloads the keys by itself.
const RELOAD_HINT: &str = "a running hub loads them within 30 s, or at once on SIGHUP";

const COPIES_HINT: &str = "copies of the former files, as in backups, are not encrypted: if others can read them, run `passerelle keys rotate`";

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Create the first keys (EC P-256 and 3072-bit RSA), or those that are missing.
    New {
        /// Folder of passerelle.toml, which sets the key folder and where keys are generated.
        /// Default: the parent of --dir.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the keys. Default: as set in passerelle.toml.
        #[arg(long)]
        dir: Option<PathBuf>,
        /// Also create the key of pairwise subjects in this file; an existing file is not
        /// overwritten.
        #[arg(long)]
        subject_key: Option<PathBuf>,
    },
    /// List the keys with their use and state.
    List {
        /// Folder of passerelle.toml, which sets the key folder and references the passphrase of
        /// encrypted keys. Default: the parent of --dir.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the keys. Default: as set in passerelle.toml.
        #[arg(long)]
        dir: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Create the next keys and make the running hub load them. Signing keys are published at once
    /// and sign after lifetimes.signing_key_lead_seconds. Encryption keys are published after a
    /// minute; their predecessors decrypt for thirty more days.
    Rotate(RotateArguments),
    /// Encrypt the unencrypted private keys in files, with the passphrase that key_passphrase
    /// references. The keys stay the same.
    Encrypt {
        /// Folder of passerelle.toml. Default: the parent of --dir.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Folder of the keys. Default: as set in passerelle.toml.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

#[derive(Args)]
pub(crate) struct RotateArguments {
    /// Folder of passerelle.toml, which sets the key folder, the lead and the private listener.
    /// Default: the parent of --dir.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Folder of the keys. Default: as set in passerelle.toml.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seconds until the new keys sign, instead of lifetimes.signing_key_lead_seconds; 0 after a
    /// key theft.
    #[arg(long, value_name = "SECONDS")]
    lead: Option<u64>,
    /// Address of the private listener, if it differs from private.listen: http://127.0.0.1:9090.
    #[arg(long, value_name = "URL")]
    private: Option<String>,
}

impl KeysCommand {
    /// Runs the command.
    ///
    /// # Errors
    /// Returns the error message.
    pub(crate) fn run(self) -> CommandResult {
        let env = Env::system();
        match self {
            Self::New { config, dir, subject_key } => {
                let config = config_folder(config, dir.as_deref());
                let (folder, devices) = open_keys(config.as_deref(), dir)?;
                for key in keyfiles::create_keys(devices.key_folder(&folder), &env)? {
                    outln!("created {} ({})", key.kid, key.purpose.as_str());
                }
                if let Some(path) = subject_key {
                    let outcome = keyfiles::create_subject_key(&path, &env)?;
                    outln!("subject key {}: {outcome:?}", path.display());
                }
            }
            Self::List { config, dir, json } => {
                let config = config_folder(config, dir.as_deref());
                let dir = listed_folder(config.as_deref(), dir)?;
                let rows =
                    keyfiles::list_keys(open_listed_keys(config.as_deref(), &dir)?, env.now())?;
                if json {
                    print_json(&rows.iter().map(KeyView::from).collect::<Vec<_>>())?;
                } else {
                    print_table(&rows);
                }
            }
            Self::Rotate(arguments) => return arguments.run(&env),
            Self::Encrypt { config, dir } => {
                let config = config_folder(config, dir.as_deref());
                let (folder, devices) = open_keys(config.as_deref(), dir)?;
                let cancellation = Cancellation::on_signals();
                let mut proceed = |file: &Path| {
                    outln!("encrypted {}", file.display());
                    !cancellation.is_cancelled()
                };
                let files = keyfiles::encrypt_keys(&devices.key_folder(&folder), &mut proceed)?;
                if cancellation.is_cancelled() {
                    return Err(
                        "interrupted: keys may be unencrypted; run this command again".into()
                    );
                }
                if files.is_empty() {
                    outln!("no private key is unencrypted");
                } else {
                    outln!("{COPIES_HINT}");
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Key as `keys list --json` prints it. Times are RFC 3339 in UTC.
#[derive(Serialize)]
struct KeyView<'r> {
    kid: &'r str,
    #[serde(rename = "use")]
    purpose: &'static str,
    alg: &'static str,
    state: &'static str,
    since: String,
    until: Option<String>,
    /// `file`, `pkcs11` or `vault_transit`.
    location: &'static str,
    /// URI of a key in a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'r str>,
}

impl<'r> From<&'r KeyRow> for KeyView<'r> {
    fn from(row: &'r KeyRow) -> Self {
        Self {
            kid: &row.kid,
            purpose: row.purpose.as_str(),
            alg: row.alg,
            state: state_name(row.state),
            since: to_rfc3339(row.since),
            until: row.until.map(to_rfc3339),
            location: row.location.as_str(),
            uri: row.uri.as_deref(),
        }
    }
}

const fn state_name(state: KeyState) -> &'static str {
    match state {
        KeyState::Current => "current",
        KeyState::Next => "next",
        KeyState::Retired { .. } => "retired",
    }
}

fn print_table(rows: &[KeyRow]) {
    let head = ["KID", "USE", "ALG", "STATE", "SINCE", "UNTIL", "LOCATION"].map(str::to_owned);
    let cells = |row: &KeyRow| {
        let until = row.until.map_or_else(|| "-".to_owned(), format_time);
        [
            row.kid.clone(),
            row.purpose.as_str().into(),
            row.alg.into(),
            state_name(row.state).into(),
            format_time(row.since),
            until,
            row.location.as_str().into(),
        ]
    };
    let table: Vec<[String; 7]> = [head].into_iter().chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        table.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    for row in &table {
        let padded: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        outln!("{}", padded.join("  ").trim_ascii_end());
    }
}

impl RotateArguments {
    fn run(self, env: &Env) -> CommandResult {
        let config = config_folder(self.config, self.dir.as_deref());
        let access = |folder: &PathBuf| {
            let read = AdminAccess::read(folder, &Environment::from_process(), KINDS);
            read.map_err(|problems| unusable(folder, &problems))
        };
        let access = config.as_ref().map(access).transpose()?;
        let (folder, devices) = open_keys(config.as_deref(), self.dir)?;
        let lead = self
            .lead
            .map(Duration::from_secs)
            .or_else(|| access.as_ref().map(|access| access.signing_key_lead));
        let lead = lead.unwrap_or(DEFAULT_ROTATION_LEAD);
        let rotation = keyfiles::rotate_keys(devices.key_folder(&folder), env, lead)?;
        print_rotation(&rotation);
        if lead < JWKS_MAX_AGE {
            outln!(
                "service providers cache the key set for {} s: some will reject tokens until then",
                JWKS_MAX_AGE.as_secs()
            );
        }
        let Some(access) = access.filter(|access| access.admin_token.is_some()) else {
            outln!("{RELOAD_HINT}");
            return Ok(ExitCode::SUCCESS);
        };
        Ok(reload_running_hub(access, self.private.as_deref(), &rotation))
    }
}

/// Returns the folder of `passerelle.toml`; `None` if there is none and none was named.
pub(crate) fn config_folder(config: Option<PathBuf>, dir: Option<&Path>) -> Option<PathBuf> {
    let around = dir.map(|dir| {
        dir.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    });
    let folder = around.unwrap_or(Path::new("config"));
    let found = || folder.join("passerelle.toml").exists().then(|| folder.to_owned());
    config.or_else(found)
}

/// Reads where keys are, and the devices in which new ones are generated.
fn open_keys(
    config: Option<&Path>,
    dir: Option<PathBuf>,
) -> Result<(PathBuf, HubKeyDevices), String> {
    let read = |folder| KeySettings::read(folder, &Environment::from_process(), KINDS);
    let settings =
        config.map(|folder| read(folder).map_err(|problems| unusable(folder, &problems)));
    let settings = settings.transpose()?;
    let access = settings.as_ref().map(|settings| settings.private_keys.clone());
    let devices = HubKeyDevices::open(&access.unwrap_or_default(), None);
    let devices = devices.map_err(|error| error.to_string())?;
    let configured = settings.map(|settings| settings.keys);
    Ok((dir.or(configured).unwrap_or_else(|| "config/keys".into()), devices))
}

/// Returns the folder whose keys are listed: by default that of `passerelle.toml`.
fn listed_folder(config: Option<&Path>, dir: Option<PathBuf>) -> Result<PathBuf, String> {
    match (dir, config) {
        (Some(dir), _) => Ok(dir),
        (None, Some(folder)) => {
            KeySettings::read_folder(folder, &Environment::from_process(), KINDS)
                .map_err(|problems| unusable(folder, &problems))
        }
        (None, None) => Ok("config/keys".into()),
    }
}

/// Returns a folder whose keys are listed: its devices are not called.
pub(crate) fn open_listed_keys<'a>(
    config: Option<&Path>,
    dir: &'a Path,
) -> Result<KeyFolder<'a>, String> {
    let read = |folder| KeySettings::read_passphrase(folder, &Environment::from_process(), KINDS);
    let passphrase =
        config.map(|folder| read(folder).map_err(|problems| unusable(folder, &problems)));
    let passphrase = passphrase.transpose()?.flatten().map(KeyPassphrase::new).map(Arc::new);
    Ok(KeyFolder { passphrase, ..KeyFolder::from(dir) })
}

fn unusable(folder: &Path, problems: &[Diagnostic]) -> String {
    let problems: String = problems.iter().map(|problem| format!("\n{problem}")).collect();
    let file = folder.join("passerelle.toml");
    format!("{} is invalid, and no key was changed{problems}", file.display())
}

fn print_rotation(rotation: &KeyRotation) {
    for CreatedKey { purpose, kid, from } in &rotation.added {
        let from = format_time(*from);
        match purpose {
            KeyPurpose::Tokens | KeyPurpose::Assertion => {
                outln!("created {kid} ({}): published now, signs from {from}", purpose.as_str());
            }
            KeyPurpose::Encryption => {
                outln!("created {kid} ({}): decrypts now, published from {from}", purpose.as_str());
            }
        }
    }
    for RemovedKey { kid, uri } in &rotation.removed {
        outln!("removed {kid}: nothing signed by it or encrypted to it is still valid");
        if let Some(uri) = uri {
            outln!("remove {uri} from its device: the hub no longer uses it");
        }
    }
    for (path, cause) in &rotation.not_removed {
        let path = path.display();
        print_error(format_args!(
            "{path}: a retired key that can't be removed ({cause}); remove it"
        ));
    }
}

/// Makes the running hub load the keys, and prints the outcome. The rotation is done in any case.
fn reload_running_hub(
    access: AdminAccess,
    private: Option<&str>,
    rotation: &KeyRotation,
) -> ExitCode {
    let result = block_on(async {
        let hub = AdminClient::new(access, private)?;
        let keys = hub.reload_keys().await?;
        CommandResult::Ok((hub.address().to_owned(), keys.kids))
    });
    match result {
        Ok((address, kids)) if rotation.added.iter().all(|key| kids.contains(&key.kid)) => {
            outln!(
                "the hub at {address} has loaded them; other hubs load them within 30 s, or at once on SIGHUP"
            );
        }
        Ok((address, _)) => {
            print_error(format_args!(
                "the hub at {address} loads its keys from another folder and has none of these"
            ));
            return ExitCode::FAILURE;
        }
        Err(why) => {
            outln!("{RELOAD_HINT}");
            print_error(format_args!("the running hub could not be notified: {why}"));
        }
    }
    ExitCode::SUCCESS
}

/// Formats a time in UTC.
fn format_time(at: Timestamp) -> String {
    let seconds = i64::try_from(at.seconds()).unwrap_or(i64::MAX);
    chrono::DateTime::from_timestamp(seconds, 0)
        .map_or_else(|| seconds.to_string(), |at| at.format("%Y-%m-%d %H:%M:%SZ").to_string())
}
