//! Complete logins through a complete hub in the test's process, without sockets.
//!
//! A [`hub::TestHub`] has a manual clock, and sandboxes as identity providers. A
//! [`browser::Browser`] keeps cookies, follows redirects and submits the forms of pages.
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
pub mod config_files;
pub mod federation;
pub mod hub;
mod logouts;
pub mod markup;
pub mod service;
