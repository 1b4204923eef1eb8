//! Test doubles and sample data: an HTTP server that records its requests.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod fake_server;
