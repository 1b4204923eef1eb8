//! A signing key with a certificate chain, which names its holder in what it signs (`x5c`, RFC 7515
//! §4.1.6).

use josekit::jws::alg::ecdsa::EcdsaJwsSigner;
use josekit::jws::{ES256, JwsSigner as _};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509VerifyResult};
use serde_json::{Value, json};

use super::jwt_signer::SigningError;
use passerelle_egress::certificate_expiry;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// Why a certificate and its key can't sign. Contains nothing of the key.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CertificateSignerError {
    #[error("it holds no PEM certificate")]
    NoCertificate,
    #[error(
        "its first certificate is self-signed; put the certificate that an authority issued first"
    )]
    SelfSigned,
    #[error("the key of its first certificate is not on P-256, which ES256 needs")]
    Curve,
    #[error("the private key is no PEM key on P-256")]
    PrivateKey,
    #[error(
        "a certificate did not issue the one before it; put each authority after the certificate that it issued"
    )]
    ChainOrder,
    #[error("the private key does not belong to its first certificate")]
    KeyPairMismatch,
}

/// Signs with the key of a certificate.
pub struct CertificateSigner {
    leaf: X509,
    /// `x5c`: the chain without the trust anchor.
    chain: Vec<String>,
    expires_at: Option<Timestamp>,
    leaf_digest: String,
    signer: EcdsaJwsSigner,
}

impl CertificateSigner {
    /// Parses a chain, the holder's certificate first, and the private key of that one. The trust
    /// anchor, which is self-signed, is left out (HAIP 1.0 §5).
    ///
    /// # Errors
    /// Any [`CertificateSignerError`].
    pub fn from_pem(chain: &[u8], key: &Secret<String>) -> Result<Self, CertificateSignerError> {
        use CertificateSignerError as E;
        let certificates = X509::stack_from_pem(chain).unwrap_or_default();
        let leaf = certificates.first().ok_or(E::NoCertificate)?.clone();
        if is_self_signed(&leaf) {
            return Err(E::SelfSigned);
        }
        let public = leaf.public_key().map_err(|_| E::Curve)?;
        let curve = public.ec_key().ok().and_then(|key| key.group().curve_name());
        if curve != Some(Nid::X9_62_PRIME256V1) {
            return Err(E::Curve);
        }
        let private =
            PKey::private_key_from_pem(key.reveal().as_bytes()).map_err(|_| E::PrivateKey)?;
        if !private.public_eq(&public) {
            return Err(E::KeyPairMismatch);
        }
        let pkcs8 = private.private_key_to_pkcs8().map_err(|_| E::PrivateKey)?;
        let signer = ES256.signer_from_der(pkcs8).map_err(|_| E::PrivateKey)?;
        let sent = certificates.iter().filter(|certificate| !is_self_signed(certificate));
        let sent: Vec<&X509> = sent.collect();
        if !sent.windows(2).all(is_issued_by_next) {
            return Err(E::ChainOrder);
        }
        let expires_at = sent.iter().filter_map(|one| certificate_expiry::expiry(one)).min();
        let sent: Vec<Vec<u8>> = sent.iter().filter_map(|one| one.to_der().ok()).collect();
        Ok(Self {
            expires_at,
            leaf_digest: sent
                .first()
                .map(|der| digest::base64url(&digest::sha256(der)))
                .unwrap_or_default(),
            chain: sent.iter().map(|der| openssl::base64::encode_block(der)).collect(),
            leaf,
            signer,
        })
    }

    /// Returns the SHA-256 of the holder's certificate, as base64url.
    pub fn certificate_digest(&self) -> &str {
        &self.leaf_digest
    }

    /// Returns the earliest expiry of the chain.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Returns true if the holder's certificate is for this DNS name (a `dNSName` of its subject
    /// alternative names, literally).
    pub fn has_dns_name(&self, name: &str) -> bool {
        let names = self.leaf.subject_alt_names();
        names.is_some_and(|names| names.iter().any(|one| one.dnsname() == Some(name)))
    }

    /// Returns a compact JWS with the chain in its header.
    ///
    /// # Errors
    /// OpenSSL failed.
    pub fn sign(&self, typ: &str, claims: &Value) -> Result<String, SigningError> {
        let header = json!({ "alg": "ES256", "typ": typ, "x5c": self.chain });
        let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
        let input = format!("{}.{}", part(&header), part(claims));
        let signature = self.signer.sign(input.as_bytes()).map_err(|_| SigningError::Signature)?;
        Ok(format!("{input}.{}", digest::base64url(&signature)))
    }
}

fn is_self_signed(certificate: &X509) -> bool {
    let names = [certificate.subject_name(), certificate.issuer_name()];
    let [subject, issuer] = names.map(|name| name.to_der().ok());
    subject == issuer
}

/// Wallets refuse a chain whose signatures don't lead from one certificate to the next.
fn is_issued_by_next(pair: &[&X509]) -> bool {
    let [issued, issuer] = pair else { return false };
    issuer.issued(issued) == X509VerifyResult::OK
        && issuer.public_key().is_ok_and(|key| issued.verify(&key).unwrap_or(false))
}
