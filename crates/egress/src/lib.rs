//! Makes every outgoing call of the hub safe (docs/design/upstream-verification.md).
//!
//! Responsible for the addresses that may be called, the limits of a call in time and size, the
//! caching of fetched documents, and circuit breakers. Does not depend on what is requested, or on
//! the recipient. Begin with [`safe_http_client`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod address_rules;
pub mod ca_bundle;
pub mod cached_document;
mod call_span;
pub mod certificate_expiry;
pub mod circuit_breaker;
pub mod client_identity;
mod content_encoding;
pub mod dialer;
mod dns_resolver;
mod error;
pub mod http_client_pool;
mod public_addresses;
pub mod retry_after;
pub mod safe_http_client;
pub mod system_authorities;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls_provider;
