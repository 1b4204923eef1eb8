//! What is refused before there is a request: one log line a second for each reason, with a count.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use actix_http::error::DispatchError;

use crate::protocol::catalogue::ErrorCode;
use crate::telemetry::{Listener, Metrics, at_level};

/// Time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Why a connection is refused, or ended before its peer is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It does not speak HTTP/1 (answered 400), or its head is too large (431).
    Malformed,
    /// A field name is too long (431).
    FieldName,
    SlowHead,
    SlowBody,
    SlowWrite,
    /// It was idle, and a newcomer needed its place.
    GaveWay,
    /// All places are taken.
    Full,
    /// All places of its peer or network are taken.
    PeerFull,
    /// actix-http failed.
    Failed,
}

impl Refusal {
    const ALL: [Self; 9] = [
        Self::Malformed,
        Self::FieldName,
        Self::SlowHead,
        Self::SlowBody,
        Self::SlowWrite,
        Self::GaveWay,
        Self::Full,
        Self::PeerFull,
        Self::Failed,
    ];

    /// Returns what ended a connection, where it is worth a line: a peer that has gone is not.
    pub fn from_dispatch(error: &DispatchError) -> Option<Self> {
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
            Self::FieldName => ErrorCode::FieldNameTooLong,
            Self::SlowHead | Self::SlowBody | Self::SlowWrite => ErrorCode::ConnectionSlow,
            Self::GaveWay | Self::Full => ErrorCode::ConnectionsFull,
            Self::PeerFull => ErrorCode::PeerConnectionsFull,
            Self::Failed => ErrorCode::Internal,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Malformed => "malformed HTTP refused",
            Self::FieldName => "requests with an overlong field name refused",
            Self::SlowHead => "connections closed: the request head took too long",
            Self::SlowBody => "connections closed: the request body took too long",
            Self::SlowWrite => "connections closed: the peer did not read the answer",
            Self::GaveWay => "idle connections closed to make room",
            Self::Full => "connections refused: all places are taken",
            Self::PeerFull => "connections refused: all places of one peer or network are taken",
            Self::Failed => "connections failed",
        }
    }

    /// The word of `limited_total`, for those that a limit refuses.
    const fn limit(self) -> Option<&'static str> {
        match self {
            Self::GaveWay => Some("idle_connections"),
            Self::Full => Some("connections"),
            Self::PeerFull => Some("connections_per_peer"),
            _ => None,
        }
    }
}

/// The refusals of one listener.
pub(super) struct Reports {
    listener: Listener,
    metrics: Arc<Metrics>,
    counts: [AtomicU64; Refusal::ALL.len()],
    /// A line is due within the interval.
    is_due: AtomicBool,
}

impl Reports {
    pub fn new(listener: Listener, metrics: &Arc<Metrics>) -> Arc<Self> {
        let counts = [const { AtomicU64::new(0) }; Refusal::ALL.len()];
        Arc::new(Self {
            listener,
            metrics: Arc::clone(metrics),
            counts,
            is_due: AtomicBool::new(false),
        })
    }

    /// Counts one. Must be called on an actix thread.
    pub fn count(self: &Arc<Self>, refusal: Refusal) {
        if let Some(limit) = refusal.limit() {
            self.metrics.limited(limit, 1);
        }
        if let Some(count) = self.counts.get(refusal as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if !self.is_due.swap(true, Ordering::AcqRel) {
            let reports = Arc::clone(self);
            actix_web::rt::spawn(async move {
                tokio::time::sleep(LINE_INTERVAL).await;
                reports.is_due.store(false, Ordering::Release);
                reports.log();
            });
        }
    }

    fn log(&self) {
        let listener = self.listener.label();
        for (refusal, count) in Refusal::ALL.into_iter().zip(&self.counts) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                let message = refusal.message();
                at_level!(refusal.code(), listener, count, "{message}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;
    use crate::telemetry::{LineFormat, lines::tests::Lines, lines_to};

    #[test]
    fn each_reason_has_its_own_count() {
        for (index, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, index);
        }
    }

    #[actix_web::test]
    async fn a_hundred_thousand_malformed_requests_write_one_line_a_second() {
        tokio::time::pause();
        let lines = Lines::default();
        let written = lines.clone();
        let dispatch = lines_to(move || written.clone(), LineFormat::Json, "info").unwrap();
        let _guard = tracing::dispatcher::set_default(&dispatch);
        let reports = Reports::new(
            Listener::Public,
            &Arc::new(Metrics::new(Timestamp::from_seconds(1)).unwrap()),
        );
        for _ in 0..100_000 {
            reports.count(Refusal::Malformed);
        }
        tokio::time::sleep(LINE_INTERVAL * 2).await;
        reports.count(Refusal::Malformed);
        tokio::time::sleep(LINE_INTERVAL * 2).await;
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
