//! Private keys in the Transit engine of a Vault server, or of another with its HTTP interface.
//!
//! Responsible for the calls, their token, and for generating keys. Does not know key files, time
//! limits and circuit breakers (docs/design/adr/0028-private-keys-behind-a-port.md).

mod backend;
mod client;
mod generate;
mod options;
mod token_file;

pub use self::backend::VaultTransitDevice;
pub use self::generate::TransitKeyGenerator;
pub use self::options::TransitOptions;

#[cfg(test)]
mod tests;
