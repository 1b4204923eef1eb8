//! The embedded demo: hubs, sandbox identity providers and a service provider in one process.

pub mod service_provider;
pub mod service_provider_page;
