//! The certificate authorities of a `ca` file: the only ones that a server's certificate may come from.
//!
//! Owns: reading such a file, and what is wrong with one. Must not know: whose file it is.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// One or more certificates in PEM, each of which can be read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Authorities {
    pem: String,
}

impl Authorities {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// What is wrong with the file, in words for its operator.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut pem = String::new();
        let read =
            File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut pem));
        read.map_err(|error| format!("it can not be read: {error}"))?;
        if u64::try_from(pem.len()).unwrap_or(u64::MAX) > MAX_BYTES {
            return Err(
                "it is larger than 1 MiB; write the authority's certificate alone, in PEM".into()
            );
        }
        Self::from_pem(pem)
    }

    fn from_pem(pem: String) -> Result<Self, String> {
        let authorities = Self { pem };
        authorities.root_store().map(|_| authorities)
    }

    /// The text of the file.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificates as rustls wants them.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn root_store(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.pem.as_bytes()) {
            let certificate = certificate.map_err(|_| "it is no PEM file of certificates")?;
            roots.add(certificate).map_err(|_| "it holds a certificate that can not be read")?;
        }
        if roots.is_empty() {
            return Err("it holds no certificate; write the authority's own, in PEM".into());
        }
        Ok(roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_in_words() {
        for (pem, said) in [
            ("", "it holds no certificate"),
            (
                "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
                "it holds no certificate",
            ),
            ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "no PEM file"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "can not be read"),
        ] {
            let refused = Authorities::from_pem(pem.into()).unwrap_err();
            assert!(refused.contains(said), "{pem}: {refused}");
        }
        assert!(Authorities::read(Path::new("/nowhere")).unwrap_err().contains("can not be read"));
    }
}
