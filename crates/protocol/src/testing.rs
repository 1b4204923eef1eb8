//! A clock that a test moves, sample requests, and what tests wait for or skip.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod env;
pub mod samples;
pub mod skipped;
pub mod wait;
