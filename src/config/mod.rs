//! L1 · Typed configuration: parsed once, unknown keys refused, every error with file, key and mend (architecture 9).
//!
//! Owns: the shape and the validity of every configuration file. Must not know: what runs on it.

pub mod model;
