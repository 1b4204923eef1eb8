//! Signs documents of the hub: requests and metadata. In two steps, because a key may be in a
//! device.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::{MessageDigest, hash};

use crate::xml::{
    DSIG, ENVELOPED, EXCLUSIVE, Limits, SignatureAlgorithm, XmlError, XmlText, escape_attribute,
};

/// Why a document of the hub can't be signed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum XmlSigningError {
    #[error("the document is not valid: {0}")]
    Xml(#[from] XmlError),
    #[error("the document has no ID or no content")]
    Unsignable,
    #[error("signing failed")]
    Signature,
}

/// A document that waits for its signature.
#[derive(Debug)]
pub struct UnsignedDocument {
    /// With the line ends that its digest is over.
    text: XmlText,
    /// Where the signature goes: after the issuer, or before the first element.
    position: usize,
    signed_info: String,
    /// `ds:KeyInfo`, or nothing.
    key_info: String,
}

impl UnsignedDocument {
    /// Prepares the signature of the outermost element by its `ID`.
    ///
    /// # Errors
    /// `Xml`, `Unsignable`.
    pub fn new(xml: &str, algorithm: SignatureAlgorithm) -> Result<Self, XmlSigningError> {
        let text = XmlText::read(xml.as_bytes(), Limits::METADATA)?;
        let document = text.parse()?;
        let root = document.root();
        let id = root.attribute("ID").ok_or(XmlSigningError::Unsignable)?;
        let first = root.children().next().ok_or(XmlSigningError::Unsignable)?;
        let range = first.byte_range();
        let position = if first.name() == "Issuer" { range.end } else { range.start };
        let content = root.to_canonical();
        let digest = hash(MessageDigest::sha256(), content.as_bytes());
        let digest = digest.map_err(|_| XmlSigningError::Signature)?;
        let signed_info = format!(
            "<ds:SignedInfo xmlns:ds=\"{DSIG}\">\
             <ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\"></ds:CanonicalizationMethod>\
             <ds:SignatureMethod Algorithm=\"{}\"></ds:SignatureMethod>\
             <ds:Reference URI=\"#{}\"><ds:Transforms>\
             <ds:Transform Algorithm=\"{ENVELOPED}\"></ds:Transform>\
             <ds:Transform Algorithm=\"{EXCLUSIVE}\"></ds:Transform></ds:Transforms>\
             <ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"></ds:DigestMethod>\
             <ds:DigestValue>{}</ds:DigestValue></ds:Reference></ds:SignedInfo>",
            algorithm.uri(),
            escape_attribute(id),
            STANDARD.encode(digest),
        );
        drop(document);
        Ok(Self { text, position, signed_info, key_info: String::new() })
    }

    /// Adds the certificate of the key, in base64. It proves nothing; some readers look for it.
    #[must_use]
    pub fn with_certificate(mut self, certificate: &str) -> Self {
        self.key_info = format!(
            "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate>\
             </ds:X509Data></ds:KeyInfo>"
        );
        self
    }

    /// Returns what the key must sign.
    pub fn signing_input(&self) -> &[u8] {
        self.signed_info.as_bytes()
    }

    /// Returns the document with its signature, which for ECDSA is `r` and `s`.
    pub fn with_signature(&self, signature: &[u8]) -> String {
        let xml = self.text.as_str();
        let (before, after) = xml.split_at_checked(self.position).unwrap_or((xml, ""));
        format!(
            "{before}<ds:Signature xmlns:ds=\"{DSIG}\">{}<ds:SignatureValue>{}</ds:SignatureValue>\
             {}</ds:Signature>{after}",
            self.signed_info,
            STANDARD.encode(signature),
            self.key_info,
        )
    }
}
