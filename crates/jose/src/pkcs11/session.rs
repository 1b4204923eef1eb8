//! The operations of one session with a token. They block.

use std::collections::HashMap;

use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::elliptic_curve::{EcKdf, Ecdh1DeriveParams};
use cryptoki::mechanism::rsa::{PkcsMgfType, PkcsOaepParams, PkcsOaepSource};
use cryptoki::mechanism::{Mechanism, MechanismType};
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;

use crate::device_key_uri::DeviceKeyUri;
use crate::guarded_device::DeviceOperation;
use crate::key_device::OaepHash;
use crate::pkcs11_uri::Pkcs11Uri;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;

/// Length of a secret that two keys on P-256 agree on.
const P256_SECRET_BYTES: u64 = 32;

/// Why an operation failed in this session.
pub(super) enum SessionError {
    /// The session, the login or the token no longer exists. The caller repeats the operation once,
    /// in a new session.
    Lost(String),
    KeyMissing(String),
    /// The device works, and rejects the input.
    Rejected(String),
}

/// A session with its login.
pub(super) struct TokenSession {
    pub session: Session,
    /// Handles are valid in this session only.
    handles: HashMap<Pkcs11Uri, ObjectHandle>,
}

impl TokenSession {
    pub(super) fn new(session: Session) -> Self {
        Self { session, handles: HashMap::new() }
    }

    /// Runs an operation.
    ///
    /// # Errors
    /// `Lost`, `KeyMissing`, `Rejected`.
    pub(super) fn run(&mut self, operation: &DeviceOperation) -> Result<Vec<u8>, SessionError> {
        match operation {
            DeviceOperation::Sign { key, alg, message } => {
                let key = self.find_key(key)?;
                let signature = match alg {
                    SigningAlg::RS256 => self.session.sign(&Mechanism::Sha256RsaPkcs, key, message),
                    // Not every token hashes for ECDSA.
                    SigningAlg::ES256 => {
                        self.session.sign(&Mechanism::Ecdsa, key, &digest::sha256(message))
                    }
                };
                signature.map_err(|error| classify(&error, InputOrigin::Hub))
            }
            DeviceOperation::Decrypt { key, hash, ciphertext } => {
                let key = self.find_key(key)?;
                let (hash, mask) = match hash {
                    OaepHash::Sha1 => (MechanismType::SHA1, PkcsMgfType::MGF1_SHA1),
                    OaepHash::Sha256 => (MechanismType::SHA256, PkcsMgfType::MGF1_SHA256),
                };
                let params = PkcsOaepParams::new(hash, mask, PkcsOaepSource::empty());
                let decrypted =
                    self.session.decrypt(&Mechanism::RsaPkcsOaep(params), key, ciphertext);
                decrypted.map_err(|error| classify(&error, InputOrigin::Untrusted))
            }
            DeviceOperation::Derive { key, peer } => {
                let key = self.find_key(key)?;
                self.derive(key, peer).map_err(|error| classify(&error, InputOrigin::Untrusted))
            }
        }
    }

    /// Agrees on a secret, which leaves the token, and whose object is removed from it.
    fn derive(&self, key: ObjectHandle, peer: &[u8]) -> Result<Vec<u8>, Error> {
        let params = Ecdh1DeriveParams::new(EcKdf::null(), peer);
        let template = [
            Attribute::Class(ObjectClass::SECRET_KEY),
            Attribute::KeyType(KeyType::GENERIC_SECRET),
            Attribute::Token(false),
            Attribute::Sensitive(false),
            Attribute::Extractable(true),
            Attribute::ValueLen(P256_SECRET_BYTES.into()),
        ];
        let secret = self.session.derive_key(&Mechanism::Ecdh1Derive(params), key, &template)?;
        let value = self.session.get_attributes(secret, &[AttributeType::Value]);
        self.session.destroy_object(secret)?;
        match value?.pop() {
            Some(Attribute::Value(value)) => Ok(value),
            _ => Err(Error::InvalidValue),
        }
    }

    fn find_key(&mut self, key: &DeviceKeyUri) -> Result<ObjectHandle, SessionError> {
        let DeviceKeyUri::Pkcs11(key) = key else {
            return Err(SessionError::KeyMissing(key.to_string()));
        };
        if let Some(handle) = self.handles.get(key) {
            return Ok(*handle);
        }
        let template =
            [Attribute::Class(ObjectClass::PRIVATE_KEY), Attribute::Id(key.id().to_vec())];
        let found = self.session.find_objects(&template);
        let found = found.map_err(|error| classify(&error, InputOrigin::Hub))?;
        // Two objects with one id are ambiguous: the hub could sign with the wrong one.
        let [handle] = found.as_slice() else {
            return Err(SessionError::KeyMissing(key.to_string()));
        };
        self.handles.insert(key.clone(), *handle);
        Ok(*handle)
    }
}

/// Who chose the input of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputOrigin {
    Hub,
    /// Anyone can encrypt to the hub's public keys.
    Untrusted,
}

/// Distinguishes a lost session or token from a rejected input. Stops an attacker who sends
/// ciphertexts that don't decrypt from opening the circuit: some modules answer those with
/// unspecific errors.
fn classify(error: &Error, origin: InputOrigin) -> SessionError {
    let text = error.to_string();
    let Error::Pkcs11(code, _) = error else { return SessionError::Lost(text) };
    match code {
        RvError::DataInvalid
        | RvError::DataLenRange
        | RvError::EncryptedDataInvalid
        | RvError::EncryptedDataLenRange
        | RvError::MechanismInvalid
        | RvError::MechanismParamInvalid
        | RvError::KeyFunctionNotPermitted
        | RvError::KeyTypeInconsistent
        | RvError::KeySizeRange
        | RvError::DomainParamsInvalid
        | RvError::PublicKeyInvalid
        | RvError::FunctionNotSupported => SessionError::Rejected(text),
        RvError::GeneralError | RvError::FunctionFailed | RvError::ArgumentsBad
            if origin == InputOrigin::Untrusted =>
        {
            SessionError::Rejected(text)
        }
        _ => SessionError::Lost(text),
    }
}
