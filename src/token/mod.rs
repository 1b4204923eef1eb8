//! L1 · Signed and sealed tokens: the keys that sign them, how they are minted, how anything signed is verified, and how
//! it is sealed to a service provider (decisions 6, 14).
//!
//! Owns: key material and its rotation, the form of ID tokens and signed userinfo. Must not know: who asks for a token
//! and why, stores, HTTP.

pub mod client_keys;
pub mod keyfiles;
pub mod keyring;
pub mod mint;
pub mod seal;
mod signing_key;
pub mod verify;

pub use client_keys::ClientKeys;
pub use keyring::{KeyState, Keyring, KeyringFault};
pub use mint::{Signer, SigningFault};
pub use signing_key::{KeyFault, PrivateJwk, SigningKey};
