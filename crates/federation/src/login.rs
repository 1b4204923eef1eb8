//! Implements the login state machine: what one authorization request goes through, from the
//! service provider and back (docs/design/login.md).
//!
//! Each state is one struct. A step is a plain function: `(state, request or effect outcome,
//! inputs) → (state, effect or answer)`. Responsible for the order of steps, single use, and
//! failure. Does not use HTTP, actors, stores, clocks or randomness: the machine returns an
//! [`Effect`], and its result arrives as an [`EffectOutcome`].
//!
//! ```text
//! Choosing ─choose─▶ PreparingRedirect ─redirect─▶ AwaitingCallback ─callback─▶ Verifying
//!    ▲                     │                           │                            │
//!    └────── banner ◀──────┴───────── choose ◀─────────┴────────── banner ◀─────────┤
//!                                                                     authenticated ▼
//!         Completed ◀─ yes ─ Consenting ◀─ identified ─ Identifying ◀───────────────┘
//!             ▲                  ▲                           │
//!             │                  └─ code ─ ConfirmingMail ◀──┤
//!             └──────────────────── back ── Failed ◀─────────┘
//! ```

/// Implements a `Debug` that prints only the type's name: these types hold states, codes, tokens or
/// personal data, which must not reach a log.
macro_rules! redacted_debug {
    ($($name:ident),*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )*};
}

mod awaiting_callback;
mod changed_registration;
mod choosing;
mod completed;
mod confirming_mail;
mod consenting;
mod context;
mod events;
mod failed;
mod identifying;
mod preparing_redirect;
mod step;
pub mod upstream;
mod verifying;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use awaiting_callback::AwaitingCallback;
pub use choosing::{ChoiceBanner, Choosing};
pub use completed::{Completed, PendingGrant};
pub use confirming_mail::{
    ConfirmingMail, MAIL_CODE_LIFETIME, MAIL_RESEND_INTERVAL, MAX_WRONG_MAIL_CODES, MailPage,
    MailRequirement,
};
pub use consenting::Consenting;
pub use context::{LoginContext, TimeBreakdown};
pub use events::{
    Callback, ClaimsSource, CodeGrant, ConsentAnswer, ConsentSubmission, Effect, EffectOutcome,
    IdentificationError, IdentifiedUser, LoginAnswer, LoginErrorPage, LoginRequest, MailAction,
    MailEffect, MailLanguage, MailSubmission, NextAction, SessionUse, WrongUser,
};
pub use failed::Failed;
pub use identifying::Identifying;
pub use preparing_redirect::PreparingRedirect;
pub use step::{Save, Step, StepOutput};
pub use verifying::Verifying;

use crate::assurance::AcrCheck;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest::HmacKey;
use passerelle_protocol::env::{Entropy, Timestamp};
use passerelle_protocol::ids::{ConnectorId, InteractionHash, Secret};
use passerelle_protocol::registration::{ClientType, ConsentRequirement};

/// A login, as the store keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Login {
    #[serde(rename = "ticket")]
    pub context: Box<LoginContext>,
    pub state: LoginState,
}

/// State of a login. Each variant holds only what is valid in that state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LoginState {
    /// The user chooses an identity provider.
    Choosing(Choosing),
    /// A connector prepares the redirect. Never stored: the user can choose again without harm.
    #[serde(rename = "Leaving")]
    PreparingRedirect(PreparingRedirect),
    /// The browser is at the identity provider.
    #[serde(rename = "Away")]
    AwaitingCallback(AwaitingCallback),
    /// A callback was accepted and its attempt closed. The connector verifies what the callback
    /// brought.
    Verifying(Verifying),
    /// The authentication is verified. The identity rules and the register identify the user.
    Identifying(Identifying),
    /// The user is identified, and enters a code that the hub sent by mail.
    ConfirmingMail(Box<ConfirmingMail>),
    /// The user is identified, and continues, consents or refuses.
    Consenting(Arc<Consenting>),
    /// The service provider has its answer.
    #[serde(rename = "Answered")]
    Completed(Completed),
    /// The login can't continue. The user can go back to the service provider.
    Failed(Failed),
}

/// Names of the states, for metrics and logs.
pub mod state_name {
    /// Name of [`LoginState::Choosing`](super::LoginState::Choosing).
    pub(crate) const CHOOSING: &str = "choosing";
    /// Name of [`LoginState::PreparingRedirect`](super::LoginState::PreparingRedirect).
    pub(crate) const PREPARING_REDIRECT: &str = "preparing_redirect";
    /// Name of [`LoginState::AwaitingCallback`](super::LoginState::AwaitingCallback).
    pub(crate) const AWAITING_CALLBACK: &str = "awaiting_callback";
    /// Name of [`LoginState::Verifying`](super::LoginState::Verifying).
    pub(crate) const VERIFYING: &str = "verifying";
    /// Name of [`LoginState::Identifying`](super::LoginState::Identifying).
    pub(crate) const IDENTIFYING: &str = "identifying";
    /// Name of [`LoginState::ConfirmingMail`](super::LoginState::ConfirmingMail).
    pub(crate) const CONFIRMING_MAIL: &str = "confirming_mail";
    /// Name of [`LoginState::Consenting`](super::LoginState::Consenting).
    pub(crate) const CONSENTING: &str = "consenting";
    /// Name of [`LoginState::Completed`](super::LoginState::Completed).
    pub const COMPLETED: &str = "completed";
    /// Name of [`LoginState::Failed`](super::LoginState::Failed).
    pub const FAILED: &str = "failed";

    /// Stored states of a login without an outcome.
    pub const IN_PROGRESS: [&str; 6] =
        [CHOOSING, AWAITING_CALLBACK, VERIFYING, IDENTIFYING, CONFIRMING_MAIL, CONSENTING];
}

impl LoginState {
    /// Returns the name of the state.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Choosing(_) => state_name::CHOOSING,
            Self::PreparingRedirect(_) => state_name::PREPARING_REDIRECT,
            Self::AwaitingCallback(_) => state_name::AWAITING_CALLBACK,
            Self::Verifying(_) => state_name::VERIFYING,
            Self::Identifying(_) => state_name::IDENTIFYING,
            Self::ConfirmingMail(_) => state_name::CONFIRMING_MAIL,
            Self::Consenting(_) => state_name::CONSENTING,
            Self::Completed(_) => state_name::COMPLETED,
            Self::Failed(_) => state_name::FAILED,
        }
    }

    /// Returns the connector that was chosen last, if the state holds it.
    pub fn connector(&self) -> Option<&ConnectorId> {
        match self {
            Self::Choosing(Choosing { banner: Some(banner) }) => banner.connector.as_ref(),
            Self::PreparingRedirect(state) => Some(state.connector()),
            Self::AwaitingCallback(state) => Some(&state.attempt.connector),
            Self::Verifying(state) => Some(&state.connector),
            Self::Identifying(state) => Some(&state.connector),
            Self::ConfirmingMail(state) => Some(&state.user().authentication.connector),
            Self::Consenting(state) => Some(&state.user.authentication.connector),
            Self::Completed(Completed::Granted { connector, .. }) => Some(connector),
            Self::Choosing(Choosing { banner: None })
            | Self::Completed(Completed::Refused(_))
            | Self::Failed(_) => None,
        }
    }
}

/// Inputs of one step.
pub struct StepInputs<'a> {
    pub now: Timestamp,
    pub entropy: &'a dyn Entropy,
    /// Returns whether this service provider may use this connector at this level now.
    pub gate: &'a dyn Fn(&ConnectorId, AcrCheck) -> Result<(), ErrorCode>,
    /// Returns `RedirectUriWithdrawn` or `ScopeWithdrawn` if the service provider's file no longer
    /// holds what the request needs.
    pub check_registration: &'a dyn Fn(&AuthorizationRequest) -> Result<(), ErrorCode>,
    /// Returns the connector that the e-mail domain in `login_hint` leads to, if there is one.
    pub connector_for_login_hint: &'a dyn Fn(&AuthorizationRequest) -> Option<ConnectorId>,
    /// Returns the further parameters of the request that the connector's file permits.
    pub forwarded_params:
        &'a dyn Fn(&ConnectorId, &AuthorizationRequest) -> BTreeMap<String, String>,
    pub consent: ConsentRequirement,
    pub client_type: ClientType,
    /// `{base_url}/api/v2/callback/`, to which the connector's id is appended.
    pub callback_base: &'a str,
    /// The session cookie of this request. A completed login replaces that session.
    pub session: Option<&'a Secret<String>>,
    pub hub_count: HubCount,
    /// Key of the digests of codes by mail. The store doesn't contain it.
    pub mail_code_key: &'a HmacKey,
}

/// Whether other processes share the store, and may continue a login whose process dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HubCount {
    Single,
    Several,
}

impl Login {
    /// Creates a login in its first state.
    pub fn new(context: LoginContext) -> Self {
        Self { context: Box::new(context), state: LoginState::Choosing(Choosing::default()) }
    }

    /// Parses the value of the record `hash`.
    ///
    /// # Errors
    /// The value is not the JSON of a login.
    pub fn from_record(hash: &InteractionHash, value: &[u8]) -> serde_json::Result<Self> {
        let mut login: Self = serde_json::from_slice(value)?;
        login.context.hash = hash.clone();
        Ok(login)
    }

    /// Returns how the login ended: with a code, or with this error. `None` while it has not.
    pub const fn outcome(&self) -> Option<Result<(), ErrorCode>> {
        match &self.state {
            LoginState::Completed(Completed::Granted { .. }) => Some(Ok(())),
            LoginState::Completed(Completed::Refused(code)) => Some(Err(*code)),
            LoginState::Failed(_)
            | LoginState::Choosing(_)
            | LoginState::PreparingRedirect(_)
            | LoginState::AwaitingCallback(_)
            | LoginState::Verifying(_)
            | LoginState::Identifying(_)
            | LoginState::ConfirmingMail(_)
            | LoginState::Consenting(_) => None,
        }
    }

    /// Returns whether `state` is that of the open attempt or of the last accepted callback.
    pub fn expects_state(&self, state: &str) -> bool {
        let open_attempt = match &self.state {
            LoginState::AwaitingCallback(state) => Some(state.attempt.request.state.as_str()),
            _ => None,
        };
        open_attempt
            .into_iter()
            .chain(self.context.accepted_state.as_deref())
            .any(|expected| expected == state)
    }

    /// Returns whether a callback of `connector` with this `state` closes the open attempt.
    pub fn awaits_callback(&self, connector: &ConnectorId, state: &str) -> bool {
        matches!(&self.state, LoginState::AwaitingCallback(awaiting)
            if awaiting.attempt.connector == *connector && awaiting.attempt.request.state == state)
    }

    /// Returns whether a process may still be verifying the callback.
    pub fn is_being_verified(&self, now: Timestamp) -> bool {
        matches!(&self.state, LoginState::Verifying(state) if state.is_under_way(now))
    }

    /// Returns the session that this login's new session replaces.
    pub fn replaced_session(&self) -> Option<&Secret<String>> {
        match &self.state {
            LoginState::Completed(answered) => answered.replaced_session(),
            _ => None,
        }
    }

    /// Returns whether the service provider has its answer. The record is then kept for a minute.
    pub const fn is_completed(&self) -> bool {
        matches!(self.state, LoginState::Completed(_))
    }

    /// Returns whether the login has failed because it expired.
    pub fn has_expired(&self) -> bool {
        matches!(&self.state, LoginState::Failed(failed) if failed.code() == ErrorCode::LoginExpired)
    }
}

/// Applies a request of the browser.
pub fn on_request(login: Login, request: LoginRequest, inputs: &StepInputs<'_>) -> Step {
    let Login { context, state } = login;
    if context.is_redirect_withdrawn(inputs) {
        return Step::redirect_uri_withdrawn(context, state);
    }
    // Expiry is decided here, from `now`. Timers and the store only free memory.
    if inputs.now >= context.expires_at
        && !matches!(state, LoginState::Completed(_) | LoginState::Failed(_))
    {
        return Failed::new(ErrorCode::LoginExpired).enter(context);
    }
    if matches!(request, LoginRequest::Displace)
        && !matches!(state, LoginState::Completed(_) | LoginState::Failed(_))
    {
        return Failed::new(ErrorCode::TooManyLogins).enter(context);
    }
    match state {
        LoginState::Choosing(state) => state.on_request(context, request, inputs),
        LoginState::AwaitingCallback(state) => state.on_request(context, request, inputs),
        LoginState::ConfirmingMail(state) => state.on_request(context, request, inputs),
        LoginState::Consenting(state) => state.on_request(context, request, inputs),
        LoginState::Completed(state) => state.on_request(context, request),
        LoginState::Failed(state) => state.on_request(context, request),
        // Steps of one login run one after the other, on all hubs. A browser meets these states
        // only after the process that worked on them has died. The attempt is closed, and the user
        // chooses again.
        LoginState::PreparingRedirect(_)
        | LoginState::Verifying(_)
        | LoginState::Identifying(_) => {
            let connector = state.connector().cloned();
            let banner = ChoiceBanner { connector, code: ErrorCode::Interrupted };
            Choosing { banner: Some(banner) }.on_request(context, request, inputs)
        }
    }
}

/// Applies the outcome of the effect that the last step requested.
pub fn on_effect_outcome(login: Login, outcome: EffectOutcome, inputs: &StepInputs<'_>) -> Step {
    let Login { context, state } = login;
    if context.is_redirect_withdrawn(inputs) {
        return Step::redirect_uri_withdrawn_during_effect(context, state);
    }
    match (state, outcome) {
        (LoginState::PreparingRedirect(state), EffectOutcome::RedirectPrepared(result)) => {
            state.on_redirect_prepared(context, result, inputs)
        }
        (LoginState::Verifying(state), EffectOutcome::Authenticated(result)) => {
            state.on_authentication(context, result, inputs)
        }
        (LoginState::Identifying(state), EffectOutcome::Identified(result)) => {
            state.on_identification(context, result, inputs)
        }
        (LoginState::ConfirmingMail(state), EffectOutcome::Mail(result)) => {
            state.on_mail_outcome(context, result, inputs)
        }
        (LoginState::Completed(state), EffectOutcome::CodeIssued(result)) => {
            state.on_code_issued(context, result)
        }
        (LoginState::Completed(state), EffectOutcome::CodeChecked(lives)) => {
            state.on_code_checked(context, lives)
        }
        (
            state @ (LoginState::Choosing(_)
            | LoginState::PreparingRedirect(_)
            | LoginState::AwaitingCallback(_)
            | LoginState::Verifying(_)
            | LoginState::Identifying(_)
            | LoginState::ConfirmingMail(_)
            | LoginState::Consenting(_)
            | LoginState::Completed(_)
            | LoginState::Failed(_)),
            EffectOutcome::RedirectPrepared(_)
            | EffectOutcome::Authenticated(_)
            | EffectOutcome::Identified(_)
            | EffectOutcome::Mail(_)
            | EffectOutcome::CodeIssued(_)
            | EffectOutcome::CodeChecked(_),
        ) => Step::show_error(context, state, ErrorCode::StepOutOfOrder, NextAction::ChooseIdp),
    }
}

impl LoginAnswer {
    fn error_page(code: ErrorCode, next_action: NextAction) -> Self {
        Self::ErrorPage(LoginErrorPage { code, claim: None, next_action })
    }
}

impl LoginContext {
    /// Returns to the choice page after an error of the identity provider. Where `idp_hint` named
    /// only that identity provider, the service provider gets the error instead.
    fn back_to_choice(self: Box<Self>, connector: ConnectorId, code: ErrorCode) -> Step {
        if self.request.idp_hints == [connector.clone()] {
            return Completed::finish_with_error(self, code);
        }
        self.show_choice(ChoiceBanner { connector: Some(connector), code })
    }

    /// Answers the gate's refusal of a connector that the user has already chosen. The service
    /// provider gets the error, except for a block: that ends, another identity provider may serve,
    /// and the operator may have a message for the user. A block is shown as a page unless
    /// `prompt=none`.
    fn answer_gate_error(self: Box<Self>, connector: &ConnectorId, code: ErrorCode) -> Step {
        if !ChoiceBanner::is_block(code) || self.request.prompt.none {
            return Completed::finish_with_error(self, code);
        }
        let banner = ChoiceBanner { connector: Some(connector.clone()), code };
        let state = LoginState::Choosing(Choosing { banner: Some(banner.clone()) });
        Step::save_and_answer(self, state, LoginAnswer::BlockedPage(banner))
    }

    fn show_choice(self: Box<Self>, banner: ChoiceBanner) -> Step {
        let state = LoginState::Choosing(Choosing { banner: Some(banner.clone()) });
        Step::save_and_answer(self, state, LoginAnswer::ChoicePage { banner: Some(banner) })
    }
}

#[cfg(test)]
pub(crate) mod tests;
