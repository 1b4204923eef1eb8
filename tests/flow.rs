//! Whole logins through the whole program, in one process: no sockets, no network, no sleeping
//! (but for a service provider on loopback that publishes its keys).
//!
//! A [`hub::TestHub`] has a clock that is moved by hand and identity providers that are sandboxes;
//! a [`browser::Browser`] keeps cookies, follows redirects and submits the forms of the pages that
//! it gets, and nothing else.

#[cfg(test)]
mod flow {
    mod browser;
    mod client_keys;
    mod federation;
    mod hub;
    mod markup;
    #[path = "../redis_server/mod.rs"]
    mod redis_server;
    mod service;

    mod admin_console;
    mod attacks;
    mod audit;
    mod blocks;
    mod choice;
    mod clients;
    mod clock;
    mod demands;
    mod high;
    mod introspection;
    mod levels;
    mod limits;
    mod logout;
    mod openid;
    mod policy;
    mod reload;
    mod revocation;
    mod sandbox;
    mod sessions;
    mod shared;
    #[cfg(feature = "ldap")]
    mod sign_in;
    mod tabs;
    mod trouble;
    mod walks;
    mod watched;
    mod whole;
    mod withdrawn;
}
