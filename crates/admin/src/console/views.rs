//! What the admin console shows, as JSON and on its pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::peers::{LoginReport, ReportSource};
use crate::login_trend::LoginMinute;
use crate::problem::Problem;
use crate::readable;
use crate::readiness::CheckResult;
use passerelle_federation::assurance::Level;
use passerelle_federation::notices::NoticeSeverity;
use passerelle_hub::registry::{BlockRow, ConnectorRow};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::{ClientId, ConnectorId, SupportId};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_telemetry::EndedLogins;

/// Fill level of a kind of records that share a capacity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StoreUsage {
    pub records: String,
    pub used: usize,
    pub capacity: usize,
}

impl StoreUsage {
    /// Returns the used share of the capacity in percent.
    pub fn percent_used(&self) -> usize {
        self.used.saturating_mul(100) / self.capacity.max(1)
    }

    /// Returns what is used, as text.
    pub fn used_text(&self) -> String {
        self.quantity_text(self.used)
    }

    /// Returns the capacity, as text.
    pub fn capacity_text(&self) -> String {
        self.quantity_text(self.capacity)
    }

    fn quantity_text(&self, quantity: usize) -> String {
        let quantity = u64::try_from(quantity).unwrap_or(u64::MAX);
        if self.records.starts_with("bytes") {
            readable::bytes(quantity)
        } else {
            readable::count(quantity)
        }
    }
}

/// Response body of `GET /admin/status`.
#[derive(Debug, Serialize, Deserialize)]
pub struct HubStatus {
    pub version: String,
    /// Name of this hub (`audit.node`).
    #[serde(default)]
    pub node: String,
    pub platform: Platform,
    pub issuer: String,
    /// Time of the response, RFC 3339.
    pub at: String,
    pub ready: bool,
    /// Whether an operator has drained this hub.
    #[serde(default)]
    pub drained: bool,
    /// The checks of `/readyz`.
    pub checks: Vec<CheckResult>,
    /// What is wrong, causes before effects, as in `/readyz`.
    #[serde(default)]
    pub problems: Vec<Problem>,
    pub live: LiveLogins,
    /// Since the hub started; a program computes rates from two responses.
    pub ended_logins: EndedLogins,
    /// The logins of the last hour, by minute, oldest first.
    #[serde(default)]
    pub last_hour: Vec<LoginMinute>,
    pub store: Vec<StoreUsage>,
    pub connectors: Vec<ConnectorRow>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orphaned_blocks: Vec<BlockRow>,
    /// Registered service providers that wait for approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_registrations: Vec<PendingRegistrationRow>,
    /// What optional crates show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<ExtensionTable>,
}

impl HubStatus {
    /// Returns the state of the hub in one sentence.
    pub fn headline(&self) -> &'static str {
        match self.problems.first() {
            None => "The hub is healthy",
            Some(_) if self.problems.iter().any(|problem| problem.finding.stops_logins) => {
                "No login is admitted"
            }
            Some(_) if !self.ready => "The hub is not ready",
            Some(_) => "The hub is degraded",
        }
    }
}

/// What an optional crate shows in the overview and in `GET /admin/status`, in English.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ExtensionTable {
    pub heading: String,
    pub columns: Vec<String>,
    /// The cells of each row, one for each column.
    pub rows: Vec<Vec<String>>,
    /// What the operator can do.
    pub advice: String,
}

/// A registered service provider that waits for approval, in `GET /admin/status`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingRegistrationRow {
    pub client_id: ClientId,
    /// Its names, by language.
    pub names: BTreeMap<String, String>,
    pub redirect_uris: Vec<String>,
}

/// Numbers of live logins by state.
///
/// For hubs that share a store only the sum over all hubs is meaningful: a login that moves from
/// one hub to another makes the number of the first one negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LiveLogins {
    pub choosing: i64,
    pub awaiting_callback: i64,
    pub verifying: i64,
    pub identifying: i64,
    /// Absent in the response of a hub of 0.1.0.
    #[serde(default)]
    pub confirming_mail: i64,
    pub consenting: i64,
}

impl LiveLogins {
    /// Returns the numbers in the order of a login.
    #[must_use]
    pub const fn rows(&self) -> [(&'static str, i64); 6] {
        [
            ("choosing", self.choosing),
            ("awaiting_callback", self.awaiting_callback),
            ("verifying", self.verifying),
            ("identifying", self.identifying),
            ("confirming_mail", self.confirming_mail),
            ("consenting", self.consenting),
        ]
    }
}

/// Response body of `GET /admin/config`: the configuration in use, without secrets.
#[derive(Debug, Serialize)]
pub struct ConfigurationView {
    pub settings: Value,
    pub connectors: Vec<ConnectorId>,
    pub service_providers: Vec<ServiceProviderRow>,
    pub data_providers: Vec<DataProviderRow>,
    pub notices: Vec<ConfiguredNotice>,
    /// Number of blocks in connector files. Blocks by command are listed with the connectors.
    pub blocks: usize,
}

/// A service provider in `GET /admin/config`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ServiceProviderRow {
    pub client_id: ClientId,
    pub name: String,
    pub active: bool,
    pub rules: ProtocolRules,
    pub redirect_uris: Vec<String>,
    pub scopes: Vec<String>,
    pub connectors: Vec<ConnectorId>,
}

impl ServiceProviderRow {
    /// Returns the word for its state.
    pub const fn state(&self) -> &'static str {
        if self.active { "available" } else { "disabled" }
    }
}

/// A data provider in `GET /admin/config`.
#[derive(Debug, Serialize)]
pub struct DataProviderRow {
    pub client_id: ClientId,
    pub active: bool,
    pub scopes: Vec<String>,
}

/// A notice of the file in `GET /admin/config`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct ConfiguredNotice {
    pub text: String,
    pub severity: NoticeSeverity,
    pub from: Option<String>,
    pub until: Option<String>,
    pub in_force: bool,
}

/// Response body of `GET /admin/logins/{support id}`. It holds no personal data.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LoginView {
    pub support_id: SupportId,
    pub platform: Platform,
    /// `choosing`, `awaiting_callback`, `identifying`, `consenting`, `granted`, `refused`,
    /// `failed`; `expired` if its lifetime passed before it ended, `no_login` for a request that
    /// started none.
    pub state: String,
    pub service_provider: Option<NamedParty>,
    /// The one that was chosen last.
    pub identity_provider: Option<NamedParty>,
    pub level_requested: Option<Level>,
    pub level_achieved: Option<Level>,
    /// RFC 3339, as `last_event_at`.
    pub started_at: String,
    pub last_event_at: String,
    /// The last error, unless the login succeeded afterwards.
    pub refusal: Option<RefusalView>,
    pub events: Vec<EventView>,
    /// Number of events in the middle that are not kept.
    pub omitted_events: u32,
    /// False if the first event is not kept.
    pub start_recorded: bool,
    /// What each hub answered, this one first.
    #[serde(default)]
    pub nodes: Vec<NodeAnswer>,
}

/// What a hub answered when it was asked for a login.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeAnswer {
    /// Name of the hub.
    pub node: String,
    /// Number of events.
    pub events: usize,
    /// Where it looked; `None` without an answer.
    pub source: Option<ReportSource>,
    /// Why it did not answer.
    pub error: Option<String>,
}

impl NodeAnswer {
    pub(super) fn from_report(node: &str, report: &LoginReport) -> Self {
        let (node, events) = (node.to_owned(), report.lines.len());
        Self { node, events, source: Some(report.source), error: None }
    }

    pub(super) fn unreachable(node: &str, reason: String) -> Self {
        Self { node: node.to_owned(), events: 0, source: None, error: Some(reason) }
    }

    /// Returns where the hub looked, and what it found, as text.
    pub fn summary(&self) -> String {
        let place = match self.source {
            None => {
                let reason = self.error.as_deref().unwrap_or_default();
                return format!("no answer: {reason}");
            }
            Some(ReportSource::Memory) => "in its memory",
            Some(ReportSource::AuditLog) => "in its audit log",
            Some(ReportSource::PartOfAuditLog) => {
                "in the newest part of its audit log; the rest would take too long"
            }
            Some(ReportSource::NoAuditLog) => {
                "in its memory only; it has no files of an audit log to search"
            }
        };
        match self.events {
            0 => format!("nothing {place}"),
            events => format!("{events} events {place}"),
        }
    }

    /// Returns why this hub may know more than it answered.
    pub(super) fn problem(&self) -> Option<String> {
        let is_complete =
            matches!(self.source, Some(ReportSource::Memory | ReportSource::AuditLog));
        (!is_complete).then(|| format!("{}: {}", self.node, self.summary()))
    }
}

/// Response body of `POST /admin/logins/search`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PersonLogins {
    /// The latest first.
    pub logins: Vec<PersonLogin>,
    /// What each hub answered, this one first.
    pub nodes: Vec<NodeAnswer>,
}

/// A login of a person.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PersonLogin {
    pub support_id: SupportId,
    /// RFC 3339.
    pub last_event_at: String,
    /// Name of the last event in the audit log that names the person.
    pub event: String,
    /// The event in plain words.
    pub meaning: String,
    pub service_provider: Option<NamedParty>,
    pub identity_provider: Option<NamedParty>,
    pub level: Option<Level>,
    /// The hub that recorded it; `None` for the one that answers.
    pub node: Option<String>,
}

/// Id and English name of a registered party.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedParty {
    pub id: String,
    pub name: String,
}

/// An error of a login.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusalView {
    /// `Y` and six digits, as on the user's screen.
    pub code: String,
    /// As in docs/errors.md.
    pub description: String,
    /// Who caused it.
    pub origin: String,
    /// Who can fix it.
    pub responsible: String,
    /// What the operator can do.
    pub advice: String,
}

/// An audit event of a login.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventView {
    /// RFC 3339.
    pub at: String,
    /// Milliseconds after the first event.
    pub after_ms: u64,
    /// Name of the event in the audit log.
    pub event: String,
    pub meaning: String,
    pub identity_provider: Option<ConnectorId>,
    pub data_provider: Option<ClientId>,
    pub level: Option<Level>,
    pub code: Option<String>,
    /// Why a call to the identity provider failed; at most 300 characters of printable ASCII.
    pub detail: Option<String>,
    /// The hub that recorded it; `None` for the one that answers.
    pub node: Option<String>,
}

impl EventView {
    /// Returns the offset for display: `+1.204 s`.
    pub(super) fn offset(&self) -> String {
        format!("+{}.{:03} s", self.after_ms / 1000, self.after_ms % 1000)
    }
}
