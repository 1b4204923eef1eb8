//! Lists what a service provider's choice page offers: every connector in its order, and why it
//! can't be chosen.
//!
//! Responsible for the order (the service provider's, then the hub's, then by name) and for the
//! reason shown to users. The gate decides which connector may be used. Does not depend on how much
//! a page shows.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::registry::Connectors;
use passerelle_egress::circuit_breaker::CircuitState;
use passerelle_federation::ConnectorProfile;
use passerelle_federation::assurance::{AcrCheck, AuthenticationRequirement};
use passerelle_federation::connector_rules::ConnectorOrder;
use passerelle_federation::logo::Logo;
use passerelle_federation::provider_display::ProviderDisplay;
use passerelle_federation::session::gate::UnavailableReason;
use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::email_domain::EmailDomain;
use passerelle_protocol::ids::{ClientId, ConnectorId};

/// One entry of the choice page.
#[derive(Clone, Debug)]
pub struct ChoiceEntry {
    pub id: ConnectorId,
    pub display: Arc<ProviderDisplay>,
    /// Why it can't be chosen; `None` if it can. The hub probes those that are down, and offers
    /// them again as soon as they work.
    pub unavailable: Option<UnavailableReason>,
    /// The operator's message by language, if it is blocked; may be empty.
    pub block_message: Arc<BTreeMap<String, String>>,
    /// Whether it failed recently, and may be tried.
    pub is_recovering: bool,
}

impl Connectors {
    /// Returns the connectors that `is_wanted` accepts, in the service provider's order; those that
    /// it doesn't name are sorted by name in this language, and those with an open circuit come last. The
    /// names were sorted when the files were read: there may be hundreds, and each login calls
    /// this.
    pub fn choices(
        &self,
        client_id: &ClientId,
        demand: AuthenticationRequirement,
        language: &str,
        is_wanted: impl Fn(&ConnectorId, &ConnectorProfile) -> bool,
    ) -> Vec<ChoiceEntry> {
        let federation = self.federation.load();
        let service = federation.active_service_provider(client_id);
        let unnamed = ConnectorOrder::default();
        let order = service.map_or(&unnamed, |service| service.order.as_ref());
        let known = order
            .apply(federation.sorted_connectors().in_language(language))
            .filter_map(|id| Some((id, federation.connector(id)?)))
            .filter(|(id, metadata)| is_wanted(id, metadata));
        let snapshot = self.gate_snapshot();
        let entry = |(id, metadata): (&ConnectorId, &Arc<ConnectorProfile>)| {
            let circuit = self.circuit_state(id);
            let unavailable = snapshot
                .permit_connector(client_id, service, id, metadata)
                .and_then(|permitted| permitted.check_level(AcrCheck::Requested(demand)))
                .err()
                .or((circuit == CircuitState::Open).then_some(UnavailableReason::Down));
            let is_blocked = unavailable.is_some_and(UnavailableReason::is_block);
            let entry = ChoiceEntry {
                id: id.clone(),
                display: Arc::clone(&metadata.display),
                unavailable,
                block_message: if is_blocked {
                    self.operator_message(client_id, id)
                } else {
                    Arc::default()
                },
                is_recovering: circuit == CircuitState::HalfOpen,
            };
            (circuit, entry)
        };
        let mut choices: Vec<(CircuitState, ChoiceEntry)> = known.map(entry).collect();
        // A stable sort keeps the order of equals.
        choices.sort_by_key(|(circuit, _)| *circuit);
        choices.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Returns the connector that the e-mail domain in `login_hint` leads to, if there is only one
    /// and the service provider's file permits hints to it.
    pub fn connector_for_login_hint(&self, request: &AuthorizationRequest) -> Option<ConnectorId> {
        let domain = EmailDomain::from_address(request.login_hint.as_ref()?.reveal())?;
        let federation = self.federation.load();
        let mut found = federation.connectors_for_domain(&domain);
        let only = found.pop().filter(|_| found.is_empty())?;
        let service = federation.active_service_provider(&request.client_id)?;
        service.registration.hints.permits(&only).then_some(only)
    }

    /// Returns the logo of a connector.
    pub fn logo(&self, id: &ConnectorId) -> Option<Logo> {
        self.federation.load().connector(id)?.display.logo.clone()
    }
}
