//! Certificates of clients, and authorities that issue them.

use openssl::asn1::Asn1Time;
use openssl::base64::encode_block;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{BasicConstraints, ExtendedKeyUsage, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509NameBuilder};
use serde_json::{Value, json};

use passerelle_protocol::digest;
use passerelle_protocol::env::Env;

/// Subject of every client's certificate.
const SUBJECT: [(&str, &str); 3] = [("C", "FR"), ("O", "Example, Inc."), ("CN", "shop")];

/// An authority with a key of its own.
pub struct Authority {
    key: PKey<Private>,
    certificate: X509,
}

/// What a client's certificate says.
pub struct LeafCertificate {
    key: PKey<Private>,
    /// Whether it may be used by a TLS client.
    for_clients: bool,
}

impl Default for LeafCertificate {
    fn default() -> Self {
        Self { key: new_key(), for_clients: true }
    }
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = new_key();
        let mut builder = builder(&[("CN", name)], &key);
        let constraints = BasicConstraints::new().critical().ca().build().unwrap();
        builder.append_extension(constraints).unwrap();
        sign_itself(&mut builder, &[("CN", name)], &key);
        Self { certificate: builder.build(), key }
    }

    /// Returns the certificate as a file holds it.
    pub fn pem(&self) -> Vec<u8> {
        self.certificate.to_pem().unwrap()
    }

    /// Issues a certificate.
    pub fn issue(&self, leaf: &LeafCertificate) -> X509 {
        self.issue_with(leaf, MessageDigest::sha256())
    }

    /// Issues a certificate whose signature uses this hash function.
    pub fn issue_with(&self, leaf: &LeafCertificate, hash: MessageDigest) -> X509 {
        let mut builder = leaf.builder();
        builder.set_issuer_name(self.certificate.subject_name()).unwrap();
        builder.sign(&self.key, hash).unwrap();
        builder.build()
    }
}

impl LeafCertificate {
    /// Returns its key as a file holds it.
    pub fn key_pem(&self) -> String {
        String::from_utf8(self.key.private_key_to_pem_pkcs8().unwrap()).unwrap()
    }

    /// Returns the same with a new key on another curve.
    pub fn on_curve(self, curve: Nid) -> Self {
        Self { key: new_key_on(curve), ..self }
    }

    /// Returns the same for TLS servers only.
    pub fn for_servers(self) -> Self {
        Self { for_clients: false, ..self }
    }

    fn builder(&self) -> X509Builder {
        let mut builder = builder(&SUBJECT, &self.key);
        let mut usage = ExtendedKeyUsage::new();
        let usage = if self.for_clients { usage.client_auth() } else { usage.server_auth() };
        builder.append_extension(usage.build().unwrap()).unwrap();
        let names = SubjectAlternativeName::new()
            .dns("shop.example.org")
            .uri("https://shop.example.org/id")
            .email("shop@example.org")
            .ip("192.0.2.7")
            .build(&builder.x509v3_context(None, None))
            .unwrap();
        builder.append_extension(names).unwrap();
        builder
    }

    /// Returns a certificate that no authority issued.
    pub fn self_signed(&self) -> X509 {
        let mut builder = self.builder();
        sign_itself(&mut builder, &SUBJECT, &self.key);
        builder.build()
    }

    /// Returns the JWK of its key with this certificate in `x5c`.
    pub fn jwk(&self, certificate: &X509) -> Value {
        let key = self.key.ec_key().unwrap();
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let (mut x, mut y) = (BigNum::new().unwrap(), BigNum::new().unwrap());
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        key.public_key().affine_coordinates(&group, &mut x, &mut y, &mut context).unwrap();
        let coordinate = |n: &BigNum| digest::base64url(&n.to_vec_padded(32).unwrap());
        let x5c = encode_block(&certificate.to_der().unwrap());
        json!({ "kty": "EC", "crv": "P-256", "x": coordinate(&x), "y": coordinate(&y), "x5c": [x5c] })
    }
}

/// Returns the header in which a proxy forwards the certificate (RFC 9440).
pub fn forwarded(certificate: &X509) -> String {
    format!(":{}:", encode_block(&certificate.to_der().unwrap()))
}

fn new_key() -> PKey<Private> {
    new_key_on(Nid::X9_62_PRIME256V1)
}

fn new_key_on(curve: Nid) -> PKey<Private> {
    let group = EcGroup::from_curve_name(curve).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Valid from yesterday for a year: the clock of a test hub is a day ahead.
fn builder(subject: &[(&str, &str)], key: &PKey<Private>) -> X509Builder {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let now = i64::try_from(Env::system().now().seconds()).unwrap();
    let yesterday = now - 24 * 3600;
    builder.set_not_before(&Asn1Time::from_unix(yesterday).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(365).unwrap()).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(64, openssl::bn::MsbOption::MAYBE_ZERO, false).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&name(subject)).unwrap();
    builder.set_pubkey(key).unwrap();
    builder
}

fn sign_itself(builder: &mut X509Builder, subject: &[(&str, &str)], key: &PKey<Private>) {
    builder.set_issuer_name(&name(subject)).unwrap();
    builder.sign(key, MessageDigest::sha256()).unwrap();
}

fn name(attributes: &[(&str, &str)]) -> openssl::x509::X509Name {
    let mut name = X509NameBuilder::new().unwrap();
    for (kind, value) in attributes {
        name.append_entry_by_text(kind, value).unwrap();
    }
    name.build()
}
