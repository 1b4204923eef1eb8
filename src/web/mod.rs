//! web.

pub mod pages;
