//! Metadata of the hub as a service provider, for one identity provider.

use std::fmt::Write as _;
use std::time::Duration;

use passerelle_protocol::env::Timestamp;

use crate::settings::SamlKind;
use crate::time::format_time;
use crate::xml::{DSIG, escape_attribute};
use crate::{HTTP_POST, HTTP_REDIRECT, MD, SAMLP};

/// What the hub publishes about itself.
#[derive(Clone, Debug)]
pub struct ServiceProviderMetadata<'a> {
    /// `ID` of the document, needed if it is signed.
    pub id: &'a str,
    pub entity_id: &'a str,
    /// `None` for a document without an end.
    pub validity: Option<MetadataValidity>,
    pub consumer_url: &'a str,
    pub logout_url: Option<&'a str>,
    /// Certificates in base64, the current one first; two during a rollover.
    pub signing_certificates: &'a [String],
    pub encryption_certificates: &'a [String],
    pub signs_requests: bool,
    /// Settings with the format of the NameID, and what describes the hub.
    pub kind: &'a SamlKind,
}

/// How long a published document may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MetadataValidity {
    pub valid_until: Timestamp,
    /// After which time it should be fetched again.
    pub cache_duration: Duration,
}

impl ServiceProviderMetadata<'_> {
    /// Returns the document.
    pub fn to_xml(&self) -> String {
        let mut xml = format!(
            "<md:EntityDescriptor xmlns:md=\"{MD}\" ID=\"{}\" entityID=\"{}\"",
            escape_attribute(self.id),
            escape_attribute(self.entity_id),
        );
        if let Some(MetadataValidity { valid_until, cache_duration }) = self.validity {
            let (end, seconds) = (format_time(valid_until), cache_duration.as_secs());
            let _ = write!(xml, " validUntil=\"{end}\" cacheDuration=\"PT{seconds}S\"");
        }
        let _ = write!(
            xml,
            "><md:SPSSODescriptor protocolSupportEnumeration=\"{SAMLP}\" \
             AuthnRequestsSigned=\"{}\" WantAssertionsSigned=\"true\">",
            self.signs_requests,
        );
        let keys =
            [("signing", self.signing_certificates), ("encryption", self.encryption_certificates)];
        for (purpose, certificates) in keys {
            for certificate in certificates {
                write_key(&mut xml, purpose, certificate);
            }
        }
        if let Some(logout_url) = self.logout_url {
            let location = escape_attribute(logout_url);
            let _ = write!(
                xml,
                "<md:SingleLogoutService Binding=\"{HTTP_REDIRECT}\" Location=\"{location}\"/>"
            );
        }
        if let Some(format) = &self.kind.name_id_format {
            let _ = write!(xml, "<md:NameIDFormat>{}</md:NameIDFormat>", escape_attribute(format));
        }
        let _ = write!(
            xml,
            "<md:AssertionConsumerService Binding=\"{HTTP_POST}\" Location=\"{}\" index=\"0\" \
             isDefault=\"true\"/>",
            escape_attribute(self.consumer_url)
        );
        self.kind.write_requested_attributes(&mut xml);
        xml.push_str("</md:SPSSODescriptor>");
        self.kind.write_organization_and_contacts(&mut xml);
        xml.push_str("</md:EntityDescriptor>");
        xml
    }
}

/// Writes the certificate of a key, in base64.
pub(crate) fn write_key(xml: &mut String, purpose: &str, certificate: &str) {
    let _ = write!(
        xml,
        "<md:KeyDescriptor use=\"{purpose}\"><ds:KeyInfo xmlns:ds=\"{DSIG}\"><ds:X509Data>\
         <ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>\
         </md:KeyDescriptor>"
    );
}
