//! Reads how commands reach a running hub: its private listener and the administration token. Reads
//! only `passerelle.toml`, so that an invalid file elsewhere doesn't prevent an emergency block.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::private_key_access::{self, PrivateKeyAccess, check_private_keys};
use crate::kinds::Kinds;
use crate::model::Settings;
use passerelle_admin::operator_accounts::resolve_token;
use passerelle_admin::settings::PrivateListener;
use passerelle_protocol::ids::Secret;
use passerelle_settings::settings_overlay::apply_environment;
use passerelle_settings::{
    Diagnostic, Environment, FileCheck, SecretContext, SecretOwner, SecretRules, SourceFile,
    schema_node,
};

/// Settings that a command needs to create keys.
#[derive(Clone, Debug)]
pub struct KeySettings {
    /// The folder of the hub's keys.
    pub keys: PathBuf,
    /// Where new keys are generated, and how they are encrypted.
    pub private_keys: PrivateKeyAccess,
}

impl KeySettings {
    /// Reads `passerelle.toml`, and of its secrets only those of private keys: the others may
    /// not exist yet.
    ///
    /// # Errors
    /// Returns the problems of the file and of these secrets.
    pub fn read(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let (source, settings) = read_settings(folder, environment, kinds)?;
        let rules = SecretRules::default();
        let context = settings_context(folder, environment, &rules);
        let private_keys =
            check_private_keys(&mut FileCheck::new(&source, &mut problems), &settings, &context);
        if problems.is_empty() {
            Ok(Self { keys: folder.join(&settings.keys), private_keys })
        } else {
            Err(problems)
        }
    }

    /// Reads the folder of the keys, and no secret.
    ///
    /// # Errors
    /// Returns the problems of the file.
    pub fn read_folder(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<PathBuf, Vec<Diagnostic>> {
        let (_, settings) = read_settings(folder, environment, kinds)?;
        Ok(folder.join(&settings.keys))
    }

    /// Reads the passphrase of key files, and no other secret: keys are listed without their device.
    ///
    /// # Errors
    /// Returns the problems of the file and the passphrase.
    pub fn read_passphrase(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<Option<Secret<String>>, Vec<Diagnostic>> {
        let (source, settings) = read_settings(folder, environment, kinds)?;
        let rules = SecretRules::default();
        let context = settings_context(folder, environment, &rules);
        private_key_access::read_passphrase(&source, &settings, &context)
            .map_err(|problem| vec![problem])
    }
}

/// Settings that a command needs to administer a running hub.
#[derive(Clone, Debug)]
pub struct AdminAccess {
    /// Address of the private listener from this machine. Port 0 means that only the hub knows the
    /// port.
    pub address: SocketAddr,
    /// Administration token; `None` if the hub has no administration.
    pub admin_token: Option<Secret<String>>,
    /// Time from a signing key's publication to its first use.
    pub signing_key_lead: Duration,
}

impl AdminAccess {
    /// Reads the address of the private listener, and no token.
    ///
    /// # Errors
    /// Returns the problems of `passerelle.toml`.
    pub fn read_address(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<SocketAddr, Vec<Diagnostic>> {
        let (_, settings) = read_settings(folder, environment, kinds)?;
        Ok(local_address(settings.private.listen))
    }

    /// Reads `passerelle.toml` and the token that it references.
    ///
    /// # Errors
    /// Returns the problems of the file and the token.
    pub fn read(
        folder: &Path,
        environment: &Environment,
        kinds: Kinds,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (source, settings) = read_settings(folder, environment, kinds)?;
        let rules = SecretRules::default();
        let context = settings_context(folder, environment, &rules);
        let admin_token = read_admin_token(&source, &settings.private, &context)
            .map_err(|problem| vec![problem])?;
        Ok(Self {
            address: local_address(settings.private.listen),
            admin_token,
            signing_key_lead: settings.lifetimes.signing_key_lead(),
        })
    }
}

fn read_settings(
    folder: &Path,
    environment: &Environment,
    kinds: Kinds,
) -> Result<(SourceFile, Settings), Vec<Diagnostic>> {
    let source =
        SourceFile::read(&folder.join("passerelle.toml")).map_err(|problem| vec![problem])?;
    // Ignores invalid variables, and those of stores, registers and optional crates.
    let schema = schema_node::shared_schema_for::<Settings>();
    let source = apply_environment(source, environment, Arc::clone(&schema), &mut Vec::new());
    let mut problems = Vec::new();
    match kinds.read_settings(&source, || Value::clone(&schema), &mut problems) {
        Some(settings) => Ok((source, settings)),
        None => Err(problems),
    }
}

const fn settings_context<'a>(
    folder: &'a Path,
    environment: &'a Environment,
    secrets: &'a SecretRules,
) -> SecretContext<'a> {
    SecretContext { folder, environment, secrets, owner: SecretOwner::Settings }
}

/// Reads the token that `private.admin_token` references.
///
/// # Errors
/// Returns a diagnostic if the token is missing, too short or not printable ASCII.
pub(crate) fn read_admin_token(
    source: &SourceFile,
    private: &PrivateListener,
    context: &SecretContext<'_>,
) -> Result<Option<Secret<String>>, Diagnostic> {
    let Some(reference) = &private.admin_token else { return Ok(None) };
    resolve_token(source, "private.admin_token", reference, context).map(Some)
}

/// Returns the address of a listener as seen from this machine: loopback for a listener on all
/// addresses.
pub const fn local_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_on_every_address_is_reached_on_loopback() {
        for (listen, reached) in [
            ("0.0.0.0:9090", "127.0.0.1:9090"),
            ("[::]:9090", "[::1]:9090"),
            ("10.0.0.7:1", "10.0.0.7:1"),
            ("127.0.0.1:0", "127.0.0.1:0"),
        ] {
            assert_eq!(
                local_address(listen.parse().unwrap()),
                reached.parse().unwrap(),
                "{listen}"
            );
        }
    }
}
