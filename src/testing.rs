//! Test doubles, sample data and the suites that every store and register passes.
//!
//! Only tests and benchmarks compile this module: the crate's own unit tests, and what enables the
//! feature `testing`. Submodules for unit tests only may use development dependencies.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod fuzz_targets;
pub mod harness;

#[cfg(feature = "ldap")]
pub use passerelle_connector::testing::fake_directory;
#[cfg(feature = "openid4vp")]
pub use passerelle_connector::testing::wallet_credentials;
pub use passerelle_connector::testing::{code_store, connectors, fake_idp};
pub use passerelle_egress::testing::fake_server;
pub use passerelle_federation::testing::samples;
#[cfg(feature = "pkcs11")]
pub use passerelle_jose::testing::softhsm;
pub use passerelle_jose::testing::{
    certificates, dpop_client, fake_vault, sample_keys, vault_server,
};
pub use passerelle_protocol::testing::{env, skipped, wait};
#[cfg(feature = "redis")]
pub use passerelle_store::testing::redis_server;
pub use passerelle_store::testing::{counter_conformance, store_conformance};
pub use passerelle_telemetry::testing::captured_log;
