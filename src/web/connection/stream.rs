//! The socket that actix-http reads and writes. It gives one request at a time, reads nothing while the peer does not take
//! the answer, and ends what takes too long.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Timeouts;
use super::admission::Permit;
use super::exchange::{Exchange, Phase};
use super::head::{HeadScanner, Scan};
use super::report::{Refusal, Reports};

/// Bytes that are read, and thrown away, from a peer that sends on after the last answer.
const MAX_DISCARDED: usize = 256 * 1024;

pub(super) struct GuardedStream {
    socket: TcpStream,
    permit: Permit,
    exchange: Rc<Exchange>,
    timeouts: Timeouts,
    head: HeadScanner,
    /// Bytes behind the part of the exchange at hand.
    ahead: Vec<u8>,
    /// Wakes the connection no later than the deadline at hand. It is moved when it fires, not at each request.
    alarm: Pin<Box<Sleep>>,
    /// By when everything written must have left; set while the peer does not take it.
    write_until: Option<Instant>,
    linger: Option<Linger>,
    reports: Arc<Reports>,
}

/// A closed connection whose peer still sends. Closing at once would take the answer from it (RFC 9112 §9.6).
struct Linger {
    until: Instant,
    discarded: usize,
}

impl GuardedStream {
    pub fn new(
        socket: TcpStream,
        permit: Permit,
        timeouts: Timeouts,
        reports: Arc<Reports>,
    ) -> Self {
        let exchange = Rc::new(Exchange::new(Arc::clone(&permit.slot)));
        let alarm = Box::pin(sleep_until(Instant::now() + timeouts.shortest()));
        Self {
            socket,
            permit,
            exchange,
            timeouts,
            head: HeadScanner::default(),
            ahead: Vec::new(),
            alarm,
            write_until: None,
            linger: None,
            reports,
        }
    }

    pub fn exchange(&self) -> Rc<Exchange> {
        Rc::clone(&self.exchange)
    }

    /// Returns the deadline of the part of the exchange at hand.
    fn deadline(&self) -> Option<Instant> {
        let reading = match self.exchange.phase() {
            Phase::Idle(since) => Some(since + self.timeouts.idle),
            Phase::Head { until } | Phase::Decoding { until } => Some(until),
            Phase::Body { since, .. } => Some(since + self.timeouts.body),
            Phase::Answering | Phase::Closing => None,
        };
        let lingering = self.linger.as_ref().map(|linger| linger.until);
        self.write_until.or(lingering).or(reading)
    }

    /// Returns true once the deadline has passed; before, the connection is woken no later than then.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        while self.alarm.as_mut().poll(cx).is_ready() {
            let (now, deadline) = (Instant::now(), self.deadline());
            if deadline.is_some_and(|deadline| deadline <= now) {
                return true;
            }
            // No later than any deadline that begins after this.
            let next = now + self.timeouts.shortest();
            self.alarm.as_mut().reset(deadline.map_or(next, |deadline| deadline.min(next)));
        }
        false
    }

    /// Ends the connection without waiting for the peer.
    fn cut(&mut self, refusal: Refusal) -> io::Error {
        self.reports.count(refusal);
        if self.write_until.is_some() {
            // The system would keep what the peer does not read for minutes.
            let _best_effort = self.socket.set_zero_linger();
        }
        io::Error::from(ErrorKind::TimedOut)
    }

    /// Answers a request head that actix-http never sees whole, and reads no further. Nothing else is being written then:
    /// a head is read only after the answer before it has left.
    fn refuse(&mut self, status: &'static str, refusal: Refusal) {
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\ncache-control: no-store\r\n\r\n"
        );
        let _best_effort = self.socket.try_write(answer.as_bytes());
        self.reports.count(refusal);
        self.exchange.enter(Phase::Closing);
    }

    /// Fills `buf` with what is there, and keeps back what follows the first `part` of it.
    fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        part: impl FnOnce(&mut Self, &[u8]) -> usize,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.ahead.is_empty() {
            match Pin::new(&mut self.socket).poll_read(cx, buf) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return self.wait(cx),
            }
        } else {
            let taken = self.ahead.len().min(buf.remaining());
            buf.put_slice(self.ahead.get(..taken).unwrap_or_default());
            self.ahead.drain(..taken);
        }
        let fresh = buf.filled().get(before..).unwrap_or_default();
        if fresh.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let end = part(self, fresh).min(fresh.len());
        if let Some(behind) = fresh.get(end..).filter(|behind| !behind.is_empty()) {
            self.ahead.splice(..0, behind.iter().copied());
        }
        buf.set_filled(before + end);
        Poll::Ready(Ok(()))
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let polled = self.poll_part(cx, buf, |stream, bytes| {
            let until = match stream.exchange.phase() {
                Phase::Head { until } => until,
                _ => Instant::now() + stream.timeouts.head,
            };
            match stream.head.scan(bytes) {
                Scan::Complete(end) => {
                    stream.exchange.enter(Phase::Decoding { until });
                    end
                }
                Scan::Incomplete => {
                    stream.exchange.enter(Phase::Head { until });
                    bytes.len()
                }
                Scan::FieldNameTooLong => {
                    stream.refuse("431 Request Header Fields Too Large", Refusal::FieldName);
                    0
                }
                Scan::TooLong => {
                    stream.refuse("431 Request Header Fields Too Large", Refusal::Malformed);
                    0
                }
            }
        });
        let is_begun = matches!(self.exchange.phase(), Phase::Head { .. });
        if polled.is_ready() && is_begun && self.is_late(cx) { self.poll_late() } else { polled }
    }

    fn poll_body(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.poll_part(cx, buf, |stream, bytes| {
            let Phase::Body { mut left, since } = stream.exchange.phase() else {
                return bytes.len();
            };
            let (taken, is_whole) = left.take(bytes);
            stream.exchange.enter(if is_whole {
                Phase::Answering
            } else {
                Phase::Body { left, since }
            });
            taken
        })
    }

    /// Has the connection woken by what its handler does, by another thread, and by its alarm.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.permit.slot.register(cx.waker());
        if self.is_late(cx) { self.poll_late() } else { Poll::Pending }
    }

    /// Waits, with something to be read once the handler is done.
    fn keep_back(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() || self.socket.poll_read_ready(cx).is_ready() {
            self.exchange.starve();
        }
        self.wait(cx)
    }

    /// Ends a connection whose time is over: for actix-http, the peer sends no more.
    fn poll_late(&mut self) -> Poll<io::Result<()>> {
        match self.exchange.phase() {
            _ if self.write_until.is_some() => {
                return Poll::Ready(Err(self.cut(Refusal::SlowWrite)));
            }
            Phase::Head { .. } | Phase::Decoding { .. } => {
                self.refuse("408 Request Timeout", Refusal::SlowHead)
            }
            Phase::Body { .. } => return Poll::Ready(Err(self.cut(Refusal::SlowBody))),
            Phase::Idle(_) | Phase::Answering | Phase::Closing => {}
        }
        Poll::Ready(Ok(()))
    }

    /// True where the peer may still be sending.
    fn is_sent_to(&self) -> bool {
        matches!(
            self.exchange.phase(),
            Phase::Head { .. } | Phase::Decoding { .. } | Phase::Closing
        ) || !self.ahead.is_empty()
    }

    /// Reads and throws away what the peer sends on, for a bounded time and a bounded number of bytes.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        loop {
            let mut buf = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.socket).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    let Some(linger) = &mut self.linger else { return Poll::Ready(()) };
                    linger.discarded += buf.filled().len();
                    if linger.discarded > MAX_DISCARDED {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    self.permit.slot.register(cx.waker());
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
        if stream.permit.slot.is_evicted() {
            return Poll::Ready(Err(stream.cut(Refusal::GaveWay)));
        }
        match stream.exchange.phase() {
            Phase::Body { .. } => stream.poll_body(cx, buf),
            Phase::Closing => Poll::Ready(Ok(())),
            Phase::Decoding { .. } | Phase::Answering => stream.keep_back(cx),
            // A peer that does not read its answer gets no further request served.
            Phase::Idle(_) | Phase::Head { .. } if stream.write_until.is_some() => {
                stream.exchange.starve();
                stream.wait(cx)
            }
            Phase::Idle(_) | Phase::Head { .. } => stream.poll_head(cx, buf),
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
        match Pin::new(&mut stream.socket).poll_write(cx, bytes) {
            Poll::Ready(Ok(written)) => {
                if written == bytes.len() && stream.write_until.take().is_some() {
                    stream.permit.slot.set_stuck(false);
                    stream.exchange.feed();
                }
                Poll::Ready(Ok(written))
            }
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => {
                if stream.write_until.is_none() {
                    stream.write_until = Some(Instant::now() + stream.timeouts.write);
                    stream.permit.slot.set_stuck(true);
                }
                stream.permit.slot.register(cx.waker());
                match stream.permit.slot.is_evicted() {
                    true => Poll::Ready(Err(stream.cut(Refusal::GaveWay))),
                    false if stream.is_late(cx) => Poll::Ready(Err(stream.cut(Refusal::SlowWrite))),
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
            if !stream.is_sent_to() {
                return Poll::Ready(Ok(()));
            }
            let until = Instant::now() + stream.timeouts.linger;
            stream.exchange.enter(Phase::Closing);
            stream.linger = Some(Linger { until, discarded: 0 });
            stream.alarm.as_mut().reset(until);
        }
        stream.poll_discard(cx).map(Ok)
    }
}
