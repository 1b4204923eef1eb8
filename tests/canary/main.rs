//! Sends known secrets and identities through every path, and searches every output for them: log
//! lines at TRACE, exported spans, metrics, the audit log, error pages, panics, the output of
//! commands, digests.
//!
//! A separate test binary, because the log subscriber is global. `tests/peers/traces.test.mjs`
//! does the same with a real identity provider and a real register.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod channels;

use passerelle_testkit::harness::{federation, hub, service};
