//! The commands, from outside: each test runs the program.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod check;
mod connector_check;
mod folder;
mod idp;
mod output;
mod plan;
mod restart;
mod store_kind;
