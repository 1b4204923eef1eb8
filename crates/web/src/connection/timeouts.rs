//! The timeouts of the phases of a connection.

use std::time::Duration;

/// Timeouts of the phases of a connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionTimeouts {
    /// From the first byte of a request head to its last.
    pub head: Duration,
    /// Between two requests and before the first.
    pub idle: Duration,
    /// From the end of a head to the last byte of its body.
    pub body: Duration,
    /// From the first byte that can't be sent until everything is sent. Also set as
    /// `TCP_USER_TIMEOUT` (RFC 5482): how long the system keeps data that the peer does not
    /// acknowledge, also after the connection is closed.
    pub write: Duration,
    /// After the last response, for a peer that still sends.
    pub linger: Duration,
}

impl ConnectionTimeouts {
    /// Returns the default timeouts for a request timeout of `request`.
    pub const fn for_request_timeout(request: Duration) -> Self {
        const FIVE: Duration = Duration::from_secs(5);
        Self {
            head: FIVE,
            idle: FIVE,
            // The handler's own deadline passes first and produces a response.
            body: request.saturating_add(FIVE),
            write: Duration::from_secs(30),
            linger: Duration::from_secs(1),
        }
    }

    /// Returns the shortest timeout, the interval at which a connection is checked.
    pub(super) fn shortest(&self) -> Duration {
        self.head.min(self.idle).min(self.body).min(self.write)
    }
}
