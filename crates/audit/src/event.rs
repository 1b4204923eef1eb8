//! Defines the audit events and their fields, each with its own type.
//!
//! No field holds free text but an operator's name, reason and notice, so names of users, e-mail
//! addresses, tokens, secrets, codes and IP addresses can't enter a line by themselves. Logins and
//! sessions appear as hashes. [`Event::detail`] is kept for the admin console and never written.

mod extension;
mod values;

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::extension::ExtensionEvent;
pub use self::values::{AuditKeyPurpose, ConfigChange};
pub(super) use self::values::{Pseudonym, RareFields};
use self::values::{serialize_login, serialize_session};
use super::report::CheckpointCheck;
use passerelle_federation::assurance::Level;
use passerelle_federation::notices::NoticeTable;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Entropy;
use passerelle_protocol::ids::{ClientId, ConnectorId, InteractionHash, Subject, SupportId};

macro_rules! events {
    ($($variant:ident $name:literal [$($field:ident)*] $doc:literal;)*) => {
        /// Kind of an audit event. Released names never change or get another meaning.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum EventKind {
            $(#[doc = $doc] $variant,)*
            /// An event of an optional crate.
            Extension(&'static ExtensionEvent),
        }

        impl EventKind {
            /// Every event without those of optional crates.
            const BUILT_IN: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in the log.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* Self::Extension(event) => event.name }
            }

            /// Returns the meaning of the event, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* Self::Extension(event) => event.meaning }
            }

            /// Returns the fields that a line of this event may have, besides those of every line.
            pub const fn fields(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$(stringify!($field),)*],)*
                    Self::Extension(event) => event.fields,
                }
            }
        }
    };
}

events! {
    Start "start" [version config last_checkpoint checkpoint_seq]
        "The hub has started; `prev` names the last line that it found.";
    Stop "stop" []
        "The hub has stopped in order: a checkpoint follows, and nothing after it.";
    Checkpoint "checkpoint" [jws]
        "A signature over the line before: its `seq` and its hash.";
    EventsLost "events_lost" [lost]
        "This number of events could not be written since the line before.";
    AuthorizationReceived "authorization_received" [sp level login support_id]
        "A service provider's request passed its checks: a login begins.";
    AuthorizationRefused "authorization_refused" [sp code support_id]
        "An authorization request was refused, or could not be served; no login began.";
    ChoiceShown "choice_shown" [sp idp code login support_id]
        "The choice of identity providers was shown; `code` and `idp` state why it was shown again.";
    SessionReused "session_reused" [sp idp sub level login support_id]
        "The user's session answered the login.";
    IdpChosen "idp_chosen" [sp idp code level forwarded login support_id]
        "An identity provider was chosen, by the user or by `idp_hint`; with `code`, the browser could not be sent there; `forwarded` names the service's parameters that it gets.";
    PasswordRefused "password_refused" [sp idp code login support_id]
        "A password that was entered on the hub's own page was wrong, or exceeded a limit; with `code` it was right, and the directory refused the account.";
    CallbackAccepted "callback_accepted" [sp idp level login support_id]
        "The identity provider's response passed every check; `level` is what it proved.";
    CallbackRefused "callback_refused" [sp idp level code login support_id]
        "A response of an identity provider was refused.";
    RegisterQueried "register_queried" [sp idp login support_id]
        "The hub is about to query the register about the person.";
    RegisterAnswered "register_answered" [sp idp code login support_id]
        "The register answered; without `code` it found the person.";
    MailCodeCreated "mail_code_created" [sp idp sub login support_id]
        "A one-time code was created, to be sent to the person by mail.";
    MailCodeRefused "mail_code_refused" [sp idp sub login support_id]
        "A wrong code was entered instead of the one that was sent by mail.";
    MailConfirmed "mail_confirmed" [sp idp sub login support_id]
        "The code that was sent by mail was entered.";
    ConsentShown "consent_shown" [sp idp sub login support_id]
        "The page that asks for an explicit consent was shown.";
    ConsentGiven "consent_given" [sp idp sub login support_id]
        "The user consented.";
    ConsentRefused "consent_refused" [sp idp sub login support_id]
        "The user declined.";
    WrongUserReported "wrong_user_reported" [sp idp login support_id]
        "The user said that the page showed another person; the login went back to the choice.";
    InformationShown "information_shown" [sp idp sub login support_id]
        "The page that informs, and asks nothing, was shown.";
    InformationContinued "information_continued" [sp idp sub login support_id]
        "The user continued from the information page.";
    CodeIssued "code_issued" [sp idp sub level login session support_id]
        "The login succeeded: a code was issued.";
    LoginRefused "login_refused" [sp code login support_id]
        "The login ended, and the service provider gets the reason.";
    LoginFailed "login_failed" [sp code login support_id]
        "The login ended on a page that states the reason.";
    StepRefused "step_refused" [sp idp code login support_id]
        "A step did not fit the login, or came from another browser; the login goes on.";
    TokenIssued "token_issued" [sp sub level session verified_claims support_id]
        "A code was redeemed for an access token and an ID token, with the claims of `verified_claims` as verified.";
    TokenRefused "token_refused" [sp dp code]
        "A request for a token was refused.";
    UserinfoReleased "userinfo_released" [sp sub level verified_claims support_id]
        "A userinfo response released claims, those in `verified_claims` as verified.";
    UserinfoRefused "userinfo_refused" [sp dp code]
        "A userinfo request was refused.";
    IntrospectionActive "introspection_active" [dp sp sub level support_id]
        "A data provider introspected a valid token; `sub` is the data provider's.";
    IntrospectionInactive "introspection_inactive" [dp]
        "A data provider introspected a token that is not valid, or that shares no scope with it.";
    IntrospectionRefused "introspection_refused" [sp dp code]
        "A data provider's request was refused.";
    TokenRevoked "token_revoked" [sp sub support_id]
        "A service provider revoked its access token.";
    RevocationIgnored "revocation_ignored" [sp]
        "A service provider named a token that is not its own: nothing was done.";
    RevocationRefused "revocation_refused" [sp dp code]
        "A revocation request was refused.";
    LogoutRequested "logout_requested" [sp]
        "A logout was requested, and the hub asked the user to confirm it.";
    LogoutCompleted "logout_completed" [sp idp session]
        "A session has ended, with its codes and tokens.";
    IdpLogoutReturned "idp_logout_returned" [sp idp]
        "The browser returned from the logout of its identity provider.";
    LogoutRefused "logout_refused" [code support_id]
        "A logout request was refused, or could not be served.";
    LogoutTokenDelivered "logout_token_delivered" [sp support_id]
        "A service provider accepted the logout token of a session that has ended.";
    LogoutTokenUndelivered "logout_token_undelivered" [sp code support_id]
        "A service provider refused a logout token, or the hub gave up; its own session may go on.";
    UpstreamLogoutReceived "upstream_logout_received" [idp session]
        "An identity provider's logout token ended a session, with its codes and tokens.";
    ConfigApplied "config_applied" [config]
        "Files were read again and are in use; `config` identifies their content.";
    ConfigChanged "config_changed" [change idp sp dp file]
        "A reload changed this file or entry; each change has its own line.";
    ConfigRejected "config_rejected" [file]
        "A file is invalid: its last good version stays in use.";
    BlockSet "block_set" [idp sp block operator reason]
        "A command blocked an identity provider, for all service providers or for `sp`; each of several has its own line.";
    BlockLifted "block_lifted" [idp sp block operator reason]
        "A command lifted a block.";
    NoticePublished "notice_published" [notice content operator reason]
        "An operator published a notice to all users.";
    NoticeRemoved "notice_removed" [notice content operator reason]
        "An operator removed a published notice.";
    KeyAdded "key_added" [kid purpose]
        "A new key was found.";
    KeyActivated "key_activated" [kid purpose]
        "A key is used from now on.";
    KeyRemoved "key_removed" [kid purpose]
        "A key was removed.";
    AdminRefused "admin_refused" [code operator]
        "A request to the administration had no valid token, or exceeded the operator's role.";
    OperatorSignedIn "operator_signed_in" [operator]
        "An operator signed in to the admin console.";
    LoginsSearched "logins_searched" [sub operator reason]
        "An operator searched the recent logins of a person, for this reason.";
    SessionEndedByOperator "session_ended_by_operator" [sub session operator reason]
        "An operator ended a session of a person, with its codes and tokens, for this reason.";
    RefreshGrantsRevoked "refresh_grants_revoked" [sub operator reason]
        "An operator ended refresh tokens of a person, for this reason.";
    ReloadRequested "reload_requested" [operator]
        "An operator made the hub read its files and keys at once.";
    KeyRotationRequested "key_rotation_requested" [operator]
        "An operator asked for new keys; `key_added` names those created.";
    ProbeRequested "probe_requested" [idp operator]
        "An operator made the hub probe an identity provider at once.";
    HubDrained "hub_drained" [operator]
        "An operator made the hub not ready, so that a load balancer sends no new requests.";
    HubResumed "hub_resumed" [operator]
        "An operator made the hub ready again.";
}

/// Audit event, with the fields of its line. Absent fields are left out; [`EventKind::fields`] says
/// which belong to it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Event {
    #[serde(skip)]
    pub(super) kind: EventKind,
    /// Service provider, by its client_id.
    pub(super) sp: Option<ClientId>,
    /// Identity provider, by its connector's id.
    pub(super) idp: Option<ConnectorId>,
    /// Data provider, by its client_id.
    pub(super) dp: Option<ClientId>,
    /// The user, as the pairwise subject of the service provider or the data provider.
    pub(super) sub: Option<Subject>,
    /// Level of assurance: requested in a request, achieved from the callback on, reported in
    /// tokens.
    pub(super) level: Option<Level>,
    /// The reason of a refusal: a code of docs/errors.md.
    #[schemars(with = "Option<String>")]
    pub(super) code: Option<ErrorCode>,
    /// The login, as a hash that gives no access to it.
    #[serde(serialize_with = "serialize_login")]
    #[schemars(with = "Option<Pseudonym>")]
    pub(super) login: Option<InteractionHash>,
    /// The session, as a hash that gives no access to it.
    #[serde(serialize_with = "serialize_session")]
    #[schemars(with = "Option<Pseudonym>")]
    pub(super) session: Option<Box<str>>,
    /// Shown to the user on pages; the same for a whole login and everything issued in it.
    pub(super) support_id: Option<SupportId>,
    /// Why a call to an identity provider failed. For the admin console only.
    #[serde(skip)]
    pub(super) detail: Option<Box<str>>,
    /// Fields of few events, boxed to keep the others small.
    #[serde(flatten)]
    pub(super) rare: Option<Box<RareFields>>,
}

impl Event {
    /// Creates an event without fields.
    pub const fn new(kind: EventKind) -> Self {
        Self {
            kind,
            sp: None,
            idp: None,
            dp: None,
            sub: None,
            level: None,
            code: None,
            login: None,
            session: None,
            support_id: None,
            detail: None,
            rare: None,
        }
    }

    /// Returns whether anyone can cause the event at will, without a login in the store.
    pub(super) const fn is_unauthenticated(&self) -> bool {
        match self.kind {
            EventKind::AuthorizationRefused
            | EventKind::TokenRefused
            | EventKind::UserinfoRefused
            | EventKind::IntrospectionRefused
            | EventKind::RevocationRefused
            | EventKind::LogoutRequested
            | EventKind::LogoutRefused
            | EventKind::AdminRefused => true,
            EventKind::CallbackRefused | EventKind::StepRefused => self.login.is_none(),
            EventKind::Extension(event) => event.is_unauthenticated,
            _ => false,
        }
    }

    /// Sets the service provider, which must be registered.
    #[must_use]
    pub fn sp(mut self, id: &ClientId) -> Self {
        self.sp = Some(id.clone());
        self
    }

    /// Sets the identity provider, which must be configured.
    #[must_use]
    pub fn idp(mut self, id: &ConnectorId) -> Self {
        self.idp = Some(id.clone());
        self
    }

    /// Sets the data provider, which must be registered.
    #[must_use]
    pub fn dp(mut self, id: &ClientId) -> Self {
        self.dp = Some(id.clone());
        self
    }

    /// Sets the pairwise `sub` of the service provider or data provider; never an identity
    /// provider's.
    #[must_use]
    pub fn subject(mut self, subject: &Subject) -> Self {
        self.sub = Some(subject.clone());
        self
    }

    /// Sets the level of assurance.
    #[must_use]
    pub const fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Sets the error code.
    #[must_use]
    pub const fn code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets the login, of which a hash is written.
    #[must_use]
    pub fn login(mut self, hash: &InteractionHash) -> Self {
        self.login = Some(hash.clone());
        self
    }

    /// Sets the session by its lineage, of which a hash is written.
    #[must_use]
    pub fn session(mut self, lineage: &str) -> Self {
        self.session = Some(lineage.into());
        self
    }

    /// Sets the support id.
    #[must_use]
    pub fn support_id(mut self, id: &SupportId) -> Self {
        self.support_id = Some(id.clone());
        self
    }

    /// Sets the explanation of a failed call. It is kept with the recent events, never in the log.
    #[must_use]
    pub fn detail(mut self, detail: Option<&str>) -> Self {
        self.detail = detail.map(Box::from);
        self
    }

    /// Sets the names of the service provider's parameters that the identity provider gets.
    #[must_use]
    pub fn forwarded(self, names: &[String]) -> Self {
        if names.is_empty() {
            return self;
        }
        self.set_rare(|rare| rare.forwarded = Some(names.to_vec()))
    }

    /// Sets the names of the verified claims that are released.
    #[must_use]
    pub fn verified_claims(self, names: BTreeSet<String>) -> Self {
        if names.is_empty() {
            return self;
        }
        self.set_rare(|rare| rare.verified_claims = Some(names))
    }

    /// Sets the id of a block.
    #[must_use]
    pub fn block(self, id: &str) -> Self {
        self.set_rare(|rare| rare.block = Some(id.to_owned()))
    }

    /// Sets the id of a notice, and what users see of it.
    #[must_use]
    pub fn notice(self, id: &str, content: NoticeTable) -> Self {
        self.set_rare(|rare| (rare.notice, rare.content) = (Some(id.to_owned()), Some(content)))
    }

    /// Sets a key, by its RFC 7638 thumbprint.
    #[must_use]
    pub fn key(self, kid: &str, purpose: AuditKeyPurpose) -> Self {
        self.set_rare(|rare| (rare.kid, rare.purpose) = (Some(kid.to_owned()), Some(purpose)))
    }

    /// Sets the kind of a configuration change.
    #[must_use]
    pub fn change(self, change: ConfigChange) -> Self {
        self.set_rare(|rare| rare.change = Some(change))
    }

    /// Sets a configuration file, by its name.
    #[must_use]
    pub fn file(self, name: &str) -> Self {
        self.set_rare(|rare| rare.file = Some(name.to_owned()))
    }

    /// Sets the hash of a value that represents the content of all configuration files.
    #[must_use]
    pub fn config(self, digest_source: &impl Serialize) -> Self {
        // The value consists of ordered tables, so serialization can't fail.
        let hash = digest::sha256(&serde_json::to_vec(digest_source).unwrap_or_default());
        self.set_rare(|rare| {
            rare.config = Some(digest::base64url(hash.get(..12).unwrap_or_default()));
        })
    }

    /// Sets the version of the program.
    #[must_use]
    pub fn version(self, version: &'static str) -> Self {
        self.set_rare(|rare| rare.version = Some(version))
    }

    /// Sets the result of the comparison with the last saved checkpoint, and the line of that one.
    #[must_use]
    pub fn last_checkpoint(self, check: CheckpointCheck, seq: Option<u64>) -> Self {
        self.set_rare(|rare| (rare.last_checkpoint, rare.checkpoint_seq) = (Some(check), seq))
    }

    /// Sets the operator who caused the event, by the configured name.
    #[must_use]
    pub fn operator(self, name: &str) -> Self {
        self.set_rare(|rare| rare.operator = Some(name.to_owned()))
    }

    /// Sets the operator's reason, a checked line of text.
    #[must_use]
    pub fn reason(self, reason: &str) -> Self {
        self.set_rare(|rare| rare.reason = Some(reason.to_owned()))
    }

    /// Sets the number of lost events.
    pub(super) fn lost(self, count: u64) -> Self {
        self.set_rare(|rare| rare.lost = Some(count))
    }

    /// Sets the signature of a checkpoint.
    pub(super) fn jws(self, jws: String) -> Self {
        self.set_rare(|rare| rare.jws = Some(jws))
    }

    /// Returns the event with a salt, unless its line has a random support id or signature.
    pub(super) fn salted(&self, entropy: &dyn Entropy) -> Cow<'_, Self> {
        if self.support_id.is_some() || self.kind == EventKind::Checkpoint {
            return Cow::Borrowed(self);
        }
        let salt = entropy.token();
        Cow::Owned(self.clone().set_rare(|rare| rare.salt = Some(salt)))
    }

    fn set_rare(mut self, set: impl FnOnce(&mut RareFields)) -> Self {
        set(self.rare.get_or_insert_default());
        self
    }
}
