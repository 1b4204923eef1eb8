//! Defines the result of a step: the new state, whether it is stored first, and what follows.

use super::{Effect, Login, LoginAnswer, LoginContext, LoginErrorPage, LoginState, NextAction};
use passerelle_protocol::catalogue::ErrorCode;

/// Result of one step.
#[derive(Debug)]
pub struct Step {
    pub login: Login,
    pub save: Save,
    pub output: StepOutput,
}

/// Whether the new state must be stored before anything else happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Save {
    Yes,
    /// Nothing changed, or nothing whose loss matters.
    No,
}

/// The next action after a step.
#[derive(Debug)]
pub enum StepOutput {
    Perform(Box<Effect>),
    Answer(LoginAnswer),
}

impl Step {
    const fn new(
        context: Box<LoginContext>,
        state: LoginState,
        save: Save,
        output: StepOutput,
    ) -> Self {
        Self { login: Login { context, state }, save, output }
    }

    /// Answers with an error page, and stores nothing.
    pub(super) fn show_error(
        context: Box<LoginContext>,
        state: LoginState,
        code: ErrorCode,
        next_action: NextAction,
    ) -> Self {
        let page = LoginErrorPage { code, claim: None, next_action };
        Self::new(context, state, Save::No, StepOutput::Answer(LoginAnswer::ErrorPage(page)))
    }

    /// Answers without a change of the stored state.
    pub(super) fn answer_unsaved(
        context: Box<LoginContext>,
        state: LoginState,
        answer: LoginAnswer,
    ) -> Self {
        Self::new(context, state, Save::No, StepOutput::Answer(answer))
    }

    /// Stores a new state, then answers.
    pub(super) fn save_and_answer(
        context: Box<LoginContext>,
        state: LoginState,
        answer: LoginAnswer,
    ) -> Self {
        Self::new(context, state, Save::Yes, StepOutput::Answer(answer))
    }

    /// Stores a new state, then performs the effect.
    pub(super) fn save_and_perform(
        context: Box<LoginContext>,
        state: LoginState,
        effect: Effect,
    ) -> Self {
        Self::new(context, state, Save::Yes, StepOutput::Perform(Box::new(effect)))
    }

    /// Performs the effect in a state that is not stored.
    pub(super) fn perform_unsaved(
        context: Box<LoginContext>,
        state: LoginState,
        effect: Effect,
    ) -> Self {
        Self::new(context, state, Save::No, StepOutput::Perform(Box::new(effect)))
    }
}
