//! Test doubles and sample data: identity providers, directories and wallets, and connectors to them.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod code_store;
pub mod connectors;
#[cfg(feature = "ldap")]
pub mod fake_directory;
pub mod fake_idp;
#[cfg(feature = "openid4vp")]
pub mod wallet_credentials;
