//! L2 · Adapters to identity providers: one trait, [`Connector`], and one module per kind.
//!
//! Responsible for the upstream protocols and every check on the responses of identity providers
//! (docs/design/upstream-verification.md). Does not know actors, stores, service providers or
//! pages. `docs/adding-a-kind.md` shows how to add a kind.

mod code_flow;
mod connection_check;
pub mod diagnostic;
mod error;
mod http_clients;
pub mod hub_page;
pub mod ldap;
mod mapped;
pub mod oauth2;
pub mod oidc;
pub mod one_time_code;
mod online_check;
pub mod persona;
mod port;

use std::sync::Arc;

pub use error::{ConnectorConfigError, ConnectorError};
use ldap::LdapConnector;
use oauth2::Oauth2Connector;
use oidc::OidcConnector;
use persona::PersonaConnector;
pub use port::{Connector, ConnectorContext, PersonaSupport, acr_policy};

use crate::config;
use crate::config::model::{ConnectorFile, ConnectorKind};
use crate::ids::{ConnectorId, Secret};

/// Builds the connector that a file describes. `client_secret` is the resolved secret of the file,
/// if it has one. Paths in the file must be absolute or relative to the working directory.
///
/// # Errors
/// Returns the key whose value can't be used.
pub fn build(
    id: ConnectorId,
    file: &ConnectorFile,
    client_secret: Option<Secret<String>>,
    context: ConnectorContext,
) -> Result<Arc<dyn Connector>, ConnectorConfigError> {
    let mapping = config::mapping::parse_mapping(file).map_err(|errors| {
        let to_text = |error: config::FieldDiagnostic| {
            format!("{}: {}; {}", error.key, error.message, error.fix)
        };
        let errors: Vec<_> = errors.into_iter().map(to_text).collect();
        ConnectorConfigError::new("mapping", errors.join("; "))
    })?;
    let connector: Arc<dyn Connector> = match &file.kind {
        ConnectorKind::Oidc(kind) => {
            Arc::new(OidcConnector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Oauth2(kind) => {
            Arc::new(Oauth2Connector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Ldap(kind) => {
            Arc::new(LdapConnector::new(id.clone(), file, kind, client_secret, context)?)
        }
        ConnectorKind::Persona(kind) => {
            Arc::new(PersonaConnector::new(id.clone(), file, kind, context)?)
        }
    };
    Ok(mapped::with_mapping(id, connector, mapping))
}

/// Compiles the examples of the contributor's guide as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding-a-kind.md")]
pub struct AddingAKind;
