//! Private keys in a PKCS#11 token (OASIS PKCS#11 3.1), which a vendor's module reaches.
//!
//! Responsible for the module, sessions and login, for time limits and the circuit breaker, and for
//! generating keys. Does not know key files and which key signs when
//! (docs/design/adr/0028-private-keys-behind-a-port.md).

mod device;
mod generate;
mod pool;
mod session;
mod token;

pub use self::device::{DeviceOptions, Pkcs11Device};
pub use self::token::{Pkcs11ModuleError, Pkcs11Token, SharedToken};

#[cfg(test)]
mod tests;
