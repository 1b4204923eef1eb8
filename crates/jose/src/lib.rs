//! Signs, verifies, encrypts and decrypts tokens.
//!
//! Responsible for key material and its rotation, and for the form of ID tokens and signed
//! userinfo. Does not know who asks for a token and why, stores, or HTTP. Begin with [`keyring`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod block_on;
pub mod certificate_signer;
pub mod client_certificate;
pub mod client_keys;
mod content_key;
pub mod decrypt;
pub mod decryption_key;
pub mod device_credential;
pub mod device_key_uri;
pub mod dpop_key;
pub mod dpop_proof;
pub mod encrypt;
pub mod guarded_device;
mod jwe;
pub mod jwt_signer;
pub mod key_device;
pub mod key_passphrase;
pub mod key_type;
pub mod keyfiles;
pub mod keyring;
pub mod logout_token;
#[cfg(feature = "pkcs11")]
pub mod pkcs11;
pub mod pkcs11_uri;
pub mod relying_party_keys;
pub mod response_key;
mod signing_key;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transit_key_uri;
pub mod untrusted_certificate;
pub mod vault_transit;
pub mod verify;

pub use client_keys::ClientKeys;
pub use jwt_signer::{Signer, SigningError};
pub use keyring::{KeyState, Keyring, KeyringError};
pub use relying_party_keys::RelyingPartyKeys;
pub use signing_key::{KeyError, PrivateJwk, SignatureError, SigningKey, generate_ephemeral};
