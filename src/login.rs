//! L1 · The login machine: what one authorization request goes through, from the service provider and back
//! (decisions 3 to 5; architecture 1).
//!
//! A plain function over an enum of one struct per state: `(state, event, world) → (state, effect, answer)`.
//! Owns: which step may follow which, what is single-use, when a login has failed. Must not know: HTTP, actors,
//! stores, clocks, randomness of its own; needing any of them is a returned [`Effect`], and what came of it
//! arrives as a [`Report`].
//!
//! ```text
//! Choosing ─choose▶ Leaving ─departed▶ Away ─return▶ Verifying ─authenticated▶ Identifying ─identified▶ Consenting
//!    ▲                 │                 │               │                          │                      │ yes
//!    └──── banner ◀────┴─── choose ◀─────┘    banner ◀───┘                          ▼                      ▼
//!                                                                                 Failed ──back──────▶ Answered
//! ```

/// Types that hold states, codes, tokens or a person's data print their name and nothing else: one `?login` in a log
/// line must not give anybody away.
macro_rules! silent {
    ($($name:ident),*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )*};
}

mod answered;
mod away;
mod choosing;
mod consenting;
mod events;
mod failed;
mod identifying;
mod leaving;
mod step;
pub mod upstream;
mod verifying;
mod withdrawn;

use serde::{Deserialize, Serialize};

pub use answered::{Answered, Kept};
pub use away::Away;
pub use choosing::{Banner, Choosing};
pub use consenting::Consenting;
pub use events::{
    Answer, Consent, ConsentAnswer, Effect, Grant, Problem, Proven, Report, Request, Return,
    SessionUse, Source, Unidentified, Way,
};
pub use failed::Failed;
pub use identifying::Identifying;
pub use leaving::Leaving;
pub use step::{Save, Step, Then};
pub use verifying::Verifying;

use crate::assurance::At;
use crate::env::{Entropy, Timestamp};
use crate::ids::{ConnectorId, InteractionHash, Secret, Subject, SupportId};
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::trace_context::TraceContext;

/// A login's whole truth, as the store keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Login {
    pub ticket: Ticket,
    pub state: State,
}

/// What stays the same, or only grows, while a login changes state.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ticket {
    pub hash: InteractionHash,
    pub support_id: SupportId,
    pub request: AuthorizationRequest,
    /// The users that `id_token_hint` and `claims` asked for: whoever logs in must be each of them.
    pub wanted: Vec<Subject>,
    pub opened_at: Timestamp,
    /// From here on every step is refused; the record stays a minute longer, to say so.
    pub expires_at: Timestamp,
    /// `idp_hint` has been followed once; after that the user chooses.
    pub hint_followed: bool,
    /// The `state` of the callback that was last accepted, so that its duplicate gets the same answer.
    pub returned: Option<String>,
    /// Where its spans hang, for those who keep them; the machine never asks. Absent where nobody traces, and so in records
    /// that were written before anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    #[serde(default)]
    pub spent: Spent,
}

/// Whose time a login has taken so far, in microseconds: for the metrics. Nothing is decided by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The hub's own work.
    #[serde(rename = "h")]
    pub hub: u64,
    /// Calls to identity providers.
    #[serde(rename = "c")]
    pub calls: u64,
    /// The identity rules and the register.
    #[serde(rename = "r")]
    pub register: u64,
    /// The browser at an identity provider.
    #[serde(rename = "a")]
    pub away: u64,
    /// The person in front of a page of ours.
    #[serde(rename = "p")]
    pub person: u64,
    /// Up to when all this is counted; `None`: from the opening.
    #[serde(rename = "t")]
    pub until: Option<Timestamp>,
}

/// Where a login stands. Each state holds only what is valid there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum State {
    /// The browser is to choose an identity provider.
    Choosing(Choosing),
    /// A connector is asked where to send the browser. Never stored: a repeated choice does no harm.
    Leaving(Leaving),
    /// The browser is at the identity provider.
    Away(Away),
    /// A callback was accepted, its attempt is closed, and the connector checks what it brought.
    Verifying(Verifying),
    /// The authentication is proven; the identity rules and the register are asked.
    Identifying(Identifying),
    /// All is known; the person is to continue, or to say yes or no.
    Consenting(Box<Consenting>),
    /// The service provider has its answer.
    Answered(Answered),
    /// Nothing can mend this login; the person is to go back to the service provider.
    Failed(Failed),
}

impl State {
    /// For metrics and logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Choosing(_) => "choosing",
            Self::Leaving(_) => "leaving",
            Self::Away(_) => "away",
            Self::Verifying(_) => "verifying",
            Self::Identifying(_) => "identifying",
            Self::Consenting(_) => "consenting",
            Self::Answered(_) => "answered",
            Self::Failed(_) => "failed",
        }
    }

    /// The identity provider that was chosen last, as far as the state knows.
    #[must_use]
    pub const fn connector(&self) -> Option<&ConnectorId> {
        match self {
            Self::Choosing(Choosing { banner: Some(banner) }) => banner.connector.as_ref(),
            Self::Leaving(state) => Some(state.connector()),
            Self::Away(state) => Some(&state.attempt.connector),
            Self::Verifying(state) => Some(&state.connector),
            Self::Identifying(state) => Some(&state.connector),
            Self::Consenting(state) => Some(&state.proven.authentication.connector),
            Self::Answered(Answered::Granted { connector, .. }) => Some(connector),
            Self::Choosing(Choosing { banner: None })
            | Self::Answered(Answered::Refused(_))
            | Self::Failed(_) => None,
        }
    }
}

/// What the machine may know of the world at this moment.
pub struct World<'a> {
    pub now: Timestamp,
    pub fresh: &'a dyn Entropy,
    /// The gate: may this service provider be served through this connector, at this level, now?
    pub gate: &'a dyn Fn(&ConnectorId, At) -> Result<(), ErrorCode>,
    /// What the service provider's file still holds of the request, now: `RedirectUriWithdrawn`, `ScopeWithdrawn`.
    pub registered: &'a dyn Fn(&AuthorizationRequest) -> Result<(), ErrorCode>,
    pub consent: ConsentPolicy,
    /// `{base_url}/api/v2/callback/`; a connector's id makes it whole.
    pub callback_base: &'a str,
    /// The session cookie that came with this step: a finished login puts an end to that session.
    pub session: Option<&'a Secret<String>>,
    pub nodes: Nodes,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Whether other processes know this login, and may go on where this one dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    One,
    Many,
}

/// When the consent page is shown (decisions 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsentPolicy {
    /// Unless this session already holds the yes.
    Required,
    /// When the effective prompt has `consent`.
    Information,
    /// Never: `rules = "openid"` only.
    None,
}

silent!(Ticket);

impl Login {
    /// A login that has just been admitted.
    #[must_use]
    pub fn open(ticket: Ticket) -> Self {
        Self { ticket, state: State::Choosing(Choosing::default()) }
    }

    /// How the login ended, once it has: with a code, or with this error.
    #[must_use]
    pub const fn end(&self) -> Option<Result<(), ErrorCode>> {
        match &self.state {
            State::Answered(Answered::Granted { .. }) => Some(Ok(())),
            State::Answered(Answered::Refused(code)) => Some(Err(*code)),
            State::Failed(_)
            | State::Choosing(_)
            | State::Leaving(_)
            | State::Away(_)
            | State::Verifying(_)
            | State::Identifying(_)
            | State::Consenting(_) => None,
        }
    }

    /// Returns whether `state` is that of the open attempt, or of the callback that was accepted last.
    #[must_use]
    pub fn expects_state(&self, state: &str) -> bool {
        let open = match &self.state {
            State::Away(away) => Some(away.attempt.state.as_str()),
            _ => None,
        };
        open.into_iter().chain(self.ticket.returned.as_deref()).any(|expected| expected == state)
    }

    /// True while another process, or this one, may be about to say what a callback was worth.
    #[must_use]
    pub fn is_being_verified(&self, now: Timestamp) -> bool {
        matches!(&self.state, State::Verifying(state) if state.is_under_way(now))
    }

    /// The session that the one which this login began takes the place of.
    #[must_use]
    pub fn former_session(&self) -> Option<&Secret<String>> {
        match &self.state {
            State::Answered(answered) => answered.former_session(),
            _ => None,
        }
    }

    /// True once the service provider has its answer: the record may go soon.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self.state, State::Answered(_))
    }
}

/// A browser's step.
#[must_use]
pub fn on_request(login: Login, request: Request, world: &World<'_>) -> Step {
    let Login { ticket, state } = login;
    if ticket.is_redirect_withdrawn(world) {
        return Step::without_redirect(ticket, state);
    }
    // Expiry is decided here, from `now`; timers and the store only free memory.
    if world.now >= ticket.expires_at && !matches!(state, State::Answered(_) | State::Failed(_)) {
        return Failed::with(ErrorCode::LoginExpired).enter(ticket);
    }
    if matches!(request, Request::Displace)
        && !matches!(state, State::Answered(_) | State::Failed(_))
    {
        return Failed::with(ErrorCode::TooManyLogins).enter(ticket);
    }
    match state {
        State::Choosing(state) => state.on(ticket, request, world),
        State::Away(state) => state.on(ticket, request, world),
        State::Consenting(state) => state.on(ticket, request, world),
        State::Answered(state) => state.on(ticket, request),
        State::Failed(state) => state.on(ticket, request),
        // Steps of one login wait for each other, on this node and on others, so a browser can find these states only
        // after the process that worked on them has died. The attempt is closed, the person is asked to choose again.
        State::Leaving(_) | State::Verifying(_) | State::Identifying(_) => {
            Choosing { banner: Some(Banner { connector: None, code: ErrorCode::Interrupted }) }
                .on(ticket, request, world)
        }
    }
}

/// The answer to the effect that the last step asked for.
#[must_use]
pub fn on_report(login: Login, report: Report, world: &World<'_>) -> Step {
    let Login { ticket, state } = login;
    if ticket.is_redirect_withdrawn(world) {
        return Step::without_redirect_after_report(ticket, state);
    }
    match (state, report) {
        (State::Leaving(state), Report::Departed(result)) => state.departed(ticket, result, world),
        (State::Verifying(state), Report::Authenticated(result)) => {
            state.authenticated(ticket, result, world)
        }
        (State::Identifying(state), Report::Identified(result)) => {
            state.identified(ticket, result, world)
        }
        (State::Answered(state), Report::Granted(result)) => state.granted(ticket, result),
        (State::Answered(state), Report::CodeLives(lives)) => state.code_lives(ticket, lives),
        (
            state @ (State::Choosing(_)
            | State::Leaving(_)
            | State::Away(_)
            | State::Verifying(_)
            | State::Identifying(_)
            | State::Consenting(_)
            | State::Answered(_)
            | State::Failed(_)),
            Report::Departed(_)
            | Report::Authenticated(_)
            | Report::Identified(_)
            | Report::Granted(_)
            | Report::CodeLives(_),
        ) => Step::stay(ticket, state, Answer::problem(ErrorCode::StepOutOfOrder, Way::Choice)),
    }
}

impl Answer {
    const fn problem(code: ErrorCode, way: Way) -> Self {
        Self::Problem(Problem { code, claim: None, way })
    }
}

impl Ticket {
    /// An upstream error: back to the choice with a banner, or, where the service provider named the identity
    /// provider itself, to the service provider at once (decisions 5).
    fn back_to_choice(self, connector: ConnectorId, code: ErrorCode) -> Step {
        if self.request.idp_hint.as_ref() == Some(&connector) {
            return Answered::error(self, code);
        }
        self.back_to_choice_for(Banner { connector: Some(connector), code })
    }

    /// The gate has closed behind somebody who had already chosen: the service provider hears it (decisions 1). But
    /// a kill switch passes, another identity provider may serve, and the operator may have a word for the person: that
    /// is a page, where one may be shown.
    fn shut_out(self, connector: &ConnectorId, code: ErrorCode) -> Step {
        if !Banner::is_block(code) || self.request.prompt.none {
            return Answered::error(self, code);
        }
        let banner = Banner { connector: Some(connector.clone()), code };
        let state = State::Choosing(Choosing { banner: Some(banner.clone()) });
        Step::settle(self, state, Answer::Blocked(banner))
    }

    fn back_to_choice_for(self, banner: Banner) -> Step {
        let state = State::Choosing(Choosing { banner: Some(banner.clone()) });
        Step::settle(self, state, Answer::Choice { banner: Some(banner) })
    }
}

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
pub(crate) mod tests;
