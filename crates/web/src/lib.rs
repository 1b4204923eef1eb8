//! The HTTP layer, built on actix-web.
//!
//! Responsible for endpoints, cookies, forms, pages and the outer middleware. Does not access a
//! store, a connector or the login state machine; it calls the typed handles of `hub`,
//! `grants` and `quota`. Begin with `authorize`.
//!
//! | file | endpoints |
//! |---|---|
//! | `metadata` | discovery, keys |
//! | `authorize` | authorize, by GET and POST, and its v1 path; par |
//! | `login` | interaction, provider, cancel, callback, consent |
//! | `wrong_user` | interaction/{hash}/not-me |
//! | `email_discovery` | finds the identity provider by an e-mail address |
//! | `last_choice` | forgets the remembered identity provider |
//! | `language_choice` | stores the language that a user chooses |
//! | `landing` | `/`, the page that says what this site is |
//! | `assets` | logos, the favicon |
//! | `logout` | session/end, its confirmation, the return from an identity provider |
//! | `backchannel_logout` | logout tokens of identity providers |
//! | `token` | token |
//! | `userinfo` | userinfo |
//! | `introspection` | checktoken, token/revocation |
//! | `sign_in` | the password form of a connector |
//! | `sandbox` | the sandbox identity provider's page |
//! | `oauth_errors` | errors/{error}, the pages that `error_uri` names |
//! | `diagnostics` | diagnostics, on a sandbox hub (causes: `token_diagnostics`) |
//! | `connection` | none: limits on the TCP connections |

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod assets;
mod authorize;
pub mod client_address;
pub mod connection;
pub mod cookies;
mod cors;
pub mod csrf;
mod diagnostics;
mod email_discovery;
mod email_lookup;
pub mod endpoint;
mod error_address;
pub mod error_pages;
mod error_responses;
pub mod form;
mod held_logins;
pub mod host;
pub mod hub;
mod introspection;
mod landing;
mod language_choice;
mod last_choice;
pub mod login;
mod login_request_check;
mod logout;
mod mail_code;
mod metadata;
mod oauth_errors;
pub mod outer_middleware;
pub mod page_attempt;
pub mod page_language;
pub mod page_models;
pub mod pages;
pub mod pasted_request;
mod posted_callback;
pub mod proxies;
pub mod public_listener_settings;
pub mod rejection;
pub mod request_context;
pub mod responses;
pub mod route_table;
pub mod routes;
mod sandbox;
mod sender;
mod sign_in;
mod spans;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod theme;
mod token;
pub mod token_diagnostics;
mod upstream_backchannel_logout;
mod userinfo;
mod wrong_user;

pub use hub::{Hub, SandboxRoutes};
