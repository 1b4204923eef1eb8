//! Tests of what the hub accepts and refuses, against an identity provider that signs whatever a
//! test wants.

mod accepted;
mod connector;
mod extension;
mod forgeries;
mod identity_provider;
mod logout;
mod metadata;
mod metadata_source;
mod published_keys;
mod requests;
mod single_logout;
