//! L4 · The TCP connections of a listener: who may open one, what it may hold, and how long it may take
//! (docs/limits.md, "Connections").
//!
//! Responsible for the bounds that actix-http does not have: a time for each request head, body and write; one request at a
//! time from a connection; a number of connections in total and for each peer. Must not know a route or what a request means.
//!
//! | file | holds |
//! |---|---|
//! | [`admission`] | the permits: how many connections there are, and which idle one gives way |
//! | `stream` | the socket that actix-http reads and writes |
//! | `head` | where a request head ends, and whether its field names are too long |
//! | `chunked` | where a chunked body ends |
//! | `exchange` | what the socket and the request's handler tell each other |
//! | `report` | one log line a second for what is refused here |
//! | `server` | the listener itself |

pub mod admission;
mod chunked;
mod exchange;
mod head;
mod report;
mod server;
mod stream;

use std::time::Duration;

pub use self::exchange::serve;
pub use self::server::{Listening, SURPLUS_PER_WORKER, server};

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// From the first byte of a request head to its last.
    pub head: Duration,
    /// Between two requests, and before the first.
    pub idle: Duration,
    /// From the end of a head to the last byte of its body.
    pub body: Duration,
    /// From the first byte that the peer's window refuses until everything written has left. As TCP_USER_TIMEOUT
    /// (RFC 5482) also how long the system keeps what the peer takes nothing of, after the connection is closed too.
    pub write: Duration,
    /// After the last answer, for a peer that still sends.
    pub linger: Duration,
}

impl Timeouts {
    /// Returns the defaults, where a request with its body may take `request`.
    #[must_use]
    pub const fn for_requests_of(request: Duration) -> Self {
        const FIVE: Duration = Duration::from_secs(5);
        Self {
            head: FIVE,
            idle: FIVE,
            // The handler's own deadline comes first, and answers.
            body: request.saturating_add(FIVE),
            write: Duration::from_secs(30),
            linger: Duration::from_secs(1),
        }
    }

    /// Returns the shortest time in which a connection must be looked at.
    fn shortest(&self) -> Duration {
        self.head.min(self.idle).min(self.body).min(self.write)
    }
}

#[cfg(test)]
mod tests;
