//! Issues credentials, and presents them as a wallet does, truly or not.
//!
//! A presentation is built in two steps: its parts are public, so that a test changes one before
//! it is signed.

pub mod lists;
pub mod mdoc;
pub mod sd_jwt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use josekit::jws::{ES256, ES384, JwsSigner};
use openssl::asn1::{Asn1Object, Asn1OctetString, Asn1Time};
use openssl::bn::{BigNum, BigNumContext, MsbOption};
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier,
};
use openssl::x509::{X509, X509Builder, X509Extension, X509Name, X509NameBuilder};
use serde_json::{Value, json};

use crate::trust::TrustAnchors;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

/// The time at which the samples are issued and presented.
pub const PRESENTED_AT: Timestamp = Timestamp::from_seconds(1_800_000_000);
/// Sample request.
pub const CLIENT_ID: &str = "x509_hash:Uvo3HtuIxuhC92rShpgqcT3YXwrqRxWEviRiA0OZszk";
pub const NONCE: &str = "n-0S6_WzA2Mj-n-0S6_WzA2Mj";
pub const RESPONSE_URI: &str = "https://hub.example/wallet/response";

const DAY: i64 = 86_400;

/// What a certificate says.
#[derive(Clone)]
pub struct CertificateSpec {
    pub name: &'static str,
    pub organizations: &'static [&'static str],
    pub is_ca: bool,
    pub path_length: Option<u32>,
    /// `digitalSignature` for signers, `keyCertSign` for authorities; none if false.
    pub has_key_usage: bool,
    /// Extended key usage by object identifier.
    pub extended_key_usage: Option<&'static str>,
    /// Certificate policy by object identifier.
    pub policy: Option<&'static str>,
    /// Days from [`PRESENTED_AT`].
    pub not_before: i64,
    pub not_after: i64,
}

impl CertificateSpec {
    /// Returns a signer's certificate that is good for every purpose.
    pub fn signer() -> Self {
        Self {
            name: "PID issuer",
            organizations: &[],
            is_ca: false,
            path_length: None,
            has_key_usage: true,
            extended_key_usage: Some("1.0.18013.5.1.2"),
            policy: None,
            not_before: -100,
            not_after: 100,
        }
    }

    /// Returns an authority's certificate.
    pub fn authority(name: &'static str) -> Self {
        Self {
            name,
            is_ca: true,
            extended_key_usage: None,
            not_before: -1000,
            not_after: 1000,
            ..Self::signer()
        }
    }
}

/// A key with its certificates.
#[derive(Clone)]
pub struct TestSigner {
    pub key: PKey<Private>,
    /// DER, the signer's own first, without the trust anchor.
    pub chain: Vec<Vec<u8>>,
}

impl TestSigner {
    /// Returns the certificates as `x5c`.
    pub fn x5c(&self) -> Value {
        json!(self.chain.iter().map(|der| STANDARD.encode(der)).collect::<Vec<_>>())
    }
}

/// An authority that issues certificates.
#[derive(Clone)]
pub struct TestAuthority {
    key: PKey<Private>,
    certificate: X509,
    /// Certificates between it and the trust anchor, its own first; none for the anchor.
    chain: Vec<Vec<u8>>,
}

impl TestAuthority {
    /// Returns a root authority.
    pub fn new(name: &'static str) -> Self {
        Self::with_spec(&CertificateSpec::authority(name))
    }

    /// Returns a root authority with this certificate.
    pub fn with_spec(spec: &CertificateSpec) -> Self {
        let key = new_key();
        let builder = certificate_builder(spec, &key, None);
        Self { certificate: sign(builder, &key), key, chain: Vec::new() }
    }

    /// Returns a subordinate authority.
    pub fn subordinate(&self, spec: &CertificateSpec) -> Self {
        let signer = self.issue(spec);
        let certificate = X509::from_der(&signer.chain[0]).unwrap();
        Self { key: signer.key, certificate, chain: signer.chain }
    }

    /// Issues a certificate for a new key.
    pub fn issue(&self, spec: &CertificateSpec) -> TestSigner {
        self.issue_for(new_key(), spec)
    }

    /// Issues a certificate for a key.
    pub fn issue_for(&self, key: PKey<Private>, spec: &CertificateSpec) -> TestSigner {
        let builder = certificate_builder(spec, &key, Some(&self.certificate));
        let certificate = sign(builder, &self.key).to_der().unwrap();
        TestSigner { key, chain: [vec![certificate], self.chain.clone()].concat() }
    }

    /// Returns it as a signer with its own, self-signed certificate.
    pub fn as_signer(&self) -> TestSigner {
        TestSigner { key: self.key.clone(), chain: vec![self.der()] }
    }

    /// Returns its own certificate.
    pub fn der(&self) -> Vec<u8> {
        self.certificate.to_der().unwrap()
    }

    /// Returns its own certificate as the operator pins it.
    pub fn pem(&self) -> Vec<u8> {
        self.certificate.to_pem().unwrap()
    }

    /// Returns it as the only trust anchor.
    pub fn anchors(&self) -> TrustAnchors {
        TrustAnchors::from_pem(&self.pem()).unwrap()
    }
}

/// Returns a new P-256 key.
pub fn new_key() -> PKey<Private> {
    new_key_on(Nid::X9_62_PRIME256V1)
}

/// Returns a new key on a curve.
pub fn new_key_on(curve: Nid) -> PKey<Private> {
    let group = EcGroup::from_curve_name(curve).unwrap();
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Returns a new key on P-256, whose certificates describe the curve by its parameters.
pub fn new_key_with_explicit_curve() -> PKey<Private> {
    let mut group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    group.set_asn1_flag(Asn1Flag::EXPLICIT_CURVE);
    PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
}

/// Returns the coordinates of a public key, each as long as its curve demands.
pub fn coordinates(key: &PKey<Private>) -> (Vec<u8>, Vec<u8>) {
    let key = key.ec_key().unwrap();
    let length = i32::try_from(key.group().degree().div_ceil(8)).unwrap();
    let (mut x, mut y) = (BigNum::new().unwrap(), BigNum::new().unwrap());
    let mut context = BigNumContext::new().unwrap();
    key.public_key().affine_coordinates(key.group(), &mut x, &mut y, &mut context).unwrap();
    (x.to_vec_padded(length).unwrap(), y.to_vec_padded(length).unwrap())
}

/// Returns the public JWK of a key.
pub fn public_jwk(key: &PKey<Private>) -> Value {
    let (x, y) = coordinates(key);
    let curve = if x.len() == 32 { "P-256" } else { "P-384" };
    json!({ "kty": "EC", "crv": curve, "x": digest::base64url(&x), "y": digest::base64url(&y) })
}

/// Signs bytes as JOSE and COSE do: with ES256, or ES384 for a key on P-384.
pub fn sign_raw(key: &PKey<Private>, message: &[u8]) -> Vec<u8> {
    let der = key.private_key_to_pkcs8().unwrap();
    let signer: Box<dyn JwsSigner> = if coordinates(key).0.len() == 32 {
        Box::new(ES256.signer_from_der(der).unwrap())
    } else {
        Box::new(ES384.signer_from_der(der).unwrap())
    };
    signer.sign(message).unwrap()
}

/// Signs any header and payload as a compact JWS.
pub fn sign_jws(header: &Value, payload: &Value, key: &PKey<Private>) -> String {
    let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
    let message = format!("{}.{}", part(header), part(payload));
    let signature = sign_raw(key, message.as_bytes());
    format!("{message}.{}", digest::base64url(&signature))
}

fn certificate_builder(
    spec: &CertificateSpec,
    key: &PKey<Private>,
    issuer: Option<&X509>,
) -> X509Builder {
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(64, MsbOption::MAYBE_ZERO, false).unwrap();
    builder.set_serial_number(&serial.to_asn1_integer().unwrap()).unwrap();
    let time = |days: i64| {
        let presented_at = i64::try_from(PRESENTED_AT.seconds()).unwrap();
        Asn1Time::from_unix(presented_at + days * DAY).unwrap()
    };
    builder.set_not_before(&time(spec.not_before)).unwrap();
    builder.set_not_after(&time(spec.not_after)).unwrap();
    let subject = subject(spec);
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(issuer.map_or(&subject, |issuer| issuer.subject_name())).unwrap();
    builder.set_pubkey(key).unwrap();
    let context = builder.x509v3_context(issuer.map(|issuer| &**issuer), None);
    let mut extensions = vec![SubjectKeyIdentifier::new().build(&context).unwrap()];
    if issuer.is_some() {
        extensions.push(AuthorityKeyIdentifier::new().keyid(true).build(&context).unwrap());
    }
    if spec.is_ca {
        let mut constraints = BasicConstraints::new();
        constraints.critical().ca();
        spec.path_length.into_iter().for_each(|length| {
            constraints.pathlen(length);
        });
        extensions.push(constraints.build().unwrap());
    }
    if spec.has_key_usage {
        let mut usage = KeyUsage::new();
        usage.critical();
        if spec.is_ca {
            usage.key_cert_sign().crl_sign()
        } else {
            usage.digital_signature()
        };
        extensions.push(usage.build().unwrap());
    }
    if let Some(purpose) = spec.extended_key_usage {
        extensions.push(ExtendedKeyUsage::new().critical().other(purpose).build().unwrap());
    }
    if let Some(policy) = spec.policy {
        extensions.push(policy_extension(policy));
    }
    for extension in extensions {
        builder.append_extension(extension).unwrap();
    }
    builder
}

/// `CertificatePolicies` with one policy (RFC 5280 §4.2.1.4).
fn policy_extension(policy: &str) -> X509Extension {
    let policy = Asn1Object::from_str(policy).unwrap();
    let tagged =
        |tag: u8, content: &[u8]| [&[tag, u8::try_from(content.len()).unwrap()], content].concat();
    let sequence = tagged(0x30, &tagged(0x30, &tagged(0x06, policy.as_slice())));
    let name = Asn1Object::from_str("2.5.29.32").unwrap();
    let content = Asn1OctetString::new_from_bytes(&sequence).unwrap();
    X509Extension::new_from_der(&name, false, &content).unwrap()
}

fn sign(mut builder: X509Builder, key: &PKey<Private>) -> X509 {
    builder.sign(key, MessageDigest::sha256()).unwrap();
    builder.build()
}

fn subject(spec: &CertificateSpec) -> X509Name {
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("C", "FR").unwrap();
    for organization in spec.organizations {
        subject.append_entry_by_text("O", organization).unwrap();
    }
    subject.append_entry_by_text("CN", spec.name).unwrap();
    subject.build()
}
