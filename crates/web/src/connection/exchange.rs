//! The state that a connection's socket and the handler of its request share: the phase of the
//! exchange.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::ConnectionType;
use actix_web::http::header::{self, HeaderMap};
use tokio::time::Instant;

use super::admission::ConnectionSlot;
use super::chunked::ChunkScanner;
use passerelle_protocol::field_value::trim_ows;

/// Time after the end of a head during which a connection that waits for its body is not evicted. A
/// peer that never sends the announced body can't hold its connection for all of
/// `limits.request_seconds`.
const BODY_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Phase of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ExchangePhase {
    /// Between two requests, since this time.
    Idle(Instant),
    /// Part of a head has arrived; the rest must arrive by `until`.
    Head { until: Instant },
    /// actix-http has a whole head and is about to call the handler.
    Decoding { until: Instant },
    /// The handler has the request since `since`; `left` of its body has yet to arrive.
    Body { left: RemainingBody, since: Instant },
    /// The handler has the whole request. Nothing more is read until it finishes.
    Answering,
    /// The last response is sent, or the input is invalid. Nothing more is read.
    Closing,
}

/// The part of a request body that has yet to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RemainingBody {
    Length(u64),
    Chunked(ChunkScanner),
}

impl RemainingBody {
    /// Reads the headers as actix-http does, which has rejected contradictory ones.
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        if headers.contains_key(header::TRANSFER_ENCODING) {
            return Some(Self::Chunked(ChunkScanner::default()));
        }
        let length = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?;
        let length = trim_ows(length).parse().ok()?;
        Some(Self::Length(length)).filter(|_| length > 0)
    }

    /// Takes the next bytes. Returns how many belong to the body, and whether it is then complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        match self {
            Self::Length(left) => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= taken as u64;
                (taken, *left == 0)
            }
            Self::Chunked(scanner) => {
                scanner.scan(bytes).map_or((bytes.len(), false), |end| (end, true))
            }
        }
    }
}

/// State shared by a socket and the handlers of its requests, on one thread.
pub(super) struct HttpExchange {
    phase: Cell<ExchangePhase>,
    slot: Arc<ConnectionSlot>,
    /// actix-http asked for bytes that the socket deferred.
    read_deferred: Cell<bool>,
}

impl HttpExchange {
    /// Creates the state of a new connection.
    pub(super) fn new(slot: Arc<ConnectionSlot>) -> Self {
        Self {
            phase: Cell::new(ExchangePhase::Idle(Instant::now())),
            slot,
            read_deferred: Cell::new(false),
        }
    }

    /// Returns the current phase.
    pub(super) fn phase(&self) -> ExchangePhase {
        self.phase.get()
    }

    /// Changes the phase, and with it whether the connection can be evicted.
    pub(super) fn enter_phase(&self, phase: ExchangePhase) {
        match phase {
            ExchangePhase::Decoding { .. } | ExchangePhase::Answering => self.slot.set_busy(),
            ExchangePhase::Body { since, .. } => {
                self.slot.set_busy_until(since + BODY_GRACE_PERIOD);
            }
            ExchangePhase::Idle(_) | ExchangePhase::Head { .. } | ExchangePhase::Closing => {
                self.slot.set_idle();
            }
        }
        self.phase.set(phase);
    }

    /// Records that the socket deferred a read.
    pub(super) fn defer_read(&self) {
        self.read_deferred.set(true);
    }

    /// Wakes the connection if it deferred a read.
    pub(super) fn resume_deferred_read(&self) {
        if self.read_deferred.replace(false) {
            self.slot.wake();
        }
    }

    fn begin_request(&self, headers: &HeaderMap) {
        let body = RemainingBody::from_headers(headers)
            .map(|left| ExchangePhase::Body { left, since: Instant::now() });
        self.enter_phase(body.unwrap_or(ExchangePhase::Answering));
        self.resume_deferred_read();
    }

    fn end_request(&self) {
        match self.phase() {
            // An unread body is not drained: it may never end.
            ExchangePhase::Body { .. } => self.enter_phase(ExchangePhase::Closing),
            ExchangePhase::Answering => self.enter_phase(ExchangePhase::Idle(Instant::now())),
            ExchangePhase::Idle(_)
            | ExchangePhase::Head { .. }
            | ExchangePhase::Decoding { .. }
            | ExchangePhase::Closing => {}
        }
        self.resume_deferred_read();
    }
}

/// Ends the exchange, also if the handler is dropped before it finishes.
struct EndOnDrop(Rc<HttpExchange>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

/// Runs the handler of one request. Closes the connection after the response if the request body
/// was not read, or if the request asks for another protocol.
///
/// Use it as the outermost part of the application. Without a connection, as in tests, it only
/// calls the handler.
///
/// # Errors
/// The handler's error.
pub async fn serve_request<B: MessageBody + 'static>(
    request: ServiceRequest,
    handle: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<B>, Error>,
) -> Result<ServiceResponse<B>, Error> {
    let Some(exchange) = request.request().conn_data::<Rc<HttpExchange>>().map(Rc::clone) else {
        return handle(request).await;
    };
    // The hub ignores `Upgrade` (RFC 9110 §7.8). actix-http would repeat it in the response, and
    // close the connection without saying so.
    let asks_upgrade = request.head().connection_type() == ConnectionType::Upgrade;
    exchange.begin_request(request.headers());
    let ending = EndOnDrop(Rc::clone(&exchange));
    let answer = handle(request).await;
    let is_unread = matches!(exchange.phase(), ExchangePhase::Body { .. });
    drop(ending);
    if is_unread || asks_upgrade { with_connection_close(answer) } else { answer }
}

/// Adds `Connection: close` (RFC 9112 §9.6).
fn with_connection_close<B>(
    answer: Result<ServiceResponse<B>, Error>,
) -> Result<ServiceResponse<B>, Error> {
    match answer {
        Ok(mut answer) => {
            answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
            Ok(answer)
        }
        Err(error) => {
            let mut response = error.error_response();
            response.head_mut().set_connection_type(ConnectionType::Close);
            Err(InternalError::from_response(error, response).into())
        }
    }
}
