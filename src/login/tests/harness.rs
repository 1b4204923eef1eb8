//! A login on a stage: the world around it is set by hand, and between two steps it always passes through the store.

use std::time::Duration;

use crate::assurance::{At, Level};
use crate::client_network::ClientNetwork;
use crate::env::{SeededEntropy, Timestamp};
use crate::ids::{ConnectorId, Secret, Subject};
use crate::login::samples::{IDP_ISSUER, LIFE, OPENED, authentication, left, proven, ticket};
use crate::login::upstream::{Arrival, Attempt};
use crate::login::{
    Answer, Answered, Banner, Consent, ConsentAnswer, ConsentPolicy, Effect, Grant, Login, Nodes,
    Problem, Proven, Report, Request, Return, Save, State, Step, Then, Way, World, on_report,
    on_request,
};
use crate::protocol::authorize::SpAnswer;
use crate::protocol::catalogue::ErrorCode;

pub(super) type Gate = fn(&ConnectorId, At) -> Result<(), ErrorCode>;

pub(super) const OPEN: Gate = |_, _| Ok(());
pub(super) const BLOCKED: Gate = |_, _| Err(ErrorCode::IdpBlocked);
pub(super) const CLOSED: Gate = |_, _| Err(ErrorCode::GateClosed);

pub(super) struct Stage {
    pub login: Login,
    pub now: Timestamp,
    pub gate: Gate,
    /// What the service provider's file still holds.
    pub registered: Result<(), ErrorCode>,
    pub consent: ConsentPolicy,
    /// The session cookie that comes with each step.
    pub session: Option<Secret<String>>,
    pub nodes: Nodes,
    /// Of the last step.
    pub saved: Save,
    /// What the store holds: all that a crash leaves.
    pub(super) stored: Login,
    entropy: SeededEntropy,
}

/// An answer as a browser sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    Choice(Option<Banner>),
    Leave(String),
    ToConsent,
    Consent(String),
    Sp(SpAnswer, Option<String>),
    Blocked(Banner),
    Problem(ErrorCode, Way),
}

impl Stage {
    pub(super) fn new(changes: &[(&str, &str)]) -> Self {
        let login = Login::open(ticket(changes));
        Self {
            stored: login.clone(),
            login,
            now: OPENED,
            gate: OPEN,
            registered: Ok(()),
            consent: ConsentPolicy::Information,
            session: None,
            nodes: Nodes::Many,
            saved: Save::No,
            entropy: SeededEntropy::new(7),
        }
    }

    pub(super) fn wanting(mut self, subject: &str) -> Self {
        self.login.ticket.wanted.push(Subject::new(subject));
        self
    }

    pub(super) fn with_session(mut self, cookie: &str) -> Self {
        self.session = Some(Secret::new(cookie.into()));
        self
    }

    pub(super) fn with_policy(mut self, policy: ConsentPolicy) -> Self {
        self.consent = policy;
        self
    }

    /// To the moment that is so many milliseconds from the login's end.
    pub(super) fn at_end_plus(&mut self, millis: i64) {
        let end = (OPENED + Duration::from_secs(LIFE)).millis();
        self.now = Timestamp::from_millis(end.saturating_add_signed(millis));
    }

    pub(super) fn ask(&mut self, request: Request) -> Then {
        self.step(|login, world| on_request(login, request, world))
    }

    pub(super) fn tell(&mut self, report: Report) -> Then {
        self.step(|login, world| on_report(login, report, world))
    }

    fn step(&mut self, take: impl FnOnce(Login, &World<'_>) -> Step) -> Then {
        let stored = serde_json::to_value(&self.login).unwrap();
        let loaded: Login = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(
            serde_json::to_value(&loaded).unwrap(),
            stored,
            "a state that the store changes"
        );
        let world = World {
            now: self.now,
            fresh: &self.entropy,
            gate: &self.gate,
            registered: &|_| self.registered,
            consent: self.consent,
            callback_base: "https://hub.example/api/v2/callback/",
            session: self.session.as_ref(),
            nodes: self.nodes,
        };
        let step = take(loaded, &world);
        self.login = step.login;
        self.saved = step.save;
        if step.save == Save::Yes {
            self.stored = self.login.clone();
        }
        step.then
    }

    /// The process dies; another goes on with what was stored.
    pub(super) fn crash(&mut self) {
        self.login = self.stored.clone();
    }

    pub(super) fn seen(&mut self, request: Request) -> Seen {
        answer(self.ask(request))
    }

    pub(super) fn effect(&mut self, request: Request) -> Effect {
        effect(self.ask(request))
    }

    /// The session that came along, if any, can't be reused.
    pub(super) fn look(&mut self) -> Seen {
        self.seen(Request::Look { reuse: None })
    }

    /// Chooses this connector, and leaves for it.
    pub(super) fn leave(&mut self, connector: &str) -> Attempt {
        assert!(matches!(self.effect(Request::Choose(connector.into())), Effect::Begin(..)));
        self.depart()
    }

    pub(super) fn depart(&mut self) -> Attempt {
        assert_eq!(answer(self.tell(Report::Departed(Ok(left())))), Seen::Leave(left().url));
        assert_eq!(self.saved, Save::Yes, "an attempt that no other node would know");
        let State::Away(away) = &self.login.state else { panic!("{}", self.login.state.name()) };
        away.attempt.clone()
    }

    /// Leaves for `idp` and comes back; its answer is to be checked.
    pub(super) fn verifying(&mut self) -> Attempt {
        let attempt = self.leave("idp");
        assert!(matches!(self.effect(back(&attempt)), Effect::Complete(..)));
        assert_eq!(self.saved, Save::Yes, "an attempt that another node would find open");
        attempt
    }

    /// As far as the register.
    pub(super) fn identifying(&mut self) -> Attempt {
        let attempt = self.verifying();
        assert!(matches!(effect(self.authenticated(Level::Eidas1)), Effect::Identify(_)));
        attempt
    }

    pub(super) fn authenticated(&mut self, level: Level) -> Then {
        self.tell(Report::Authenticated(Ok(Box::new(authentication("idp", level)))))
    }

    pub(super) fn identified(&mut self, proven: Proven) -> Then {
        self.tell(Report::Identified(Ok(Box::new(proven))))
    }

    /// As far as the consent page.
    pub(super) fn consenting(&mut self) -> Attempt {
        let attempt = self.identifying();
        assert_eq!(answer(self.identified(proven("idp", Level::Eidas1))), Seen::ToConsent);
        attempt
    }

    /// All the way; gives the answer that carries the code.
    pub(super) fn granted(&mut self) -> Seen {
        self.consenting();
        let yes = self.yes();
        grant(self.ask(yes));
        answer(self.tell(Report::Granted(Ok(()))))
    }

    /// The form of the consent page as it is now.
    pub(super) fn yes(&mut self) -> Request {
        self.form(ConsentAnswer::Yes)
    }

    pub(super) fn no(&mut self) -> Request {
        self.form(ConsentAnswer::No)
    }

    fn form(&mut self, answer: ConsentAnswer) -> Request {
        let Seen::Consent(shown) = self.seen(Request::Review) else {
            panic!("{}", self.login.state.name())
        };
        Request::Consent(Consent { answer, shown })
    }

    /// True if this answer tells the service provider this error, and the login ended with it.
    pub(super) fn told(&self, seen: &Seen, code: ErrorCode) -> bool {
        let expected = Seen::Sp(self.login.ticket.request.redirect.error(code), None);
        *seen == expected && self.login.end() == Some(Err(code)) && self.saved == Save::Yes
    }

    pub(super) fn code(&self) -> Option<&str> {
        match &self.login.state {
            State::Answered(Answered::Granted { code, .. }) => Some(code.reveal()),
            _ => None,
        }
    }
}

/// The identity provider's good answer to this attempt.
pub(super) fn back(attempt: &Attempt) -> Request {
    back_with(attempt, |_| {})
}

pub(super) fn back_with(attempt: &Attempt, change: impl FnOnce(&mut Return)) -> Request {
    let arrival = Arrival {
        code: Some(Secret::new("upstream code".into())),
        iss: Some(IDP_ISSUER.into()),
        error: None,
        error_description: None,
    };
    let network = ClientNetwork::containing([192, 0, 2, 1].into());
    let mut back = Return {
        connector: attempt.connector.clone(),
        state: attempt.state.clone(),
        arrival,
        network,
    };
    change(&mut back);
    Request::Return(back)
}

pub(super) fn answer(then: Then) -> Seen {
    match then {
        Then::Answer(answer) => seen(answer),
        Then::Do(effect) => panic!("{effect:?}"),
    }
}

pub(super) fn seen(answer: Answer) -> Seen {
    match answer {
        Answer::Choice { banner } => Seen::Choice(banner),
        Answer::Leave { url } => Seen::Leave(url),
        Answer::ToConsent => Seen::ToConsent,
        Answer::Consent(page) => Seen::Consent(page.shown()),
        Answer::ServiceProvider { answer, session } => {
            Seen::Sp(answer, session.map(Secret::into_inner))
        }
        Answer::Blocked(banner) => Seen::Blocked(banner),
        Answer::Problem(Problem { code, way, .. }) => Seen::Problem(code, way),
    }
}

pub(super) fn effect(then: Then) -> Effect {
    match then {
        Then::Do(effect) => *effect,
        Then::Answer(answer) => panic!("{answer:?}"),
    }
}

pub(super) fn grant(then: Then) -> Grant {
    match effect(then) {
        Effect::Grant(grant) => *grant,
        other => panic!("{other:?}"),
    }
}

pub(super) fn banner(connector: Option<&str>, code: ErrorCode) -> Seen {
    Seen::Choice(Some(Banner { connector: connector.map(ConnectorId::from), code }))
}

pub(super) const fn problem(code: ErrorCode, way: Way) -> Seen {
    Seen::Problem(code, way)
}
