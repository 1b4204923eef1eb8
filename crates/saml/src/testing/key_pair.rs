//! A key that signs XML, with its certificate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::asn1::Asn1Time;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::X509Builder;

use crate::identity_provider::sign_document;
use crate::xml::{SignatureAlgorithm, VerificationKey};

/// A key with a certificate.
pub struct KeyPair {
    pub private: PKey<Private>,
    pub algorithm: SignatureAlgorithm,
}

impl KeyPair {
    /// Generates an RSA key.
    pub fn rsa(bits: u32) -> Self {
        let private = PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap();
        Self { private, algorithm: SignatureAlgorithm::RSA_SHA256 }
    }

    /// Generates a key on this curve, for the algorithm with this URI.
    pub fn ec(curve: Nid, algorithm: &str) -> Self {
        let group = EcGroup::from_curve_name(curve).unwrap();
        let private = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        Self { private, algorithm: SignatureAlgorithm::from_uri(algorithm).unwrap() }
    }

    /// Returns a self-signed certificate (DER).
    pub fn certificate(&self) -> Vec<u8> {
        let mut builder = X509Builder::new().unwrap();
        builder.set_pubkey(&self.private).unwrap();
        // Expired, as are many certificates of metadata.
        builder.set_not_before(&Asn1Time::from_unix(1_000_000_000).unwrap()).unwrap();
        builder.set_not_after(&Asn1Time::from_unix(1_100_000_000).unwrap()).unwrap();
        builder.sign(&self.private, MessageDigest::sha256()).unwrap();
        builder.build().to_der().unwrap()
    }

    /// Returns the certificate in PEM.
    pub fn certificate_pem(&self) -> String {
        let certificate = openssl::x509::X509::from_der(&self.certificate()).unwrap();
        String::from_utf8(certificate.to_pem().unwrap()).unwrap()
    }

    /// Returns the public key.
    pub fn verification_key(&self) -> VerificationKey {
        VerificationKey::from_certificate(&self.certificate()).unwrap()
    }

    /// Signs the outermost element of a document.
    pub fn sign(&self, xml: &str) -> String {
        sign_document(xml, &self.private, self.algorithm).unwrap()
    }

    /// Changes `SignedInfo`, and signs it again. `edit` must keep its canonical form.
    pub fn sign_edited(&self, xml: &str, edit: impl Fn(&str) -> String) -> String {
        let (before, rest) = xml.split_once("<ds:SignedInfo").unwrap();
        let (info, rest) = rest.split_once("</ds:SignedInfo>").unwrap();
        let (_, after) = rest.split_once("</ds:SignatureValue>").unwrap();
        let info = edit(&format!("<ds:SignedInfo{info}</ds:SignedInfo>"));
        let signature = self.algorithm.sign(&self.private, info.as_bytes()).unwrap();
        let signature = STANDARD.encode(signature);
        format!("{before}{info}<ds:SignatureValue>{signature}</ds:SignatureValue>{after}")
    }
}
