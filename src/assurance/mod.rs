//! L1 · Honest levels of assurance (`acr`) and authentication methods (`amr`): decisions 8 and 9.
//!
//! Owns: the order of levels, what each platform accepts, what evidence proves. Must not know: HTTP, actors, stores.

pub mod acr;
pub mod amr;

pub use crate::protocol::acr::{Level, Platform};
