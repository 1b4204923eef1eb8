//! SAML kind: identity providers that speak the Web Browser SSO profile (OASIS SAML V2.0 with
//! Approved Errata 05).
//!
//! Responsible for XML signatures and encryption, the checks of a response, metadata and requests.
//! Does not know HTTP, stores, actors or service providers. Begin with [`xml`], the only module
//! that reads XML, and [`response`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod authn_request;
pub mod logout;
pub mod metadata;
pub mod redirect;
pub mod response;
pub mod signed_document;
pub mod sp_metadata;
#[cfg(test)]
mod tests;
mod time;
pub mod xml;

/// Namespace of assertions.
const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// Namespace of the protocol.
const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// Namespace of metadata.
const MD: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
/// Binding of requests and responses by a form that the browser posts.
pub const HTTP_POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
/// Binding of requests by a redirect.
pub const HTTP_REDIRECT: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect";
