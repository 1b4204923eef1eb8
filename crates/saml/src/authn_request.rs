//! Requests to identity providers (SAML V2.0 Core §3.4; Bindings §3.5).

use std::fmt::Write as _;

use passerelle_protocol::env::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::time::format_time;
use crate::xml::escape_attribute;
use crate::{ENTITY_FORMAT, HTTP_POST, SAML, SAMLP, TRANSIENT};

/// How the class of the authentication must compare with the requested ones (SAML V2.0 Core
/// §3.3.2.2.1).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, derive_more::Display,
)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// It must be one of them.
    #[default]
    #[display("exact")]
    Exact,
    /// It must be at least as strong as one of them.
    #[display("minimum")]
    Minimum,
}

/// A request for an authentication.
#[derive(Clone, Debug)]
pub struct AuthnRequest<'a> {
    /// Must begin with a letter or `_`, and be as random as `state`.
    pub id: &'a str,
    pub issued_at: Timestamp,
    /// Address of the identity provider.
    pub destination: &'a str,
    /// Entity ID of the hub.
    pub issuer: &'a str,
    /// Whether the issuer has `Format` and `NameQualifier`.
    pub qualify_issuer: bool,
    pub consumer_url: &'a str,
    pub force_authn: bool,
    pub name_id_format: Option<&'a str>,
    /// Requested classes, the preferred first; empty if none is requested.
    pub authn_contexts: &'a [String],
    pub comparison: Comparison,
    pub attribute_consuming_service: Option<u16>,
    /// How many further providers may be asked.
    pub proxy_count: Option<u16>,
    /// The service for which the hub asks. `None` unless the operator says so: it reveals to the
    /// identity provider which service a person uses.
    pub requester_id: Option<&'a str>,
}

impl AuthnRequest<'_> {
    /// Returns the request as XML.
    pub fn to_xml(&self) -> String {
        let mut xml = format!(
            "<samlp:AuthnRequest xmlns:samlp=\"{SAMLP}\" xmlns:saml=\"{SAML}\" ID=\"{}\" \
             Version=\"2.0\" IssueInstant=\"{}\" Destination=\"{}\" \
             AssertionConsumerServiceURL=\"{}\" ProtocolBinding=\"{HTTP_POST}\"",
            escape_attribute(self.id),
            format_time(self.issued_at),
            escape_attribute(self.destination),
            escape_attribute(self.consumer_url),
        );
        if self.force_authn {
            xml.push_str(" ForceAuthn=\"true\"");
        }
        if let Some(index) = self.attribute_consuming_service {
            let _ = write!(xml, " AttributeConsumingServiceIndex=\"{index}\"");
        }
        let issuer = escape_attribute(self.issuer);
        let qualifiers = if self.qualify_issuer {
            format!(" Format=\"{ENTITY_FORMAT}\" NameQualifier=\"{issuer}\"")
        } else {
            String::new()
        };
        let _ = write!(xml, "><saml:Issuer{qualifiers}>{issuer}</saml:Issuer>");
        if let Some(format) = self.name_id_format {
            // Core §3.4.1.1: it says nothing about a NameID that is created for each session.
            let create = if format == TRANSIENT { "" } else { " AllowCreate=\"true\"" };
            let format = escape_attribute(format);
            let _ = write!(xml, "<samlp:NameIDPolicy Format=\"{format}\"{create}/>");
        }
        if !self.authn_contexts.is_empty() {
            let comparison = self.comparison;
            let _ = write!(xml, "<samlp:RequestedAuthnContext Comparison=\"{comparison}\">");
            for class in self.authn_contexts {
                let class = escape_attribute(class);
                let _ =
                    write!(xml, "<saml:AuthnContextClassRef>{class}</saml:AuthnContextClassRef>");
            }
            xml.push_str("</samlp:RequestedAuthnContext>");
        }
        self.write_scoping(&mut xml);
        xml.push_str("</samlp:AuthnRequest>");
        xml
    }

    fn write_scoping(&self, xml: &mut String) {
        if self.proxy_count.is_none() && self.requester_id.is_none() {
            return;
        }
        xml.push_str("<samlp:Scoping");
        if let Some(count) = self.proxy_count {
            let _ = write!(xml, " ProxyCount=\"{count}\"");
        }
        xml.push('>');
        if let Some(id) = self.requester_id {
            let _ = write!(xml, "<samlp:RequesterID>{}</samlp:RequesterID>", escape_attribute(id));
        }
        xml.push_str("</samlp:Scoping>");
    }
}
