//! The structure of a `DeviceResponse` (ISO/IEC 18013-5 §8.3.2.1.2.2).

use ciborium::Value as Cbor;

use super::as_unsigned;
use crate::cbor::{embedded_cbor, member, parse_cbor};
use crate::presentation_error::PresentationError;

/// One document of a response.
pub(super) struct Document<'a> {
    pub doc_type: &'a str,
    pub issuer_auth: &'a Cbor,
    issuer_name_spaces: Option<&'a Cbor>,
    /// `DeviceNameSpacesBytes`, as the device signed it.
    pub device_name_spaces: &'a Cbor,
    device_auth: &'a Cbor,
}

/// Returns the only document of a response without errors.
pub(super) fn single_document(response: &Cbor) -> Result<Document<'_>, PresentationError> {
    let version = member(response, "version").and_then(Cbor::as_text);
    let version = version.ok_or(PresentationError::Malformed)?;
    if !["1.0", "1.1"].contains(&version) {
        return Err(PresentationError::ResponseVersion);
    }
    let status = member(response, "status").and_then(as_unsigned);
    if status != Some(0) {
        return Err(PresentationError::ResponseStatus);
    }
    if member(response, "documentErrors").is_some() {
        return Err(PresentationError::DocumentErrors);
    }
    // HAIP 1.0 §5.3.1: each mdoc has a response of its own.
    let documents = member(response, "documents").and_then(Cbor::as_array);
    let Some([document]) = documents.map(Vec::as_slice) else {
        return Err(PresentationError::DocumentCount);
    };
    if member(document, "errors").is_some() {
        return Err(PresentationError::DocumentErrors);
    }
    Document::parse(document).ok_or(PresentationError::Malformed)
}

impl<'a> Document<'a> {
    fn parse(document: &'a Cbor) -> Option<Self> {
        let issuer_signed = member(document, "issuerSigned")?;
        let device_signed = member(document, "deviceSigned")?;
        Some(Self {
            doc_type: member(document, "docType")?.as_text()?,
            issuer_auth: member(issuer_signed, "issuerAuth")?,
            issuer_name_spaces: member(issuer_signed, "nameSpaces"),
            device_name_spaces: member(device_signed, "nameSpaces")?,
            device_auth: member(device_signed, "deviceAuth")?,
        })
    }

    /// Returns the issuer-signed items (`IssuerSignedItemBytes`) by namespace.
    pub(super) fn issuer_name_spaces(
        &self,
    ) -> Result<Vec<(&'a str, &'a [Cbor])>, PresentationError> {
        let Some(name_spaces) = self.issuer_name_spaces else { return Ok(Vec::new()) };
        let entries = name_spaces.as_map().ok_or(PresentationError::Malformed)?;
        let parsed = entries
            .iter()
            .map(|(namespace, items)| Some((namespace.as_text()?, items.as_array()?.as_slice())));
        parsed.collect::<Option<_>>().ok_or(PresentationError::Malformed)
    }

    pub(super) fn device_signature(&self) -> Result<&'a Cbor, PresentationError> {
        if member(self.device_auth, "deviceMac").is_some() {
            return Err(PresentationError::DeviceMac);
        }
        member(self.device_auth, "deviceSignature").ok_or(PresentationError::DeviceAuthMissing)
    }

    /// Returns the namespaces and names of what the device signed by itself.
    pub(super) fn device_signed_elements(
        &self,
    ) -> Result<Vec<(String, String)>, PresentationError> {
        let bytes = embedded_cbor(self.device_name_spaces).ok_or(PresentationError::Malformed)?;
        let name_spaces = parse_cbor(bytes)?;
        let mut elements = Vec::new();
        for (namespace, items) in name_spaces.as_map().ok_or(PresentationError::Malformed)? {
            let namespace = namespace.as_text().ok_or(PresentationError::Malformed)?;
            for (name, _) in items.as_map().ok_or(PresentationError::Malformed)? {
                let name = name.as_text().ok_or(PresentationError::Malformed)?;
                elements.push((namespace.to_owned(), name.to_owned()));
            }
        }
        Ok(elements)
    }
}
