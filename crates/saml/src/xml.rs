//! The XML that the hub accepts, and signatures over it (W3C XML Signature 1.0, Exclusive XML
//! Canonicalization 1.0, XML Encryption 1.1).
//!
//! XML signatures fail in one way above all: the verifier and the reader look at different
//! elements, or see the same element differently. Two rules exclude that. [`XmlDocument`] reads a
//! subset of XML that leaves nothing to interpret. And an [`Element`] of [`Verified`] content can
//! only come from [`VerifiedXml`], which holds the canonical bytes whose digest was signed: they are
//! parsed again, and everything else of the message is gone.
//!
//! Begin with `scan` (what is refused before parsing), then `document`, `canonical`, `signature`.

mod algorithm;
mod canonical;
mod document;
mod encryption;
mod scan;
mod signature;
#[cfg(test)]
mod tests;

pub use algorithm::{SignatureAlgorithm, VerificationKey};
pub(crate) use canonical::escape_attribute;
pub use document::{Element, Untrusted, Verified, VerifiedXml, XmlDocument, XmlText};
pub use encryption::{
    ContentDecryption, EncryptedContentKey, XmlDecryptionError, XmlDecryptionKey, encrypted_keys,
};
pub use scan::{Limits, XmlError};
pub(crate) use signature::{ENVELOPED, EXCLUSIVE, decode_base64};
pub use signature::{XmlSignatureError, check_signature_positions, verify_detached};

/// Namespace of XML Signature.
pub const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
