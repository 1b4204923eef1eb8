//! Reports the identity providers that users can't use, or hardly, by state and cause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use passerelle_federation::connector_rules::AllowedConnectors;
use passerelle_federation::{Federation, ServiceProvider};
use passerelle_hub::registry::{ConnectorRow, ConnectorState};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_telemetry::CheckFinding;

/// Maximum number of names in one finding.
pub(super) const MAX_NAMES_LISTED: usize = 10;
/// Maximum number of service providers in the message of a finding, which has the others beside it.
const MAX_SERVICES_LISTED: usize = 3;

/// Reports the connectors that are down or degraded, those that are down first.
pub(super) fn find_unavailable_connectors(
    rows: &[ConnectorRow],
    federation: &Federation,
) -> Vec<CheckFinding> {
    let enabled: Vec<&ConnectorRow> = rows.iter().filter(|row| row.state.is_enabled()).collect();
    if enabled.is_empty() {
        return vec![CheckFinding::no_login_admitted(
            "no connector is enabled",
            "see `passerelle idp list`",
        )];
    }
    let mut by_cause: BTreeMap<(ConnectorState, Option<&str>), Vec<&ConnectorRow>> =
        BTreeMap::new();
    for row in &enabled {
        if matches!(row.state, ConnectorState::Down | ConnectorState::Degraded) {
            by_cause.entry((row.state, row.cause())).or_default().push(row);
        }
    }
    let usable: BTreeSet<&ConnectorId> =
        enabled.iter().filter(|row| row.state.is_usable()).map(|row| &row.id).collect();
    let finding = |((state, cause), rows): ((ConnectorState, Option<&str>), Vec<_>)| {
        let without_alternative = if state == ConnectorState::Down {
            find_services_without_alternative(&rows, &usable, federation)
        } else {
            Vec::new()
        };
        describe_unavailable(state, cause, &rows, enabled.len(), without_alternative)
    };
    by_cause.into_iter().map(finding).chain(find_slow_connectors(&enabled)).collect()
}

/// Reports the connectors whose identity providers answer slowly.
fn find_slow_connectors(enabled: &[&ConnectorRow]) -> Option<CheckFinding> {
    let slow: Vec<&&ConnectorRow> = enabled.iter().filter(|row| row.is_slow()).collect();
    let named = list_names(slow.iter().map(|row| row.id.as_str()), MAX_NAMES_LISTED);
    let (count, verb) = (slow.len(), if slow.len() == 1 { "is" } else { "are" });
    let finding = CheckFinding::new(
        format!(
            "{count} of {} identity providers {verb} slow: {named}. Half of the calls take more than 3 s; the hub ends a request after 6 s",
            enabled.len()
        ),
        "inform their operators, and compare with `passerelle check connector FILE --online`, which measures from this machine (docs/identity-provider-health.md)",
    );
    let ids = slow.iter().map(|row| row.id.clone()).collect();
    (count > 0).then(|| finding.with_kind("slow").with_identity_providers(ids))
}

/// Returns the service providers that allow one of these connectors, and none that is usable.
fn find_services_without_alternative(
    rows: &[&ConnectorRow],
    usable: &BTreeSet<&ConnectorId>,
    federation: &Federation,
) -> Vec<ClientId> {
    let has_no_alternative = |service: &&Arc<ServiceProvider>| match &service.allowed_connectors {
        AllowedConnectors::Only(named) => {
            service.registration.active
                && !named.iter().any(|id| usable.contains(id))
                && rows.iter().any(|row| named.contains(&row.id))
        }
        AllowedConnectors::All | AllowedConnectors::AllBut(_) => false,
    };
    let without_alternative = federation.service_providers().filter(has_no_alternative);
    without_alternative.map(|service| service.registration.client_id.clone()).collect()
}

/// Lists `most` names at most, and how many more there are.
fn list_names<'a>(names: impl ExactSizeIterator<Item = &'a str>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let named = names.take(most).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

/// Reports the identity providers that have this state for the same cause.
fn describe_unavailable(
    state: ConnectorState,
    cause: Option<&str>,
    rows: &[&ConnectorRow],
    enabled: usize,
    without_alternative: Vec<ClientId>,
) -> CheckFinding {
    let meaning = cause.and_then(ErrorCode::find).map(|code| code.entry().description);
    let why = match (cause, meaning) {
        (Some(code), Some(meaning)) => format!(". {code}: {}", meaning.trim_end_matches('.')),
        _ => String::new(),
    };
    let users = if without_alternative.is_empty() {
        String::new()
    } else {
        let names =
            list_names(without_alternative.iter().map(ClientId::as_str), MAX_SERVICES_LISTED);
        match without_alternative.len() {
            1 => format!(". 1 service provider allows no other: {names}"),
            count => format!(". {count} service providers allow no other: {names}"),
        }
    };
    let (state, count) = (state.as_str(), rows.len());
    let verb = if count == 1 { "is" } else { "are" };
    let named = list_names(rows.iter().map(|row| row.id.as_str()), MAX_NAMES_LISTED);
    CheckFinding::new(
        format!("{count} of {enabled} identity providers {verb} {state}: {named}{why}{users}"),
        "inform their operators; the hub retries by itself, and at once after `passerelle node reload`; the program's log has the details (docs/identity-provider-health.md)",
    )
    .with_kind(format!("{state} {}", cause.unwrap_or_default()))
    .with_identity_providers(rows.iter().map(|row| row.id.clone()).collect())
    .with_service_providers(without_alternative)
}
