//! All is known; the person is to continue, or to say yes or no (decisions 5, Consent).

use serde::{Deserialize, Serialize};

use super::answered::Kept;
use super::{
    Answer, Answered, Banner, Consent, ConsentAnswer, ConsentPolicy, Effect, Nodes, Proven,
    Request, SessionUse, State, Step, Ticket, Way, World,
};
use crate::assurance::At;
use crate::digest;
use crate::ids::Secret;
use crate::protocol::catalogue::ErrorCode;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Consenting {
    pub proven: Proven,
    /// An explicit yes is needed; otherwise one button continues.
    pub explicit: bool,
}

impl Consenting {
    /// To the page, or, where no page is due, on to the service provider.
    pub(super) fn enter(ticket: Ticket, proven: Proven, world: &World<'_>) -> Step {
        // Whoever ends up logged in must be the user who was asked for (Core, 3.1.2.1 and 5.5.1).
        if ticket.wanted.iter().any(|wanted| *wanted != proven.subject) {
            return Answered::error(ticket, ErrorCode::OtherUser);
        }
        if ticket.is_scope_withdrawn(world) {
            return Answered::error(ticket, ErrorCode::ScopeWithdrawn);
        }
        let (page, explicit) = match world.consent {
            ConsentPolicy::Required => (!proven.consented || ticket.request.prompt.consent, true),
            ConsentPolicy::Information => (ticket.request.prompt.consent, false),
            ConsentPolicy::None => (false, false),
        };
        let state = Self { proven, explicit };
        if page && ticket.request.prompt.none {
            return Answered::error(ticket, ErrorCode::ConsentRequired);
        }
        if page {
            return Step::settle(ticket, State::Consenting(Box::new(state)), Answer::ToConsent);
        }
        state.grant(ticket, world)
    }

    /// Names exactly what is on the page: a yes for another identity or other claims doesn't count.
    #[must_use]
    pub fn shown(&self) -> String {
        let claims = serde_json::to_string(&self.proven.claims).unwrap_or_default();
        digest::fingerprint(&format!("{}\n{}\n{claims}", self.explicit, self.proven.subject))
    }

    pub(super) fn on(self: Box<Self>, ticket: Ticket, request: Request, world: &World<'_>) -> Step {
        match request {
            Request::Look { .. } => Step::stay(ticket, State::Consenting(self), Answer::ToConsent),
            Request::Review if ticket.is_scope_withdrawn(world) => {
                Answered::error(ticket, ErrorCode::ScopeWithdrawn)
            }
            Request::Review => {
                // A yes to a page that leads nowhere is not asked for.
                if let Some(code) = self.blocked(world) {
                    return ticket.shut_out(&self.proven.authentication.connector, code);
                }
                let page = Answer::Consent(self.clone());
                Step::stay(ticket, State::Consenting(self), page)
            }
            Request::Consent(consent) => self.answered(ticket, consent, world),
            Request::Cancel => Answered::error(ticket, ErrorCode::UserCancelled),
            // The callback again: the same answer, and no second token call.
            Request::Return(back) if ticket.returned.as_deref() == Some(&back.state) => {
                Step::stay(ticket, State::Consenting(self), Answer::ToConsent)
            }
            Request::Return(_) => self.stay(ticket, ErrorCode::StateUnknown),
            Request::Choose(_) | Request::Displace => self.stay(ticket, ErrorCode::StepOutOfOrder),
        }
    }

    /// A kill switch that has come into force since the authentication.
    fn blocked(&self, world: &World<'_>) -> Option<ErrorCode> {
        let authentication = &self.proven.authentication;
        let answer = (world.gate)(&authentication.connector, At::Obtained(authentication.level));
        answer.err().filter(|code| Banner::is_block(*code))
    }

    fn answered(self: Box<Self>, ticket: Ticket, consent: Consent, world: &World<'_>) -> Step {
        if !digest::equal(consent.shown.as_bytes(), self.shown().as_bytes()) {
            return self.stay(ticket, ErrorCode::CsrfWrong);
        }
        match consent.answer {
            ConsentAnswer::Yes => self.grant(ticket, world),
            ConsentAnswer::No => Answered::error(ticket, ErrorCode::UserRefusedConsent),
        }
    }

    /// The one place where a code comes to be.
    fn grant(mut self, ticket: Ticket, world: &World<'_>) -> Step {
        if ticket.is_scope_withdrawn(world) {
            return Answered::error(ticket, ErrorCode::ScopeWithdrawn);
        }
        let authentication = &self.proven.authentication;
        if let Err(code) =
            (world.gate)(&authentication.connector, At::Obtained(authentication.level))
        {
            return ticket.shut_out(&authentication.connector, code);
        }
        let connector = authentication.connector.clone();
        let code = Secret::new(world.fresh.token());
        // A fresh value whenever somebody has authenticated: nothing that was there before is trusted (fixation).
        let session = match (self.proven.session.take(), world.session) {
            (None, former) => SessionUse::Fresh {
                cookie: Secret::new(world.fresh.token()),
                former: former.cloned(),
            },
            (Some(reused), Some(cookie)) if digest::fingerprint(cookie.reveal()) == reused => {
                SessionUse::Reused { cookie: cookie.clone() }
            }
            // Somebody signed in or out in another tab meanwhile: what was shown is not theirs to give.
            (Some(_), _) => {
                return ticket
                    .back_to_choice_for(Banner { connector: None, code: ErrorCode::Interrupted });
            }
        };
        let kept =
            Kept { proven: self.proven, session, consented: self.explicit, granted_at: world.now };
        let effect = Effect::Grant(Box::new(kept.grant(&code, &ticket)));
        let session = kept.session.fresh();
        let kept = (world.nodes == Nodes::Many).then(|| Box::new(kept));
        let answered = Answered::Granted { code, session, connector, kept };
        // Stored as answered before the code exists: of two yeses at two nodes only one can get here.
        Step::settle_then(ticket, State::Answered(answered), effect)
    }

    fn stay(self: Box<Self>, ticket: Ticket, code: ErrorCode) -> Step {
        Step::stay(ticket, State::Consenting(self), Answer::problem(code, Way::Choice))
    }
}
