//! L3 · Whose time a login takes: the hub's, an identity provider's, the register's, the person's. It is written down in the
//! login's record, so that it adds up over steps, however long the person thinks between them. What the hub does after a
//! record was last stored is lost when its actor sleeps before the next step: the writing itself, mostly.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::env::Timestamp;
use crate::login::{Effect, Login, Spent, State};
use crate::telemetry::Parts;

/// Who works while an effect is performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    Hub,
    IdentityProvider,
    Register,
}

impl Whose {
    pub const fn of(effect: &Effect) -> Self {
        match effect {
            Effect::Begin(..) | Effect::Complete(..) => Self::IdentityProvider,
            Effect::Identify(_) => Self::Register,
            Effect::Grant(_) | Effect::LookForCode(_) => Self::Hub,
        }
    }
}

/// Runs through one step.
pub(super) struct Clock {
    /// Up to here everything is written down.
    noted: Instant,
    calls: Duration,
    register: Duration,
}

impl Clock {
    /// A browser has come at `now`: until then somebody else had the login.
    pub fn start(login: &mut Login, now: Timestamp) -> Self {
        let ticket = &mut login.ticket;
        let gone_by = micros(now.since(ticket.spent.until.unwrap_or(ticket.opened_at)));
        match &login.state {
            State::Away(_) => ticket.spent.away += gone_by,
            State::Answered(_) | State::Failed(_) => {}
            State::Choosing(_)
            | State::Leaving(_)
            | State::Verifying(_)
            | State::Identifying(_)
            | State::Consenting(_) => {
                ticket.spent.person += gone_by;
            }
        }
        ticket.spent.until = Some(now);
        Self { noted: Instant::now(), calls: Duration::ZERO, register: Duration::ZERO }
    }

    /// Measures an effect.
    pub async fn during<T>(&mut self, whose: Whose, effect: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let outcome = effect.await;
        match whose {
            Whose::Hub => {}
            Whose::IdentityProvider => self.calls += began.elapsed(),
            Whose::Register => self.register += began.elapsed(),
        }
        outcome
    }

    /// Writes down what has been measured since the last time; what was nobody else's was the hub's.
    pub fn note(&mut self, login: &mut Login) {
        let now = Instant::now();
        let since = now.duration_since(self.noted);
        let spent = &mut login.ticket.spent;
        spent.hub += micros(since.saturating_sub(self.calls + self.register));
        spent.calls += micros(self.calls);
        spent.register += micros(self.register);
        // So that the person is not charged with it.
        spent.until = spent.until.map(|until| until + since);
        *self = Self { noted: now, calls: Duration::ZERO, register: Duration::ZERO };
    }
}

pub(super) const fn parts(spent: &Spent) -> Parts {
    Parts {
        hub: Duration::from_micros(spent.hub),
        calls: Duration::from_micros(spent.calls),
        register: Duration::from_micros(spent.register),
        away: Duration::from_micros(spent.away),
        person: Duration::from_micros(spent.person),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::samples::{OPENED, ticket};

    const MS: u64 = 1000;

    #[tokio::test(start_paused = true)]
    async fn each_part_of_a_login_is_whoever_s_it_was() {
        let mut login = Login::open(ticket(&[]));
        let chose = OPENED + Duration::from_secs(7);
        let mut clock = Clock::start(&mut login, chose);
        tokio::time::advance(Duration::from_millis(2)).await;
        clock
            .during(Whose::IdentityProvider, tokio::time::advance(Duration::from_millis(300)))
            .await;
        clock.note(&mut login);
        clock.during(Whose::Register, tokio::time::advance(Duration::from_millis(40))).await;
        clock.during(Whose::Hub, tokio::time::advance(Duration::from_millis(1))).await;
        clock.note(&mut login);
        clock.note(&mut login);
        let Spent { hub, calls, register, away, person, until } = login.ticket.spent;
        assert_eq!([hub, calls, register, away, person], [3 * MS, 300 * MS, 40 * MS, 0, 7000 * MS]);
        assert_eq!(until, Some(chose + Duration::from_millis(343)));
    }
}
