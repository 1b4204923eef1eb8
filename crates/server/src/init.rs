//! Writes a configuration folder that a hub can start with (`passerelle init`): keys, secrets by
//! file, a sandbox identity provider, one service provider, one person in the register.
//!
//! The files are written to a temporary folder beside the new one, checked as `passerelle check`
//! does, synced and renamed. So the new folder is complete and valid, or it does not exist.

mod files;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::unbuildable_connectors::find_unbuildable_connectors;
use super::{BuildError, find_startup_errors, load_config};
use passerelle_config::LoadedConfig;
use passerelle_jose::KeyError;
use passerelle_jose::keyfiles::{self, KeyFileError};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::atomic_file::{parent_folder, sync_folder, sync_tree, write_private_file};
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;
use passerelle_settings::{Diagnostic, Environment};

pub use self::files::ApplicationRegistration;
use self::files::{SUBJECT_KEY, configuration_files};

/// Options of a new configuration folder.
#[derive(Clone, Debug)]
pub struct InitOptions {
    pub platform: Platform,
    /// Public base URL of the hub, without a path.
    pub base_url: String,
    /// Allows the sandbox although `base_url` is not on this machine.
    pub sandbox_public: bool,
    /// Port of the public listener.
    pub port: u16,
    /// Port of the private listener.
    pub private_port: u16,
    /// What the pages link to.
    pub links: PageLinks,
    /// The service provider.
    pub application: ApplicationRegistration,
}

/// Addresses that the pages of a public hub link to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageLinks {
    /// The support: https, or mailto.
    pub support: Option<String>,
    /// The privacy notice.
    pub privacy: Option<String>,
    /// The accessibility statement.
    pub accessibility: Option<String>,
}

/// The new folder.
#[derive(Clone, Debug)]
pub struct InitReport {
    pub issuer: String,
    pub client_id: ClientId,
    /// File with the service provider's secret.
    pub client_secret: PathBuf,
    /// On the high platform: file with the service provider's private key.
    pub client_key: Option<PathBuf>,
    /// Authorization request of the service provider, to try a login in a browser.
    pub login_url: String,
}

/// Why no folder was written, and how to fix it.
#[derive(thiserror::Error, Debug)]
pub enum InitError {
    #[error(
        "{dir}: is not empty (it contains {entry}), and nothing is overwritten; name a new folder, or empty this one"
    )]
    NotEmpty { dir: PathBuf, entry: String },
    #[error("{dir}: is not a folder; name a new folder, or remove the file")]
    NotAFolder { dir: PathBuf },
    #[error(
        "{dir}: is the current folder, which is replaced as a whole; run the command from another one"
    )]
    CurrentFolder { dir: PathBuf },
    #[error("{parent}: is missing; create it with `mkdir -p {parent}`")]
    NoParent { parent: PathBuf },
    #[error("{dir}: can't be written ({cause}); name a new folder that this user may create")]
    Unwritable { dir: PathBuf, cause: io::Error },
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    #[error("a new key could not be generated: {0}")]
    Generation(#[from] KeyError),
    /// The options don't make a valid configuration.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Options(Vec<Diagnostic>),
    /// The hub would not start with the files.
    #[error(transparent)]
    Startup(#[from] BuildError),
}

/// Writes the folder `dir`, which must not exist yet, or be empty.
///
/// # Errors
/// Returns an error if the folder exists and is not empty, can't be written, or would not be a
/// valid configuration. Nothing is left behind then.
pub fn initialize_hub(
    dir: &Path,
    options: &InitOptions,
    env: &Env,
) -> Result<InitReport, InitError> {
    let target = target_folder(dir)?;
    let parent = parent_folder(&target);
    let unwritable = |cause| InitError::Unwritable { dir: dir.into(), cause };
    let temporary = tempfile::Builder::new()
        .prefix(".passerelle-init-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => InitError::NoParent { parent: parent.into() },
            _ => unwritable(cause),
        })?;
    let files = configuration_files(options, env)?;
    for (name, content) in &files.contents {
        write_private_file(&temporary.path().join(name), content.as_bytes()).map_err(unwritable)?;
    }
    keyfiles::create_subject_key(&temporary.path().join(SUBJECT_KEY), env)?;
    let loaded = load_folder(temporary.path(), env)?;
    keyfiles::create_keys(&loaded.settings.keys, env)?;
    check_startup(&loaded, env)?;
    sync_tree(temporary.path()).map_err(unwritable)?;
    // Replaces an empty folder only (rename(2)): whatever was put there meanwhile stays.
    fs::rename(temporary.path(), &target).map_err(unwritable)?;
    let _renamed = temporary.keep();
    sync_folder(parent).map_err(unwritable)?;
    Ok(InitReport {
        issuer: files.issuer,
        client_id: options.application.client_id.clone(),
        client_secret: dir.join(files.client_secret),
        client_key: files.client_key.map(|name| dir.join(name)),
        login_url: files.login_url,
    })
}

/// Returns the path to rename to. A link to an empty folder stays, and its target is replaced.
fn target_folder(dir: &Path) -> Result<PathBuf, InitError> {
    let unwritable = |cause| InitError::Unwritable { dir: dir.into(), cause };
    let mut entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(cause) => {
            return match cause.kind() {
                io::ErrorKind::NotFound => Ok(dir.to_owned()),
                io::ErrorKind::NotADirectory => Err(InitError::NotAFolder { dir: dir.into() }),
                _ => Err(unwritable(cause)),
            };
        }
    };
    if let Some(entry) = entries.next() {
        let entry = entry.map_err(unwritable)?.file_name().to_string_lossy().into_owned();
        return Err(InitError::NotEmpty { dir: dir.into(), entry });
    }
    let target = dir.canonicalize().map_err(unwritable)?;
    if std::env::current_dir().is_ok_and(|current| current.starts_with(&target)) {
        return Err(InitError::CurrentFolder { dir: dir.into() });
    }
    Ok(target)
}

/// Loads the folder. What `check` rejects is an error too.
fn load_folder(folder: &Path, env: &Env) -> Result<LoadedConfig, InitError> {
    let loaded = load_config(folder, &Environment::default()).map_err(InitError::Options)?;
    let mut failures = find_unbuildable_connectors(&loaded, env);
    failures.extend(loaded.check_failures().cloned());
    if failures.is_empty() { Ok(loaded) } else { Err(InitError::Options(failures)) }
}

fn check_startup(loaded: &LoadedConfig, env: &Env) -> Result<(), InitError> {
    let errors = find_startup_errors(loaded, env);
    if errors.is_empty() { Ok(()) } else { Err(BuildError::Several(errors).into()) }
}
