//! Test doubles: an identity provider that answers the requests of a hub.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod encryption;
pub mod fake_identity_provider;
mod key_pair;

pub use key_pair::KeyPair;
