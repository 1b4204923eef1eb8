//! Adapters to identity providers: one trait, [`Connector`], and one folder per kind
//! ([`ConnectorKind`]).
//!
//! Responsible for the upstream protocols and every check on the responses of identity providers
//! (docs/design/upstream-verification.md). Does not depend on actors, stores, service providers or
//! pages. `docs/adding-a-kind.md` shows how to add a kind. Begin with [`Connector`], then
//! [`oidc`]: other kinds have the same shape.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod acr_table;
mod claim_rule;
mod clock_skew;
pub mod code_flow;
mod configured_connector;
pub mod connection_check;
mod connector_file;
pub mod diagnostic;
mod dpop;
pub mod dropped_claims;
pub mod error;
mod forwarded_param;
pub mod http_clients;
pub mod hub_page;
pub mod kind_settings;
pub mod level_rules;
pub mod login_page_codes;
mod mapped;
pub mod mapping;
pub mod oauth2;
pub mod oidc;
pub mod online_check;
pub mod persona;
pub mod port;
pub mod sandbox_form;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod unusable_settings;
mod userinfo_request;

use std::sync::Arc;

use passerelle_settings::FieldDiagnostic;

pub use acr_table::AcrTable;
pub use claim_rule::ClaimRule;
pub use clock_skew::MeasuredSkew;
pub use configured_connector::{ConfiguredConnector, SandboxMode};
pub use connector_file::{ConnectorFile, ConnectorLimits, IdentityProof, UnparsedKind};
pub use error::ConnectorError;
pub use kind_settings::{ConnectorKind, acr_policy_from_file, connector_kind};
pub use port::{Connector, ConnectorContext};

/// Builds a configured connector.
///
/// # Errors
/// Returns the key whose value can't be used.
pub fn build(
    configured: &ConfiguredConnector,
    context: ConnectorContext,
) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
    let mapping = configured.mapping.clone().ok_or_else(|| {
        FieldDiagnostic::new("mapping", "has an invalid rule", "correct the rule first")
    })?;
    let metrics = context.metrics.clone();
    let connector = configured.kind.build(configured, context)?;
    Ok(mapped::with_mapping(configured.id.clone(), connector, mapping, metrics))
}
