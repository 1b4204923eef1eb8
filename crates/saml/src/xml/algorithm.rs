//! Algorithms of signatures, and the keys that may verify them.
//!
//! The key's type decides which algorithms it verifies: HMAC over a public key is not in the list.

use openssl::bn::BigNum;
use openssl::ecdsa::EcdsaSig;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private, Public};
use openssl::rsa::Padding;
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};
use passerelle_jose::untrusted_certificate::{
    UntrustedCertificateError, parse_untrusted_certificate,
};

/// Hash function of digests and signatures. SHA-1 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// Returns the hash function of a `DigestMethod` (XML Encryption 1.1 §5.8, RFC 9231 §2.1).
    pub(super) fn from_digest_uri(uri: &str) -> Option<Self> {
        match uri {
            "http://www.w3.org/2001/04/xmlenc#sha256" => Some(Self::Sha256),
            "http://www.w3.org/2001/04/xmldsig-more#sha384" => Some(Self::Sha384),
            "http://www.w3.org/2001/04/xmlenc#sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    pub(super) fn openssl(self) -> MessageDigest {
        match self {
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    RsaPkcs1,
    /// With a salt as long as the hash, and MGF1 with the same hash (RFC 9231 §2.3.10).
    RsaPss,
    Ecdsa,
}

/// Signature algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignatureAlgorithm {
    scheme: Scheme,
    hash: Hash,
}

impl SignatureAlgorithm {
    /// RSA PKCS #1 v1.5 with SHA-256, which every peer verifies.
    pub const RSA_SHA256: Self = Self { scheme: Scheme::RsaPkcs1, hash: Hash::Sha256 };

    const ALL: [(&str, Self); 9] = {
        use Hash::{Sha256, Sha384, Sha512};
        use Scheme::{Ecdsa, RsaPkcs1, RsaPss};
        const fn new(scheme: Scheme, hash: Hash) -> SignatureAlgorithm {
            SignatureAlgorithm { scheme, hash }
        }
        [
            ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", new(RsaPkcs1, Sha256)),
            ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha384", new(RsaPkcs1, Sha384)),
            ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha512", new(RsaPkcs1, Sha512)),
            ("http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1", new(RsaPss, Sha256)),
            ("http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1", new(RsaPss, Sha384)),
            ("http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1", new(RsaPss, Sha512)),
            ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256", new(Ecdsa, Sha256)),
            ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384", new(Ecdsa, Sha384)),
            ("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512", new(Ecdsa, Sha512)),
        ]
    };

    /// Returns the algorithm of a `SignatureMethod`; `None` for every other one, such as SHA-1 and
    /// HMAC.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == uri).map(|(_, algorithm)| *algorithm)
    }

    /// Returns the identifier of the algorithm.
    pub fn uri(self) -> &'static str {
        Self::ALL.iter().find(|(_, known)| *known == self).map_or("", |(uri, _)| uri)
    }

    /// Signs; the signature of ECDSA is `r` and `s`, each as long as the curve's order (RFC 9231
    /// §2.3.6).
    ///
    /// # Errors
    /// The key does not fit the algorithm, or OpenSSL failed.
    pub fn sign(self, key: &PKey<Private>, message: &[u8]) -> Result<Vec<u8>, ErrorStack> {
        let mut signer = Signer::new(self.hash.openssl(), key)?;
        match self.scheme {
            Scheme::RsaPkcs1 => signer.set_rsa_padding(Padding::PKCS1)?,
            Scheme::RsaPss => {
                signer.set_rsa_padding(Padding::PKCS1_PSS)?;
                signer.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
            }
            Scheme::Ecdsa => {}
        }
        let signature = signer.sign_oneshot_to_vec(message)?;
        if self.scheme != Scheme::Ecdsa {
            return Ok(signature);
        }
        let signature = EcdsaSig::from_der(&signature)?;
        let length = i32::try_from(key.bits().div_ceil(8)).unwrap_or_default();
        let mut joined = signature.r().to_vec_padded(length)?;
        joined.extend(signature.s().to_vec_padded(length)?);
        Ok(joined)
    }
}

/// A public key of an identity provider, from its metadata. Dates and issuers of certificates mean
/// nothing in SAML metadata: the key is trusted because the metadata is.
#[derive(Clone, derive_more::Debug)]
#[debug("VerificationKey")]
pub struct VerificationKey(PKey<Public>);

impl VerificationKey {
    /// Reads the key of a certificate (DER).
    ///
    /// # Errors
    /// As [`parse_untrusted_certificate`]; `Key` also for EC on another curve than P-256 and P-384,
    /// and for other types.
    pub fn from_certificate(der: &[u8]) -> Result<Self, UntrustedCertificateError> {
        let certificate = parse_untrusted_certificate(der)?;
        let key = certificate.public_key().map_err(|_| UntrustedCertificateError::Malformed)?;
        let is_accepted = match key.id() {
            Id::RSA => key.bits() >= 2048,
            Id::EC => {
                let curve = key.ec_key().ok().and_then(|key| key.group().curve_name());
                matches!(curve, Some(Nid::X9_62_PRIME256V1 | Nid::SECP384R1))
            }
            _ => false,
        };
        if is_accepted { Ok(Self(key)) } else { Err(UntrustedCertificateError::Key) }
    }

    /// Verifies a signature; false also if the key is of another type than the algorithm.
    pub fn verifies(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        self.try_verify(algorithm, message, signature).is_ok_and(|verified| verified == Some(true))
    }

    fn try_verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<Option<bool>, ErrorStack> {
        let needed = if algorithm.scheme == Scheme::Ecdsa { Id::EC } else { Id::RSA };
        if self.0.id() != needed {
            return Ok(None);
        }
        let mut verifier = Verifier::new(algorithm.hash.openssl(), &self.0)?;
        match algorithm.scheme {
            Scheme::RsaPkcs1 => verifier.set_rsa_padding(Padding::PKCS1)?,
            Scheme::RsaPss => {
                verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
                verifier.set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)?;
            }
            Scheme::Ecdsa => {
                let length = usize::try_from(self.0.bits().div_ceil(8)).unwrap_or_default();
                let Some((r, s)) = signature.split_at_checked(length) else { return Ok(None) };
                if s.len() != length {
                    return Ok(None);
                }
                let (r, s) = (BigNum::from_slice(r)?, BigNum::from_slice(s)?);
                let signature = EcdsaSig::from_private_components(r, s)?.to_der()?;
                return verifier.verify_oneshot(&signature, message).map(Some);
            }
        }
        verifier.verify_oneshot(signature, message).map(Some)
    }
}
