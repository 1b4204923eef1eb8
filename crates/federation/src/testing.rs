//! Test doubles and sample data: sample users, and logins in each state.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod samples;
