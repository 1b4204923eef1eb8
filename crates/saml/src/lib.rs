//! SAML kind: identity providers that speak the Web Browser SSO profile (OASIS SAML V2.0 with
//! Approved Errata 05).
//!
//! Responsible for XML signatures and encryption, the checks of a response, metadata and requests, and
//! the routes and the page of a login. Does not know actors or service providers. Begin with [`KIND`]
//! and [`connector`] for the course of a login, with [`xml`] and [`response`] for what is trusted.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod authentication;
pub mod authn_request;
mod certificate;
pub mod connector;
mod diagnose;
mod endpoints;
mod error_codes;
mod extension;
pub mod identity_provider;
pub mod logout;
pub mod logout_subject;
pub mod metadata;
pub mod metadata_source;
mod pages;
mod published_certificates;
mod published_metadata;
mod records;
pub mod redirect;
pub mod response;
pub mod saml_service_provider;
mod sample;
pub mod service_provider_keys;
mod settings;
mod settings_checks;
pub mod signed_document;
mod single_logout;
mod sp_description;
pub mod sp_metadata;
pub mod stored_messages;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod time;
pub mod xml;

use std::sync::Arc;

pub use extension::EXTENSION;
use passerelle_connector::ConfiguredConnector;
use passerelle_connector::diagnostic::{HubEndpoints, RegistrationParameter};
use passerelle_connector::kind_settings::{ConnectorKind, ConnectorKindFormat, connector_kind};
use passerelle_connector::port::{Connector, ConnectorContext};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::FieldDiagnostic;
pub use settings::SamlKind;

/// The kind of `[kind.saml]`.
pub const KIND: ConnectorKindFormat =
    connector_kind::<SamlKind>("saml", "SAML 2.0 (Web Browser SSO).");

impl ConnectorKind for SamlKind {
    fn build(
        &self,
        configured: &ConfiguredConnector,
        context: ConnectorContext,
    ) -> Result<Arc<dyn Connector>, FieldDiagnostic> {
        Ok(Arc::new(connector::SamlConnector::new(self, configured, context)?))
    }

    fn registration(&self, hub: &HubEndpoints) -> Vec<RegistrationParameter> {
        let Some((base_url, id)) = hub.redirect_uri.split_once("/api/v2/callback/") else {
            return Vec::new();
        };
        let id = ConnectorId::new(id);
        let hub = saml_service_provider::SamlServiceProvider::new(self, &id, base_url);
        vec![
            RegistrationParameter { name: "entity_id", value: hub.entity_id },
            RegistrationParameter { name: "assertion_consumer_service", value: hub.consumer_url },
            RegistrationParameter { name: "single_logout_service", value: hub.logout_url },
        ]
    }
}

/// Namespace of assertions.
const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// Namespace of the protocol.
const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// Namespace of metadata.
const MD: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
/// Format of an identifier that is an entity ID (SAML V2.0 Core §8.3.6).
const ENTITY_FORMAT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity";
/// Format of an identifier of a session, not of a person (SAML V2.0 Core §8.3.8).
const TRANSIENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
/// Binding of requests and responses by a form that the browser posts.
pub const HTTP_POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
/// Binding of requests by a redirect.
pub const HTTP_REDIRECT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
