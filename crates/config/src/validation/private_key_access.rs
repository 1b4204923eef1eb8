//! Checks what opens the hub's private keys: `key_passphrase`, `[pkcs11]` and `[vault_transit]`.

use super::pkcs11::{Pkcs11Access, check_pkcs11};
use super::vault_transit::{VaultTransitAccess, check_vault_transit};
use crate::model::{DeviceKeyPurpose, PlainKeyFiles, Settings, TransitKeyPurpose};
use passerelle_protocol::ids::Secret;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SourceFile, secrets};

/// Shortest passphrase, in characters.
const MIN_PASSPHRASE_CHARS: usize = 20;

/// Passphrase and devices that give access to the hub's private keys. Empty if all keys are in
/// unencrypted files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrivateKeyAccess {
    pub passphrase: Option<Secret<String>>,
    pub pkcs11: Option<Pkcs11Access>,
    pub vault_transit: Option<VaultTransitAccess>,
    pub plain_key_files: PlainKeyFiles,
}

/// Checks the settings and resolves their secrets.
pub(super) fn check_private_keys(
    check: &mut FileCheck<'_>,
    settings: &Settings,
    context: &SecretContext<'_>,
) -> PrivateKeyAccess {
    let pkcs11 = check_pkcs11(check, settings, context);
    let vault_transit = check_vault_transit(check, settings, context);
    if let (Some(token), Some(engine)) = (&pkcs11, &vault_transit) {
        let both = engine.new_keys.iter().any(|purpose| match purpose {
            TransitKeyPurpose::Tokens => token.new_keys.contains(&DeviceKeyPurpose::Tokens),
            TransitKeyPurpose::Assertion => token.new_keys.contains(&DeviceKeyPurpose::Assertion),
            TransitKeyPurpose::RsaEncryption | TransitKeyPurpose::Encryption => {
                token.new_keys.contains(&DeviceKeyPurpose::Encryption)
            }
        });
        if both {
            let message = "names keys that pkcs11.new_keys names too";
            let fix = "let each key be generated in one device; for a device that you leave, write new_keys = []";
            check.report("vault_transit.new_keys", message, fix);
        }
    }
    let passphrase = read_passphrase(check.source, settings, context);
    let passphrase = check.collect(passphrase).flatten();
    let is_protected = settings.key_passphrase.is_some()
        || settings.pkcs11.is_some()
        || settings.vault_transit.is_some();
    let plain_key_files = settings.plain_key_files;
    if plain_key_files == PlainKeyFiles::Refused && !is_protected {
        let message = "is \"refused\", and the hub has neither encrypted keys nor a device";
        let fix = "set key_passphrase, add [pkcs11] or [vault_transit], or remove plain_key_files";
        check.report("plain_key_files", message, fix);
    }
    let is_scheduled = settings.rotate_keys_every_days.is_some();
    if plain_key_files == PlainKeyFiles::Refused
        && is_scheduled
        && settings.key_passphrase.is_none()
        && !pkcs11.as_ref().is_some_and(|token| generates_all(token, vault_transit.as_ref()))
    {
        let message = "is set, and new keys would be in files that are not encrypted, which plain_key_files refuses";
        let fix = "set key_passphrase, or let devices generate every key by new_keys";
        check.report("rotate_keys_every_days", message, fix);
    }
    PrivateKeyAccess { passphrase, pkcs11, vault_transit, plain_key_files }
}

/// Returns whether no new key is in a file. A Vault server has no keys for ECDH-ES.
fn generates_all(token: &Pkcs11Access, engine: Option<&VaultTransitAccess>) -> bool {
    let in_engine = |purpose| engine.is_some_and(|engine| engine.new_keys.contains(&purpose));
    token.new_keys.contains(&DeviceKeyPurpose::Encryption)
        && (token.new_keys.contains(&DeviceKeyPurpose::Tokens)
            || in_engine(TransitKeyPurpose::Tokens))
        && (token.new_keys.contains(&DeviceKeyPurpose::Assertion)
            || in_engine(TransitKeyPurpose::Assertion))
}

/// Reads the passphrase of key files.
///
/// # Errors
/// Returns a diagnostic if it is missing or too short.
pub(super) fn read_passphrase(
    source: &SourceFile,
    settings: &Settings,
    context: &SecretContext<'_>,
) -> Result<Option<Secret<String>>, Diagnostic> {
    let Some(reference) = &settings.key_passphrase else { return Ok(None) };
    let passphrase = secrets::resolve_secret(source, "key_passphrase", reference, context)?;
    if passphrase.reveal().chars().count() < MIN_PASSPHRASE_CHARS {
        let fix = "use at least 20 characters, for example from `openssl rand -base64 32`";
        return Err(source.diagnostic("key_passphrase", "references a short passphrase", fix));
    }
    Ok(Some(passphrase))
}
