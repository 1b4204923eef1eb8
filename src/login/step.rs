//! What one step makes of a login: the new state, whether it is stored first, and what follows.

use super::{Answer, Effect, Login, State, Ticket};

/// What one step made of a login.
#[derive(Debug)]
pub struct Step {
    pub login: Login,
    pub save: Save,
    pub then: Then,
}

/// Whether the new state must reach the store before anything else happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Save {
    Yes,
    /// Nothing changed, or nothing that would be missed.
    No,
}

#[derive(Debug)]
pub enum Then {
    Do(Box<Effect>),
    Answer(Answer),
}

impl Step {
    /// Nothing changes; the browser gets `answer`.
    pub(super) fn stay(ticket: Ticket, state: State, answer: Answer) -> Self {
        Self { login: Login { ticket, state }, save: Save::No, then: Then::Answer(answer) }
    }

    /// A new state, stored before the browser hears of it.
    pub(super) fn settle(ticket: Ticket, state: State, answer: Answer) -> Self {
        Self { login: Login { ticket, state }, save: Save::Yes, then: Then::Answer(answer) }
    }

    /// A new state, stored before the effect begins.
    pub(super) fn settle_then(ticket: Ticket, state: State, effect: Effect) -> Self {
        Self { login: Login { ticket, state }, save: Save::Yes, then: Then::Do(Box::new(effect)) }
    }

    /// A state that need not outlive this process.
    pub(super) fn pass_through(ticket: Ticket, state: State, effect: Effect) -> Self {
        Self { login: Login { ticket, state }, save: Save::No, then: Then::Do(Box::new(effect)) }
    }
}
