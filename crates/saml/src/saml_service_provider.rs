//! The hub, as one identity provider knows it.

use crate::settings::SamlKind;
use passerelle_protocol::ids::ConnectorId;

/// Names and addresses of the hub at an identity provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SamlServiceProvider {
    pub entity_id: String,
    /// Address of the assertion consumer service.
    pub consumer_url: String,
    /// Address for logout messages.
    pub logout_url: String,
}

impl SamlServiceProvider {
    /// Returns the names of the hub at the connector `id`. `base_url` has no slash at its end.
    pub fn new(kind: &SamlKind, id: &ConnectorId, base_url: &str) -> Self {
        let address = |name: &str| format!("{base_url}/connectors/{id}/saml/{name}");
        let own = kind.service_provider_entity_id.clone();
        Self {
            entity_id: own.unwrap_or_else(|| address("metadata")),
            consumer_url: address("acs"),
            logout_url: address("logout"),
        }
    }
}
