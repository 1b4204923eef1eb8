//! L0 · The wire: request and answer types, the ordered checks, error codes.
pub mod acr;
pub mod alg;
pub mod catalogue;
pub mod json;
