//! What the window tells of one login.

use serde::{Deserialize, Serialize};

use super::{Window, advice, named};
use crate::assurance::Level;
use crate::audit::Name;
use crate::audit::recent::{Moment, Stage, Timeline, Whom};
use crate::config::in_rfc3339;
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::ErrorCode;

/// What `GET /admin/logins/{support id}` answers. Nothing in it is of a person.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoginTold {
    pub support_id: SupportId,
    pub platform: Platform,
    /// `choosing`, `away`, `identifying`, `consenting`, `granted`, `refused`, `failed`; `expired` where its time was over
    /// before it came to an end, `no login` of a request that never became one.
    pub state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<Named>,
    /// The one that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<Named>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_asked: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level_obtained: Option<Level>,
    /// RFC 3339, as `last`.
    pub began: String,
    pub last: String,
    /// The last refusal, unless the login ended well all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalTold>,
    pub events: Vec<EventTold>,
    /// Events in the middle that are not remembered.
    pub left_out: u32,
    /// False if it began before what is remembered.
    pub beginning_known: bool,
}

/// Somebody who is registered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Named {
    pub id: String,
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusalTold {
    /// `Y` and six digits, as on the person's screen.
    pub code: String,
    /// As docs/errors.md has it.
    pub description: String,
    /// Whose doing it is.
    pub fault: String,
    /// Who can mend it.
    pub mend: String,
    /// What the operator does.
    pub advice: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventTold {
    /// RFC 3339.
    pub at: String,
    /// Milliseconds after the first.
    pub after_ms: u64,
    /// As the audit log names it.
    pub event: String,
    pub meaning: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity_provider: Option<ConnectorId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_provider: Option<ClientId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Why a call to the identity provider failed; at most 300 characters of printable ASCII.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl EventTold {
    /// For people: `+1.204 s`.
    pub(super) fn after(&self) -> String {
        format!("+{}.{:03} s", self.after_ms / 1000, self.after_ms % 1000)
    }
}

impl Window {
    pub(super) fn login(&self, id: &SupportId) -> Result<LoginTold, ErrorCode> {
        let recent = self.recent.as_ref().ok_or(ErrorCode::SupportIdUnknown)?;
        let told = recent.find(id).ok_or(ErrorCode::SupportIdUnknown)?;
        let began = told.moments.first().map(|first| first.at).unwrap_or_default();
        let last = told.moments.last().map(|last| last.at).unwrap_or_default();
        Ok(LoginTold {
            support_id: id.clone(),
            platform: self.platform,
            state: self.state(&told, began).to_owned(),
            service_provider: told.service_provider.as_ref().map(|id| self.service_provider(id)),
            identity_provider: told.identity_provider().map(|id| self.identity_provider(id)),
            level_asked: level(&told, |name| name == Name::AuthorizationReceived),
            level_obtained: level(&told, |name| {
                matches!(
                    name,
                    Name::CallbackAccepted
                        | Name::SessionReused
                        | Name::CodeIssued
                        | Name::TokenIssued
                )
            }),
            began: in_rfc3339(began),
            last: in_rfc3339(last),
            refusal: told
                .refusal()
                .filter(|_| told.stage != Stage::Granted)
                .and_then(|moment| moment.code)
                .map(refusal),
            events: told.moments.iter().map(|moment| event(moment, began)).collect(),
            left_out: told.left_out,
            beginning_known: told.is_whole(),
        })
    }

    fn state(&self, told: &Timeline, began: Timestamp) -> &'static str {
        let is_late = self.env.now() >= began + self.login_life;
        if is_late && told.stage.is_live() { "expired" } else { told.stage.as_str() }
    }

    fn service_provider(&self, id: &ClientId) -> Named {
        let federation = self.federation.load();
        let name = federation.service(id).map(|service| named(&service.name)).unwrap_or_default();
        Named { id: id.to_string(), name }
    }

    fn identity_provider(&self, id: &ConnectorId) -> Named {
        let name = self.connectors.name(id).map(|name| named(&name)).unwrap_or_default();
        Named { id: id.to_string(), name }
    }
}

fn level(told: &Timeline, of: impl Fn(Name) -> bool) -> Option<Level> {
    told.moments.iter().rev().filter(|moment| of(moment.name)).find_map(|moment| moment.level)
}

fn refusal(code: ErrorCode) -> RefusalTold {
    let entry = code.entry();
    RefusalTold {
        code: entry.code.to_owned(),
        description: entry.description.to_owned(),
        fault: entry.fault.as_str().to_owned(),
        mend: entry.mender.as_str().to_owned(),
        advice: advice::of(code).to_owned(),
    }
}

fn event(moment: &Moment, began: Timestamp) -> EventTold {
    let (identity_provider, data_provider) = match &moment.whom {
        Whom::Nobody => (None, None),
        Whom::IdentityProvider(id) => (Some(id.clone()), None),
        Whom::DataProvider(id) => (None, Some(id.clone())),
    };
    EventTold {
        at: in_rfc3339(moment.at),
        after_ms: u64::try_from(moment.at.since(began).as_millis()).unwrap_or(u64::MAX),
        event: moment.name.as_str().to_owned(),
        meaning: moment.name.meaning().to_owned(),
        identity_provider,
        data_provider,
        level: moment.level,
        code: moment.code.map(|code| code.entry().code.to_owned()),
        detail: moment.detail.as_deref().map(str::to_owned),
    }
}
