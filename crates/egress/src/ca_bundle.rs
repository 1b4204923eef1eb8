//! Reads the `ca` file of a server: the only certificate authorities that may issue its
//! certificate.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Size limit of a `ca` file, in bytes.
const MAX_CA_FILE_BYTES: u64 = 1 << 20;

/// One or more valid certificates in PEM.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CaBundle {
    pem: String,
}

impl CaBundle {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// Returns what is wrong if the file can't be read, or is not a valid PEM bundle.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut pem = String::new();
        let read = File::open(path)
            .and_then(|file| file.take(MAX_CA_FILE_BYTES + 1).read_to_string(&mut pem));
        read.map_err(|error| format!("it can't be read: {error}"))?;
        if u64::try_from(pem.len()).unwrap_or(u64::MAX) > MAX_CA_FILE_BYTES {
            return Err("it is larger than 1 MiB".to_owned());
        }
        Self::from_pem(pem)
    }

    fn from_pem(pem: String) -> Result<Self, String> {
        let bundle = Self { pem };
        bundle.root_store().map(|_| bundle)
    }

    /// Returns the PEM text.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the certificates as rustls root store.
    ///
    /// # Errors
    /// Returns the same messages as [`Self::read`].
    pub fn root_store(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.pem.as_bytes()) {
            let certificate = certificate.map_err(|_| "it is not a PEM file of certificates")?;
            roots.add(certificate).map_err(|_| "it contains a certificate that can't be parsed")?;
        }
        if roots.is_empty() {
            return Err("it contains no certificate".to_owned());
        }
        Ok(roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_file_has_its_own_message() {
        for (pem, expected) in [
            ("", "contains no certificate"),
            (
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
                "contains no certificate",
            ),
            ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "not a PEM file"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "can't be parsed"),
        ] {
            let error = CaBundle::from_pem(pem.into()).unwrap_err();
            assert!(error.contains(expected), "{pem}: {error}");
        }
        assert!(CaBundle::read(Path::new("/nowhere")).unwrap_err().contains("can't be read"));
    }
}
