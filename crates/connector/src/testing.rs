//! Test doubles and sample data: identity providers, directories and wallets, and connectors to them.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod connectors;
pub mod fake_idp;
