//! Defines inputs and outputs of the state machine: requests, effects, outcomes, answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, LoginAttempt,
    UpstreamAuthorizationRequest,
};
use super::{ChoiceBanner, Consenting, MailPage, MailRequirement};
use crate::assurance::Level;
use crate::assurance::amr::AmrEvidence;
use crate::identity::{ClaimName, Identity};
use passerelle_protocol::acr::AchievedAcr;
use passerelle_protocol::authorize::{AuthorizationRequest, AuthorizationResponse};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, InteractionHash, Scope, Secret, Subject, SupportId};

/// A request of the browser. Its binding to the login and its CSRF token were checked before.
#[derive(Clone, Debug)]
pub enum LoginRequest {
    /// The interaction page was opened. `reuse`: the user of a session that may be reused, or why
    /// the session can't be loaded.
    OpenPage {
        reuse: Result<Option<Box<IdentifiedUser>>, ErrorCode>,
    },
    Choose(ConnectorId),
    Cancel,
    Callback(Callback),
    /// The page of the code by mail was opened.
    OpenMailPage(MailLanguage),
    Mail(MailSubmission),
    /// The consent page was opened.
    OpenConsentPage,
    Consent(ConsentSubmission),
    /// The person on the consent page is not the one at the browser; or the user wants another
    /// account than the one that could not be identified.
    ReportWrongUser,
    /// Closes the login: eight younger ones are open in this browser.
    Displace,
}

/// A callback from an identity provider.
#[derive(Clone)]
pub struct Callback {
    /// The connector in the callback's path.
    pub connector: ConnectorId,
    pub state: String,
    pub params: CallbackParams,
    /// The network that the callback was sent from.
    pub network: ClientNetwork,
}

/// What decides the language of a mail, beside the login's `ui_locales`: the same as for a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MailLanguage {
    /// The user's own choice.
    pub chosen: Option<String>,
    /// `Accept-Language` of the browser.
    pub accepted: Option<String>,
}

/// The submitted form of the page that asks for a code by mail.
#[derive(Clone, Debug)]
pub enum MailSubmission {
    /// What the user entered as the code.
    Code(Secret<String>),
    /// The user wants another code.
    Resend,
    /// The user can't read this mailbox.
    Unreadable,
}

/// The submitted consent form.
#[derive(Clone, Debug)]
pub struct ConsentSubmission {
    pub answer: ConsentAnswer,
    /// [`Consenting::page_digest`] of the page that the user answered.
    pub page_digest: String,
}

/// The user's answer to the consent page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsentAnswer {
    Yes,
    No,
}

/// What the caller must do before the login can continue.
#[derive(Clone, Debug)]
pub enum Effect {
    BeginLogin(ConnectorId, UpstreamAuthorizationRequest),
    CompleteLogin(Box<LoginAttempt>, CallbackParams, ClientNetwork),
    Identify(Box<Authentication>),
    Mail(Box<MailEffect>),
    IssueCode(Box<CodeGrant>),
    /// Checks whether this code is neither redeemed nor expired.
    CheckCode(Secret<String>),
}

impl Effect {
    /// Returns whether the effect calls the identity provider, and may take as long as that does.
    pub const fn calls_idp(&self) -> bool {
        match self {
            Self::BeginLogin(..) | Self::CompleteLogin(..) => true,
            Self::Identify(_) | Self::Mail(_) | Self::IssueCode(_) | Self::CheckCode(_) => false,
        }
    }
}

/// What is to be done about the code by mail of a person.
#[derive(Clone, Debug)]
pub struct MailEffect {
    /// The connector of the person's account.
    pub connector: ConnectorId,
    /// [`MailRequirement::person`].
    pub person: Subject,
    pub action: MailAction,
}

/// Action of a [`MailEffect`].
#[derive(Clone, Debug)]
pub enum MailAction {
    Send {
        address: Secret<String>,
        code: Secret<String>,
        language: MailLanguage,
        expires_at: Timestamp,
    },
    /// Counts a wrong code of this person.
    RecordWrongCode,
    /// Stores the address of the right code, unless the person has entered too many wrong ones.
    ConfirmAddress(Secret<String>),
}

/// Outcome of an [`Effect`].
#[derive(Debug)]
pub enum EffectOutcome {
    RedirectPrepared(Result<AuthorizationRedirect, ErrorCode>),
    Authenticated(Result<Box<Authentication>, ErrorCode>),
    Identified(Result<Box<IdentifiedUser>, IdentificationError>),
    Mail(Result<(), ErrorCode>),
    CodeIssued(Result<(), ErrorCode>),
    /// `Err`: the store could not be read.
    CodeChecked(Result<bool, ErrorCode>),
}

/// Error of the identification of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentificationError {
    pub code: ErrorCode,
    /// The claim that is missing or malformed; never its value.
    pub claim: Option<ClaimName>,
}

impl From<ErrorCode> for IdentificationError {
    fn from(code: ErrorCode) -> Self {
        Self { code, claim: None }
    }
}

/// A user whose authentication is verified and who is identified, by this login or by a reused
/// session.
#[serde_with::skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
pub struct IdentifiedUser {
    pub authentication: Authentication,
    /// The level of this login's answer; lower than the authentication's where a session is reused.
    pub level: Level,
    pub identity: Identity,
    /// The pairwise `sub` at this login's service provider.
    pub subject: Subject,
    pub source: ClaimsSource,
    /// When the register confirmed the identity, where verified claims are in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    /// Authentication methods that are proven.
    pub evidence: AmrEvidence,
    /// Claims of the granted scopes: exactly what is shown and sent.
    pub claims: Map<String, Value>,
    /// Whether the user has consented to these claims for this service provider in this session.
    pub consented: bool,
    /// Whether a page has shown the user these claims for this service provider, and the user
    /// continued, in this session.
    #[serde(default)]
    pub informed: bool,
    /// Fingerprint of the reused session's cookie, if a session was reused.
    pub session: Option<String>,
    /// The code by mail that the user must still enter.
    #[serde(skip)]
    pub mail: Option<Box<MailRequirement>>,
}

impl IdentifiedUser {
    /// Returns what the user proves of a requested `acr`, once the code by mail is entered.
    pub fn acr_proof(&self) -> AchievedAcr<'_> {
        let proof = self.evidence.acr_proof(self.level);
        AchievedAcr { mail: proof.mail || self.mail.is_some(), ..proof }
    }
}

/// Source of the identity claims. The consent page shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ClaimsSource {
    Register,
    Provider,
}

/// Everything that an authorization code stands for.
#[derive(Clone, Serialize, Deserialize)]
pub struct CodeGrant {
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    pub code: Secret<String>,
    pub request: AuthorizationRequest,
    pub scopes: Vec<Scope>,
    #[serde(rename = "proven")]
    pub user: IdentifiedUser,
    /// The login that the code completes.
    pub login: InteractionHash,
    pub support_id: SupportId,
    /// Whether the user explicitly consented to these claims, now or earlier in this session.
    pub consented: bool,
    pub session: SessionUse,
    pub granted_at: Timestamp,
}

/// The session of a grant, by its cookie's value.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SessionUse {
    /// The user has authenticated: a new session replaces the one that this browser held.
    #[serde(rename = "Fresh")]
    New {
        #[serde(with = "passerelle_protocol::ids::stored_secret")]
        cookie: Secret<String>,
        #[serde(default, rename = "former", with = "passerelle_protocol::ids::stored_secret")]
        replaced: Option<Secret<String>>,
    },
    Reused {
        #[serde(with = "passerelle_protocol::ids::stored_secret")]
        cookie: Secret<String>,
    },
}

impl SessionUse {
    /// Returns the new cookie to set in the browser, if there is one.
    pub fn new_cookie(&self) -> Option<Secret<String>> {
        match self {
            Self::New { cookie, .. } => Some(cookie.clone()),
            Self::Reused { .. } => None,
        }
    }
}

/// Answer to the browser.
#[derive(Clone)]
pub enum LoginAnswer {
    ChoicePage {
        banner: Option<ChoiceBanner>,
    },
    /// 303 to the identity provider.
    RedirectToIdp {
        url: String,
    },
    /// 303 to the page of the code by mail.
    RedirectToMail,
    MailPage(MailPage),
    /// 303 to the consent page.
    RedirectToConsent,
    ConsentPage(Arc<Consenting>),
    /// The login is back at the choice; the sessions of this person are to be ended.
    WrongUserReported(WrongUser),
    /// The operator has blocked the identity provider that was chosen.
    BlockedPage(ChoiceBanner),
    /// The answer to the service provider. The session cookie is set where a login has completed.
    ServiceProvider {
        answer: AuthorizationResponse,
        session: Option<Secret<String>>,
    },
    ErrorPage(LoginErrorPage),
}

/// The user on the consent page, after the person at the browser said "This is not me".
#[derive(Clone)]
pub struct WrongUser {
    pub connector: ConnectorId,
    /// As in [`Authentication`](super::upstream::Authentication).
    pub session_hint: Option<Secret<String>>,
    /// Fingerprint of the reused session's cookie, if a session was reused.
    pub session: Option<String>,
}

impl WrongUser {
    /// Returns whether the cookie is that of the reused session. Another tab may have begun a new
    /// one.
    pub fn is_of_session(&self, cookie: &Secret<String>) -> bool {
        self.session.as_ref().is_some_and(|it| *it == digest::sha256_base64url(cookie.reveal()))
    }
}

/// Content of an error page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoginErrorPage {
    pub code: ErrorCode,
    /// The claim that is missing or malformed.
    pub claim: Option<ClaimName>,
    pub next_action: NextAction,
}

/// What the user can do after an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NextAction {
    /// The login continues on the choice page.
    ChooseIdp,
    /// The user chooses another account than the one of this connector, or goes back to the service
    /// provider, with the error.
    ChooseOtherAccount(ConnectorId),
    /// The login goes back to the service provider, with the error.
    ReturnToServiceProvider,
    /// The login has ended; the page links to the service provider's home page.
    HomePage,
}

redacted_debug!(Callback, IdentifiedUser, CodeGrant, LoginAnswer, WrongUser);
