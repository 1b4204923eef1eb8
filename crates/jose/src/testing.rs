//! Test doubles and sample data: keys, certificates, key devices and a client with DPoP.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod certificates;
pub mod dpop_client;
pub mod fake_vault;
pub mod sample_keys;
#[cfg(feature = "pkcs11")]
pub mod softhsm;
pub mod vault_server;
