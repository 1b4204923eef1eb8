//! Builds the devices that hold private keys from `[pkcs11]` and `[vault_transit]`, watches them, and
//! checks them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::build_error::BuildError;
use passerelle_config::model::{PlainKeyFiles, TransitKeyPurpose};
use passerelle_config::{PrivateKeyAccess, VaultTransitAccess};
use passerelle_jose::block_on::block_on_thread;
use passerelle_jose::decryption_key::{DecryptionKey, DecryptionTrialError};
use passerelle_jose::device_credential::DeviceCredential;
use passerelle_jose::guarded_device::watch_device;
use passerelle_jose::key_device::{DeviceKeyGenerator, KeyDevice, KeyDeviceError};
use passerelle_jose::key_passphrase::KeyPassphrase;
use passerelle_jose::keyfiles::{KeyFolder, KeyPurpose, NewDeviceKeys};
use passerelle_jose::vault_transit::{TransitKeyGenerator, TransitOptions, VaultTransitDevice};
use passerelle_jose::{Keyring, RelyingPartyKeys, SignatureError, SigningKey};
use passerelle_protocol::env::Timestamp;
use passerelle_telemetry::{CheckFinding, Metrics};

/// A configured device.
struct OpenDevice {
    device: Arc<dyn KeyDevice>,
    generator: Arc<dyn DeviceKeyGenerator>,
    new_keys: Vec<KeyPurpose>,
}

/// The devices that hold private keys, and the passphrase of those in files; nothing if all are in
/// files that are not encrypted.
#[derive(Clone, Default)]
pub struct HubKeyDevices {
    devices: Arc<Vec<OpenDevice>>,
    passphrase: Option<Arc<KeyPassphrase>>,
    refuses_plain_keys: bool,
}

impl HubKeyDevices {
    /// Opens the configured devices. Does not call them.
    ///
    /// # Errors
    /// Returns an error if the module of `[pkcs11]` can't be loaded, or TLS to the server of
    /// `[vault_transit]` can't be set up.
    pub fn open(
        access: &PrivateKeyAccess,
        metrics: Option<&Arc<Metrics>>,
    ) -> Result<Self, BuildError> {
        let mut devices = Vec::new();
        #[cfg(feature = "pkcs11")]
        if let Some(access) = &access.pkcs11 {
            devices.push(pkcs11::open_token(access, metrics)?);
        }
        if let Some(access) = &access.vault_transit {
            devices.push(open_vault_transit(access, metrics)?);
        }
        let passphrase = access.passphrase.clone().map(KeyPassphrase::new).map(Arc::new);
        let refuses_plain_keys = access.plain_key_files == PlainKeyFiles::Refused;
        Ok(Self { devices: Arc::new(devices), passphrase, refuses_plain_keys })
    }

    /// Returns a key folder whose keys may be in the devices.
    pub fn key_folder<'a>(&'a self, folder: &'a Path) -> KeyFolder<'a> {
        let new_keys = |open: &'a OpenDevice| NewDeviceKeys {
            generator: open.generator.as_ref(),
            purposes: &open.new_keys,
        };
        KeyFolder {
            folder,
            passphrase: self.passphrase.clone(),
            refuses_plain_keys: self.refuses_plain_keys,
            devices: self.devices.iter().map(|open| Arc::clone(&open.device)).collect(),
            new_keys: self.devices.iter().map(new_keys).collect(),
        }
    }

    /// Starts the probes of the devices by each key that now signs tokens or assertions. A device with
    /// decryption keys alone is not probed: its next call finds out.
    pub(super) fn start_watch(
        &self,
        ring: &Arc<ArcSwap<Keyring>>,
        upstream: &Arc<ArcSwap<RelyingPartyKeys>>,
        now: impl Fn() -> Timestamp + Clone + 'static,
    ) {
        for OpenDevice { device, .. } in self.devices.iter() {
            let (device, ring, now) = (Arc::clone(device), Arc::clone(ring), now.clone());
            let (upstream, location) = (Arc::clone(upstream), device.location());
            let probe_keys = move || {
                let (ring, upstream, now) = (ring.load(), upstream.load(), now());
                let keys = ring.current_keys(now).chain(upstream.assertion().current_keys(now));
                let keys = keys.filter(|key| key.location() == location);
                keys.filter_map(|key| key.device_key().cloned()).collect()
            };
            actix::spawn(async move { watch_device(device.as_ref(), probe_keys).await });
        }
    }

    /// Returns what the operator has to fix, if a device that now signs tokens has failed.
    pub(super) fn not_ready_reason(&self, ring: &Keyring, now: Timestamp) -> Option<CheckFinding> {
        let mut signing = self.devices.iter().filter(|open| open.signs_tokens(ring, now));
        let failure = signing.find_map(|open| open.device.failure())?;
        Some(CheckFinding::new(
            format!("no login begins, because {failure}"),
            "bring it back; `passerelle check` tries each of its keys, and the hub tries again every second (docs/runbooks.md, PasserelleKeyDeviceCircuitOpen)",
        ))
    }

    /// Returns a finding for each failed device that signs no tokens, because logins that need its
    /// keys fail, and one for each device that may soon fail.
    pub(super) fn device_findings(&self, ring: &Keyring, now: Timestamp) -> Vec<CheckFinding> {
        let others = self.devices.iter().filter(|open| !open.signs_tokens(ring, now));
        let failures = others.filter_map(|open| open.device.failure());
        let finding = |failure| {
            let what = format!("identity providers that need a key of it can't be used: {failure}");
            CheckFinding::new(
                what,
                "bring it back: `passerelle check` tries each of its keys (docs/runbooks.md, PasserelleKeyDeviceCircuitOpen)",
            )
        };
        let warnings = self.devices.iter().filter_map(|open| open.device.warning());
        failures.map(finding).chain(warnings).collect()
    }

    /// Ends the calls of the devices, before the process ends. Blocks, no longer than a call may take.
    pub fn close(&self) {
        for open in self.devices.iter() {
            open.device.close();
        }
    }

    /// Checks that each key of the folder which is in a device signs, or decrypts what its public half
    /// encrypts. Blocks.
    pub(super) fn check_keys(
        &self,
        ring: &Keyring,
        upstream: &RelyingPartyKeys,
        now: Timestamp,
    ) -> Vec<BuildError> {
        let check = |open: &OpenDevice| {
            let location = open.device.location();
            let signing = ring.states(now).into_iter().chain(upstream.assertion().states(now));
            let signing = signing.map(|(key, _)| key).filter(|key| key.location() == location);
            let decryption = upstream.states(now).into_iter().map(|(key, _)| key);
            let decryption = decryption.filter(|key| key.location() == location);
            block_on_thread(check_device(signing.collect(), decryption.collect()))
                .unwrap_or_else(|error| vec![BuildError::KeyDevice(error.to_string())])
        };
        self.devices.iter().flat_map(check).collect()
    }
}

impl OpenDevice {
    /// Returns true if a key of the device signs tokens now.
    fn signs_tokens(&self, ring: &Keyring, now: Timestamp) -> bool {
        ring.current_keys(now).any(|key| key.location() == self.device.location())
    }
}

/// Signs and decrypts with each key of a device, until the device fails: what a further call of it
/// would say is known.
async fn check_device(
    signing: Vec<&SigningKey>,
    decryption: Vec<&DecryptionKey>,
) -> Vec<BuildError> {
    let has_failed = |error: &KeyDeviceError| {
        matches!(error, KeyDeviceError::Unavailable(_) | KeyDeviceError::TimedOut)
    };
    let mut errors = Vec::new();
    for key in signing {
        let Some(device_key) = key.device_key() else { continue };
        match key.sign(b"passerelle").await {
            Ok(_) => {}
            Err(SignatureError::Device(KeyDeviceError::WrongSignature)) => {
                errors.push(BuildError::KeyDevice(format!(
                    "the private key {} is not that of {}",
                    device_key.uri, key.kid
                )));
            }
            Err(error) => {
                errors.push(BuildError::KeyDevice(error.to_string()));
                if matches!(&error, SignatureError::Device(error) if has_failed(error)) {
                    return errors;
                }
            }
        }
    }
    for key in decryption {
        let Err(error) = key.try_in_device().await else { continue };
        errors.push(BuildError::KeyDevice(match &error {
            DecryptionTrialError::Undecryptable { .. } => format!(
                "{error}; if its key file names the wrong key, restore it from a backup, or run \
                 `passerelle keys rotate`"
            ),
            DecryptionTrialError::Device(_) | DecryptionTrialError::Key(_) => error.to_string(),
        }));
        if matches!(&error, DecryptionTrialError::Device(error) if has_failed(error)) {
            break;
        }
    }
    errors
}

fn open_vault_transit(
    access: &VaultTransitAccess,
    metrics: Option<&Arc<Metrics>>,
) -> Result<OpenDevice, BuildError> {
    let options = TransitOptions {
        address: access.address.clone(),
        mount: access.mount.clone(),
        namespace: access.namespace.clone(),
        token: DeviceCredential::new(access.token_file.clone(), access.token.clone()),
        ca: access.ca.as_deref().map(Arc::from),
        timeout: Duration::from_secs(access.timeout_seconds),
    };
    let device = VaultTransitDevice::connect_lazily(&options, metrics.cloned())
        .map_err(|error| BuildError::KeyDevice(error.to_string()))?;
    let purpose = |purpose: &TransitKeyPurpose| match purpose {
        TransitKeyPurpose::Tokens => KeyPurpose::Tokens,
        TransitKeyPurpose::Assertion => KeyPurpose::Assertion,
        TransitKeyPurpose::RsaEncryption | TransitKeyPurpose::Encryption => KeyPurpose::Encryption,
    };
    Ok(OpenDevice {
        device: Arc::new(device),
        generator: Arc::new(TransitKeyGenerator::new(options)),
        new_keys: access.new_keys.iter().map(purpose).collect(),
    })
}

#[cfg(feature = "pkcs11")]
mod pkcs11 {
    use super::{Arc, BuildError, DeviceCredential, Duration, KeyPurpose, Metrics, OpenDevice};
    use passerelle_config::Pkcs11Access;
    use passerelle_config::model::DeviceKeyPurpose;
    use passerelle_jose::pkcs11::{DeviceOptions, Pkcs11Device, Pkcs11Token};

    pub(super) fn open_token(
        access: &Pkcs11Access,
        metrics: Option<&Arc<Metrics>>,
    ) -> Result<OpenDevice, BuildError> {
        let pin = DeviceCredential::new(access.pin_file.clone(), access.pin.clone());
        let token = Arc::new(Pkcs11Token::load(&access.module, &access.token, pin)?);
        let options = DeviceOptions {
            sessions: access.sessions,
            timeout: Duration::from_secs(access.timeout_seconds),
            metrics: metrics.cloned(),
        };
        let device = Arc::new(Pkcs11Device::start(&token, options)?);
        let purpose = |purpose: &DeviceKeyPurpose| match purpose {
            DeviceKeyPurpose::Tokens => KeyPurpose::Tokens,
            DeviceKeyPurpose::Assertion => KeyPurpose::Assertion,
            DeviceKeyPurpose::Encryption => KeyPurpose::Encryption,
        };
        let new_keys = access.new_keys.iter().map(purpose).collect();
        Ok(OpenDevice { device, generator: token, new_keys })
    }
}

#[cfg(test)]
mod tests;
