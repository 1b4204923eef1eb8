//! L4 · actix-web: what enters the house and what leaves it.
//!
//! Owns: endpoints, cookies, forms, pages, the outer shell. Must not know: a store, a connector, the inside of the
//! login machine; it asks `actor`'s typed handles and `grant`.
//!
//! | file | endpoints |
//! |---|---|
//! | [`metadata`] | discovery, keys |
//! | [`authorize`] | authorize, by GET and POST, and its older path |
//! | [`login`] | interaction, provider, cancel, callback, consent |
//! | [`last_choice`] | what a browser remembers, and forgets |
//! | [`assets`] | logos |
//! | [`logout`] | session/end, its confirmation, the way back from an identity provider |
//! | [`token`] | token, userinfo |
//! | [`sandbox`] | the sandbox identity provider's page |
//! | [`admin`] | admin/blocks, admin/connectors, on the other listener |
//! | [`window`] | admin/, admin/status, admin/config, admin/logins, on the other listener |
//! | [`private`] | livez, readyz, metrics, on the other listener |
//! | [`mod@connection`] | none: the connections that requests arrive by |

pub mod admin;
pub mod answer;
pub mod assets;
pub mod authorize;
pub mod client_address;
pub mod connection;
pub mod cookies;
pub mod csrf;
pub mod form;
mod held_logins;
pub mod host;
pub mod hub;
pub mod introspection;
pub mod last_choice;
pub mod login;
pub mod logout;
pub mod metadata;
pub mod pages;
pub mod private;
pub mod problem;
mod refused;
pub mod routes;
pub mod sandbox;
pub mod shell;
pub mod sign_in;
mod spans;
pub mod token;
mod view;
pub mod window;

pub use hub::{Hub, Sandbox};
