//! Test doubles and sample data: every page, filled.

#![allow(clippy::pedantic, reason = "tests are tables, and panic where they fail")]

pub mod page_gallery;
