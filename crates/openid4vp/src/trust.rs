//! Trust anchors, and the certificate paths to them (RFC 5280).
//!
//! Responsible for which certificates may sign credentials, status lists and trust lists. OpenSSL
//! builds and validates the paths.

use std::cmp::Ordering;
use std::sync::Arc;

use openssl::asn1::Asn1OctetStringRef;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Public};
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{X509, X509NameRef, X509Ref, X509StoreContext, X509VerifyResult};
use x509_parser::oid_registry::Oid;
use x509_parser::prelude::{FromDer, ParsedExtension, PolicyInformation, X509Certificate};

use super::presentation_error::PresentationError;
use passerelle_egress::certificate_expiry;
use passerelle_jose::untrusted_certificate::{
    UntrustedCertificateError, parse_untrusted_certificate,
};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

/// Size limit of a file of trust anchors, in bytes.
const MAX_PEM_BYTES: usize = 1 << 20;
/// Maximum number of certificates in a header, and on a path.
const MAX_CHAIN_LENGTH: usize = 6;
/// OpenSSL's level for 112 bits: no SHA-1, no RSA under 2048 bits, no curve under 224.
const SECURITY_LEVEL: i32 = 2;
/// Extended key usage of a document signer (ISO/IEC 18013-5 §B.1.4). Issuers use the same
/// certificate for both formats.
const DOCUMENT_SIGNER: &str = "1.0.18013.5.1.2";
/// Extended key usage `id-kp-documentSigning` (RFC 9336).
const DOCUMENT_SIGNING: &str = "1.3.6.1.5.5.7.3.36";
/// Extended key usage `id-tsl-kp-tslSigning` (ETSI TS 119 612 §5.7.1).
const TRUST_LIST_SIGNING: &str = "0.4.0.2231.3.0";
/// Begins the policies of access certificates of relying parties (ETSI TS 119 411-8 §5.3).
const ACCESS_CERTIFICATE_POLICIES: &str = "0.4.0.194118.1.";

/// Error of a file of trust anchors.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrustAnchorError {
    #[error(
        "it is not PEM text of certificates of at most 1 MiB; put the CA certificates of the issuers there"
    )]
    Malformed,
}

/// Use of a certificate's key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CertificatePurpose {
    /// An SD-JWT VC.
    SdJwtVc,
    /// The mobile security object of an mdoc (ISO/IEC 18013-5 §B.1.4).
    MobileSecurityObject,
    /// A Token Status List.
    StatusList,
    /// A list of trusted entities (ETSI TS 119 602).
    TrustList,
}

/// What an operator accepts of the certificates below the anchors, and what not.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct IssuerRules {
    /// Accepted extended key usages beyond those for signing documents, as object identifiers.
    pub extended_key_usages: Vec<String>,
    /// Public key (DER) of the hub's access certificate, which signs requests and no credentials.
    pub access_key: Option<Vec<u8>>,
}

/// A signer's certificate with a valid path to a trust anchor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IssuerCertificate {
    /// Subject, such as `C=FR, O=Example, CN=PID issuer`.
    pub subject: String,
    /// `O` of the subject.
    pub organization: Option<String>,
    /// `C` of the subject: two letters (RFC 5280 appendix A.1, `X520countryName`).
    pub country: Option<String>,
    /// SHA-256 of the certificate, as base64url.
    pub fingerprint: String,
    pub anchor_subject: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// A verified certificate with its key.
pub struct VerifiedSigner {
    pub certificate: IssuerCertificate,
    pub key: PKey<Public>,
}

/// Certificates of authorities (or of issuers themselves) that the operator trusts.
#[derive(Clone, Default, derive_more::Debug)]
#[debug("TrustAnchors({})", certificates.len())]
pub struct TrustAnchors {
    certificates: Vec<X509>,
    rules: Arc<IssuerRules>,
}

impl TrustAnchors {
    /// Parses PEM certificates.
    ///
    /// # Errors
    /// `Malformed` if there is none, or one can't be parsed.
    pub fn from_pem(pem: &[u8]) -> Result<Self, TrustAnchorError> {
        let certificates = X509::stack_from_pem(pem).unwrap_or_default();
        if certificates.is_empty() || pem.len() > MAX_PEM_BYTES {
            return Err(TrustAnchorError::Malformed);
        }
        Ok(Self { certificates, rules: Arc::default() })
    }

    /// Returns DER certificates as anchors, without those that can't be parsed.
    pub fn from_der(certificates: &[Vec<u8>]) -> Self {
        let parsed = certificates.iter().filter_map(|der| parse_anchor(der));
        Self { certificates: parsed.collect(), rules: Arc::default() }
    }

    /// Returns the anchors with these rules.
    #[must_use]
    pub fn with_rules(self, rules: &Arc<IssuerRules>) -> Self {
        Self { rules: Arc::clone(rules), ..self }
    }

    /// Returns both sets of anchors as one, with the rules of the first.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            certificates: [&self.certificates[..], &other.certificates[..]].concat(),
            rules: Arc::clone(&self.rules),
        }
    }

    /// Returns a digest of the anchors, which differs between two sets.
    pub fn digest(&self) -> String {
        let hashes = self
            .certificates
            .iter()
            .filter_map(|anchor| anchor.digest(MessageDigest::sha256()).ok());
        let hashes: Vec<u8> = hashes.flat_map(|hash| hash.to_vec()).collect();
        digest::base64url(&digest::sha256(&hashes))
    }

    /// Returns the number of anchors.
    pub fn len(&self) -> usize {
        self.certificates.len()
    }

    /// Returns true if nothing is trusted.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Returns the key identifiers of the anchors as base64url, for `trusted_authorities` of type
    /// `aki` (OpenID4VP 1.0 §6.1.1.1).
    pub fn key_identifiers(&self) -> Vec<String> {
        let identifiers = self.certificates.iter().filter_map(|anchor| anchor.subject_key_id());
        identifiers.map(|identifier| digest::base64url(identifier.as_slice())).collect()
    }

    /// Returns the earliest expiry among the anchors.
    pub fn earliest_expiry(&self) -> Option<Timestamp> {
        self.certificates
            .iter()
            .filter_map(|anchor| certificate_expiry::timestamp(anchor.not_after()))
            .min()
    }

    /// Validates a path from the first certificate (DER) over the others to an anchor.
    ///
    /// # Errors
    /// The rule of RFC 5280, ISO/IEC 18013-5 or HAIP 1.0 that the chain breaks.
    pub fn verify_chain(
        &self,
        chain: &[Vec<u8>],
        purpose: CertificatePurpose,
        now: Timestamp,
    ) -> Result<VerifiedSigner, PresentationError> {
        if chain.len() > MAX_CHAIN_LENGTH {
            return Err(PresentationError::CertificateChainTooLong);
        }
        let certificates = chain.iter().map(|der| parse_untrusted_certificate(der));
        let certificates: Vec<_> = certificates.collect::<Result<_, _>>()?;
        let Some((leaf, intermediates)) = certificates.split_first() else {
            return Err(PresentationError::CertificateMissing);
        };
        // HAIP 1.0 §6.1.1: the chain leaves the trust anchor out, and no signer is self-signed. The
        // operator of a trust list may have a self-signed certificate, which is pinned then.
        if purpose != CertificatePurpose::TrustList
            && certificates.iter().any(|certificate| is_self_signed(certificate))
        {
            return Err(PresentationError::CertificateSelfSigned);
        }
        let path = self
            .build_path(leaf, intermediates, now)
            .map_err(|_| PresentationError::CertificateInvalid)?
            .map_err(path_error)?;
        // OpenSSL returns what it found above a pinned issuer, too.
        let anchor = path.iter().position(|certificate| self.certificates.contains(certificate));
        let path = anchor.and_then(|anchor| path.get(..=anchor));
        let is_pinned_list_signer = purpose == CertificatePurpose::TrustList && anchor == Some(0);
        if !is_pinned_list_signer {
            self.check_issuer(leaf, purpose)?;
            let between = path.and_then(|path| path.get(1..path.len().saturating_sub(1)));
            for authority in between.unwrap_or_default() {
                self.check_extended_key_usage(authority, purpose)?;
            }
        }
        check_key_usage(leaf, purpose, is_pinned_list_signer)?;
        let key = leaf.public_key().map_err(|_| PresentationError::CertificateInvalid)?;
        let certificate =
            path.and_then(describe_path).ok_or(PresentationError::CertificateInvalid)?;
        Ok(VerifiedSigner { certificate, key })
    }

    /// Checks that the certificate is one of an issuer, and not of another holder below the anchors:
    /// of a TLS server, of a person's e-mail, of a relying party.
    fn check_issuer(
        &self,
        leaf: &X509Ref,
        purpose: CertificatePurpose,
    ) -> Result<(), PresentationError> {
        self.check_extended_key_usage(leaf, purpose)?;
        let key = leaf.public_key().and_then(|key| key.public_key_to_der()).ok();
        let is_own = self.rules.access_key.is_some() && key == self.rules.access_key;
        if is_own || has_access_certificate_policy(leaf)? {
            return Err(PresentationError::CertificateUsage);
        }
        Ok(())
    }

    /// RFC 5280 §4.2.1.12: if the extension is present, the certificate must be used for one of its
    /// purposes only. An authority restricts those below it in the same way.
    fn check_extended_key_usage(
        &self,
        certificate: &X509Ref,
        purpose: CertificatePurpose,
    ) -> Result<(), PresentationError> {
        let der = certificate.to_der().map_err(|_| PresentationError::CertificateMalformed)?;
        let extended = parse_x509(&der)?
            .extended_key_usage()
            .map_err(|_| PresentationError::CertificateInvalid)?
            .map(|extension| (extension.value.any, to_texts(&extension.value.other)));
        let Some((is_for_any, purposes)) = extended else { return Ok(()) };
        let is_permitted = |usage: &String| {
            [DOCUMENT_SIGNER, DOCUMENT_SIGNING].contains(&usage.as_str())
                || (purpose == CertificatePurpose::TrustList && usage == TRUST_LIST_SIGNING)
                || self.rules.extended_key_usages.contains(usage)
        };
        if is_for_any || purposes.iter().any(is_permitted) {
            Ok(())
        } else {
            Err(PresentationError::CertificateUsage)
        }
    }

    fn build_path(
        &self,
        leaf: &X509Ref,
        intermediates: &[X509],
        now: Timestamp,
    ) -> Result<Result<Vec<X509>, X509VerifyResult>, ErrorStack> {
        let mut store = X509StoreBuilder::new()?;
        for anchor in &self.certificates {
            store.add_cert(anchor.clone())?;
        }
        let mut rules = X509VerifyParam::new()?;
        rules.set_time(i64::try_from(now.seconds()).unwrap_or(i64::MAX));
        // An intermediate authority, or an issuer, may be trusted without its root.
        rules.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
        rules.set_depth(i32::try_from(MAX_CHAIN_LENGTH).unwrap_or_default());
        rules.set_auth_level(SECURITY_LEVEL);
        store.set_param(&rules)?;
        let mut untrusted = Stack::new()?;
        for certificate in intermediates {
            untrusted.push(certificate.clone())?;
        }
        X509StoreContext::new()?.init(&store.build(), leaf, &untrusted, |context| {
            if !context.verify_cert()? {
                return Ok(Err(context.error()));
            }
            let path = context.chain().into_iter().flatten();
            Ok(Ok(path.map(ToOwned::to_owned).collect()))
        })
    }
}

impl From<UntrustedCertificateError> for PresentationError {
    fn from(error: UntrustedCertificateError) -> Self {
        match error {
            UntrustedCertificateError::Malformed => Self::CertificateMalformed,
            UntrustedCertificateError::Key => Self::CertificateKey,
        }
    }
}

/// Returns true if a certificate states that it issued itself (RFC 5280 §4.2.1.1). Does not verify
/// its signature: a stranger chose the key.
fn is_self_signed(certificate: &X509Ref) -> bool {
    let is_own_name = certificate.subject_name().try_cmp(certificate.issuer_name());
    let authority = certificate.authority_key_id().map(Asn1OctetStringRef::as_slice);
    let own = certificate.subject_key_id().map(Asn1OctetStringRef::as_slice);
    is_own_name.is_ok_and(Ordering::is_eq)
        && authority.is_none_or(|authority| own.is_none_or(|own| own == authority))
}

/// Maps OpenSSL's result to a reason: `X509_V_ERR_…` of `openssl/x509_vfy.h`.
fn path_error(result: X509VerifyResult) -> PresentationError {
    match result.as_raw() {
        // No issuer found, self-signed, or not among the anchors.
        2 | 18..=21 | 27 => PresentationError::IssuerUntrusted,
        9 => PresentationError::CertificateNotYetValid,
        10 => PresentationError::CertificateExpired,
        22 | 25 => PresentationError::CertificateChainTooLong,
        // An authority without the right to issue.
        26 | 32 | 79 => PresentationError::CertificateUsage,
        _ => PresentationError::CertificateInvalid,
    }
}

/// Parses one certificate. OpenSSL ignores bytes after it; here they make it malformed.
fn parse_anchor(der: &[u8]) -> Option<X509> {
    let certificate = X509::from_der(der).ok()?;
    (certificate.to_der().ok()?.len() == der.len()).then_some(certificate)
}

fn parse_x509(der: &[u8]) -> Result<X509Certificate<'_>, PresentationError> {
    let parsed = X509Certificate::from_der(der);
    parsed.map(|(_, certificate)| certificate).map_err(|_| PresentationError::CertificateMalformed)
}

fn to_texts(identifiers: &[Oid<'_>]) -> Vec<String> {
    identifiers.iter().map(Oid::to_id_string).collect()
}

/// Returns true for the access certificate of a relying party. Authorities for access certificates
/// issue them to any service.
fn has_access_certificate_policy(leaf: &X509Ref) -> Result<bool, PresentationError> {
    let der = leaf.to_der().map_err(|_| PresentationError::CertificateMalformed)?;
    let certificate = parse_x509(&der)?;
    let is_access_policy = |policy: &PolicyInformation<'_>| {
        policy.policy_id.to_id_string().starts_with(ACCESS_CERTIFICATE_POLICIES)
    };
    Ok(certificate.extensions().iter().any(|extension| match extension.parsed_extension() {
        ParsedExtension::CertificatePolicies(policies) => policies.iter().any(is_access_policy),
        _ => false,
    }))
}

/// Checks what the certificate's key may be used for. An authority's certificate signs certificates
/// only, unless the operator pinned it as the signer of a list.
fn check_key_usage(
    leaf: &X509Ref,
    purpose: CertificatePurpose,
    may_be_ca: bool,
) -> Result<(), PresentationError> {
    let der = leaf.to_der().map_err(|_| PresentationError::CertificateMalformed)?;
    let certificate = parse_x509(&der)?;
    let invalid = |_| PresentationError::CertificateInvalid;
    let usage = certificate.key_usage().map_err(invalid)?;
    let extended = certificate.extended_key_usage().map_err(invalid)?;
    let may_sign = usage.map(|usage| usage.value.digital_signature());
    let is_document_signer = extended.is_some_and(|extended| {
        extended.value.other.iter().any(|purpose| purpose.to_id_string() == DOCUMENT_SIGNER)
    });
    let fits = match purpose {
        CertificatePurpose::MobileSecurityObject => may_sign == Some(true) && is_document_signer,
        CertificatePurpose::SdJwtVc
        | CertificatePurpose::StatusList
        | CertificatePurpose::TrustList => may_sign != Some(false),
    };
    let fits = fits && (may_be_ca || !certificate.is_ca());
    if fits { Ok(()) } else { Err(PresentationError::CertificateUsage) }
}

fn describe_path(path: &[X509]) -> Option<IssuerCertificate> {
    let (leaf, anchor) = (path.first()?, path.last()?);
    Some(IssuerCertificate {
        subject: format_name(leaf.subject_name()),
        organization: attribute(leaf.subject_name(), Nid::ORGANIZATIONNAME),
        country: attribute(leaf.subject_name(), Nid::COUNTRYNAME).filter(|country| {
            country.len() == 2 && country.bytes().all(|letter| letter.is_ascii_uppercase())
        }),
        fingerprint: digest::base64url(&leaf.digest(MessageDigest::sha256()).ok()?),
        anchor_subject: format_name(anchor.subject_name()),
        not_before: certificate_expiry::timestamp(leaf.not_before())?,
        not_after: certificate_expiry::timestamp(leaf.not_after())?,
    })
}

/// Returns the value of an attribute that a name has once.
fn attribute(name: &X509NameRef, kind: Nid) -> Option<String> {
    let mut entries = name.entries_by_nid(kind);
    let value = entries.next()?.data().to_string().ok()?;
    entries.next().is_none().then_some(value)
}

fn format_name(name: &X509NameRef) -> String {
    let attribute = |entry: &openssl::x509::X509NameEntryRef| {
        let kind = entry.object().nid().short_name().unwrap_or("?").to_owned();
        let value = entry.data().to_string().unwrap_or_default();
        // RFC 4514 §2.4: a name must not pass for one with more attributes.
        let is_special = |c: &char| ",+\"\\<>;=".contains(*c);
        let escape = |c: char| is_special(&c).then_some('\\').into_iter().chain([c]);
        format!("{kind}={}", value.chars().flat_map(escape).collect::<String>())
    };
    name.entries().map(attribute).collect::<Vec<_>>().join(", ")
}
