//! What may stand in a line, and nothing else: the table of events, and their fields, each of a type of its own.
//!
//! There is no field for text: what [`Event::detail`] says is remembered for the operator console, and never written. Names of people, e-mail addresses, tokens, secrets, codes and IP addresses have no way in;
//! a login's and a session's name are hashes of what names them elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::last_seal::SealCheck;
use crate::assurance::Level;
use crate::digest;
use crate::ids::{ClientId, ConnectorId, InteractionHash, Subject, SupportId};
use crate::protocol::catalogue::ErrorCode;

macro_rules! events {
    ($($variant:ident $name:literal [$($field:ident)*] $doc:literal;)*) => {
        /// Every event. Names are never changed or given another meaning.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
        pub enum Name {
            $(#[doc = $doc] #[serde(rename = $name)] $variant,)*
        }

        impl Name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it says, in a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }

            /// The fields that a line of this event may have, besides those of every line.
            #[must_use]
            pub const fn fields(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$(stringify!($field),)*],)* }
            }
        }
    };
}

events! {
    Start "start" [version config last_seal sealed] "The hub has begun; `prev` names the last line that it found.";
    Stop "stop" [] "The hub has ended in order: a checkpoint follows, and nothing after it.";
    Checkpoint "checkpoint" [jws] "A signature over the line before: its `seq` and its hash.";
    Lost "lost" [lost] "So many events could not be written since the line before.";
    AuthorizationReceived "authorization_received" [sp level login support_id] "A service provider's request was good: a login begins.";
    AuthorizationRefused "authorization_refused" [sp code support_id] "An authorization request was refused, or could not be served; no login began.";
    ChoiceShown "choice_shown" [sp idp code login support_id] "The choice of identity providers was shown; `code` and `idp` say why again.";
    SessionReused "session_reused" [sp idp sub level login support_id] "The person's session answered the login.";
    IdpChosen "idp_chosen" [sp idp code level login support_id] "An identity provider was chosen, by the person or by `idp_hint`; with `code` it could not be gone to.";
    PasswordRefused "password_refused" [sp idp login support_id] "A password that was typed on the hub's own page was wrong, or came too soon.";
    CallbackAccepted "callback_accepted" [sp idp level login support_id] "The identity provider's answer passed every check; `level` is what it proved.";
    CallbackRefused "callback_refused" [sp idp level code login support_id] "An answer of an identity provider was refused.";
    RegisterAsked "register_asked" [sp idp login support_id] "The register is to be asked about the person.";
    RegisterAnswered "register_answered" [sp idp code login support_id] "What the register said; without `code` it knows the person.";
    ConsentShown "consent_shown" [sp idp sub login support_id] "The page was shown that asks for an explicit yes.";
    ConsentGiven "consent_given" [sp idp sub login support_id] "The person said yes.";
    ConsentRefused "consent_refused" [sp idp sub login support_id] "The person said no.";
    InformationShown "information_shown" [sp idp sub login support_id] "The page was shown that informs, and asks nothing.";
    InformationContinued "information_continued" [sp idp sub login support_id] "The person went on from that page.";
    CodeIssued "code_issued" [sp idp sub level login session support_id] "The login has ended well: a code was issued.";
    LoginRefused "login_refused" [sp code login support_id] "The login has ended, and the service provider is told why.";
    LoginFailed "login_failed" [sp code login support_id] "The login has ended on a page that says why.";
    StepRefused "step_refused" [sp idp code login support_id] "A step did not fit the login, or not the browser; the login goes on.";
    TokenIssued "token_issued" [sp sub level session support_id] "A code was redeemed for an access token and an ID token.";
    TokenRefused "token_refused" [sp dp code] "A request for a token was refused.";
    UserinfoTold "userinfo_told" [sp sub level support_id] "A userinfo answer was given.";
    UserinfoRefused "userinfo_refused" [sp dp code] "A userinfo request was refused.";
    IntrospectionActive "introspection_active" [dp sp sub level support_id] "A data provider was told of a living token; `sub` is the data provider's.";
    IntrospectionInactive "introspection_inactive" [dp] "A data provider was told that a token is none, or none of its business.";
    IntrospectionRefused "introspection_refused" [sp dp code] "A data provider's question was refused.";
    TokenRevoked "token_revoked" [sp sub support_id] "A service provider had its access token forgotten.";
    RevocationEmpty "revocation_empty" [sp] "A service provider named a token that is none of its own: nothing was done.";
    RevocationRefused "revocation_refused" [sp dp code] "A request to forget a token was refused.";
    LogoutAsked "logout_asked" [sp] "The person was asked whether to sign out.";
    LogoutDone "logout_done" [sp idp session] "A session has ended, with its codes and tokens.";
    LogoutReturned "logout_returned" [sp idp] "The browser is back from its identity provider's logout.";
    LogoutRefused "logout_refused" [code support_id] "A logout request was refused, or could not be served.";
    ConfigApplied "config_applied" [config] "Files were read again and are in use; `config` names what they say.";
    ConfigChanged "config_changed" [change idp sp dp file] "What was changed by that, a line for each.";
    ConfigKeptBack "config_kept_back" [file] "A file is bad: its last good version stays in use.";
    BlockSet "block_set" [idp sp block] "An identity provider is blocked by command, for one service provider or for all.";
    BlockLifted "block_lifted" [idp sp block] "A block is lifted by command.";
    KeyAdded "key_added" [kid purpose] "A key is there that was not before.";
    KeyInUse "key_in_use" [kid purpose] "A key's turn has come.";
    KeyRemoved "key_removed" [kid purpose] "A key is there no more.";
    AdminRefused "admin_refused" [code] "The administration was asked without its token.";
}

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// It signs tokens, and this log.
    Tokens,
    /// It proves to identity providers who the hub is.
    Assertion,
    /// Identity providers encrypt to it.
    Encryption,
}

/// What became of a part of the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Changed,
    Removed,
}

/// Names a login or a session in the log: 16 characters of base64url, and no way back to a cookie or an address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Pseudonym(String);

impl Pseudonym {
    /// 96 bits: enough that no two logins meet, and useless as a key to the store.
    fn of(kind: &str, name: &str) -> Self {
        let hash = digest::sha256(format!("passerelle audit {kind}\n{name}").as_bytes());
        Self(digest::base64url(hash.get(..12).unwrap_or_default()))
    }
}

/// An event, as it is told. Which fields belong to it, [`Name::fields`] says.
#[derive(Clone, Debug)]
pub struct Event {
    pub(super) name: Name,
    pub(super) sp: Option<ClientId>,
    pub(super) idp: Option<ConnectorId>,
    pub(super) dp: Option<ClientId>,
    pub(super) sub: Option<Subject>,
    pub(super) level: Option<Level>,
    pub(super) code: Option<ErrorCode>,
    pub(super) login: Option<InteractionHash>,
    pub(super) session: Option<Box<str>>,
    pub(super) support_id: Option<SupportId>,
    /// Why a call to an identity provider failed, for the operator console alone: no line has a field for it.
    pub(super) detail: Option<Box<str>>,
    /// What only few events have, so that the many stay small.
    pub(super) rare: Option<Box<Rare>>,
}

#[derive(Clone, Default, Debug)]
pub(super) struct Rare {
    pub block: Option<String>,
    pub kid: Option<String>,
    pub purpose: Option<Purpose>,
    pub change: Option<Change>,
    pub file: Option<String>,
    pub config: Option<String>,
    pub version: Option<&'static str>,
    pub lost: Option<u64>,
    pub last_seal: Option<SealCheck>,
    pub sealed: Option<u64>,
    pub jws: Option<String>,
}

impl Event {
    #[must_use]
    pub const fn of(name: Name) -> Self {
        Self {
            name,
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

    /// Anybody can bring it about, as often as he likes, and without a login's place in the store.
    pub(super) const fn is_strangers(&self) -> bool {
        match self.name {
            Name::AuthorizationRefused
            | Name::TokenRefused
            | Name::UserinfoRefused
            | Name::IntrospectionRefused
            | Name::RevocationRefused
            | Name::LogoutAsked
            | Name::LogoutRefused
            | Name::AdminRefused => true,
            Name::CallbackRefused | Name::StepRefused => self.login.is_none(),
            _ => false,
        }
    }

    /// A registered service provider.
    #[must_use]
    pub fn sp(mut self, id: &ClientId) -> Self {
        self.sp = Some(id.clone());
        self
    }

    /// A configured connector.
    #[must_use]
    pub fn idp(mut self, id: &ConnectorId) -> Self {
        self.idp = Some(id.clone());
        self
    }

    /// A registered data provider.
    #[must_use]
    pub fn dp(mut self, id: &ClientId) -> Self {
        self.dp = Some(id.clone());
        self
    }

    /// Pairwise, of the service provider or the data provider that the event concerns; never an identity provider's.
    #[must_use]
    pub fn subject(mut self, subject: &Subject) -> Self {
        self.sub = Some(subject.clone());
        self
    }

    #[must_use]
    pub const fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    #[must_use]
    pub const fn code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code);
        self
    }

    #[must_use]
    pub fn login(mut self, hash: &InteractionHash) -> Self {
        self.login = Some(hash.clone());
        self
    }

    /// By the session's lineage, of which a hash is written.
    #[must_use]
    pub fn session(mut self, lineage: &str) -> Self {
        self.session = Some(lineage.into());
        self
    }

    #[must_use]
    pub fn support_id(mut self, id: &SupportId) -> Self {
        self.support_id = Some(id.clone());
        self
    }

    /// Adds the operator's explanation of a failed call. It reaches the memory of recent logins, and never the log.
    #[must_use]
    pub fn detail(mut self, detail: Option<&str>) -> Self {
        self.detail = detail.map(Box::from);
        self
    }

    /// The id that the hub gave to a block.
    #[must_use]
    pub fn block(self, id: &str) -> Self {
        self.rare(|rare| rare.block = Some(id.to_owned()))
    }

    /// By the key's RFC 7638 thumbprint.
    #[must_use]
    pub fn key(self, kid: &str, purpose: Purpose) -> Self {
        self.rare(|rare| (rare.kid, rare.purpose) = (Some(kid.to_owned()), Some(purpose)))
    }

    #[must_use]
    pub fn change(self, change: Change) -> Self {
        self.rare(|rare| rare.change = Some(change))
    }

    /// A file of the configuration, by its name.
    #[must_use]
    pub fn file(self, name: &str) -> Self {
        self.rare(|rare| rare.file = Some(name.to_owned()))
    }

    /// Whatever says all that the files in use say; a hash of it is written.
    #[must_use]
    pub fn config(self, outline: &impl Serialize) -> Self {
        // Of tables with an order of their own: what can't be written does not come here.
        let hash = digest::sha256(&serde_json::to_vec(outline).unwrap_or_default());
        self.rare(|rare| rare.config = Some(digest::base64url(hash.get(..12).unwrap_or_default())))
    }

    #[must_use]
    pub fn version(self, version: &'static str) -> Self {
        self.rare(|rare| rare.version = Some(version))
    }

    /// What was found of the last seal that was kept, and which line it is over.
    #[must_use]
    pub fn last_seal(self, check: SealCheck, sealed: Option<u64>) -> Self {
        self.rare(|rare| (rare.last_seal, rare.sealed) = (Some(check), sealed))
    }

    pub(super) fn lost(self, count: u64) -> Self {
        self.rare(|rare| rare.lost = Some(count))
    }

    pub(super) fn jws(self, jws: String) -> Self {
        self.rare(|rare| rare.jws = Some(jws))
    }

    fn rare(mut self, set: impl FnOnce(&mut Rare)) -> Self {
        set(self.rare.get_or_insert_default());
        self
    }

    pub(super) fn login_name(&self) -> Option<Pseudonym> {
        self.login.as_ref().map(|hash| Pseudonym::of("login", hash.as_str()))
    }

    pub(super) fn session_name(&self) -> Option<Pseudonym> {
        self.session.as_ref().map(|lineage| Pseudonym::of("session", lineage))
    }
}
