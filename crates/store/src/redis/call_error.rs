//! Errors of calls to the Redis servers: which are worth a retry, and which mean an outage.

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// Error of a call to the servers.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RedisCallError {
    /// The circuit is open after several failures in a row.
    #[error("not called: the circuit is open after several failures")]
    CircuitOpen,
    /// No connection could be opened.
    #[error("no connection: {0}")]
    Unreachable(String),
    /// The reply took longer than the timeout.
    #[error("no reply in time")]
    Timeout,
    /// The connection broke, or the server is about to change its role. The command may have been
    /// run.
    #[error("connection lost: {0}")]
    ConnectionLost(String),
    /// The server has reached its memory limit.
    #[error("the server is out of memory")]
    OutOfMemory,
    /// The server's configuration is unsafe.
    #[error("{0}")]
    Misconfigured(String),
    /// The server's script cache lacks the script.
    #[error("the server does not know the script")]
    NoScript,
    /// The server rejected the command.
    #[error("the server rejected the command: {0}")]
    Rejected(String),
}

impl RedisCallError {
    /// Returns the label value of the error in metrics.
    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::CircuitOpen => "circuit_open",
            Self::Unreachable(_) => "unreachable",
            Self::Timeout => "timeout",
            Self::ConnectionLost(_) => "connection_lost",
            Self::OutOfMemory => "out_of_memory",
            Self::Misconfigured(_) => "misconfigured",
            Self::NoScript => "no_script",
            Self::Rejected(_) => "rejected",
        }
    }

    /// Returns whether a retry may succeed. Every call can be repeated (see [`super::scripts`]).
    pub(super) const fn is_retryable(&self) -> bool {
        matches!(self, Self::Timeout | Self::ConnectionLost(_))
    }

    /// Returns whether the servers failed, not the command.
    pub(super) const fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Timeout | Self::ConnectionLost(_) | Self::Misconfigured(_)
        )
    }
}

impl From<RedisError> for RedisCallError {
    fn from(error: RedisError) -> Self {
        use ServerErrorKind as S;
        match error.kind() {
            ErrorKind::Server(
                S::ReadOnly
                | S::MasterDown
                | S::ClusterDown
                | S::BusyLoading
                | S::TryAgain
                | S::Moved
                | S::Ask,
            )
            | ErrorKind::ClusterConnectionNotFound
            | ErrorKind::Parse => Self::ConnectionLost(error.to_string()),
            ErrorKind::Server(S::NoScript) => Self::NoScript,
            ErrorKind::Io if error.is_timeout() => Self::Timeout,
            ErrorKind::Io => Self::ConnectionLost(error.to_string()),
            _ => match error.code() {
                Some("OOM") => Self::OutOfMemory,
                // Too few replicas during a failover, a failing disk, or a script that does not
                // end.
                Some("NOREPLICAS" | "UNBLOCKED" | "MISCONF" | "BUSY") => {
                    Self::ConnectionLost(error.to_string())
                }
                _ => Self::Rejected(error.to_string()),
            },
        }
    }
}
