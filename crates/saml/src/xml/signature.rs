//! Verifies an enveloped signature: one form, that of SAML V2.0 Core §5.4, and no other.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::hash;

use super::algorithm::{Hash, SignatureAlgorithm, VerificationKey};
use super::canonical::canonicalize;
use super::document::{Element, VerifiedXml, XmlDocument, XmlText};
use super::{DSIG, Limits, XmlError};

pub(crate) const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
pub(crate) const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// Prefixes in a `PrefixList`.
const MAX_INCLUSIVE_PREFIXES: usize = 32;
/// Length of a digest or signature in base64, with line breaks.
const MAX_BASE64_BYTES: usize = 4096;

/// Error returned for a signature that proves nothing. Each is one rule.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum XmlSignatureError {
    #[error("there is no signature")]
    Missing,
    #[error("there is more than one signature")]
    Several,
    #[error("a signature is not a direct child, after the issuer, of what it may sign")]
    Misplaced,
    #[error("the signature has other parts than SignedInfo, SignatureValue and KeyInfo")]
    Structure,
    #[error("the signature is over other canonical XML than exclusive, without comments")]
    Canonicalization,
    #[error("the signature's algorithm is not accepted")]
    Algorithm,
    #[error("the signature has not exactly one reference")]
    ReferenceCount,
    #[error("the signature is over another element than the one that contains it")]
    ReferenceTarget,
    #[error("the transforms are not exactly enveloped-signature and exclusive canonical XML")]
    Transforms,
    #[error("the digest's algorithm is not accepted")]
    DigestAlgorithm,
    #[error("a digest or signature is not base64")]
    Base64,
    #[error("no key of the metadata verifies the signature")]
    Signature,
    #[error("the signed element was changed")]
    Digest,
    #[error("the signed element can't be read: {0}")]
    Xml(#[from] XmlError),
}

/// Checks that every signature of the document is a direct child of one of these elements (signature
/// wrapping hides the element that was signed elsewhere).
///
/// # Errors
/// `Misplaced`.
pub fn check_signature_positions<T>(
    document: &XmlDocument<'_, T>,
    signed: &[Element<'_, T>],
) -> Result<(), XmlSignatureError> {
    let may_be_signed = |parent: Element<'_, T>| signed.iter().any(|e| e.is_same(parent));
    let mut signatures = document.root().descendants_named(DSIG, "Signature");
    if signatures.all(|signature| signature.parent().is_some_and(may_be_signed)) {
        Ok(())
    } else {
        Err(XmlSignatureError::Misplaced)
    }
}

impl<Trust> Element<'_, Trust> {
    /// Returns true if a signature is a direct child.
    pub fn is_signed(self) -> bool {
        self.children_named(DSIG, "Signature").next().is_some()
    }

    /// Verifies the signature that is a direct child of this element, and returns what was signed.
    ///
    /// # Errors
    /// Any [`XmlSignatureError`].
    pub fn verify_signature(
        self,
        keys: &[VerificationKey],
    ) -> Result<VerifiedXml, XmlSignatureError> {
        use XmlSignatureError as E;
        let mut signatures = self.children_named(DSIG, "Signature");
        let signature = signatures.next().ok_or(E::Missing)?;
        if signatures.next().is_some() {
            return Err(E::Several);
        }
        let before = signature.node.prev_sibling_element();
        if before.is_some_and(|before| before.tag_name().name() != "Issuer") {
            return Err(E::Misplaced);
        }
        let parts = SignatureParts::read(signature)?;

        // The reference is read from the bytes that the signature is over.
        let prefixes = exclusive_prefixes(parts.canonicalization, E::Canonicalization)?;
        let signed_info = canonicalize(parts.signed_info.node, &prefixes, None);
        let signed_text = XmlText::read(signed_info.as_bytes(), *self.limits)?;
        let signed_document = signed_text.parse()?;
        let signed_info_again = SignedInfo::read(signed_document.root())?;
        let algorithm = signed_info_again.algorithm;
        let is_signed =
            keys.iter().any(|key| key.verifies(algorithm, signed_info.as_bytes(), &parts.value));
        if !is_signed {
            return Err(E::Signature);
        }

        let id = self.attribute("ID").filter(|id| !id.is_empty());
        let target = signed_info_again.target.strip_prefix('#').filter(|target| !target.is_empty());
        if id.is_none() || id != target {
            return Err(E::ReferenceTarget);
        }
        let content = canonicalize(
            self.node,
            &signed_info_again.inclusive_prefixes,
            Some(signature.node.id()),
        );
        let digest = hash(signed_info_again.hash.openssl(), content.as_bytes());
        if digest.map_err(|_| E::Digest)?.as_ref() != signed_info_again.digest {
            return Err(E::Digest);
        }
        Ok(VerifiedXml::from_verified_bytes(content.as_bytes(), *self.limits)?)
    }
}

/// Verifies a signature over bytes, and returns the document that `content` finds in them; `None` if
/// it finds none.
///
/// # Errors
/// `Signature`, `Xml`.
pub fn verify_detached(
    keys: &[VerificationKey],
    algorithm: SignatureAlgorithm,
    signed: &[u8],
    signature: &[u8],
    content: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<Option<VerifiedXml>, XmlSignatureError> {
    if !keys.iter().any(|key| key.verifies(algorithm, signed, signature)) {
        return Err(XmlSignatureError::Signature);
    }
    let document = content(signed);
    let read = |bytes: Vec<u8>| VerifiedXml::from_verified_bytes(&bytes, Limits::RESPONSE);
    Ok(document.map(read).transpose()?)
}

/// The parts of `ds:Signature` (W3C XML Signature 1.0 §4.1).
struct SignatureParts<'a, T> {
    signed_info: Element<'a, T>,
    canonicalization: Element<'a, T>,
    value: Vec<u8>,
}

impl<'a, T> SignatureParts<'a, T> {
    /// `KeyInfo` may be there, and is not read: keys come from the metadata.
    fn read(signature: Element<'a, T>) -> Result<Self, XmlSignatureError> {
        let [signed_info, value] = first_children(signature, ["SignedInfo", "SignatureValue"])?;
        let mut others = signature.children().skip(2);
        let is_key_info = others.next().is_none_or(|other| other.is(DSIG, "KeyInfo"));
        if !is_key_info || others.next().is_some() {
            return Err(XmlSignatureError::Structure);
        }
        let [canonicalization] = first_children(signed_info, ["CanonicalizationMethod"])?;
        Ok(Self { signed_info, canonicalization, value: base64_text(value)? })
    }
}

/// What `ds:SignedInfo` says.
struct SignedInfo<'a> {
    algorithm: SignatureAlgorithm,
    target: &'a str,
    inclusive_prefixes: Vec<&'a str>,
    hash: Hash,
    digest: Vec<u8>,
}

impl<'a> SignedInfo<'a> {
    fn read<T>(signed_info: Element<'a, T>) -> Result<Self, XmlSignatureError> {
        use XmlSignatureError as E;
        let [_, method] =
            first_children(signed_info, ["CanonicalizationMethod", "SignatureMethod"])?;
        if method.children().next().is_some() {
            return Err(E::Algorithm);
        }
        let algorithm = method.attribute("Algorithm").and_then(SignatureAlgorithm::from_uri);
        let algorithm = algorithm.ok_or(E::Algorithm)?;
        let mut references = signed_info.children().skip(2);
        let reference = references.next().filter(|reference| reference.is(DSIG, "Reference"));
        let (Some(reference), None) = (reference, references.next()) else {
            return Err(E::ReferenceCount);
        };
        let [transforms, digest_method, digest] =
            first_children(reference, ["Transforms", "DigestMethod", "DigestValue"])?;
        if reference.children().count() != 3 {
            return Err(E::Structure);
        }
        let hash = digest_method.attribute("Algorithm").and_then(Hash::from_digest_uri);
        Ok(Self {
            algorithm,
            target: reference.attribute("URI").ok_or(E::ReferenceTarget)?,
            inclusive_prefixes: read_transforms(transforms)?,
            hash: hash.ok_or(E::DigestAlgorithm)?,
            digest: base64_text(digest)?,
        })
    }
}

/// Reads the transforms, and returns the `PrefixList` of the second.
fn read_transforms<T>(transforms: Element<'_, T>) -> Result<Vec<&str>, XmlSignatureError> {
    transforms.check_no_text()?;
    let mut transforms = transforms.children();
    let first = transforms.next().filter(|transform| {
        let is_enveloped = transform.attribute("Algorithm") == Some(ENVELOPED);
        transform.is(DSIG, "Transform") && is_enveloped && transform.children().next().is_none()
    });
    let second = transforms.next().filter(|transform| transform.is(DSIG, "Transform"));
    match (first, second, transforms.next()) {
        (Some(_), Some(second), None) => exclusive_prefixes(second, XmlSignatureError::Transforms),
        _ => Err(XmlSignatureError::Transforms),
    }
}

/// Returns the `PrefixList` of an exclusive canonicalization, or this error for any other method.
fn exclusive_prefixes<T>(
    method: Element<'_, T>,
    error: XmlSignatureError,
) -> Result<Vec<&str>, XmlSignatureError> {
    if method.attribute("Algorithm") != Some(EXCLUSIVE) {
        return Err(error);
    }
    method.check_no_text()?;
    let mut parameters = method.children();
    let list = match (parameters.next(), parameters.next()) {
        (None, _) => return Ok(Vec::new()),
        (Some(only), None) if only.is(EXCLUSIVE, "InclusiveNamespaces") => only,
        _ => return Err(error),
    };
    let prefixes = list.attribute("PrefixList").ok_or(error)?.split_ascii_whitespace();
    let prefixes: Vec<&str> = prefixes.take(MAX_INCLUSIVE_PREFIXES + 1).collect();
    if prefixes.len() > MAX_INCLUSIVE_PREFIXES || list.children().next().is_some() {
        return Err(error);
    }
    let prefixes = prefixes.into_iter().filter(|prefix| *prefix != "xml");
    Ok(prefixes.map(|prefix| if prefix == "#default" { "" } else { prefix }).collect())
}

/// Returns the first children of an element, which must have these names in this order.
fn first_children<'a, T, const N: usize>(
    element: Element<'a, T>,
    names: [&str; N],
) -> Result<[Element<'a, T>; N], XmlSignatureError> {
    element.check_no_text()?;
    let children: Vec<_> = element
        .children()
        .zip(names)
        .take_while(|(child, name)| child.is(DSIG, name))
        .map(|(child, _)| child)
        .collect();
    children.try_into().map_err(|_| XmlSignatureError::Structure)
}

fn base64_text<T>(element: Element<'_, T>) -> Result<Vec<u8>, XmlSignatureError> {
    decode_base64(element.text()?, MAX_BASE64_BYTES).ok_or(XmlSignatureError::Base64)
}

/// Decodes base64 with white space (XML Schema `base64Binary`) of at most this length.
pub(crate) fn decode_base64(text: &str, max: usize) -> Option<Vec<u8>> {
    if text.len() > max {
        return None;
    }
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).ok()
}
