//! The circuit of one identity provider: whether browsers are sent there. A value without a clock.
//!
//! ```text
//! closed ── condemned by probes, or by logins from several networks ──▶ open
//! open ── the probe that condemned it succeeds ──▶ closed
//! open ── logins had condemned it, the pause is over, and the login probe finds no fault ──▶ half-open
//! open ── the login probe had condemned it, and gets an answer that proves neither ──▶ half-open
//! half-open ── a login succeeds, or ten minutes pass ──▶ closed
//! half-open ── logins from several networks fail ──▶ open, for twice the pause
//! ```

use std::time::Duration;

use crate::env::Timestamp;

/// The shortest time in which failed logins keep the circuit open; each reopening doubles it.
pub const FIRST_PAUSE: Duration = Duration::from_secs(10);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A half-open circuit closes after this time without a quorum of failures.
pub const QUIET: Duration = Duration::from_secs(600);

/// What is asked of an identity provider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A browser leaves for it.
    Begin,
    /// A browser is back.
    Complete,
    /// A password was typed on a page of the hub.
    SignIn,
    /// A browser is to log out there.
    End,
    /// Documents are fetched ahead of the first login.
    Warm,
    /// The hub fetches its documents, to see whether it works.
    Probe,
    /// The hub redeems a made-up code, to see whether its token endpoint works.
    LoginProbe,
}

impl Call {
    /// True where only a person's login shows whether it works.
    pub(super) const fn is_a_login(self) -> bool {
        matches!(self, Self::Complete | Self::SignIn)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Closed,
    Open,
    /// It is offered again, and no login has succeeded yet.
    HalfOpen,
}

impl Condition {
    pub const LABELS: [&str; 3] =
        [Self::Closed.label(), Self::Open.label(), Self::HalfOpen.label()];

    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// What people may be told of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    Well,
    /// It was in trouble, and may be tried.
    OnTrial,
    /// It can't be chosen now.
    Failing,
}

/// What condemned an identity provider, and so what can clear it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The probe of its documents failed.
    Documents,
    /// The probe of its token endpoint failed.
    LoginProbe,
    /// Logins from several networks failed.
    Logins,
}

impl Cause {
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::LoginProbe => "token_endpoint",
            Self::Logins => "logins",
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Circuit {
    state: State,
    /// Counts changes, so that a call from before a change has no say after it.
    epoch: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Closed,
    Open {
        since: Timestamp,
        pause: Duration,
        cause: Cause,
    },
    HalfOpen {
        since: Timestamp,
        pause: Duration,
    },
}

impl Circuit {
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    pub fn condition(&self, now: Timestamp) -> Condition {
        match self.state {
            State::Closed => Condition::Closed,
            State::Open { .. } => Condition::Open,
            State::HalfOpen { since, .. } if is_within(since, QUIET, now) => Condition::HalfOpen,
            State::HalfOpen { .. } => Condition::Closed,
        }
    }

    /// Returns what keeps the circuit open; `None` while it isn't.
    pub const fn cause(&self) -> Option<Cause> {
        match self.state {
            State::Open { cause, .. } => Some(cause),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    pub fn open(&mut self, cause: Cause, now: Timestamp) {
        let pause = match self.state {
            State::Open { .. } => return,
            State::HalfOpen { since, pause } if is_within(since, QUIET, now) => {
                (pause * 2).min(LONGEST_PAUSE)
            }
            State::HalfOpen { .. } | State::Closed => FIRST_PAUSE,
        };
        self.change(State::Open { since: now, pause, cause });
    }

    pub fn close(&mut self) {
        if !matches!(self.state, State::Closed) {
            self.change(State::Closed);
        }
    }

    /// Half-opens the circuit after a login probe that found no fault: after the pause where failed logins opened it, at
    /// once where an earlier login probe did.
    pub fn half_open_after_login_probe(&mut self, now: Timestamp) {
        let State::Open { since, pause, cause } = self.state else { return };
        let is_over = match cause {
            Cause::Documents => false,
            Cause::LoginProbe => true,
            Cause::Logins => !is_within(since, pause, now),
        };
        if is_over {
            self.change(State::HalfOpen { since: now, pause });
        }
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

/// True from `at` on for `long`; false where the clock was set back.
pub fn is_within(at: Timestamp, long: Duration, now: Timestamp) -> bool {
    at <= now && now.since(at) < long
}
