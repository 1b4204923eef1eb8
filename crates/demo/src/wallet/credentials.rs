//! The certificates of the demo: an issuer of fictional documents, and the access certificate of
//! each hub.

use std::time::Duration;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::x509::extension::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier,
};
use openssl::x509::{X509, X509Name, X509NameBuilder};

use passerelle_jose::certificate_signer::{CertificateSigner, CertificateSignerError};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;

/// Extended key usage of who signs mobile documents (ISO/IEC 18013-5 §B.1.4); SD-JWTs need none.
const DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";

/// Error returned when the wallet of the demo can't be set up.
#[derive(thiserror::Error, Debug)]
pub enum IssuerSetupError {
    #[error("the demo wallet's certificates can't be made: {0}")]
    OpenSsl(#[from] ErrorStack),
    #[error("the demo wallet's certificate can't be used: {0}")]
    Signer(#[from] CertificateSignerError),
    #[error("the demo wallet's HTTP client can't be built: {0}")]
    Client(#[from] reqwest::Error),
}

/// Issuer of the documents.
pub(super) struct DemoIssuer {
    pub signer: CertificateSigner,
    anchor: String,
}

impl DemoIssuer {
    /// Makes an issuer with keys of its own.
    ///
    /// # Errors
    /// `OpenSsl`, `Signer`.
    pub(super) fn new(env: &Env) -> Result<Self, IssuerSetupError> {
        let (chain, key, anchor) = issue_certificate("Demo PID issuer", env)?;
        let signer = CertificateSigner::from_pem(chain.as_bytes(), &Secret::new(key))?;
        Ok(Self { signer, anchor })
    }

    /// Returns the certificate of its authority, for the hubs.
    pub(super) fn anchor(&self) -> &str {
        &self.anchor
    }
}

/// Access certificate of a hub, in PEM.
pub(super) struct HubCertificate {
    pub chain: String,
    pub private_key: String,
}

impl HubCertificate {
    /// Makes a certificate with a key of its own.
    ///
    /// # Errors
    /// `OpenSsl`.
    pub(super) fn new(env: &Env) -> Result<Self, IssuerSetupError> {
        let (chain, private_key, _) = issue_certificate("Demo hub", env)?;
        Ok(Self { chain, private_key })
    }
}

/// Returns a certificate with its private key, and the certificate of its authority, in PEM.
fn issue_certificate(name: &str, env: &Env) -> Result<(String, String, String), ErrorStack> {
    let (authority_key, key) = (new_key()?, new_key()?);
    let authority = sign_certificate(
        &format!("{name} authority"),
        &authority_key,
        None,
        &authority_key,
        env.now(),
    )?;
    let leaf = sign_certificate(name, &key, Some(&authority), &authority_key, env.now())?;
    let text = |pem: Vec<u8>| String::from_utf8_lossy(&pem).into_owned();
    Ok((text(leaf.to_pem()?), text(key.private_key_to_pem_pkcs8()?), text(authority.to_pem()?)))
}

fn new_key() -> Result<PKey<Private>, ErrorStack> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    PKey::from_ec_key(EcKey::generate(&group)?)
}

/// Signs a certificate, valid for 90 days: of an authority if it has no issuer.
fn sign_certificate(
    name: &str,
    key: &PKey<Private>,
    issuer: Option<&X509>,
    issuer_key: &PKey<Private>,
    now: Timestamp,
) -> Result<X509, ErrorStack> {
    let day = Duration::from_secs(24 * 3600);
    let at =
        |time: Timestamp| Asn1Time::from_unix(i64::try_from(time.seconds()).unwrap_or(i64::MAX));
    let subject = subject_name(name)?;
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    let mut serial = BigNum::new()?;
    serial.rand(64, MsbOption::MAYBE_ZERO, false)?;
    builder.set_serial_number(&*serial.to_asn1_integer()?)?;
    builder.set_not_before(&*at(now - day)?)?;
    builder.set_not_after(&*at(now + day * 90)?)?;
    builder.set_subject_name(&subject)?;
    builder.set_issuer_name(issuer.map_or(&*subject, |issuer| issuer.subject_name()))?;
    builder.set_pubkey(key)?;
    let context = builder.x509v3_context(issuer.map(|issuer| &**issuer), None);
    let mut extensions = vec![SubjectKeyIdentifier::new().build(&context)?];
    if issuer.is_some() {
        extensions.push(AuthorityKeyIdentifier::new().keyid(true).build(&context)?);
        extensions.push(KeyUsage::new().critical().digital_signature().build()?);
        extensions.push(ExtendedKeyUsage::new().critical().other(DOCUMENT_SIGNER).build()?);
    } else {
        extensions.push(BasicConstraints::new().critical().ca().build()?);
        extensions.push(KeyUsage::new().critical().key_cert_sign().crl_sign().build()?);
    }
    for extension in extensions {
        builder.append_extension(extension)?;
    }
    builder.sign(issuer_key, MessageDigest::sha256())?;
    Ok(builder.build())
}

fn subject_name(name: &str) -> Result<X509Name, ErrorStack> {
    let mut subject = X509NameBuilder::new()?;
    subject.append_entry_by_text("C", "FR")?;
    subject.append_entry_by_text("O", "Make-believe")?;
    subject.append_entry_by_text("CN", name)?;
    Ok(subject.build())
}
