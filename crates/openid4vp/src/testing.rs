//! Test doubles: issuers of credentials, and wallets that present them.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod wallet_credentials;
