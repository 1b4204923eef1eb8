//! A token: the module that reaches it, its slot, sessions and the login.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::session::UserType;
use cryptoki::slot::Slot;

use super::session::{SessionError, TokenSession};
use crate::device_credential::DeviceCredential;
use crate::key_device::KeyDeviceError;
use passerelle_protocol::digest;

/// Why a module can't be used.
#[derive(thiserror::Error, Debug)]
pub enum Pkcs11ModuleError {
    #[error("{path}: the PKCS#11 module can't be loaded ({cause}); correct pkcs11.module")]
    Load { path: PathBuf, cause: String },
    #[error("the threads of the PKCS#11 sessions can't be started ({0})")]
    Threads(std::io::Error),
}

/// A token, found by its label, and the login to it.
pub struct Pkcs11Token {
    module: Pkcs11,
    label: String,
    pin: DeviceCredential,
    /// Hash of the PIN that the token rejected: it is not tried again, because tokens lock after a
    /// few wrong PINs. Held while logging in, so that sessions don't try one PIN at the same time.
    rejected_pin: Mutex<Option<[u8; 32]>>,
}

impl Pkcs11Token {
    /// Loads the module. Doesn't look for the token yet.
    ///
    /// # Errors
    /// `Load`.
    pub fn load(
        path: &Path,
        label: &str,
        pin: DeviceCredential,
    ) -> Result<Self, Pkcs11ModuleError> {
        let error = |cause: Error| Pkcs11ModuleError::Load {
            path: path.to_owned(),
            cause: cause.to_string(),
        };
        let module = Pkcs11::new(path).map_err(error)?;
        initialize(&module).map_err(error)?;
        Ok(Self { module, label: label.to_owned(), pin, rejected_pin: Mutex::default() })
    }

    /// Opens a session and logs in. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the module, the token or the login fails.
    pub(super) fn connect(&self, access: SessionAccess) -> Result<TokenSession, KeyDeviceError> {
        let unavailable = |error: Error| KeyDeviceError::Unavailable(error.to_string());
        let slot = match self.find_slot() {
            Err(Error::Pkcs11(RvError::CryptokiNotInitialized, _)) => {
                initialize(&self.module).map_err(unavailable)?;
                self.find_slot().map_err(unavailable)?
            }
            slot => slot.map_err(unavailable)?,
        };
        let slot = slot.ok_or_else(|| {
            KeyDeviceError::Unavailable(format!("no slot has a token labelled {:?}", self.label))
        })?;
        let session = match access {
            SessionAccess::ReadOnly => self.module.open_ro_session(slot),
            SessionAccess::ReadWrite => self.module.open_rw_session(slot),
        };
        let session = session.map_err(unavailable)?;
        self.log_in(&session)?;
        Ok(TokenSession::new(session))
    }

    /// Logs in with the PIN, unless the token has rejected this PIN before. The login of one
    /// session holds for all sessions of the process (PKCS#11 §5.6.8).
    fn log_in(&self, session: &cryptoki::session::Session) -> Result<(), KeyDeviceError> {
        let mut rejected = self.rejected_pin.lock().unwrap_or_else(PoisonError::into_inner);
        let pin = self.pin.read_file().unwrap_or_else(|error| {
            tracing::warn!(%error, "trying the PIN that was read at startup, because the file of pkcs11.pin has none");
            self.pin.initial().clone()
        });
        let hash = digest::sha256(pin.reveal().as_bytes());
        if *rejected == Some(hash) {
            let why =
                "the token has rejected the PIN of pkcs11.pin; correct it before the token locks";
            return Err(KeyDeviceError::Unavailable(why.to_owned()));
        }
        let auth_pin = cryptoki::types::AuthPin::from(pin.reveal().as_str());
        match session.login(UserType::User, Some(&auth_pin)) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => {
                *rejected = None;
                Ok(())
            }
            Err(error) => {
                if let Error::Pkcs11(
                    RvError::PinIncorrect
                    | RvError::PinInvalid
                    | RvError::PinLenRange
                    | RvError::PinLocked
                    | RvError::PinExpired,
                    _,
                ) = error
                {
                    *rejected = Some(hash);
                }
                Err(KeyDeviceError::Unavailable(error.to_string()))
            }
        }
    }

    fn find_slot(&self) -> Result<Option<Slot>, Error> {
        for slot in self.module.get_slots_with_token()? {
            // A token may be removed between the two calls.
            let info = self.module.get_token_info(slot);
            if info.is_ok_and(|info| info.label().trim_end_matches(' ') == self.label) {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }
}

/// Kind of a session.
#[derive(Clone, Copy)]
pub(super) enum SessionAccess {
    ReadOnly,
    /// For generating keys.
    ReadWrite,
}

/// Initializes the module, once in a process.
fn initialize(module: &Pkcs11) -> Result<(), Error> {
    match module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
        Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => Ok(()),
        outcome => outcome,
    }
}

impl From<SessionError> for KeyDeviceError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Lost(why) => Self::Unavailable(why),
            SessionError::KeyMissing(uri) => Self::KeyMissing(uri),
            SessionError::Rejected(why) => Self::Rejected(why),
        }
    }
}

/// A token that threads share.
pub type SharedToken = Arc<Pkcs11Token>;
