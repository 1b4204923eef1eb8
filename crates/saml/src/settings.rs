//! Defines the `[kind.saml]` table of a connector.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::authn_request::Comparison;
use crate::sp_description::{HubContact, HubOrganization, RequestedAttribute};
use crate::{HTTP_POST, HTTP_REDIRECT};
use passerelle_settings::{AuthoritiesPath, CertificatePath, FilePath, SecretRef};

/// Longest `metadata_max_validity_days`.
const MAX_VALIDITY_DAYS: u64 = 365;

/// A SAML 2.0 identity provider (Web Browser SSO Profile).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "entity_id": "https://idp.example.org/saml",
    "metadata_file": "saml/idp.xml"
}]))]
pub struct SamlKind {
    /// Entity ID of the identity provider, as its metadata has it.
    #[schemars(example = "https://idp.example.org/saml")]
    pub entity_id: String,
    /// File with its metadata, which the operator has verified. Exactly one of `metadata_file`,
    /// `metadata_url` and `metadata_query_url` is set.
    #[serde(default)]
    pub metadata_file: Option<FilePath>,
    /// Address of its metadata, or of an aggregate of a federation with up to 5 MB.
    #[serde(default)]
    #[schemars(example = "https://metadata.example.org/federation.xml")]
    pub metadata_url: Option<String>,
    /// Base address of a server that returns the metadata of one entity (Metadata Query Protocol).
    #[serde(default)]
    #[schemars(example = "https://mdq.example.org/")]
    pub metadata_query_url: Option<String>,
    /// PEM file of the certificates of those who may sign the metadata. Required with an address:
    /// TLS alone proves nothing.
    #[serde(default)]
    pub metadata_signers: Option<CertificatePath>,
    /// The `validUntil` of fetched metadata must be at most so many days away, so that an old
    /// document with a revoked key can't be sent again: 1 to 365.
    #[serde(default = "default_validity_days")]
    #[schemars(range(min = 1, max = MAX_VALIDITY_DAYS))]
    pub metadata_max_validity_days: u64,
    /// Entity ID of the hub at this identity provider. Default: the address of the hub's metadata for
    /// it, `{base_url}/connectors/{connector}/saml/metadata`.
    #[serde(default)]
    pub service_provider_entity_id: Option<String>,
    /// Private keys and their certificates in PEM: the first key signs, and all of them decrypt.
    /// Default: the hub's own keys for identity providers.
    #[serde(default)]
    pub private_keys: Option<SecretRef>,
    /// Signs the hub's metadata at `/connectors/{connector}/saml/metadata`, which then is valid for
    /// seven days.
    #[serde(default)]
    pub sign_metadata: bool,
    /// Signs each request; without, only if the metadata demands it.
    #[serde(default)]
    pub sign_requests: bool,
    /// Adds `Format` and `NameQualifier` to the Issuer of requests, which SPID and CIE demand and SAML
    /// V2.0 Core §8.3.6 forbids.
    #[serde(default)]
    pub qualify_issuer: bool,
    /// How requests reach the identity provider. Default: by redirect, if its metadata has such an
    /// address.
    #[serde(default)]
    pub request_binding: Option<SamlBinding>,
    /// Requested format of the NameID, and besides the persistent one an accepted one. Without
    /// `subject_attribute` it must be permanent at this identity provider.
    #[serde(default)]
    #[schemars(example = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent")]
    pub name_id_format: Option<String>,
    /// Attribute that identifies the user permanently. Default: the NameID.
    #[serde(default)]
    #[schemars(example = "urn:oasis:names:tc:SAML:attribute:subject-id")]
    pub subject_attribute: Option<String>,
    /// How the authentication must compare with the requested `AuthnContextClassRef`, which are the
    /// values of `acr`.
    #[serde(default)]
    pub authn_context_comparison: Comparison,
    /// Index of the hub's `AttributeConsumingService` in its registration, which requests name. In the
    /// hub's metadata, default 0.
    #[serde(default)]
    pub attribute_consuming_service: Option<u16>,
    /// Attributes that the hub's metadata requests: `[[kind.saml.requested_attributes]]`.
    #[serde(default)]
    pub requested_attributes: Vec<RequestedAttribute>,
    /// Name of the service for which it requests them, by language.
    #[serde(default)]
    pub service_name: BTreeMap<String, String>,
    /// Who runs the hub, for its metadata.
    #[serde(default)]
    pub organization: Option<HubOrganization>,
    /// People who answer for the hub, in its metadata: `[[kind.saml.contacts]]`.
    #[serde(default)]
    pub contacts: Vec<HubContact>,
    /// How many further identity providers it may ask (`ProxyCount`).
    #[serde(default)]
    pub proxy_count: Option<u16>,
    /// Names the service provider by its `client_id` (`RequesterID`): for proxies that must know
    /// which service asks, and ask the user's own identity provider.
    #[serde(default)]
    pub send_requester_id: bool,
    /// Accepts AES-CBC in signed responses and logout requests. For identity providers without
    /// AES-GCM.
    #[serde(default)]
    pub allow_cbc: bool,
    /// Exchanges logout requests with the identity provider, if its metadata has an address for
    /// them.
    #[serde(default = "yes")]
    pub single_logout: bool,
    /// PEM file of the only certificate authorities trusted for the TLS of metadata. Default: the
    /// system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// Allows http for metadata and for the addresses in it. For tests only.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// Binding of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, derive_more::Display)]
#[serde(rename_all = "lowercase")]
pub enum SamlBinding {
    /// In the query of an address.
    #[display("redirect")]
    Redirect,
    /// In a form, which a page of the hub sends.
    #[display("POST")]
    Post,
}

impl SamlBinding {
    /// Returns the URI in metadata.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Redirect => HTTP_REDIRECT,
            Self::Post => HTTP_POST,
        }
    }
}

const fn default_validity_days() -> u64 {
    30
}

const fn yes() -> bool {
    true
}
