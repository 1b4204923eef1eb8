//! Measures how the time of a login is divided between the hub, the identity provider, the register
//! and the user.
//!
//! The login's record stores it, so that it adds up over steps. What the hub does after the last
//! store of a step, mostly the store call itself, is lost when the actor passivates before the next
//! step.

use std::time::Duration;

use tokio::time::Instant;

use passerelle_federation::login::{Effect, Login, LoginState, TimeBreakdown};
use passerelle_protocol::env::Timestamp;
use passerelle_telemetry::LoginPhases;

/// Who works during an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeOwner {
    Hub,
    IdentityProvider,
    Register,
}

impl TimeOwner {
    /// Returns who works during this effect.
    pub(super) const fn for_effect(effect: &Effect) -> Self {
        match effect {
            Effect::BeginLogin(..) | Effect::CompleteLogin(..) => Self::IdentityProvider,
            Effect::Identify(_) => Self::Register,
            Effect::Mail(_) | Effect::IssueCode(_) | Effect::CheckCode(_) => Self::Hub,
        }
    }
}

/// Timer of one step.
pub(super) struct StepTimer {
    /// Up to when time is recorded.
    recorded_at: Instant,
    calls: Duration,
    register: Duration,
    /// The effect that is being performed, and when it began.
    effect: Option<(TimeOwner, Instant)>,
}

impl StepTimer {
    /// Starts a step at `now`: the time since the last one was the user's or the identity
    /// provider's.
    pub(super) fn start(login: &mut Login, now: Timestamp) -> Self {
        let context = &mut login.context;
        let elapsed =
            micros(now.since(context.time_spent.measured_until.unwrap_or(context.opened_at)));
        match &login.state {
            LoginState::AwaitingCallback(_) => context.time_spent.at_idp += elapsed,
            LoginState::Completed(_) | LoginState::Failed(_) => {}
            LoginState::Choosing(_)
            | LoginState::PreparingRedirect(_)
            | LoginState::Verifying(_)
            | LoginState::Identifying(_)
            | LoginState::ConfirmingMail(_)
            | LoginState::Consenting(_) => {
                context.time_spent.user += elapsed;
            }
        }
        context.time_spent.measured_until = Some(now);
        Self::at(Instant::now())
    }

    /// Begins to measure an effect.
    pub(super) fn begin_effect(&mut self, owner: TimeOwner) {
        self.effect = Some((owner, Instant::now()));
    }

    /// Ends the measurement of an effect.
    pub(super) fn end_effect(&mut self) {
        match self.effect.take() {
            None | Some((TimeOwner::Hub, _)) => {}
            Some((TimeOwner::IdentityProvider, began)) => self.calls += began.elapsed(),
            Some((TimeOwner::Register, began)) => self.register += began.elapsed(),
        }
    }

    /// Records what was measured since the last call. The rest of the time is the hub's.
    pub(super) fn record(&mut self, login: &mut Login) {
        let now = Instant::now();
        let since = now.duration_since(self.recorded_at);
        let spent = &mut login.context.time_spent;
        spent.hub += micros(since.saturating_sub(self.calls + self.register));
        spent.idp_calls += micros(self.calls);
        spent.register += micros(self.register);
        // Keeps it from being counted as the user's.
        spent.measured_until = spent.measured_until.map(|until| until + since);
        *self = Self::at(now);
    }

    const fn at(recorded_at: Instant) -> Self {
        Self { recorded_at, calls: Duration::ZERO, register: Duration::ZERO, effect: None }
    }
}

/// Returns the breakdown as durations.
pub(super) const fn login_phases(spent: &TimeBreakdown) -> LoginPhases {
    LoginPhases {
        hub: Duration::from_micros(spent.hub),
        idp_calls: Duration::from_micros(spent.idp_calls),
        register: Duration::from_micros(spent.register),
        at_idp: Duration::from_micros(spent.at_idp),
        user: Duration::from_micros(spent.user),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_federation::testing::samples::{OPENED, login_context};

    const MS: u64 = 1000;

    #[tokio::test(start_paused = true)]
    async fn time_is_recorded_for_its_owner() {
        let mut login = Login::new(login_context(&[]));
        let chose = OPENED + Duration::from_secs(7);
        let mut timer = StepTimer::start(&mut login, chose);
        let measure = async |timer: &mut StepTimer, owner, millis| {
            timer.begin_effect(owner);
            tokio::time::advance(Duration::from_millis(millis)).await;
            timer.end_effect();
        };
        tokio::time::advance(Duration::from_millis(2)).await;
        measure(&mut timer, TimeOwner::IdentityProvider, 300).await;
        timer.record(&mut login);
        measure(&mut timer, TimeOwner::Register, 40).await;
        measure(&mut timer, TimeOwner::Hub, 1).await;
        timer.record(&mut login);
        timer.record(&mut login);
        let TimeBreakdown { hub, idp_calls, register, at_idp, user, measured_until } =
            login.context.time_spent;
        assert_eq!(
            [hub, idp_calls, register, at_idp, user],
            [3 * MS, 300 * MS, 40 * MS, 0, 7000 * MS]
        );
        assert_eq!(measured_until, Some(chose + Duration::from_millis(343)));
    }
}
