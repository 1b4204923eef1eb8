//! What the crate adds to the hub besides the kind of connector.

use passerelle_audit::EventKind;
use passerelle_extension::Extension;
use passerelle_localization::message_texts;
use passerelle_web::endpoint::Endpoint;

use super::records::{
    SAML_ASSERTION, SAML_ASSERTION_USAGE, SAML_REQUEST, SAML_REQUEST_USAGE, SAML_RESPONSE,
    SAML_RESPONSE_USAGE,
};
use super::{endpoints, error_codes, single_logout};

/// The routes, pages, errors and records of SAML identity providers.
pub const EXTENSION: Extension = Extension {
    error_codes: error_codes::ALL,
    messages: message_texts!(),
    record_kinds: &[
        (SAML_REQUEST, |_| SAML_REQUEST_USAGE),
        (SAML_RESPONSE, |_| SAML_RESPONSE_USAGE),
        (SAML_ASSERTION, |_| SAML_ASSERTION_USAGE),
    ],
    endpoints: saml_endpoints,
    ..Extension::new("saml")
};

fn saml_endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::at("/connectors/{connector}/saml/request")
            .rejected_as(EventKind::StepRefused)
            .traced()
            .get(endpoints::show_request),
        Endpoint::at("/connectors/{connector}/saml/acs")
            .rejected_as(EventKind::CallbackRefused)
            .traced()
            .post(endpoints::receive_response),
        Endpoint::at("/connectors/{connector}/saml/logout")
            .rejected_as(EventKind::CallbackRefused)
            .get(single_logout::receive_logout),
        Endpoint::document("/connectors/{connector}/saml/metadata", endpoints::show_metadata),
    ]
}
