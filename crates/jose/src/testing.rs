//! Test doubles and sample data: keys, certificates, key devices and a client with DPoP.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod certificates;
pub mod dpop_client;
pub mod fake_vault;
pub mod sample_keys;
#[cfg(feature = "pkcs11")]
pub mod softhsm;
pub mod vault_server;
