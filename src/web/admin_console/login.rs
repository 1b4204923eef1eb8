//! Builds the view of one login from its recent audit events.

use super::views::{EventView, LoginView, NamedParty, RefusalView};
use super::{AdminConsole, advice, english_name};
use crate::assurance::Level;
use crate::audit::EventKind;
use crate::audit::recent::{LoginStage, Party, Timeline, TimelineEntry};
use crate::config::format_rfc3339;
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, SupportId};
use crate::protocol::catalogue::ErrorCode;

impl AdminConsole {
    /// Returns the view of a login.
    ///
    /// # Errors
    /// `SupportIdUnknown` if no recent event has the support id.
    pub(super) fn find_login_view(&self, id: &SupportId) -> Result<LoginView, ErrorCode> {
        let recent = self.recent.as_ref().ok_or(ErrorCode::SupportIdUnknown)?;
        let timeline = recent.find(id).ok_or(ErrorCode::SupportIdUnknown)?;
        let start = timeline.entries.first().map(|first| first.at).unwrap_or_default();
        let last = timeline.entries.last().map(|last| last.at).unwrap_or_default();
        Ok(LoginView {
            support_id: id.clone(),
            platform: self.core.platform,
            state: self.login_state(&timeline, start).to_owned(),
            service_provider: timeline
                .service_provider
                .as_ref()
                .map(|id| self.name_service_provider(id)),
            identity_provider: timeline
                .identity_provider()
                .map(|id| self.name_identity_provider(id)),
            level_requested: last_level(&timeline, |name| name == EventKind::AuthorizationReceived),
            level_achieved: last_level(&timeline, |name| {
                matches!(
                    name,
                    EventKind::CallbackAccepted
                        | EventKind::SessionReused
                        | EventKind::CodeIssued
                        | EventKind::TokenIssued
                )
            }),
            started_at: format_rfc3339(start),
            last_event_at: format_rfc3339(last),
            refusal: timeline
                .refusal()
                .filter(|_| timeline.stage != LoginStage::Granted)
                .and_then(|moment| moment.code)
                .map(refusal_view),
            events: timeline.entries.iter().map(|moment| event_view(moment, start)).collect(),
            omitted_events: timeline.omitted,
            start_recorded: timeline.is_whole(),
        })
    }

    fn login_state(&self, timeline: &Timeline, start: Timestamp) -> &'static str {
        let is_late = self.core.env.now() >= start + self.login_lifetime;
        if is_late && timeline.stage.is_live() { "expired" } else { timeline.stage.as_str() }
    }

    fn name_service_provider(&self, id: &ClientId) -> NamedParty {
        let federation = self.core.federation.load();
        let name = federation
            .service_provider(id)
            .map(|service| english_name(&service.name))
            .unwrap_or_default();
        NamedParty { id: id.to_string(), name }
    }

    fn name_identity_provider(&self, id: &ConnectorId) -> NamedParty {
        let name =
            self.connectors.display_name(id).map(|name| english_name(&name)).unwrap_or_default();
        NamedParty { id: id.to_string(), name }
    }
}

fn last_level(timeline: &Timeline, is_source: impl Fn(EventKind) -> bool) -> Option<Level> {
    timeline
        .entries
        .iter()
        .rev()
        .filter(|moment| is_source(moment.kind))
        .find_map(|moment| moment.level)
}

fn refusal_view(code: ErrorCode) -> RefusalView {
    let entry = code.entry();
    RefusalView {
        code: entry.code.to_owned(),
        description: entry.description.to_owned(),
        origin: entry.origin.as_str().to_owned(),
        responsible: entry.responsible.as_str().to_owned(),
        advice: advice::advice_for(code).to_owned(),
    }
}

fn event_view(moment: &TimelineEntry, start: Timestamp) -> EventView {
    let (identity_provider, data_provider) = match &moment.party {
        Party::Unspecified => (None, None),
        Party::IdentityProvider(id) => (Some(id.clone()), None),
        Party::DataProvider(id) => (None, Some(id.clone())),
    };
    EventView {
        at: format_rfc3339(moment.at),
        after_ms: u64::try_from(moment.at.since(start).as_millis()).unwrap_or(u64::MAX),
        event: moment.kind.as_str().to_owned(),
        meaning: moment.kind.meaning().to_owned(),
        identity_provider,
        data_provider,
        level: moment.level,
        code: moment.code.map(|code| code.entry().code.to_owned()),
        detail: moment.detail.as_deref().map(str::to_owned),
    }
}
