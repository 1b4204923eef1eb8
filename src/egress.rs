//! L1 · The way out: every call that the hub makes to somebody else's server (decisions 10).
//!
//! Owns: which addresses may be called, how long and how large a call may be, how long a fetched document is believed,
//! when a server that fails is left alone. Must not know: identity providers, registers, service providers, or what is
//! asked of them.

pub mod authorities;
pub mod breaker;
pub mod certificates;
pub mod dial;
pub mod guard;
pub mod kept;
mod lookups;
mod public_addresses;
pub mod retry_after;
pub mod shared;
mod traced;

#[cfg(test)]
pub mod fake;
