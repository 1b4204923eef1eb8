//! Test doubles and sample data: sample users, and logins in each state.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod samples;
