//! Whole logins through the whole program, in one process: no sockets, no network, no sleeping
//! (but for a service provider on loopback that publishes its keys).

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::pedantic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod admin_console;
mod admission;
mod attacks;
mod audit;
mod authentication_requirements;
mod authorization_requests;
mod backchannel_logout;
mod blocks;
mod choice;
mod client_certificates;
mod client_keys;
#[cfg(feature = "client-registration")]
mod client_registration;
mod clients;
mod declared_claims;
mod diagnostics;
mod dpop;
mod email_domains;
mod failing_identity_provider;
mod failure_logs;
mod fapi;
mod high;
mod introspection;
#[cfg(feature = "pkcs11")]
mod key_device;
mod keys_in_device;
mod languages;
mod level_names;
mod levels;
mod lifetimes;
mod limits;
mod login_flow;
mod logout;
mod mail_code;
mod malformed_claims;
mod malformed_paths;
mod notices;
mod openid;
mod pages;
mod posted_callbacks;
mod public_clients;
#[cfg(all(feature = "mail", feature = "public-pages"))]
mod public_pages;
mod random_walks;
mod refresh_tokens;
mod released_files;
mod reload;
mod revocation;
#[cfg(feature = "saml")]
mod saml;
mod sandbox;
mod sessions;
mod shared_store;
#[cfg(feature = "ldap")]
mod sign_in;
mod store_calls;
mod tabs;
mod vault_transit;
#[cfg(feature = "openid4vp")]
mod wallet;
mod withdrawn_registration;

use passerelle_testkit::harness::{browser, federation, hub, markup, service};
use passerelle_testkit::{fake_server, redis_server};
