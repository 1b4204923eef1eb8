//! Whole logins through a whole hub in this process, without sockets.
//!
//! A [`hub::TestHub`] has a clock that the test moves, and sandboxes as identity providers. A
//! [`browser::Browser`] keeps cookies, follows redirects and submits the forms of the pages that it
//! gets, and nothing else.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

pub mod admin;
pub mod audit_log;
pub mod browser;
pub mod concurrent_logout;
pub mod config_files;
pub mod federation;
pub mod hub;
pub mod markup;
pub mod service;
