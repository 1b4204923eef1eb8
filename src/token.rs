//! L1 · Signed and sealed tokens: the keys that sign them, how they are minted, how anything signed is verified, how it
//! is sealed to a service provider, and how what is sealed to the hub is opened (decisions 6, 10, 14).
//!
//! Owns: key material and its rotation, the form of ID tokens and signed userinfo. Must not know: who asks for a token
//! and why, stores, HTTP.

pub mod client_keys;
pub mod decryption_key;
mod jwe;
pub mod keyfiles;
pub mod keyring;
pub mod mint;
pub mod open;
pub mod seal;
mod signing_key;
pub mod upstream_keys;
pub mod verify;

pub use client_keys::ClientKeys;
pub use keyring::{KeyState, Keyring, KeyringFault};
pub use mint::{Signer, SigningFault};
pub use signing_key::{KeyFault, PrivateJwk, SigningKey};
pub use upstream_keys::UpstreamKeys;
