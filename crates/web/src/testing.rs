//! Test doubles and sample data: every page, filled.

#![allow(
    clippy::pedantic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test double fails its test by panicking"
)]

pub mod page_checks;
#[cfg(test)]
pub mod page_gallery;
