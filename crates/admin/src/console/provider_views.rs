//! What the console shows of one identity provider or service provider.

use serde::Serialize;

use super::failure_views::FailureOverview;
use super::views::{NamedParty, ServiceProviderRow};
use passerelle_federation::validity::format_rfc3339;
use passerelle_hub::registry::{BlockRow, ConnectorRow};
use passerelle_protocol::env::Timestamp;

/// A setting in effect, for operators.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct SettingRow {
    pub name: &'static str,
    pub value: String,
}

/// A date of a key, a certificate or a secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct DatedItem {
    pub name: String,
    /// RFC 3339.
    pub at: String,
}

impl DatedItem {
    /// Creates the item of a moment.
    pub(super) fn new(name: impl Into<String>, at: Timestamp) -> Self {
        Self { name: name.into(), at: format_rfc3339(at) }
    }
}

/// Response body of `GET /admin/identity-providers/{id}`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct IdentityProviderView {
    pub identity_provider: ConnectorRow,
    /// Logins per minute that succeeded in the last hour at this hub; `None` before the first
    /// minute.
    pub granted_per_minute: Option<f64>,
    pub failures: FailureOverview,
    pub settings: Vec<SettingRow>,
    /// Expiries of what the operator must renew, and when its keys were fetched.
    pub dates: Vec<DatedItem>,
}

/// Response body of `GET /admin/service-providers?client_id=…`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct ServiceProviderView {
    pub service_provider: ServiceProviderRow,
    /// Whether it registered itself, and no file of the configuration has its client_id.
    pub is_registered: bool,
    pub failures: FailureOverview,
    /// Identity providers that its users can't choose now, of those that its file allows.
    pub unavailable: Vec<UnusableProvider>,
    /// Blocks of identity providers for this service provider alone, or for some.
    pub blocks: Vec<BlockRow>,
    pub settings: Vec<SettingRow>,
    /// Expiries of its last secret and its client certificates, and when its keys were fetched.
    pub dates: Vec<DatedItem>,
}

/// An identity provider that the users of a service provider can't choose, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(super) struct UnusableProvider {
    pub identity_provider: NamedParty,
    pub reason: String,
}
