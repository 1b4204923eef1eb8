//! Test doubles and sample data: the suites that every store passes, and real Redis servers.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod counter_conformance;
pub mod fake_shared_store;
pub mod memory_counters;
#[cfg(feature = "redis")]
pub mod redis_server;
#[cfg(feature = "redis")]
pub mod redis_store;
pub mod store_conformance;
