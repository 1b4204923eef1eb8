//! Test doubles and sample data: the suites that every store passes, and real Redis servers.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod counter_conformance;
pub mod fake_shared_store;
#[cfg(feature = "redis")]
pub mod redis_server;
#[cfg(feature = "redis")]
pub mod redis_store;
pub mod store_conformance;
