//! Documents and dashboards, held against the code: what they name exists, and they name all that
//! they should.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod certification;
mod cryptography;
mod dashboards;
mod dependencies;
mod fapi;
mod fapi_identity_providers;
mod links;
mod listed;
mod requirements;
mod security;
