//! A clock that a test moves, sample requests, and what tests wait for or skip.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod env;
pub mod samples;
pub mod skipped;
pub mod wait;
