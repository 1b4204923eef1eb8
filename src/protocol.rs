//! L0 · The wire: request and answer types, the ordered checks, error codes.
//!
//! Owns: what a message may look like, in which order it is judged, and what each finding is called. Everything is pure
//! and synchronous. Must not know: HTTP libraries, actors, stores, clocks, pages.
//!
//! | file | wire | decisions |
//! |---|---|---|
//! | [`params`] | parameters as ordered pairs, so that repeats are seen | 3 |
//! | [`authorize`] | the authorization request, and the answer that travels back by a proven redirect | 3 |
//! | [`registration`] | what the checks must know of a service provider | 15 |
//! | [`pkce`] | challenge and verifier | 3, 6 |
//! | [`client_auth`] | how a client says who it is | 6 |
//! | [`token`] | the token request and its answer | 6 |
//! | [`revocation`] | the revocation request | 6 |
//! | [`introspection`] | the introspection request and its answer | 6, 11 |
//! | [`userinfo`] | the bearer token of a userinfo request | 6 |
//! | [`logout`] | the logout request, and the proven way back | 12 |
//! | [`error_answer`] | an error as JSON, with its status and challenge | 6, 13 |
//! | [`discovery`] | the provider configuration document | 14 |
//! | [`catalogue`] | every error code | 13 |
pub mod acr;
pub mod alg;
pub mod authorize;
pub mod catalogue;
pub mod client_auth;
pub mod discovery;
pub mod error_answer;
pub mod introspection;
pub mod json;
pub mod logout;
pub mod params;
pub mod pkce;
pub mod registration;
pub mod revocation;
pub mod token;
pub mod trace_context;
pub mod userinfo;
