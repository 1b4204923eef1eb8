//! Checks `[pkcs11]` of `passerelle.toml`, and resolves the PIN.

use std::path::PathBuf;

use crate::model::{DeviceKeyPurpose, Pkcs11Config, Settings};
use passerelle_protocol::ids::Secret;
use passerelle_settings::{FileCheck, SecretContext};

/// Longest label of a token (`CK_TOKEN_INFO`), in bytes.
const MAX_LABEL_BYTES: usize = 32;

/// The checked table with its PIN.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pkcs11Access {
    /// Absolute path of the module.
    pub module: PathBuf,
    pub token: String,
    pub pin: Secret<String>,
    /// The file that holds the PIN; `None` for a variable.
    pub pin_file: Option<PathBuf>,
    pub new_keys: Vec<DeviceKeyPurpose>,
    pub sessions: usize,
    pub timeout_seconds: u64,
}

/// Checks the table; `None` without one, or if it is invalid.
pub(crate) fn check_pkcs11(
    check: &mut FileCheck<'_>,
    settings: &Settings,
    context: &SecretContext<'_>,
) -> Option<Pkcs11Access> {
    let Pkcs11Config { module, token, pin, new_keys, sessions, timeout_seconds } =
        settings.pkcs11.as_ref()?;
    if !cfg!(feature = "pkcs11") {
        let message = "needs the Cargo feature `pkcs11`, which this build leaves out";
        let fix = "build the hub with `--features pkcs11`, or remove the table";
        check.report("pkcs11", message, fix);
    }
    if module.as_os_str().is_empty() {
        let fix = "write its path, for example \"/usr/lib/softhsm/libsofthsm2.so\"";
        check.report("pkcs11.module", "is empty", fix);
    }
    if token.is_empty() || token.len() > MAX_LABEL_BYTES {
        let fix =
            "write the label of the token, of 1 to 32 bytes; `pkcs11-tool --list-slots` shows it";
        check.report("pkcs11.token", "is not the label of a token", fix);
    }
    let resolved = check.resolve_secret("pkcs11.pin", pin, context)?;
    Some(Pkcs11Access {
        module: context.folder.join(module),
        token: token.clone(),
        pin: resolved,
        pin_file: pin.file.as_ref().map(|file| context.folder.join(file)),
        new_keys: new_keys.clone(),
        sessions: *sessions,
        timeout_seconds: *timeout_seconds,
    })
}
