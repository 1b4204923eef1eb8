//! Implements the circuit of one identity provider: whether browsers are sent to it. It has no
//! clock.
//!
//! ```text
//! closed ── failed probes, or failed logins from several networks ──▶ open
//! open ── the probe that opened it succeeds ──▶ closed
//! open ── logins opened it, its minimum time is over, and its documents can be fetched ──▶ half-open
//! half-open ── a login succeeds, or ten minutes pass ──▶ closed
//! half-open ── logins from several networks fail ──▶ open, for twice the minimum time
//! ```

use std::time::Duration;

use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_protocol::env::Timestamp;

/// Minimum time for which failed logins open the circuit; each reopening doubles it.
pub(super) const MIN_OPEN_TIME: Duration = Duration::from_secs(10);
/// Maximum open time, however often the circuit reopens.
pub(super) const MAX_OPEN_TIME: Duration = Duration::from_secs(60);
/// Time after which a half-open circuit closes without a quorum of failures.
pub(super) const HALF_OPEN_TIMEOUT: Duration = Duration::from_secs(600);

/// Kind of call to an identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallKind {
    /// A browser is redirected to it.
    BeginLogin,
    /// A browser came back with a callback.
    CompleteLogin,
    /// A password is checked for a page of the hub.
    SignIn,
    /// A browser logs out there.
    EndSession,
    /// Documents are fetched before the first login.
    Preload,
    /// The hub fetches its documents to see whether it works.
    Probe,
}

impl CallKind {
    /// Returns whether the call completes a user's login (a callback or a password), so that its
    /// outcome counts as a success or failure of logins.
    pub(super) const fn is_login(self) -> bool {
        matches!(self, Self::CompleteLogin | Self::SignIn)
    }

    /// Returns whether the call can have waited for the identity provider. Most redirects are built
    /// from documents that the hub has, within microseconds, or milliseconds on a busy machine.
    pub(super) fn waits_for_provider(self, took: Duration) -> bool {
        !matches!(self, Self::BeginLogin | Self::EndSession) || took >= Duration::from_millis(20)
    }
}

/// What opened the circuit, and so what can close it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpenCause {
    /// The probe of its documents failed.
    Documents,
    /// Logins from several networks failed.
    Logins,
}

impl OpenCause {
    /// Returns the label of the cause, for logs.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Logins => "logins",
        }
    }
}

/// A circuit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Circuit {
    phase: Phase,
    /// Counts changes: a call from before a change has no effect after it.
    epoch: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    #[default]
    Closed,
    Open {
        since: Timestamp,
        open_time: Duration,
        cause: OpenCause,
    },
    HalfOpen {
        since: Timestamp,
        open_time: Duration,
    },
}

impl Circuit {
    /// Returns the number of changes so far.
    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the state at this time.
    pub(super) fn state(&self, now: Timestamp) -> CircuitState {
        match self.phase {
            Phase::Closed => CircuitState::Closed,
            Phase::Open { .. } => CircuitState::Open,
            Phase::HalfOpen { since, .. } if is_within(since, HALF_OPEN_TIMEOUT, now) => {
                CircuitState::HalfOpen
            }
            Phase::HalfOpen { .. } => CircuitState::Closed,
        }
    }

    /// Returns what keeps the circuit open; `None` if it isn't.
    pub(super) const fn cause(&self) -> Option<OpenCause> {
        match self.phase {
            Phase::Open { cause, .. } => Some(cause),
            Phase::Closed | Phase::HalfOpen { .. } => None,
        }
    }

    /// Opens the circuit, unless it is open.
    pub(super) fn open(&mut self, cause: OpenCause, now: Timestamp) {
        let open_time = match self.phase {
            Phase::Open { .. } => return,
            Phase::HalfOpen { since, open_time } if is_within(since, HALF_OPEN_TIMEOUT, now) => {
                (open_time * 2).min(MAX_OPEN_TIME)
            }
            Phase::HalfOpen { .. } | Phase::Closed => MIN_OPEN_TIME,
        };
        self.enter_phase(Phase::Open { since: now, open_time, cause });
    }

    /// Closes the circuit.
    pub(super) fn close(&mut self) {
        if !matches!(self.phase, Phase::Closed) {
            self.enter_phase(Phase::Closed);
        }
    }

    /// Half-opens a circuit that failed logins opened, after its minimum time: only further logins
    /// can show whether the identity provider completes logins again.
    pub(super) fn half_open_after_minimum_time(&mut self, now: Timestamp) {
        let Phase::Open { since, open_time, cause: OpenCause::Logins } = self.phase else { return };
        if !is_within(since, open_time, now) {
            self.enter_phase(Phase::HalfOpen { since: now, open_time });
        }
    }

    fn enter_phase(&mut self, state: Phase) {
        self.phase = state;
        self.epoch += 1;
    }
}

/// Returns whether `at` is less than `long` ago; false if the clock was set back.
pub(super) fn is_within(at: Timestamp, long: Duration, now: Timestamp) -> bool {
    at <= now && now.since(at) < long
}
