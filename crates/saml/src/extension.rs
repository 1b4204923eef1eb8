//! What the crate adds to the hub besides the kind of connector.

use passerelle_audit::EventKind;
use passerelle_extension::Extension;
use passerelle_localization::MessageTexts;
use passerelle_store::{RecordKind, RecordRetention, Usage};
use passerelle_web::endpoint::Endpoint;

use super::{endpoints, error_codes, single_logout};

/// A request that a page of the hub posts, or a response until its login continues. Anyone can send
/// a response, so the capacity is none of another kind's.
pub(super) const SAML_MESSAGE: &RecordKind =
    &RecordKind::new("saml_message", b'j', "saml_messages", 16 << 10);
/// The ID of an assertion that was accepted, until the assertion expires (SAML V2.0 Profiles
/// §4.1.4.5).
pub(super) const SAML_ASSERTION: &RecordKind =
    &RecordKind::new("saml_assertion", b'k', "saml_assertions", 64)
        .with_retention(RecordRetention::ReplayProtection);

const SAML_MESSAGE_USAGE: Usage = Usage { records: 20_000, bytes: 128 << 20 };
const SAML_ASSERTION_USAGE: Usage = Usage { records: 200_000, bytes: 16 << 20 };

macro_rules! messages {
    ($($tag:literal)*) => { &[$(($tag, include_str!(concat!("../locales/", $tag, ".ftl")))),*] };
}

const MESSAGES: MessageTexts = messages!("ar" "de" "en" "es" "fr" "it" "nl" "pl" "pt" "ro");

/// The routes, pages, errors and records of SAML identity providers.
pub const EXTENSION: Extension = Extension {
    error_codes: error_codes::ALL,
    messages: MESSAGES,
    record_kinds: &[
        (SAML_MESSAGE, |_| SAML_MESSAGE_USAGE),
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
