//! Why logins fail: the reasons of the last hour, and the last failed logins, of all hubs.
//!
//! Another hub may be wrong: what it answers is bounded and checked, and shown under the name that
//! this hub's configuration gives it.

use std::collections::HashMap;

use actix_web::web::ReqData;
use actix_web::{HttpRequest, HttpResponse};

use super::failure_views::{FailedLoginRow, FailureCause, FailureOverview, PartyCount};
use super::lookup::is_client_id;
use super::pages::failures::failures_page;
use super::peers::{FailureReport, PeerAnswer, ReportSource, parse_failure_filter};
use super::views::NodeAnswer;
use super::{AdminConsole, ConsoleData, advice, console_page, is_browser_request};
use crate::operators::AdminRequester;
use crate::responses::ok_response;
use passerelle_audit::recent::failures::{FailedLogin, FailureCount, FailureFilter};
use passerelle_federation::validity::parse_rfc3339;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::ConnectorId;

/// Failed logins, and refused requests, that are shown, the latest ones.
const MAX_FAILURES_SHOWN: usize = 50;
/// Parties that are named with a reason, the most frequent ones.
const MAX_PARTIES_NAMED: usize = 3;
/// Counters and failures of one hub.
const MAX_ROWS_PER_HUB: usize = 1000;

/// Handles `GET /admin/failures`, with the filter of `GET /admin/peer/failures`.
pub(super) async fn show_failures(
    console: ConsoleData,
    by: ReqData<AdminRequester>,
    request: HttpRequest,
) -> HttpResponse {
    let overview = console.find_failures(&parse_failure_filter(request.query_string())).await;
    if is_browser_request(request.headers()) {
        return console_page(&console, Some(&by), 200, |page| failures_page(&overview, page));
    }
    ok_response(&overview)
}

impl AdminConsole {
    /// Returns the failed logins that this hub alone knows.
    pub fn report_failures(&self, filter: &FailureFilter) -> FailureReport {
        let recent = self.recent.as_ref();
        let summary = recent.map(|recent| recent.summarize_failures(filter)).unwrap_or_default();
        FailureReport { instance: self.instance.clone(), summary }
    }

    /// Returns the failed logins of all hubs.
    pub(super) async fn find_failures(&self, filter: &FailureFilter) -> FailureOverview {
        let others = match &self.peers {
            Some(peers) => peers.summarize_failures(filter).await,
            None => Vec::new(),
        };
        self.join_failures(self.report_failures(filter), others)
    }

    /// Returns the failed logins of this hub, without asking the others.
    pub(super) fn own_failures(&self) -> FailureOverview {
        self.join_failures(self.report_failures(&FailureFilter::default()), Vec::new())
    }

    fn join_failures(
        &self,
        own: FailureReport,
        others: Vec<PeerAnswer<FailureReport>>,
    ) -> FailureOverview {
        let mut joined = JoinedFailures::default();
        joined.add(self, None, own);
        for PeerAnswer { peer, answer } in others {
            match answer {
                // The list of peers may name this hub too.
                Ok(report) if report.instance == self.instance => {}
                Ok(report) => joined.add(self, Some(&peer), report),
                Err(reason) => joined.nodes.push(NodeAnswer::unreachable(&peer, reason)),
            }
        }
        joined.into_overview()
    }

    fn failed_login_row(&self, node: Option<&str>, failure: FailedLogin) -> Option<FailedLoginRow> {
        let code = ErrorCode::find(&failure.code)?;
        let is_valid = parse_rfc3339(&failure.time).is_some()
            && failure.support_id.number().is_some()
            && failure.service_provider.as_ref().is_none_or(is_client_id)
            && failure.identity_provider.as_ref().is_none_or(is_connector_id);
        is_valid.then(|| FailedLoginRow {
            time: failure.time,
            support_id: failure.support_id,
            service_provider: failure.service_provider.map(|id| self.name_service_provider(&id)),
            identity_provider: failure.identity_provider.map(|id| self.name_identity_provider(&id)),
            description: code.entry().description.to_owned(),
            code: failure.code,
            node: node.map(str::to_owned),
        })
    }
}

fn is_connector_id(id: &ConnectorId) -> bool {
    ConnectorId::is_well_formed(id.as_str())
}

#[derive(Default)]
struct JoinedFailures {
    granted: u64,
    by_code: HashMap<ErrorCode, CountedCause>,
    failed_logins: Vec<FailedLoginRow>,
    refused_requests: Vec<FailedLoginRow>,
    nodes: Vec<NodeAnswer>,
}

#[derive(Default)]
struct CountedCause {
    count: u64,
    identity_providers: HashMap<String, u64>,
    service_providers: HashMap<String, u64>,
}

impl JoinedFailures {
    /// Adds what a hub answered; `node` is the name of another one.
    fn add(&mut self, console: &AdminConsole, node: Option<&str>, report: FailureReport) {
        let summary = report.summary;
        let name = node.unwrap_or(&console.node);
        let events = summary.failed_logins.len().saturating_add(summary.refused_requests.len());
        let source = Some(ReportSource::Memory);
        self.nodes.push(NodeAnswer { node: name.to_owned(), events, source, error: None });
        self.granted = self.granted.saturating_add(summary.granted);
        for counted in summary.counts.into_iter().take(MAX_ROWS_PER_HUB) {
            self.count(counted);
        }
        let rows = |failures: Vec<FailedLogin>| {
            let bounded = failures.into_iter().take(MAX_ROWS_PER_HUB);
            bounded.filter_map(|failure| console.failed_login_row(node, failure))
        };
        self.failed_logins.extend(rows(summary.failed_logins));
        self.refused_requests.extend(rows(summary.refused_requests));
    }

    fn count(&mut self, counted: FailureCount) {
        let Some(code) = ErrorCode::find(&counted.code) else { return };
        let cause = self.by_code.entry(code).or_default();
        cause.count = cause.count.saturating_add(counted.count);
        let add = |counts: &mut HashMap<String, u64>, id: &str| {
            let count = counts.entry(id.to_owned()).or_default();
            *count = count.saturating_add(counted.count);
        };
        if let Some(id) = counted.identity_provider.as_ref().filter(|id| is_connector_id(id)) {
            add(&mut cause.identity_providers, id.as_str());
        }
        if let Some(id) = counted.service_provider.as_ref().filter(|id| is_client_id(id)) {
            add(&mut cause.service_providers, id.as_str());
        }
    }

    fn into_overview(self) -> FailureOverview {
        let mut causes: Vec<FailureCause> =
            self.by_code.into_iter().map(|(code, counted)| to_cause(code, counted)).collect();
        causes.sort_by(|one, other| {
            other.count.cmp(&one.count).then_with(|| one.code.cmp(&other.code))
        });
        FailureOverview {
            granted: self.granted,
            failed: causes.iter().fold(0, |sum, cause| sum.saturating_add(cause.count)),
            causes,
            failed_logins: latest(self.failed_logins),
            refused_requests: latest(self.refused_requests),
            nodes: self.nodes,
        }
    }
}

fn to_cause(code: ErrorCode, counted: CountedCause) -> FailureCause {
    let entry = code.entry();
    FailureCause {
        code: entry.code.to_owned(),
        description: entry.description.to_owned(),
        responsible: entry.responsible.as_str().to_owned(),
        advice: advice::advice_for(code).to_owned(),
        count: counted.count,
        identity_providers: most_frequent(counted.identity_providers),
        service_providers: most_frequent(counted.service_providers),
    }
}

fn most_frequent(counts: HashMap<String, u64>) -> Vec<PartyCount> {
    let mut parties: Vec<PartyCount> =
        counts.into_iter().map(|(id, count)| PartyCount { id, count }).collect();
    parties.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.id.cmp(&other.id)));
    parties.truncate(MAX_PARTIES_NAMED);
    parties
}

/// Returns the latest failures, each login once.
fn latest(mut rows: Vec<FailedLoginRow>) -> Vec<FailedLoginRow> {
    rows.sort_by_key(|row| std::cmp::Reverse(parse_rfc3339(&row.time)));
    let mut seen = std::collections::HashSet::new();
    rows.retain(|row| seen.insert(row.support_id.clone()));
    rows.truncate(MAX_FAILURES_SHOWN);
    rows
}
