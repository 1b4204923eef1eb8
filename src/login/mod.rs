//! L1 · The login machine.
pub mod upstream;
