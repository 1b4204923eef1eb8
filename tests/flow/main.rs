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

mod addresses;
mod admin_console;
mod attacks;
mod audit;
mod authorization_requests;
mod backchannel_logout;
mod blocks;
mod choice;
mod client_certificates;
mod client_keys;
mod client_registration;
mod clients;
mod clock;
mod declared_claims;
mod demands;
mod diagnostics;
mod dpop;
mod email_domains;
mod fapi;
mod high;
mod introspection;
#[cfg(feature = "pkcs11")]
mod key_device;
mod keys_in_device;
mod languages;
mod level_names;
mod levels;
mod limits;
mod logout;
mod openid;
mod pages;
mod policy;
mod public_clients;
mod refresh_tokens;
mod reload;
mod revocation;
mod sandbox;
mod sessions;
mod shared;
#[cfg(feature = "ldap")]
mod sign_in;
mod store_calls;
mod tabs;
mod trouble;
mod vault_transit;
mod walks;
#[cfg(feature = "openid4vp")]
mod wallet;
mod watched;
mod whole;
mod withdrawn;

use passerelle::testing::harness::{browser, federation, hub, markup, service};
use passerelle::testing::{fake_server, redis_server};
