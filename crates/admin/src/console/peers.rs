//! The port to the other hubs: what they are asked, and what they answer.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use url::form_urlencoded;

use passerelle_audit::recent::failures::{FailureFilter, FailureSummary};
use passerelle_audit::search::LoginLine;
use passerelle_protocol::ids::{ClientId, ConnectorId, SupportId};

/// Request body of `POST /admin/peer/logins/search`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PeerLoginSearch {
    pub sub: String,
    pub reason: String,
    /// Who asked at the other hub.
    pub operator: String,
    /// Random name of the process that asks, which ignores its own questions: the list of peers may
    /// name it too.
    pub instance: String,
}

/// The other hubs.
#[async_trait]
pub trait PeerHubs: Send + Sync {
    /// Requests a login from each hub. Takes a few seconds at most.
    async fn find_login(&self, id: &SupportId) -> Vec<PeerAnswer>;

    /// Requests the logins of a person from each hub. Takes a few seconds at most.
    async fn find_person(&self, search: &PeerLoginSearch) -> Vec<PeerAnswer>;

    /// Requests from each hub which logins failed in the last hour. Takes two seconds at most.
    async fn summarize_failures(&self, filter: &FailureFilter) -> Vec<PeerAnswer<FailureReport>>;
}

/// What another hub answered, or why it did not.
#[derive(Clone, Debug)]
pub struct PeerAnswer<Report = LoginReport> {
    /// Name of the hub in `private.peers`.
    pub peer: String,
    pub answer: Result<Report, String>,
}

/// The failed logins of one hub.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FailureReport {
    /// Random name of the process, so that a hub that asks itself ignores the answer.
    pub instance: String,
    #[serde(flatten)]
    pub summary: FailureSummary,
}

/// Names in the query of `GET /admin/peer/failures`.
const SERVICE_PROVIDER: &str = "service_provider";
const IDENTITY_PROVIDER: &str = "identity_provider";

/// Reads the filter of `GET /admin/peer/failures` from its query.
pub(crate) fn parse_failure_filter(query: &str) -> FailureFilter {
    let mut filter = FailureFilter::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            SERVICE_PROVIDER => filter.service_provider = Some(ClientId::new(value)),
            IDENTITY_PROVIDER => filter.identity_provider = Some(ConnectorId::new(value)),
            _ => {}
        }
    }
    filter
}

/// Returns the query that `parse_failure_filter` reads.
pub fn failure_filter_query(filter: &FailureFilter) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(id) = &filter.service_provider {
        query.append_pair(SERVICE_PROVIDER, id.as_str());
    }
    if let Some(id) = &filter.identity_provider {
        query.append_pair(IDENTITY_PROVIDER, id.as_str());
    }
    query.finish()
}

/// Data of one hub about a login or a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LoginReport {
    /// Random name of the process, so that a hub that asks itself ignores the answer.
    pub instance: String,
    pub source: ReportSource,
    /// Oldest first.
    pub lines: Vec<LoginLine>,
    /// Number of events in the middle that are not kept.
    #[serde(default)]
    pub omitted: u32,
}

/// Where a hub has looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportSource {
    /// The recent events in memory.
    Memory,
    /// The files of its audit log, completely.
    AuditLog,
    /// The files of its audit log, as far as the time allowed.
    PartOfAuditLog,
    /// Its memory only: it has no files of an audit log, or can't read them.
    NoAuditLog,
}
