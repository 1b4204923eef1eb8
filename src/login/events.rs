//! What goes into the machine and what comes out of it: requests, effects, reports, answers. Plain data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};
use super::{Banner, Consenting};
use crate::assurance::Level;
use crate::assurance::amr::Evidence;
use crate::client_network::ClientNetwork;
use crate::env::Timestamp;
use crate::identity::{Claim, Identity};
use crate::ids::{ConnectorId, InteractionHash, Scope, Secret, Subject, SupportId};
use crate::protocol::authorize::{AuthorizationRequest, SpAnswer};
use crate::protocol::catalogue::ErrorCode;

/// A step that a browser takes. Its binding to the login, and its CSRF token, were checked before.
#[derive(Clone, Debug)]
pub enum Request {
    /// The interaction page was opened; a session that may be reused comes along.
    Look {
        reuse: Option<Box<Proven>>,
    },
    Choose(ConnectorId),
    Cancel,
    Return(Return),
    /// The consent page was opened.
    Review,
    Consent(Consent),
    /// Eight younger logins are open in this browser.
    Displace,
}

#[derive(Clone)]
pub struct Return {
    /// From the callback's path.
    pub connector: ConnectorId,
    pub state: String,
    pub arrival: Arrival,
    /// The network that the callback was sent from.
    pub network: ClientNetwork,
}

#[derive(Clone, Debug)]
pub struct Consent {
    pub answer: ConsentAnswer,
    /// What the page showed, as [`Consenting::shown`] gave it.
    pub shown: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsentAnswer {
    Yes,
    No,
}

/// What the world must do before the login can go on.
#[derive(Clone, Debug)]
pub enum Effect {
    Begin(ConnectorId, Departure),
    Complete(Attempt, Arrival, ClientNetwork),
    Identify(Box<Authentication>),
    Grant(Box<Grant>),
    /// Is this code neither redeemed nor expired?
    LookForCode(Secret<String>),
}

impl Effect {
    /// True where the world must wait for somebody else's word, as long as that takes.
    #[must_use]
    pub const fn asks_an_identity_provider(&self) -> bool {
        match self {
            Self::Begin(..) | Self::Complete(..) => true,
            Self::Identify(_) | Self::Grant(_) | Self::LookForCode(_) => false,
        }
    }
}

/// What came of an effect.
#[derive(Debug)]
pub enum Report {
    Departed(Result<AuthorizationRedirect, ErrorCode>),
    Authenticated(Result<Box<Authentication>, ErrorCode>),
    Identified(Result<Box<Proven>, Unidentified>),
    Granted(Result<(), ErrorCode>),
    /// `Err`: the store can't tell.
    CodeLives(Result<bool, ErrorCode>),
}

/// Why nobody could be identified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unidentified {
    pub code: ErrorCode,
    /// The claim that is missing or malformed; never its value.
    pub claim: Option<Claim>,
}

impl From<ErrorCode> for Unidentified {
    fn from(code: ErrorCode) -> Self {
        Self { code, claim: None }
    }
}

/// A person, proven and identified: of this login, or of a session that is reused.
#[derive(Clone, Serialize, Deserialize)]
pub struct Proven {
    pub authentication: Authentication,
    /// What the authentication's level counts as in this login's answer: less, where a session is reused.
    pub level: Level,
    pub identity: Identity,
    /// Pairwise for this login's service provider.
    pub subject: Subject,
    pub source: Source,
    /// Methods that this authentication proves.
    pub evidence: Evidence,
    /// Claims of the granted scopes: exactly what is shown and sent.
    pub claims: Map<String, Value>,
    /// The session's user has said yes to these claims for this service provider before.
    pub consented: bool,
    /// Present when a session was reused: the fingerprint of its cookie.
    pub session: Option<String>,
}

/// Where identity claims come from; the consent page says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Source {
    Register,
    Provider,
}

/// Everything that a code stands for.
#[derive(Clone, Serialize, Deserialize)]
pub struct Grant {
    pub code: Secret<String>,
    pub request: AuthorizationRequest,
    pub scopes: Vec<Scope>,
    pub proven: Proven,
    /// The login that it ends.
    pub login: InteractionHash,
    pub support_id: SupportId,
    /// The person said an explicit yes to these claims, now or earlier in this session.
    pub consented: bool,
    pub session: SessionUse,
    pub granted_at: Timestamp,
}

/// The session behind a grant, by its cookie's value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SessionUse {
    /// Somebody has authenticated: a new session, in place of the one that this browser held.
    Fresh {
        cookie: Secret<String>,
        former: Option<Secret<String>>,
    },
    Reused {
        cookie: Secret<String>,
    },
}

impl SessionUse {
    /// The cookie that the browser has yet to be given.
    #[must_use]
    pub fn fresh(&self) -> Option<Secret<String>> {
        match self {
            Self::Fresh { cookie, .. } => Some(cookie.clone()),
            Self::Reused { .. } => None,
        }
    }
}

/// What the browser gets.
#[derive(Clone)]
pub enum Answer {
    Choice {
        banner: Option<Banner>,
    },
    /// 303 to the identity provider.
    Leave {
        url: String,
    },
    /// 303 to the consent page.
    ToConsent,
    Consent(Box<Consenting>),
    /// A page: the operator's kill switch stands against the identity provider that had been chosen.
    Blocked(Banner),
    /// By the proven redirect; the session cookie is set where a login has finished.
    ServiceProvider {
        answer: SpAnswer,
        session: Option<Secret<String>>,
    },
    Problem(Problem),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem {
    pub code: ErrorCode,
    /// The claim that an identity lacks or that is malformed.
    pub claim: Option<Claim>,
    pub way: Way,
}

/// How the person gets on from a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// The login goes on: back to the choice.
    Choice,
    /// The login can only go back to the service provider, which hears of the error.
    ServiceProvider,
    /// The login is over: the service provider's home page.
    HomePage,
}

silent!(Return, Proven, Grant, Answer);
