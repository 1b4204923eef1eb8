//! L1 · Signed tokens: the keys that sign them, how they are minted, how anything signed is verified (decisions 6, 14).
//!
//! Owns: key material and its rotation, the form of ID tokens and signed userinfo. Must not know: who asks for a token
//! and why, stores, HTTP.

pub mod keyfiles;
pub mod keyring;
pub mod mint;
mod signing_key;
pub mod verify;

pub use keyring::{KeyState, Keyring, KeyringFault};
pub use mint::{Signer, SigningFault};
pub use signing_key::{KeyFault, PrivateJwk, SigningKey};
