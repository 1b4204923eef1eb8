//! Adds the dynamically registered clients to the federation, beside those of the configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Federation, ServiceProvider};
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::registration::ProtocolRules;

/// The dynamically registered clients by their client_id; those that wait for approval are not
/// active.
pub type RegisteredClients = BTreeMap<ClientId, Arc<ServiceProvider>>;

impl Federation {
    /// Replaces the registered clients. A client of the configuration precedes one of the same id.
    #[must_use]
    pub fn with_registered(self, registered: Arc<RegisteredClients>) -> Self {
        Self { registered, ..self }
    }

    /// Returns the registered clients whose client_id no file of the configuration has.
    pub fn registered_without_file(&self) -> impl Iterator<Item = &Arc<ServiceProvider>> {
        let without_file =
            self.registered.iter().filter(|(id, _)| !self.services.contains_key(*id));
        without_file.map(|(_, client)| client)
    }

    /// Returns the registered clients.
    pub const fn registered(&self) -> &Arc<RegisteredClients> {
        &self.registered
    }

    /// Returns the registered clients that wait for an operator's approval.
    pub fn pending_registrations(&self) -> impl Iterator<Item = &Arc<ServiceProvider>> {
        self.registered_without_file().filter(|client| !client.registration.active)
    }

    /// Returns true if the client registered itself and waits for an operator's approval.
    pub fn is_pending(&self, client_id: &ClientId) -> bool {
        !self.services.contains_key(client_id)
            && self.registered.get(client_id).is_some_and(|client| !client.registration.active)
    }

    /// Returns true if any service provider is under `rules = "openid"`.
    pub fn serves_openid(&self) -> bool {
        self.services
            .values()
            .chain(self.registered_without_file())
            .any(|service| service.registration.rules == ProtocolRules::Openid)
    }
}
