//! The program from outside: its commands, and kinds that a test adds by the public interface.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod audit;
mod check;
mod command_line;
mod confinement;
mod connector_check;
mod connector_kind;
mod encrypted_keys;
mod folder;
mod idp;
mod init;
#[cfg(feature = "pkcs11")]
mod key_device;
mod output;
mod plan;
mod progress;
mod restart;
mod service_provider_check;
mod store_kind;
mod vault_transit;
mod wallet_sample;
