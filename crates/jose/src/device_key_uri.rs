//! Names of private keys in devices, as key files have them.

use std::fmt::{self, Write as _};

use super::key_device::KeyLocation;
use super::pkcs11_uri::Pkcs11Uri;
use super::transit_key_uri::TransitKeyUri;

/// Names one private key in the configured device of its kind.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum DeviceKeyUri {
    Pkcs11(Pkcs11Uri),
    VaultTransit(TransitKeyUri),
}

impl DeviceKeyUri {
    /// Parses the URI of a key in a device of this kind.
    #[must_use]
    pub fn parse(location: KeyLocation, text: &str) -> Option<Self> {
        match location {
            KeyLocation::File => None,
            KeyLocation::Pkcs11 => Pkcs11Uri::parse(text).map(Self::Pkcs11),
            KeyLocation::VaultTransit => TransitKeyUri::parse(text).map(Self::VaultTransit),
        }
    }

    /// Returns the kind of the device.
    pub const fn location(&self) -> KeyLocation {
        match self {
            Self::Pkcs11(_) => KeyLocation::Pkcs11,
            Self::VaultTransit(_) => KeyLocation::VaultTransit,
        }
    }

    /// Returns the command by which an operator removes the private key from the device.
    pub fn removal_command(&self) -> String {
        match self {
            Self::Pkcs11(uri) => {
                let mut id = String::new();
                for byte in uri.id() {
                    // Writing to a string can't fail.
                    let _written = write!(id, "{byte:02x}");
                }
                let command = "pkcs11-tool --module MODULE --login --delete-object --type privkey";
                format!("{command} --id {id}")
            }
            Self::VaultTransit(uri) => {
                let key = format!("MOUNT/keys/{}", uri.name());
                format!("vault write {key}/config deletion_allowed=true && vault delete {key}")
            }
        }
    }
}

impl fmt::Display for DeviceKeyUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pkcs11(uri) => uri.fmt(f),
            Self::VaultTransit(uri) => uri.fmt(f),
        }
    }
}
