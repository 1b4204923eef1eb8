//! Limits the TCP connections of a listener: their number, and their time per phase
//! (docs/limits.md, "Connections").
//!
//! Responsible for the limits that actix-http lacks: a timeout for each request head, body and
//! write; one request at a time per connection; a maximum of connections in total and per peer.
//!
//! | file | holds |
//! |---|---|
//! | [`admission`] | the permits: the number of connections, and the eviction of idle ones |
//! | `stream` | the socket that actix-http reads and writes |
//! | `head` | finds the end of a request head and overlong field names |
//! | `chunked` | finds the end of a chunked body |
//! | `exchange` | state shared by the socket and the request's handler |
//! | `rejections` | counts rejected connections, with one log line per second |
//! | `server` | the listener |
//! | `timeouts` | the timeouts |

pub mod admission;
pub mod chunked;
mod exchange;
pub mod head;
mod rejections;
mod server;
mod stream;
mod timeouts;

pub use self::exchange::serve_request;
pub use self::server::{EXTRA_CONNECTIONS_PER_ARBITER, ServerConfig, build_server};
pub use self::timeouts::ConnectionTimeouts;

#[cfg(test)]
mod tests;
