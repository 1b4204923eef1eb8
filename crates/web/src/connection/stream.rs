//! The socket that actix-http reads and writes. It passes on one request at a time, reads nothing
//! while the peer does not read the response, and closes connections that exceed a timeout.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use actix_web::http::header::Date;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::admission::Permit;
use super::exchange::{ExchangePhase, HttpExchange};
use super::head::{HeadScan, HeadScanner};
use super::rejections::{ConnectionRejection, RejectionCounter};
use super::timeouts::ConnectionTimeouts;

/// Bytes that are read and discarded from a peer that sends more after the last response.
const MAX_DISCARDED_BYTES: usize = 256 * 1024;

/// A TCP stream with timeouts and one request at a time.
pub(super) struct GuardedStream {
    socket: TcpStream,
    permit: Permit,
    exchange: Rc<HttpExchange>,
    timeouts: ConnectionTimeouts,
    head: HeadScanner,
    /// Bytes read beyond the current phase.
    read_ahead: Vec<u8>,
    /// Wakes the connection no later than the current deadline. It is reset when it fires, not at
    /// each request.
    alarm: Pin<Box<Sleep>>,
    /// Deadline for the peer to read what is written; set while it does not.
    write_until: Option<Instant>,
    linger: Option<Linger>,
    /// A response is not yet sent completely.
    is_writing: bool,
    rejections: Arc<RejectionCounter>,
}

/// A half-closed connection whose peer still sends. A full close could make the peer lose the
/// response (RFC 9112 §9.6).
struct Linger {
    until: Instant,
    discarded: usize,
}

impl GuardedStream {
    /// Wraps an admitted socket.
    pub(super) fn new(
        socket: TcpStream,
        permit: Permit,
        timeouts: ConnectionTimeouts,
        rejections: Arc<RejectionCounter>,
    ) -> Self {
        let exchange = Rc::new(HttpExchange::new(Arc::clone(&permit.slot)));
        let alarm = Box::pin(sleep_until(Instant::now() + timeouts.shortest()));
        Self {
            socket,
            permit,
            exchange,
            timeouts,
            head: HeadScanner::default(),
            read_ahead: Vec::new(),
            alarm,
            write_until: None,
            linger: None,
            is_writing: false,
            rejections,
        }
    }

    /// Returns the state shared with the handlers.
    pub(super) fn exchange(&self) -> Rc<HttpExchange> {
        Rc::clone(&self.exchange)
    }

    /// Returns the deadline of the current phase.
    fn deadline(&self) -> Option<Instant> {
        let reading = match self.exchange.phase() {
            ExchangePhase::Idle(since) => Some(since + self.timeouts.idle),
            ExchangePhase::Head { until } | ExchangePhase::Decoding { until } => Some(until),
            ExchangePhase::Body { since, .. } => Some(since + self.timeouts.body),
            ExchangePhase::Answering | ExchangePhase::Closing => None,
        };
        let lingering = self.linger.as_ref().map(|linger| linger.until);
        self.write_until.or(lingering).or(reading)
    }

    /// Returns whether the deadline has passed. If not, the connection is woken no later than then.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        while self.alarm.as_mut().poll(cx).is_ready() {
            let (now, deadline) = (Instant::now(), self.deadline());
            if deadline.is_some_and(|deadline| deadline <= now) {
                return true;
            }
            // No later than any deadline that starts after this.
            let next = now + self.timeouts.shortest();
            self.alarm.as_mut().reset(deadline.map_or(next, |deadline| deadline.min(next)));
        }
        false
    }

    /// Closes the connection without waiting for the peer.
    fn abort(&mut self, rejection: ConnectionRejection) -> io::Error {
        self.rejections.record(rejection);
        if self.write_until.is_some() {
            // Otherwise the system keeps unread data for minutes.
            let _best_effort = self.socket.set_zero_linger();
        }
        io::Error::from(ErrorKind::TimedOut)
    }

    /// Responds to an invalid request head, which actix-http never sees whole, and reads no more.
    /// No other write is pending: a head is read only after the previous response is sent.
    fn reject_head(&mut self, status: &'static str, rejection: ConnectionRejection) {
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\ndate: {}\r\ncache-control: no-store\r\n\r\n",
            Date::now()
        );
        let _best_effort = self.socket.try_write(answer.as_bytes());
        self.rejections.record(rejection);
        self.exchange.enter_phase(ExchangePhase::Closing);
    }

    /// Fills `buf` with the available bytes, and keeps those after the first `part` for later.
    fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        part: impl FnOnce(&mut Self, &[u8]) -> usize,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.read_ahead.is_empty() {
            match Pin::new(&mut self.socket).poll_read(cx, buf) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return self.poll_wait(cx),
            }
        } else {
            let taken = self.read_ahead.len().min(buf.remaining());
            buf.put_slice(self.read_ahead.get(..taken).unwrap_or_default());
            self.read_ahead.drain(..taken);
        }
        let fresh = buf.filled().get(before..).unwrap_or_default();
        if fresh.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let end = part(self, fresh).min(fresh.len());
        if let Some(behind) = fresh.get(end..).filter(|behind| !behind.is_empty()) {
            self.read_ahead.splice(..0, behind.iter().copied());
        }
        buf.set_filled(before + end);
        Poll::Ready(Ok(()))
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = self.poll_part(cx, buf, |stream, bytes| {
            let until = match stream.exchange.phase() {
                ExchangePhase::Head { until } => until,
                _ => Instant::now() + stream.timeouts.head,
            };
            match stream.head.scan(bytes) {
                HeadScan::Complete(end) => {
                    stream.exchange.enter_phase(ExchangePhase::Decoding { until });
                    end
                }
                HeadScan::Incomplete => {
                    stream.exchange.enter_phase(ExchangePhase::Head { until });
                    bytes.len()
                }
                HeadScan::RequestLineTooLong => {
                    stream.reject_head("414 URI Too Long", ConnectionRejection::Malformed);
                    0
                }
                HeadScan::FieldNameTooLong => {
                    stream.reject_head(
                        "431 Request Header Fields Too Large",
                        ConnectionRejection::FieldNameTooLong,
                    );
                    0
                }
                HeadScan::TooLong => {
                    stream.reject_head(
                        "431 Request Header Fields Too Large",
                        ConnectionRejection::Malformed,
                    );
                    0
                }
            }
        });
        let is_begun = matches!(self.exchange.phase(), ExchangePhase::Head { .. });
        if polled.is_ready() && is_begun && self.is_late(cx) { self.poll_late() } else { polled }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_part(cx, buf, |stream, bytes| {
            let ExchangePhase::Body { mut left, since } = stream.exchange.phase() else {
                return bytes.len();
            };
            let (taken, is_whole) = left.take(bytes);
            stream.exchange.enter_phase(if is_whole {
                ExchangePhase::Answering
            } else {
                ExchangePhase::Body { left, since }
            });
            taken
        })
    }

    /// Waits until the handler, another thread or the alarm wakes the connection.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.permit.slot.register_waker(cx.waker());
        if self.is_late(cx) { self.poll_late() } else { Poll::Pending }
    }

    /// Waits and, if there is something to read, defers that until the response is sent.
    fn poll_deferred(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let has_bytes = !self.read_ahead.is_empty() || self.socket.poll_read_ready(cx).is_ready();
        if has_bytes || self.permit.slot.is_evicted() {
            self.exchange.defer_read();
        }
        self.poll_wait(cx)
    }

    /// Closes a connection after its deadline: actix-http sees an end of input.
    fn poll_late(&mut self) -> Poll<io::Result<()>> {
        match self.exchange.phase() {
            _ if self.write_until.is_some() => {
                return Poll::Ready(Err(self.abort(ConnectionRejection::SlowWrite)));
            }
            ExchangePhase::Head { .. } | ExchangePhase::Decoding { .. } => {
                self.reject_head("408 Request Timeout", ConnectionRejection::SlowHead);
            }
            ExchangePhase::Body { .. } => {
                return Poll::Ready(Err(self.abort(ConnectionRejection::SlowBody)));
            }
            ExchangePhase::Idle(_) | ExchangePhase::Answering | ExchangePhase::Closing => {}
        }
        Poll::Ready(Ok(()))
    }

    /// Returns whether the peer may still be sending.
    fn may_receive_more(&self) -> bool {
        matches!(
            self.exchange.phase(),
            ExchangePhase::Head { .. } | ExchangePhase::Decoding { .. } | ExchangePhase::Closing
        ) || !self.read_ahead.is_empty()
    }

    /// Reads and discards what the peer sends, for a bounded time and number of bytes.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        loop {
            let mut buf = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    let Some(linger) = &mut self.linger else { return Poll::Ready(()) };
                    linger.discarded += buf.filled().len();
                    if linger.discarded > MAX_DISCARDED_BYTES {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    self.permit.slot.register_waker(cx.waker());
                    let is_over = self.permit.slot.is_evicted() || self.is_late(cx);
                    return if is_over { Poll::Ready(()) } else { Poll::Pending };
                }
            }
        }
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        // A response that is ready is sent before an evicted connection is closed.
        let has_response = stream.is_writing && stream.write_until.is_none();
        if stream.permit.slot.is_evicted() && !has_response {
            return Poll::Ready(Err(stream.abort(ConnectionRejection::Evicted)));
        }
        match stream.exchange.phase() {
            ExchangePhase::Body { .. } => stream.poll_body(cx, buf),
            ExchangePhase::Closing => Poll::Ready(Ok(())),
            ExchangePhase::Decoding { .. } | ExchangePhase::Answering => stream.poll_deferred(cx),
            // No further request is served to a peer that does not read its response.
            ExchangePhase::Idle(_) | ExchangePhase::Head { .. } if stream.is_writing => {
                stream.poll_deferred(cx)
            }
            ExchangePhase::Idle(_) | ExchangePhase::Head { .. } => stream.poll_head(cx, buf),
        }
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        let is_first = !std::mem::replace(&mut stream.is_writing, true);
        // Only if a handler has responded: actix-http loses the error of a request that it rejects
        // if that response has to wait.
        if is_first && matches!(stream.exchange.phase(), ExchangePhase::Idle(_)) {
            // The other tasks that are ready run first. Then their responses are sent one after the
            // other, while the processor has the code for it in its caches.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match Pin::new(&mut stream.socket).poll_write(cx, bytes) {
            Poll::Ready(Ok(written)) => {
                if written == bytes.len() {
                    stream.is_writing = false;
                    if stream.write_until.take().is_some() {
                        stream.permit.slot.set_write_blocked(false);
                    }
                    stream.exchange.resume_deferred_read();
                }
                Poll::Ready(Ok(written))
            }
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => {
                if stream.write_until.is_none() {
                    stream.write_until = Some(Instant::now() + stream.timeouts.write);
                    stream.permit.slot.set_write_blocked(true);
                }
                stream.permit.slot.register_waker(cx.waker());
                match stream.permit.slot.is_evicted() {
                    true => Poll::Ready(Err(stream.abort(ConnectionRejection::Evicted))),
                    false if stream.is_late(cx) => {
                        Poll::Ready(Err(stream.abort(ConnectionRejection::SlowWrite)))
                    }
                    false => Poll::Pending,
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        if stream.linger.is_none() {
            ready!(Pin::new(&mut stream.socket).poll_shutdown(cx))?;
            if !stream.may_receive_more() {
                return Poll::Ready(Ok(()));
            }
            let until = Instant::now() + stream.timeouts.linger;
            stream.exchange.enter_phase(ExchangePhase::Closing);
            stream.linger = Some(Linger { until, discarded: 0 });
            stream.alarm.as_mut().reset(until);
        }
        stream.poll_discard(cx).map(Ok)
    }
}
