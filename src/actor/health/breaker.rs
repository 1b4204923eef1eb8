//! The circuit breaker: an identity provider that fails is left alone for a while, so that people are told at once
//! instead of waiting for nothing, and it can get up again. A small value; every method is told the time.
//!
//! ```text
//! closed ── enough failures in the window ──▶ open ── pause over, or a probe did well ──▶ half-open ──▶ closed
//!                                              ▲ ◀── a trial or a probe failed: twice the pause ──┘   a trial did well
//! ```

use std::time::Duration;

use super::window::Tally;
use crate::env::Timestamp;

/// Fewer failures in a window open nothing: a few people's bad luck.
pub const LEAST: u32 = 5;
/// The first pause; each failed try doubles it.
pub const FIRST_PAUSE: Duration = Duration::from_secs(5);
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many calls may try at once, and how many people in each [`REFILL`], for they may come to type a password in vain.
pub const TRIALS: u32 = 3;
pub const REFILL: Duration = Duration::from_secs(30);
/// Half-open for so long without a failure: nobody comes, and nothing speaks against it any more.
pub const QUIET: Duration = Duration::from_secs(600);
/// The longest that a probe may take; meanwhile nobody else tries.
pub const PROBE_LIMIT: Duration = Duration::from_secs(18);

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
    /// Documents are fetched again, to see whether it is back.
    Probe,
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
    /// Some calls try; all others are spared.
    HalfOpen,
}

impl Condition {
    pub const LABELS: [&str; 3] = [Self::Closed.label(), Self::Open.label(), Self::HalfOpen.label()];

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

/// What would show that it is well again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Proof {
    /// Its documents could not be had: a probe shows.
    Documents,
    /// Logins failed: a probe shows that trying is worth it, and only a login shows more.
    Login,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Breaker {
    state: State,
    /// Counts changes, so that a call from before one has no say after it.
    epoch: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Closed,
    Open {
        until: Timestamp,
        pause: Duration,
        proof: Proof,
        probed_at: Option<Timestamp>,
    },
    HalfOpen {
        since: Timestamp,
        pause: Duration,
        proof: Proof,
        /// Trials that are under way.
        out: u32,
        /// People sent off since `counted_at`.
        begun: u32,
        counted_at: Timestamp,
    },
}

/// The leave to make one call.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    epoch: u64,
    is_trial: bool,
}

impl Breaker {
    pub fn admit(&mut self, call: Call, now: Timestamp) -> Option<Leave> {
        self.let_time_pass(call, now);
        let is_trial = match &mut self.state {
            State::Closed => (call != Call::Probe).then_some(false),
            // It has paused long enough for a logout there, too; what comes of that proves nothing.
            State::Open { .. } if call == Call::End => self.is_paused_out(now).then_some(false),
            State::Open { probed_at, .. } => {
                let is_free = call == Call::Probe && !probed_at.is_some_and(|at| is_within(at, PROBE_LIMIT, now));
                is_free.then(|| *probed_at = Some(now))?;
                Some(false)
            }
            State::HalfOpen { out, begun, counted_at, .. } => match call {
                Call::End => Some(false),
                Call::Warm | Call::Probe => None,
                Call::Begin | Call::Complete | Call::SignIn if *out >= TRIALS => None,
                Call::Begin => {
                    if !is_within(*counted_at, REFILL, now) {
                        (*begun, *counted_at) = (0, now);
                    }
                    (*begun < TRIALS).then(|| {
                        (*begun, *out) = (*begun + 1, *out + 1);
                        true
                    })
                }
                Call::Complete | Call::SignIn => {
                    *out += 1;
                    Some(true)
                }
            },
        }?;
        Some(Leave { epoch: self.epoch, is_trial })
    }

    pub fn succeeded(&mut self, leave: Leave, call: Call, now: Timestamp) {
        if leave.epoch != self.epoch {
            // Asked before the last change: late good news is no proof that it is well now.
            return;
        }
        match self.state {
            State::Closed => {}
            State::Open { pause, proof: Proof::Login, .. } if call == Call::Probe => self.half_open(pause, Proof::Login, now),
            State::Open { proof: Proof::Documents, .. } if call == Call::Probe => self.change(State::Closed),
            State::HalfOpen { .. } if leave.is_trial => self.change(State::Closed),
            State::Open { .. } | State::HalfOpen { .. } => self.returned(leave),
        }
    }

    /// `tally`: the window, this failure included.
    pub fn failed(&mut self, leave: Leave, call: Call, tally: Tally, now: Timestamp) {
        if leave.epoch != self.epoch {
            return;
        }
        let proof_of = |before: Proof| if call.is_a_login() { Proof::Login } else { before };
        match self.state {
            State::Closed => {
                // At least half of all: a busy identity provider has a few failures at any time.
                if tally.ill >= LEAST && tally.ill >= tally.well {
                    let proof = if tally.of_logins > 0 { Proof::Login } else { Proof::Documents };
                    self.open(FIRST_PAUSE, proof, now);
                }
            }
            State::Open { pause, proof, .. } if call == Call::Probe => self.open(longer(pause), proof, now),
            State::HalfOpen { pause, proof, .. } if leave.is_trial => self.open(longer(pause), proof_of(proof), now),
            State::Open { .. } | State::HalfOpen { .. } => {}
        }
    }

    /// The call proved nothing, or was given up.
    pub fn returned(&mut self, leave: Leave) {
        if leave.epoch != self.epoch {
            return;
        }
        match &mut self.state {
            State::HalfOpen { out, .. } if leave.is_trial => *out = out.saturating_sub(1),
            State::Open { probed_at, .. } => *probed_at = None,
            State::HalfOpen { .. } | State::Closed => {}
        }
    }

    pub fn condition(&self, now: Timestamp) -> Condition {
        match self.state {
            State::Closed => Condition::Closed,
            State::HalfOpen { since, .. } if !is_within(since, QUIET, now) => Condition::Closed,
            State::Open { .. } if !self.is_paused_out(now) => Condition::Open,
            State::Open { .. } | State::HalfOpen { .. } => Condition::HalfOpen,
        }
    }

    pub fn standing(&self, now: Timestamp) -> Standing {
        let mut tried = *self;
        match self.condition(now) {
            Condition::Closed => Standing::Well,
            Condition::Open => Standing::Failing,
            // Offered only where it would be let through.
            Condition::HalfOpen if tried.admit(Call::Begin, now).is_some() => Standing::OnTrial,
            Condition::HalfOpen => Standing::Failing,
        }
    }

    /// Halfway through the pause, so that it is known to be back before people may try.
    pub fn probe_in(&self, now: Timestamp) -> Option<Duration> {
        match self.state {
            State::Open { until, pause, .. } => Some(until.since(now).min(pause).saturating_sub(pause / 2)),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    pub fn pause(&self) -> Option<Duration> {
        match self.state {
            State::Open { pause, .. } => Some(pause),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    #[cfg(test)]
    pub fn trials_out(&self) -> u32 {
        match self.state {
            State::HalfOpen { out, .. } => out,
            State::Open { .. } | State::Closed => 0,
        }
    }

    fn let_time_pass(&mut self, call: Call, now: Timestamp) {
        match (self.state, call) {
            (State::HalfOpen { since, .. }, _) if !is_within(since, QUIET, now) => self.change(State::Closed),
            (State::Open { pause, proof, .. }, Call::Begin | Call::Complete | Call::SignIn) if self.is_paused_out(now) => {
                self.half_open(pause, proof, now);
            }
            _ => {}
        }
    }

    /// A probe that is out is waited for.
    fn is_paused_out(&self, now: Timestamp) -> bool {
        match self.state {
            State::Open { until, pause, probed_at, .. } => {
                // Further ahead than any pause: the clock was set back.
                let is_over = now >= until || until.since(now) > pause;
                is_over && !probed_at.is_some_and(|at| is_within(at, PROBE_LIMIT, now))
            }
            State::Closed | State::HalfOpen { .. } => false,
        }
    }

    fn open(&mut self, pause: Duration, proof: Proof, now: Timestamp) {
        self.change(State::Open { until: now + pause, pause, proof, probed_at: None });
    }

    fn half_open(&mut self, pause: Duration, proof: Proof, now: Timestamp) {
        self.change(State::HalfOpen { since: now, pause, proof, out: 0, begun: 0, counted_at: now });
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

/// True from `at` on for `long`; false where the clock was set back.
fn is_within(at: Timestamp, long: Duration, now: Timestamp) -> bool {
    at <= now && now.since(at) < long
}

fn longer(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}
