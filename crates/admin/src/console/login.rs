//! Builds the views of one login, and of a person's logins, from the events of all hubs.

use std::collections::BTreeMap;

use super::lookup::{JoinedReport, LocatedLine, to_timeline};
use super::peers::PeerLoginSearch;
use super::views::{
    EventView, LoginView, NamedParty, NodeAnswer, PersonLogin, PersonLogins, RefusalView,
};
use super::{AdminConsole, advice, descriptions, english_name};
use crate::responses::AdminError;
use passerelle_audit::EventKind;
use passerelle_audit::recent::{LoginStage, Timeline};
use passerelle_federation::assurance::Level;
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject, SupportId};

/// Maximum number of logins of one person that are shown, the latest ones.
const MAX_LOGINS_OF_PERSON: usize = 50;

impl AdminConsole {
    /// Returns the view of a login, from the events of all hubs.
    ///
    /// # Errors
    /// `SupportIdUnknown` if no hub knows the support id; the details name the hubs that did not
    /// answer.
    pub(super) async fn find_login_view(&self, id: &SupportId) -> Result<LoginView, AdminError> {
        let JoinedReport { lines, omitted, nodes } = self.join_login(id).await;
        let Some(timeline) = to_timeline(&lines) else {
            let details = nodes.iter().filter_map(NodeAnswer::problem).collect();
            return Err(AdminError { code: ErrorCode::SupportIdUnknown, details });
        };
        let start = timeline.entries.first().map(|first| first.at).unwrap_or_default();
        let last = lines.last().and_then(|located| located.line.timestamp()).unwrap_or_default();
        let is_obtained = |kind| {
            matches!(
                kind,
                EventKind::CallbackAccepted
                    | EventKind::SessionReused
                    | EventKind::CodeIssued
                    | EventKind::TokenIssued
            )
        };
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
            level_requested: last_level(&timeline, |kind| kind == EventKind::AuthorizationReceived),
            level_achieved: last_level(&timeline, is_obtained),
            started_at: format_rfc3339(start),
            last_event_at: format_rfc3339(last),
            refusal: timeline
                .refusal()
                .filter(|_| timeline.stage != LoginStage::Granted)
                .and_then(|moment| moment.code)
                .map(refusal_view),
            start_recorded: timeline.is_whole(),
            events: lines.into_iter().map(|located| event_view(located, start)).collect(),
            omitted_events: omitted,
            nodes,
        })
    }

    /// Returns a person's recent logins on all hubs, the latest first.
    pub async fn find_person(&self, subject: &Subject, search: &PeerLoginSearch) -> PersonLogins {
        let JoinedReport { lines, nodes, .. } = self.join_person(subject, search).await;
        let mut by_id: BTreeMap<SupportId, PersonLogin> = BTreeMap::new();
        for LocatedLine { node, line } in lines {
            let Some(id) = line.support_id else { continue };
            let login = by_id.entry(id.clone()).or_insert_with(|| PersonLogin {
                support_id: id,
                last_event_at: String::new(),
                event: line.event.as_str().to_owned(),
                meaning: String::new(),
                service_provider: None,
                identity_provider: None,
                level: None,
                node: None,
            });
            login.last_event_at = line.time;
            line.event.as_str().clone_into(&mut login.event);
            descriptions::describe_event(line.event).clone_into(&mut login.meaning);
            login.level = line.level.or(login.level);
            login.node = node;
            if let Some(id) = &line.sp {
                login.service_provider = Some(self.name_service_provider(id));
            }
            if let Some(id) = &line.idp {
                login.identity_provider = Some(self.name_identity_provider(id));
            }
        }
        let mut logins: Vec<PersonLogin> = by_id.into_values().collect();
        logins.sort_by(|one, other| other.last_event_at.cmp(&one.last_event_at));
        logins.truncate(MAX_LOGINS_OF_PERSON);
        PersonLogins { logins, nodes }
    }

    fn login_state(&self, timeline: &Timeline, start: Timestamp) -> &'static str {
        let is_late = self.core.env.now() >= start + self.login_lifetime;
        if is_late && timeline.stage.is_in_progress() { "expired" } else { timeline.stage.as_str() }
    }

    pub(super) fn name_service_provider(&self, id: &ClientId) -> NamedParty {
        let federation = self.core.federation.load();
        let name = federation
            .service_provider(id)
            .map(|service| english_name(&service.name))
            .unwrap_or_default();
        NamedParty { id: id.to_string(), name }
    }

    pub(super) fn name_identity_provider(&self, id: &ConnectorId) -> NamedParty {
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

fn event_view(LocatedLine { node, line }: LocatedLine, start: Timestamp) -> EventView {
    let at = line.timestamp().unwrap_or_default();
    EventView {
        at: line.time,
        after_ms: u64::try_from(at.since(start).as_millis()).unwrap_or(u64::MAX),
        event: line.event.as_str().to_owned(),
        meaning: line.event.meaning().to_owned(),
        identity_provider: line.idp,
        data_provider: line.dp,
        level: line.level,
        code: line.code,
        detail: line.detail,
        node,
    }
}
