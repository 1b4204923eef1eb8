//! Finds the events of a login, or of a person, on this hub and on the others.
//!
//! Responsible for where this hub looks (its memory, then the files of its audit log), and for
//! joining what all hubs answer. Another hub may be wrong: its events are bounded, checked, and
//! shown under the name that this hub's configuration gives it.

use std::sync::Arc;

use super::AdminConsole;
use super::peers::{LoginReport, PeerAnswer, PeerLoginSearch, ReportSource};
use super::views::NodeAnswer;
use passerelle_audit::recent::{Party, Timeline, TimelineEntry};
use passerelle_audit::search::{self, LoginLine, SearchResult};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId, Subject, SupportId};

/// Maximum number of events of one hub. From a login with more, the hub has removed those in the
/// middle.
const MAX_LINES_PER_HUB: usize = 512;

/// An event with the hub that recorded it; `None` for this one.
pub(super) struct LocatedLine {
    pub node: Option<String>,
    pub line: LoginLine,
}

/// The events of all hubs, oldest first, and what each hub answered.
pub(super) struct JoinedReport {
    pub lines: Vec<LocatedLine>,
    pub omitted: u32,
    pub nodes: Vec<NodeAnswer>,
}

impl AdminConsole {
    /// Returns what this hub knows of a login.
    pub async fn report_login(&self, id: &SupportId) -> LoginReport {
        let recent = self.recent.as_ref().and_then(|recent| recent.find(id));
        if let Some(timeline) = recent.as_ref().filter(|timeline| timeline.is_whole()) {
            return self.memory_report(timeline);
        }
        let wanted = id.clone();
        let (source, lines) =
            self.search_audit_log(move |path| search::find_login(path, &wanted)).await;
        match &recent {
            // The memory also has the reasons of failures.
            Some(timeline) if timeline.entries.len() >= lines.len() => self.memory_report(timeline),
            _ => self.report(source, lines),
        }
    }

    /// Returns what this hub's audit log knows of a person.
    pub async fn report_person(&self, subject: &Subject) -> LoginReport {
        let wanted = subject.clone();
        let (source, lines) =
            self.search_audit_log(move |path| search::find_subject(path, &wanted)).await;
        self.report(source, lines)
    }

    /// Returns the answer of a hub to itself, which it ignores.
    pub fn own_answer(&self) -> LoginReport {
        self.report(ReportSource::Memory, Vec::new())
    }

    /// Asks every hub for a login.
    pub(super) async fn join_login(&self, id: &SupportId) -> JoinedReport {
        let asked = async {
            match &self.peers {
                Some(peers) => peers.find_login(id).await,
                None => Vec::new(),
            }
        };
        let (own, others) = futures_util::join!(self.report_login(id), asked);
        let mut joined = self.join(own, others);
        joined
            .lines
            .retain(|located| located.line.support_id.as_ref().is_none_or(|found| found == id));
        joined
    }

    /// Asks every hub for a person.
    pub(super) async fn join_person(
        &self,
        subject: &Subject,
        search: &PeerLoginSearch,
    ) -> JoinedReport {
        let asked = async {
            match &self.peers {
                Some(peers) => peers.find_person(search).await,
                None => Vec::new(),
            }
        };
        let (own, others) = futures_util::join!(self.report_person(subject), asked);
        self.join(own, others)
    }

    fn report(&self, source: ReportSource, lines: Vec<LoginLine>) -> LoginReport {
        LoginReport { instance: self.instance.clone(), source, lines, omitted: 0 }
    }

    fn memory_report(&self, timeline: &Timeline) -> LoginReport {
        let service_provider = timeline.service_provider.as_ref();
        let lines = timeline.entries.iter().map(|entry| to_line(entry, service_provider));
        let report = self.report(ReportSource::Memory, lines.collect());
        LoginReport { omitted: timeline.omitted, ..report }
    }

    /// Searches the files on a thread that may block. One search at a time: it is the disk that
    /// limits it.
    async fn search_audit_log(
        &self,
        search: impl FnOnce(&std::path::Path) -> std::io::Result<SearchResult> + Send + 'static,
    ) -> (ReportSource, Vec<LoginLine>) {
        let Some(path) = self.audit_log.clone() else {
            return (ReportSource::NoAuditLog, Vec::new());
        };
        let turn = Arc::clone(&self.audit_searches).lock_owned().await;
        let audit = self.core.audit.clone();
        let searched = tokio::task::spawn_blocking(move || {
            // Held until the search ends, also if the requester has gone.
            let _turn = turn;
            audit.flush();
            search(&path)
        });
        match searched.await {
            Ok(Ok(SearchResult { lines, is_complete: true })) => (ReportSource::AuditLog, lines),
            Ok(Ok(SearchResult { lines, is_complete: false })) => {
                (ReportSource::PartOfAuditLog, lines)
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "the files of the audit log can't be searched");
                (ReportSource::NoAuditLog, Vec::new())
            }
            Err(error) => {
                tracing::error!(%error, "the search of the audit log failed");
                (ReportSource::NoAuditLog, Vec::new())
            }
        }
    }

    fn join(&self, own: LoginReport, others: Vec<PeerAnswer>) -> JoinedReport {
        let mut nodes = vec![NodeAnswer::from_report(&self.node, &own)];
        let (mut lines, mut omitted) = (Vec::new(), own.omitted);
        lines.extend(own.lines.into_iter().map(|line| LocatedLine { node: None, line }));
        for PeerAnswer { peer, answer } in others {
            match answer {
                // The list of peers may name this hub too.
                Ok(report) if report.instance == self.instance => {}
                Ok(mut report) => {
                    report.lines.truncate(MAX_LINES_PER_HUB);
                    report.lines.retain_mut(check_foreign_line);
                    nodes.push(NodeAnswer::from_report(&peer, &report));
                    omitted = omitted.saturating_add(report.omitted);
                    let located = |line| LocatedLine { node: Some(peer.clone()), line };
                    lines.extend(report.lines.into_iter().map(located));
                }
                Err(reason) => nodes.push(NodeAnswer::unreachable(&peer, reason)),
            }
        }
        lines.sort_by_key(|located| located.line.timestamp());
        JoinedReport { lines, omitted, nodes }
    }
}

/// Returns whether an event of another hub can be shown. Replaces unprintable text.
fn check_foreign_line(line: &mut LoginLine) -> bool {
    line.detail =
        line.detail.as_deref().map(passerelle_audit::recent::printable_detail).map(String::from);
    line.timestamp().is_some()
        && line.sp.as_ref().is_none_or(is_client_id)
        && line.dp.as_ref().is_none_or(is_client_id)
        && line.idp.as_ref().is_none_or(|id| ConnectorId::is_well_formed(id.as_str()))
        && line.support_id.as_ref().is_none_or(|id| id.number().is_some())
        && line.code.as_deref().is_none_or(|code| find_code(code).is_some())
}

/// Returns whether an id of another hub can be one of a client.
pub(super) fn is_client_id(id: &ClientId) -> bool {
    let id = id.as_str();
    (1..=255).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_graphic())
}

/// Returns the error of a code such as `Y020003`.
fn find_code(code: &str) -> Option<ErrorCode> {
    ErrorCode::find(code)
}

fn to_line(entry: &TimelineEntry, service_provider: Option<&ClientId>) -> LoginLine {
    let (idp, dp) = match &entry.party {
        Party::Unspecified => (None, None),
        Party::IdentityProvider(id) => (Some(id.clone()), None),
        Party::DataProvider(id) => (None, Some(id.clone())),
    };
    LoginLine {
        time: format_rfc3339(entry.at),
        event: entry.kind,
        sp: service_provider.cloned(),
        idp,
        dp,
        level: entry.level,
        code: entry.code.map(|code| code.entry().code.to_owned()),
        support_id: None,
        detail: entry.detail.as_deref().map(str::to_owned),
    }
}

/// Returns the timeline of a login's events; `None` without any.
pub(super) fn to_timeline(lines: &[LocatedLine]) -> Option<Timeline> {
    let entries = lines.iter().filter_map(|LocatedLine { line, .. }| {
        let party = match (&line.idp, &line.dp) {
            (Some(idp), _) => Party::IdentityProvider(idp.clone()),
            (None, Some(dp)) => Party::DataProvider(dp.clone()),
            (None, None) => Party::Unspecified,
        };
        let entry = TimelineEntry {
            at: line.timestamp()?,
            kind: line.event,
            party,
            level: line.level,
            code: line.code.as_deref().and_then(find_code),
            detail: line.detail.as_deref().map(Box::from),
        };
        Some((line.sp.clone(), entry))
    });
    Timeline::from_entries(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_audit::EventKind;

    fn line(time: &str) -> LoginLine {
        LoginLine {
            time: time.to_owned(),
            event: EventKind::IdpChosen,
            sp: Some("bakery".into()),
            idp: Some("amandier".into()),
            dp: None,
            level: None,
            code: Some("Y020003".to_owned()),
            support_id: None,
            detail: None,
        }
    }

    #[test]
    fn an_event_survives_the_way_between_hubs() {
        let located =
            [LocatedLine { node: Some("b".to_owned()), line: line("2026-11-21T10:15:00.123Z") }];
        let timeline = to_timeline(&located).unwrap();
        let sp = timeline.service_provider.clone();
        let back = to_line(&timeline.entries[0], sp.as_ref());
        assert_eq!(back, located[0].line);
        assert!(to_timeline(&[]).is_none());
    }

    /// Attack: a hub that was taken over sends markup, control characters and endless ids.
    #[test]
    fn invalid_data_of_a_peer_is_dropped_or_made_printable() {
        let good = line("2026-11-21T10:15:00Z");
        let checked = |mut line: LoginLine| check_foreign_line(&mut line).then_some(line);
        assert!(checked(good.clone()).is_some());
        let bad = [
            LoginLine { time: "yesterday".to_owned(), ..good.clone() },
            LoginLine { sp: Some(ClientId::new("x".repeat(256))), ..good.clone() },
            LoginLine { dp: Some(ClientId::new("a\nb")), ..good.clone() },
            LoginLine { idp: Some(ConnectorId::new("<script>")), ..good.clone() },
            LoginLine { code: Some("Y999999".to_owned()), ..good.clone() },
            LoginLine { support_id: Some(SupportId::new("../../status")), ..good.clone() },
        ];
        for line in bad {
            assert!(checked(line.clone()).is_none(), "{line:?}");
        }
        let detail = Some(format!("\u{1b}[2J\u{202e}{}", "x".repeat(10_000)));
        let shown = checked(LoginLine { detail, ..good }).and_then(|line| line.detail).unwrap();
        assert!(shown.len() <= 300 && shown.bytes().all(|c| c == b' ' || c.is_ascii_graphic()));
    }
}
