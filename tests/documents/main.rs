//! Documents and dashboards, compared with the code: everything that they name exists, and they name
//! everything that they must.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod audit_log;
mod certification;
mod cryptography;
mod dashboards;
mod dependencies;
mod fapi;
mod fapi_identity_providers;
mod links;
mod release;
mod requirements;
mod security;
mod test_tables;
