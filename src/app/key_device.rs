//! Builds the device that holds private keys from `[pkcs11]`, watches it, and checks it.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;

use super::build_error::BuildError;
use crate::config::Pkcs11Access;
use crate::env::Timestamp;
use crate::telemetry::{CheckFinding, Metrics};
use crate::token::Keyring;
use crate::token::keyfiles::KeyFolder;

#[cfg(feature = "pkcs11")]
mod token {
    use std::time::Duration;

    use super::{Arc, BuildError, Metrics, Pkcs11Access};
    use crate::config::model::DeviceKeyPurpose;
    use crate::token::keyfiles::KeyPurpose;
    use crate::token::pkcs11::{DeviceOptions, Pkcs11Device, Pkcs11Token, TokenPin};

    /// The token of `[pkcs11]`.
    pub(super) struct ConfiguredToken {
        pub token: Arc<Pkcs11Token>,
        pub device: Arc<Pkcs11Device>,
        pub new_keys: Vec<KeyPurpose>,
    }

    impl ConfiguredToken {
        pub fn open(
            access: &Pkcs11Access,
            metrics: Option<&Arc<Metrics>>,
        ) -> Result<Self, BuildError> {
            let pin = TokenPin::new(access.pin_file.clone(), access.pin.clone());
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
            Ok(Self { token, device, new_keys: access.new_keys.iter().map(purpose).collect() })
        }
    }
}

/// The device that holds private keys, if one is configured.
#[derive(Clone, Default)]
pub struct HubKeyDevice {
    #[cfg(feature = "pkcs11")]
    token: Option<Arc<token::ConfiguredToken>>,
}

#[cfg(feature = "pkcs11")]
impl HubKeyDevice {
    /// Opens the device of `[pkcs11]`. Makes no call of it.
    ///
    /// # Errors
    /// Returns an error if the module can't be loaded.
    pub fn open(
        access: Option<&Pkcs11Access>,
        metrics: Option<&Arc<Metrics>>,
    ) -> Result<Self, BuildError> {
        let open = |access| token::ConfiguredToken::open(access, metrics).map(Arc::new);
        Ok(Self { token: access.map(open).transpose()? })
    }

    /// Returns a key folder whose keys may be in the device.
    #[must_use]
    pub fn key_folder<'a>(&'a self, folder: &'a Path) -> KeyFolder<'a> {
        use crate::token::key_device::KeyDevice;
        use crate::token::keyfiles::NewDeviceKeys;
        let Some(configured) = self.token.as_deref() else {
            return KeyFolder { folder, device: None, new_keys: None };
        };
        let new_keys =
            NewDeviceKeys { generator: configured.token.as_ref(), purposes: &configured.new_keys };
        let device = Arc::clone(&configured.device) as Arc<dyn KeyDevice>;
        KeyFolder { folder, device: Some(device), new_keys: Some(new_keys) }
    }

    /// Starts the probes of the device.
    pub(super) fn start_watch(
        &self,
        ring: &Arc<ArcSwap<Keyring>>,
        now: impl Fn() -> Timestamp + 'static,
    ) {
        let Some(configured) = &self.token else { return };
        let (device, ring) = (Arc::clone(&configured.device), Arc::clone(ring));
        let probe_key = move || {
            let ring = ring.load();
            let states = ring.states(now());
            states.into_iter().find_map(|(key, _)| Some((key.device_key()?.uri.clone(), key.alg)))
        };
        actix::spawn(async move { device.watch(probe_key).await });
    }

    /// Returns what the operator has to fix, if the device has failed.
    pub(super) fn finding(&self) -> Option<CheckFinding> {
        let failure = self.token.as_ref()?.device.failure()?;
        Some(CheckFinding::new(
            format!("no login begins, because {failure}"),
            "see docs/keys-in-hardware.md; the hub tries again every second",
        ))
    }

    /// Checks that the device logs in, and that each signing key of the folder signs. Blocks.
    ///
    /// # Errors
    /// Returns an error for each key that does not sign.
    pub(super) fn check_keys(&self, ring: &Keyring, now: Timestamp) -> Vec<BuildError> {
        let Some(configured) = &self.token else { return Vec::new() };
        if let Err(error) = configured.token.check_login() {
            return vec![BuildError::KeyDevice(error.to_string())];
        }
        let message = b"passerelle";
        let check = |key: &crate::token::SigningKey| {
            let uri = &key.device_key()?.uri;
            let signature = configured.token.sign(uri, key.alg, message);
            match signature {
                Ok(signature) if key.verifies(message, &signature) => None,
                Ok(_) => Some(BuildError::KeyDevice(format!(
                    "the private key {uri} is not that of {}",
                    key.kid
                ))),
                Err(error) => Some(BuildError::KeyDevice(error.to_string())),
            }
        };
        ring.states(now).into_iter().filter_map(|(key, _)| check(key)).collect()
    }
}

#[cfg(not(feature = "pkcs11"))]
impl HubKeyDevice {
    /// Returns no device: the settings have none in this build.
    ///
    /// # Errors
    /// Never.
    pub fn open(_: Option<&Pkcs11Access>, _: Option<&Arc<Metrics>>) -> Result<Self, BuildError> {
        Ok(Self::default())
    }

    /// Returns a key folder whose keys are in files.
    #[must_use]
    pub fn key_folder<'a>(&'a self, folder: &'a Path) -> KeyFolder<'a> {
        KeyFolder { folder, device: None, new_keys: None }
    }

    pub(super) fn start_watch(&self, _: &Arc<ArcSwap<Keyring>>, _: impl Fn() -> Timestamp) {}

    pub(super) fn finding(&self) -> Option<CheckFinding> {
        None
    }

    pub(super) fn check_keys(&self, _: &Keyring, _: Timestamp) -> Vec<BuildError> {
        Vec::new()
    }
}
