//! Test doubles and sample data: the suite that every register passes.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub(crate) mod register_conformance;
