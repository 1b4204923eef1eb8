//! What a connection's socket and the handler of its request tell each other: which part of the exchange is at hand.

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

use super::admission::Slot;
use super::chunked::ChunkScanner;

/// Time for a request body to arrive before its connection may give way to a newcomer, from the end of the head. A peer
/// that announces a body and never sends it would hold its place for the whole of `limits.request_seconds` otherwise.
const BODY_GRACE: Duration = Duration::from_secs(1);

/// The part of an exchange at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Between two requests, since then.
    Idle(Instant),
    /// Some bytes of a head have arrived; the rest must by then.
    Head { until: Instant },
    /// A whole head is given to actix-http, which is about to call the handler.
    Decoding { until: Instant },
    /// The handler has the request since then, and this much of its body is to come.
    Body { left: Body, since: Instant },
    /// The handler has the whole request. Nothing more is read until it is done.
    Answering,
    /// The last answer is out, or no more can be understood. Nothing more is read.
    Closing,
}

/// What of a request body is still to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Body {
    Length(u64),
    Chunked(ChunkScanner),
}

impl Body {
    /// As actix-http reads the headers; it has refused those that contradict each other.
    fn announced(headers: &HeaderMap) -> Option<Self> {
        if headers.contains_key(header::TRANSFER_ENCODING) {
            return Some(Self::Chunked(ChunkScanner::default()));
        }
        let length = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()?;
        Some(Self::Length(length)).filter(|_| length > 0)
    }

    /// Takes the next bytes; returns how many belong to the body, and whether it is complete with them.
    pub fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
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

/// Shared by a socket and the handlers of its requests, on one thread.
pub(super) struct Exchange {
    phase: Cell<Phase>,
    slot: Arc<Slot>,
    /// The socket was asked for bytes, and had some that it kept back.
    starved: Cell<bool>,
}

impl Exchange {
    pub fn new(slot: Arc<Slot>) -> Self {
        Self { phase: Cell::new(Phase::Idle(Instant::now())), slot, starved: Cell::new(false) }
    }

    pub fn phase(&self) -> Phase {
        self.phase.get()
    }

    pub fn enter(&self, phase: Phase) {
        match phase {
            Phase::Decoding { .. } | Phase::Answering => self.slot.set_busy(),
            Phase::Body { since, .. } => self.slot.set_busy_until(since + BODY_GRACE),
            Phase::Idle(_) | Phase::Head { .. } | Phase::Closing => self.slot.set_idle(),
        }
        self.phase.set(phase);
    }

    pub fn starve(&self) {
        self.starved.set(true);
    }

    /// Has the socket read on, if it kept something back.
    pub fn feed(&self) {
        if self.starved.replace(false) {
            self.slot.wake();
        }
    }

    fn begin(&self, headers: &HeaderMap) {
        let body = Body::announced(headers).map(|left| Phase::Body { left, since: Instant::now() });
        self.enter(body.unwrap_or(Phase::Answering));
        self.feed();
    }

    fn end(&self) {
        match self.phase() {
            // An unread body is not drained: its end may never come.
            Phase::Body { .. } => self.enter(Phase::Closing),
            Phase::Answering => self.enter(Phase::Idle(Instant::now())),
            Phase::Idle(_) | Phase::Head { .. } | Phase::Decoding { .. } | Phase::Closing => {}
        }
        self.feed();
    }
}

/// Ends the exchange also where the handler is dropped before it is done.
struct Ending(Rc<Exchange>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs the handler of one request, and closes the connection behind an answer whose request body was not read.
/// Use it as the outermost part of the application; without a connection, as in tests, it changes nothing.
///
/// # Errors
/// The handler's.
pub async fn serve<B: MessageBody + 'static>(
    request: ServiceRequest,
    handle: impl AsyncFnOnce(ServiceRequest) -> Result<ServiceResponse<B>, Error>,
) -> Result<ServiceResponse<B>, Error> {
    let Some(exchange) = request.request().conn_data::<Rc<Exchange>>().map(Rc::clone) else {
        return handle(request).await;
    };
    exchange.begin(request.headers());
    let ending = Ending(Rc::clone(&exchange));
    let answer = handle(request).await;
    let is_unread = matches!(exchange.phase(), Phase::Body { .. });
    drop(ending);
    if is_unread { last(answer) } else { answer }
}

/// Says `Connection: close` (RFC 9112 §9.6).
fn last<B>(answer: Result<ServiceResponse<B>, Error>) -> Result<ServiceResponse<B>, Error> {
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
