//! Logs and counts connections that are rejected before a request exists: one log line per second
//! and reason, with a count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use actix_http::error::DispatchError;

use passerelle_protocol::catalogue::ErrorCode;
use passerelle_telemetry::{Listener, Metrics, at_level};

/// Interval between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why a connection is rejected, or closed before its peer has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ConnectionRejection {
    /// The bytes are not HTTP/1 (400), or the request line (414) or the head (431) is too
    /// large.
    Malformed,
    /// A field name is too long (431).
    FieldNameTooLong,
    SlowHead,
    SlowBody,
    SlowWrite,
    /// It was idle and was evicted for a new connection.
    Evicted,
    /// The listener has reached its connection limit.
    Full,
    /// Its peer or network has reached its connection limit.
    PeerFull,
    /// actix-http failed.
    Failed,
}

impl ConnectionRejection {
    const ALL: [Self; 9] = [
        Self::Malformed,
        Self::FieldNameTooLong,
        Self::SlowHead,
        Self::SlowBody,
        Self::SlowWrite,
        Self::Evicted,
        Self::Full,
        Self::PeerFull,
        Self::Failed,
    ];

    /// Returns the reason that ended a connection; `None` if the peer disconnected.
    pub(super) fn from_dispatch(error: &DispatchError) -> Option<Self> {
        match error {
            DispatchError::Parse(_) => Some(Self::Malformed),
            DispatchError::Io(_)
            | DispatchError::SlowRequestTimeout
            | DispatchError::DisconnectTimeout
            | DispatchError::HandlerDroppedPayload => None,
            _ => Some(Self::Failed),
        }
    }

    const fn code(self) -> ErrorCode {
        match self {
            Self::Malformed => ErrorCode::HttpMalformed,
            Self::FieldNameTooLong => ErrorCode::FieldNameTooLong,
            Self::SlowHead | Self::SlowBody | Self::SlowWrite => ErrorCode::ConnectionSlow,
            Self::Evicted | Self::Full => ErrorCode::ConnectionsFull,
            Self::PeerFull => ErrorCode::PeerConnectionsFull,
            Self::Failed => ErrorCode::Internal,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Malformed => "malformed HTTP rejected",
            Self::FieldNameTooLong => "requests with an overlong field name rejected",
            Self::SlowHead => "connections closed: request head timed out",
            Self::SlowBody => "connections closed: request body timed out",
            Self::SlowWrite => "connections closed: peer did not read the response",
            Self::Evicted => "idle connections evicted for new ones",
            Self::Full => "connections rejected: limit of the listener reached",
            Self::PeerFull => "connections rejected: limit of a peer or network reached",
            Self::Failed => "connections failed",
        }
    }

    /// Returns the label of the rate limit metric, for rejections by a limit.
    const fn limit_label(self) -> Option<&'static str> {
        match self {
            Self::Evicted => Some("idle_connections"),
            Self::Full => Some("connections"),
            Self::PeerFull => Some("connections_per_peer"),
            _ => None,
        }
    }
}

/// Counts the rejections of one listener and logs the counts.
pub(super) struct RejectionCounter {
    listener: Listener,
    metrics: Arc<Metrics>,
    counts: [AtomicU64; ConnectionRejection::ALL.len()],
    /// A log line is scheduled.
    is_due: AtomicBool,
}

impl RejectionCounter {
    /// Creates the counter of a listener.
    pub(super) fn new(listener: Listener, metrics: &Arc<Metrics>) -> Arc<Self> {
        let counts = [const { AtomicU64::new(0) }; ConnectionRejection::ALL.len()];
        Arc::new(Self {
            listener,
            metrics: Arc::clone(metrics),
            counts,
            is_due: AtomicBool::new(false),
        })
    }

    /// Counts a rejection. Must be called on an actix thread.
    pub(super) fn record(self: &Arc<Self>, rejection: ConnectionRejection) {
        if let Some(limit) = rejection.limit_label() {
            self.metrics.record_rate_limited(limit, 1);
        }
        if let Some(count) = self.counts.get(rejection as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if !self.is_due.swap(true, Ordering::AcqRel) {
            let reports = Arc::clone(self);
            actix_web::rt::spawn(async move {
                tokio::time::sleep(LOG_INTERVAL).await;
                reports.is_due.store(false, Ordering::Release);
                reports.log_counts();
            });
        }
    }

    fn log_counts(&self) {
        let listener = self.listener.label();
        for (rejection, count) in ConnectionRejection::ALL.into_iter().zip(&self.counts) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                let message = rejection.message();
                at_level!(rejection.code(), listener, count, "{message}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_telemetry::testing::captured_log::Lines;
    use passerelle_telemetry::{LineFormat, log_dispatch};

    #[test]
    fn each_reason_has_its_own_count() {
        for (index, rejection) in ConnectionRejection::ALL.into_iter().enumerate() {
            assert_eq!(rejection as usize, index);
        }
    }

    #[actix_web::test]
    async fn a_hundred_thousand_malformed_requests_write_one_line_a_second() {
        tokio::time::pause();
        let lines = Lines::default();
        let written = lines.clone();
        let dispatch = log_dispatch(move || written.clone(), LineFormat::Json, "info").unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let reports = RejectionCounter::new(Listener::Public, &Arc::new(Metrics::new().unwrap()));
        for _ in 0..100_000 {
            reports.record(ConnectionRejection::Malformed);
        }
        tokio::time::sleep(LOG_INTERVAL * 2).await;
        reports.record(ConnectionRejection::Malformed);
        tokio::time::sleep(LOG_INTERVAL * 2).await;
        let lines: Vec<serde_json::Value> =
            lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let logged: Vec<_> = lines
            .iter()
            .map(|line| (line["level"].as_str(), line["code"].as_str(), line["count"].as_u64()))
            .collect();
        assert_eq!(
            logged,
            [
                (Some("INFO"), Some("Y500340"), Some(100_000)),
                (Some("INFO"), Some("Y500340"), Some(1))
            ]
        );
    }
}
