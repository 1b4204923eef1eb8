//! OAuth 2.0 and OpenID Connect on the wire: request and response types, the checks of a request in
//! their order, and the catalogue of errors; with the identifiers, the clock and the digests that
//! all crates use.
//!
//! Does not know: HTTP libraries, stores, actors, pages, settings. Except for [`mod@env`] and
//! [`atomic_file`], everything is pure and synchronous.
//!
//! Begin with [`authorize`], the checks of an authorization request as one ordered table, and with
//! [`catalogue`].
//!
//! | module | content |
//! |---|---|
//! | [`params`] | parameters as ordered pairs, so that repeated ones are detected |
//! | [`authorize`] | the authorization request, and its response by a proven redirect |
//! | [`redirect_uri`] | how redirect URIs are compared |
//! | [`acr`] | levels and level names of a request |
//! | [`field_value`] | parts of HTTP field values |
//! | [`path_normalization`] | percent-encoded unreserved characters |
//! | [`email_domain`] | the domain of an e-mail address |
//! | [`registration`] | what the checks need to know of a service provider |
//! | [`security_profile`] | FAPI 2.0 profiles |
//! | [`pkce`] | code challenge and verifier |
//! | [`client_auth`] | client authentication in a request |
//! | [`token`] | the token request and response |
//! | [`refresh`] | the refresh request |
//! | [`revocation`] | the revocation request |
//! | [`introspection`] | the introspection request and response |
//! | [`userinfo`] | the access token of a userinfo request |
//! | [`sender_constraint`] | proof of possession, and the key that a token is bound to |
//! | [`logout`] | the logout request, and its proven redirect |
//! | [`alg`] | JOSE algorithms |
//! | [`json`] | JSON objects without repeated members |
//! | [`trace_context`] | the `traceparent` header |
//! | [`error_response`] | errors as JSON, with status and challenge |
//! | [`discovery`] | the provider configuration document |
//! | [`catalogue`] | every error code |
//! | [`ids`] | newtypes for identifiers, and secrets |
//! | [`mod@env`] | the clock and the source of randomness |
//! | [`digest`] | hashes, message authentication codes, comparison in constant time |
//! | [`client_network`] | the network of a client, by which attempts are counted |
//! | [`atomic_file`] | files that are replaced as a whole |

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod acr;
pub mod alg;
pub mod atomic_file;
pub mod authorize;
pub mod catalogue;
pub mod client_auth;
pub mod client_network;
pub mod digest;
pub mod discovery;
pub mod email_domain;
pub mod env;
pub mod error_response;
pub mod field_value;
pub mod ids;
pub mod introspection;
pub mod json;
pub mod logout;
pub mod params;
pub mod path_normalization;
pub mod pkce;
pub mod redirect_uri;
pub mod refresh;
pub mod registration;
pub mod revocation;
pub mod security_profile;
pub mod sender_constraint;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod token;
pub mod trace_context;
pub mod userinfo;
