//! Request and response types, request validation, and error codes of the wire protocols.
//! Everything is pure and synchronous; no HTTP library, actor, store, clock or page is known here.
//!
//! | module | content |
//! |---|---|
//! | [`params`] | parameters as ordered pairs, so that repeated ones are detected |
//! | [`authorize`] | the authorization request, and its response by a proven redirect |
//! | [`redirect_uri`] | how redirect URIs are compared |
//! | [`acr`] | levels and level names of a request |
//! | [`field_value`] | parts of HTTP field values |
//! | [`percent_encoding`] | percent-encoded unreserved characters |
//! | [`pushed_request`] | the pushed authorization request |
//! | [`email_domain`] | the domain of an e-mail address |
//! | [`registration`] | what the checks need to know of a service provider |
//! | [`client_registration`] | client metadata (RFC 7591) |
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
pub mod acr;
pub mod alg;
pub mod authorize;
pub mod catalogue;
pub mod client_auth;
pub mod client_registration;
pub mod discovery;
pub mod email_domain;
pub mod error_response;
pub mod field_value;
pub mod introspection;
pub mod json;
pub mod logout;
pub mod params;
pub mod percent_encoding;
pub mod pkce;
pub mod pushed_request;
pub mod redirect_uri;
pub mod refresh;
pub mod registration;
pub mod revocation;
pub mod security_profile;
pub mod sender_constraint;
pub mod token;
pub mod trace_context;
pub mod userinfo;
