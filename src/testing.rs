//! Test doubles, sample data and the suites that every store and register passes.
//!
//! Only tests and benchmarks compile this module: the crate's own unit tests, and what enables the
//! feature `testing`. Submodules for unit tests only may use development dependencies.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod certificates;
#[cfg(test)]
pub mod code_store;
#[cfg(test)]
pub mod connectors;
#[cfg(test)]
pub mod counter_conformance;
pub mod dpop_client;
#[cfg(feature = "ldap")]
pub mod fake_directory;
#[cfg(test)]
pub mod fake_idp;
pub mod fake_server;
pub mod fake_vault;
pub mod fuzz_targets;
pub mod harness;
#[cfg(test)]
pub mod page_gallery;
pub mod redis_server;
#[cfg(test)]
pub mod register_conformance;
pub mod samples;
#[cfg(feature = "pkcs11")]
pub mod softhsm;
#[cfg(test)]
pub mod store_conformance;
#[cfg(test)]
pub mod vault_server;
#[cfg(feature = "openid4vp")]
pub mod wallet_credentials;

pub use passerelle_protocol::testing::{env, skipped, wait};
