//! Checks `[vault_transit]` of `passerelle.toml`, and resolves the token.

use std::path::PathBuf;

use url::Url;

use crate::model::{Settings, TransitKeyPurpose, VaultTransitConfig};
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{FileCheck, SecretContext};

/// The checked table with its token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VaultTransitAccess {
    pub address: Url,
    pub mount: String,
    pub namespace: Option<String>,
    pub token: Secret<String>,
    /// The file that holds the token; `None` for a variable.
    pub token_file: Option<PathBuf>,
    /// PEM.
    pub ca: Option<String>,
    /// Without `Encryption`, which is refused.
    pub new_keys: Vec<TransitKeyPurpose>,
    pub timeout_seconds: u64,
}

/// Checks the table; `None` without one, or if it is invalid.
pub(super) fn check_vault_transit(
    check: &mut FileCheck<'_>,
    settings: &Settings,
    context: &SecretContext<'_>,
) -> Option<VaultTransitAccess> {
    let config = settings.vault_transit.as_ref()?;
    let VaultTransitConfig { address, mount, namespace, token, ca, new_keys, timeout_seconds } =
        config;
    let address = address::parse_url_without_query(address, PlainHttp::LoopbackAddress);
    let address = check.accept("vault_transit.address", address);
    check_paths(check, config);
    if new_keys.contains(&TransitKeyPurpose::Encryption) {
        let message =
            "contains \"encryption\", but Transit has no key agreement and so no keys for ECDH-ES";
        let fix = "write \"rsa_encryption\"; the keys for ECDH-ES stay in files, or in [pkcs11]";
        check.report("vault_transit.new_keys", message, fix);
    }
    let ca = ca.as_ref().map(|file| check.read_pem("vault_transit.ca", file, context.folder));
    let resolved = check.resolve_secret("vault_transit.token", token, context)?;
    if !resolved.reveal().bytes().all(|c| c.is_ascii_graphic()) {
        let message = "references a text that is not a token";
        let fix = "write the bare token there, without spaces";
        check.report("vault_transit.token", message, fix);
    }
    Some(VaultTransitAccess {
        address: address?,
        mount: mount.clone(),
        namespace: namespace.clone(),
        token: resolved,
        token_file: token.file.as_ref().map(|file| context.folder.join(file)),
        ca: match ca {
            None => None,
            Some(read) => Some(read?),
        },
        new_keys: new_keys.clone(),
        timeout_seconds: *timeout_seconds,
    })
}

fn check_paths(check: &mut FileCheck<'_>, config: &VaultTransitConfig) {
    let named = [("mount", Some(&config.mount)), ("namespace", config.namespace.as_ref())];
    for (name, path) in named {
        if path.is_some_and(|path| !is_path(path)) {
            let message = "is not a path of letters, digits, _ and - with / between them";
            let fix = "write it as `vault secrets list` or `vault namespace list` does, without the / at its end";
            check.report(&format!("vault_transit.{name}"), message, fix);
        }
    }
}

/// Returns true for `transit` and `teams/login/transit`. Stops a path that leads out of the engine.
fn is_path(text: &str) -> bool {
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-'))
    };
    text.split('/').all(is_segment)
}
