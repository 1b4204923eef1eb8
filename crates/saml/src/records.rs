//! The records of SAML identity providers, and their capacities.

use passerelle_store::{RecordKind, RecordRetention, Usage};

/// A request that a page of the hub posts.
pub(crate) const SAML_REQUEST: &RecordKind =
    &RecordKind::new("saml_request", b'd', "saml_requests", 8 << 10);
/// A response until its login continues. Anyone can send one, so the capacity is none of another
/// kind's.
pub(crate) const SAML_RESPONSE: &RecordKind =
    &RecordKind::new("saml_response", b'j', "saml_responses", 16 << 10);
/// The ID of an assertion that was accepted, until the assertion expires (SAML V2.0 Profiles
/// §4.1.4.5).
pub(crate) const SAML_ASSERTION: &RecordKind =
    &RecordKind::new("saml_assertion", b'k', "saml_assertions", 64)
        .with_retention(RecordRetention::ReplayProtection);

pub(crate) const SAML_REQUEST_USAGE: Usage = Usage { records: 20_000, bytes: 64 << 20 };
pub(crate) const SAML_RESPONSE_USAGE: Usage = Usage { records: 20_000, bytes: 128 << 20 };
pub(crate) const SAML_ASSERTION_USAGE: Usage = Usage { records: 200_000, bytes: 16 << 20 };
