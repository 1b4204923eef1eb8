//! Test doubles and sample data: the suite that every register passes.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod register_conformance;
