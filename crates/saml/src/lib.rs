//! SAML kind: identity providers that speak the Web Browser SSO profile (OASIS SAML V2.0 with
//! Approved Errata 05).
//!
//! Responsible for XML signatures and encryption, the checks of a response, metadata and requests.
//! Does not know HTTP, stores, actors or service providers. Begin with [`xml`], the only module
//! that reads XML.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod signed_document;
pub mod xml;
