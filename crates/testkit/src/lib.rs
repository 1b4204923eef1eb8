//! For tests and benchmarks that need a whole hub: hubs and browsers in one process, the fuzz
//! targets, and the test doubles of all crates.
//!
//! A test double of one crate's trait is in the module `testing` of that crate. No release build
//! compiles this crate.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod fake_mail;
pub mod fuzz_targets;
pub mod harness;
pub mod visitors_book;

pub use passerelle_connector::testing::{connectors, fake_idp};
pub use passerelle_egress::testing::fake_server;
pub use passerelle_federation::testing::samples;
#[cfg(feature = "pkcs11")]
pub use passerelle_jose::testing::softhsm;
pub use passerelle_jose::testing::{
    certificates, dpop_client, fake_vault, sample_keys, vault_server,
};
#[cfg(feature = "ldap")]
pub use passerelle_ldap::testing::fake_directory;
#[cfg(feature = "openid4vp")]
pub use passerelle_openid4vp::testing::wallet_credentials;
pub use passerelle_protocol::testing::{env, skipped, wait};
#[cfg(feature = "saml")]
pub use passerelle_saml::testing::{encryption, fake_identity_provider};
#[cfg(feature = "redis")]
pub use passerelle_store::testing::redis_server;
pub use passerelle_store::testing::{counter_conformance, store_conformance};
pub use passerelle_telemetry::testing::captured_log;
