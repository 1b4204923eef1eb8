//! What the console shows of failed logins, as JSON and on its pages.

use serde::{Deserialize, Serialize};

use super::views::{NamedParty, NodeAnswer};
use passerelle_protocol::ids::SupportId;

/// Response body of `GET /admin/failures`. It holds no personal data.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FailureOverview {
    /// Logins of the last hour that succeeded, on all hubs that answered.
    pub granted: u64,
    /// Failures of the last hour. A login that fails for two reasons counts twice.
    pub failed: u64,
    /// Why, the most frequent first.
    pub causes: Vec<FailureCause>,
    /// The latest first.
    pub failed_logins: Vec<FailedLoginRow>,
    /// Requests that never became a login, the latest first.
    pub refused_requests: Vec<FailedLoginRow>,
    /// What each hub answered, this one first.
    pub nodes: Vec<NodeAnswer>,
}

/// A reason for which logins of the last hour failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailureCause {
    /// `Y` and six digits.
    pub code: String,
    /// As in docs/errors.md.
    pub description: String,
    /// Who can fix it.
    pub responsible: String,
    /// What the operator can do.
    pub advice: String,
    pub count: u64,
    /// The identity providers with the most failures.
    pub identity_providers: Vec<PartyCount>,
    /// The service providers with the most failures.
    pub service_providers: Vec<PartyCount>,
}

/// Failures of a party.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PartyCount {
    pub id: String,
    pub count: u64,
}

/// A failed login in a list.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedLoginRow {
    /// RFC 3339.
    pub time: String,
    pub support_id: SupportId,
    pub service_provider: Option<NamedParty>,
    pub identity_provider: Option<NamedParty>,
    pub code: String,
    pub description: String,
    /// The hub that recorded it; `None` for the one that answers.
    pub node: Option<String>,
}
