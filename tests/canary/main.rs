//! Known secrets and identities, sent through every path; and everything that comes out, searched
//! for them: log lines at TRACE, exported spans, metrics, the audit log, error pages, panics,
//! reports of commands, digests.
//!
//! A process of its own: its log is the process's. The tokens of a real identity provider and of a
//! real register are among the peers (`traces.test.mjs`).

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod channels;

use passerelle::testing::harness::{federation, hub, service};
