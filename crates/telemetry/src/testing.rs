//! Test doubles and sample data: the log lines of a test.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod captured_log;
