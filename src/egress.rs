//! L1 · Makes every outgoing call of the hub safe (docs/design/upstream-verification.md).
//!
//! Responsible for the addresses that may be called, the limits of a call in time and size, the
//! caching of fetched documents, and circuit breakers. Does not know what is requested, or from
//! whom.

pub mod ca_bundle;
pub mod circuit_breaker;
pub mod certificates;
pub mod dialer;
pub mod safe_http_client;
pub mod cached_document;
mod dns_resolver;
mod public_addresses;
pub mod retry_after;
pub mod http_client_pool;
mod call_span;

#[cfg(test)]
pub mod fake_server;
