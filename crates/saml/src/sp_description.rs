//! What federations demand in the hub's metadata beside keys and addresses: its organization, its
//! contacts, and the attributes that it requests (SAML V2.0 Metadata §2.3.2 and §2.4.4.1).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use passerelle_connector::kind_settings::KindCheck;
use passerelle_settings::address::PlainHttp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::MD;
use crate::settings::SamlKind;
use crate::xml::escape_attribute;
use crate::xml::{Element, Limits, Untrusted, XmlError, XmlText};

/// Longest text, in characters.
const MAX_TEXT_CHARS: usize = 500;

/// Texts by language.
type Texts = BTreeMap<String, String>;

/// The organization that runs the hub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HubOrganization {
    /// Its name, by language: `{ it = "…", en = "…" }`.
    pub name: Texts,
    /// Its name as users know it, by language. Default: `name`.
    #[serde(default)]
    pub display_name: Texts,
    /// Its web page, by language.
    pub url: Texts,
}

/// A person or department that answers for the hub.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HubContact {
    /// `technical`, `support`, `administrative`, `billing` or `other`.
    #[serde(rename = "type")]
    pub contact_type: HubContactType,
    /// XML inside the contact's `Extensions`, with its namespaces.
    #[serde(default)]
    pub extensions: Option<String>,
    /// Name of the company.
    #[serde(default)]
    pub company: Option<String>,
    /// Given name.
    #[serde(default)]
    pub given_name: Option<String>,
    /// Surname.
    #[serde(default)]
    pub surname: Option<String>,
    /// E-mail address as it is published: most federations demand `mailto:` before it.
    #[serde(default)]
    #[schemars(example = "mailto:saml@example.org")]
    pub email: Option<String>,
    /// Telephone number.
    #[serde(default)]
    pub telephone: Option<String>,
}

/// What a contact is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, derive_more::Display)]
#[serde(rename_all = "lowercase")]
#[display(rename_all = "lowercase")]
pub enum HubContactType {
    Technical,
    Support,
    Administrative,
    Billing,
    Other,
}

/// An attribute that the hub requests.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestedAttribute {
    /// `Name` of the attribute.
    #[schemars(example = "urn:oid:0.9.2342.19200300.100.1.3")]
    pub name: String,
    /// `NameFormat`, for example `urn:oasis:names:tc:SAML:2.0:attrname-format:uri`.
    #[serde(default)]
    pub name_format: Option<String>,
    /// Says that logins need it (`isRequired`).
    #[serde(default)]
    pub required: bool,
}

impl HubContact {
    /// Returns its texts by their keys and their elements, in the order of the schema.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &'static str, &str)> {
        let texts = [
            ("company", "Company", &self.company),
            ("given_name", "GivenName", &self.given_name),
            ("surname", "SurName", &self.surname),
            ("email", "EmailAddress", &self.email),
            ("telephone", "TelephoneNumber", &self.telephone),
        ];
        texts.into_iter().filter_map(|(key, element, text)| Some((key, element, text.as_deref()?)))
    }
}

impl SamlKind {
    pub(crate) fn check_description(&self, check: &mut KindCheck<'_>) {
        if let Some(HubOrganization { name, display_name, url }) = &self.organization {
            check.check_texts("organization.name", name, MAX_TEXT_CHARS);
            if !display_name.is_empty() {
                check.check_texts("organization.display_name", display_name, MAX_TEXT_CHARS);
            }
            check.check_texts("organization.url", url, MAX_TEXT_CHARS);
            for (language, url) in url {
                check.check_url(&format!("organization.url.{language}"), url, PlainHttp::Anywhere);
            }
        }
        for (index, contact) in self.contacts.iter().enumerate() {
            check_contact(check, &format!("contacts[{index}]"), contact);
        }
        match (self.requested_attributes.is_empty(), self.service_name.is_empty()) {
            (false, _) => check.check_texts("service_name", &self.service_name, MAX_TEXT_CHARS),
            (true, false) => {
                let message = "has no effect: it names the service of requested_attributes";
                check.report("service_name", message, "remove it, or list the attributes");
            }
            (true, true) => {}
        }
        for (index, attribute) in self.requested_attributes.iter().enumerate() {
            let earlier = self.requested_attributes.iter().take(index);
            let key = format!("requested_attributes[{index}]");
            if earlier.into_iter().any(|earlier| earlier.name == attribute.name) {
                check.report(&format!("{key}.name"), "is listed twice", "keep one of the two");
            }
            check.check_text(&format!("{key}.name"), &attribute.name, MAX_TEXT_CHARS);
            if let Some(format) = &attribute.name_format {
                check.check_text(&format!("{key}.name_format"), format, MAX_TEXT_CHARS);
            }
        }
    }

    /// Writes `AttributeConsumingService`, the last element of the role.
    pub(crate) fn write_requested_attributes(&self, xml: &mut String) {
        if self.requested_attributes.is_empty() {
            return;
        }
        let index = self.attribute_consuming_service.unwrap_or_default();
        let _ = write!(xml, "<md:AttributeConsumingService index=\"{index}\">");
        write_texts(xml, "ServiceName", &self.service_name);
        for attribute in &self.requested_attributes {
            let _ = write!(
                xml,
                "<md:RequestedAttribute Name=\"{}\"",
                escape_attribute(&attribute.name)
            );
            if let Some(format) = &attribute.name_format {
                let _ = write!(xml, " NameFormat=\"{}\"", escape_attribute(format));
            }
            let _ = write!(xml, " isRequired=\"{}\"/>", attribute.required);
        }
        xml.push_str("</md:AttributeConsumingService>");
    }

    /// Writes `Organization` and each `ContactPerson`, which follow the role.
    pub(crate) fn write_organization_and_contacts(&self, xml: &mut String) {
        if let Some(HubOrganization { name, display_name, url }) = &self.organization {
            xml.push_str("<md:Organization>");
            write_texts(xml, "OrganizationName", name);
            let shown = if display_name.is_empty() { name } else { display_name };
            write_texts(xml, "OrganizationDisplayName", shown);
            write_texts(xml, "OrganizationURL", url);
            xml.push_str("</md:Organization>");
        }
        for contact in &self.contacts {
            let _ = write!(xml, "<md:ContactPerson contactType=\"{}\">", contact.contact_type);
            if let Some(extensions) = &contact.extensions {
                let _ = write!(xml, "<md:Extensions>{extensions}</md:Extensions>");
            }
            for (_, element, text) in contact.texts() {
                let _ = write!(xml, "<md:{element}>{}</md:{element}>", escape_attribute(text));
            }
            xml.push_str("</md:ContactPerson>");
        }
    }
}

fn check_contact(check: &mut KindCheck<'_>, key: &str, contact: &HubContact) {
    for (name, _, text) in contact.texts() {
        check.check_text(&format!("{key}.{name}"), text, MAX_TEXT_CHARS);
    }
    let is_address = |email: &String| {
        let address = email.strip_prefix("mailto:").unwrap_or(email);
        let parts = address.split_once('@');
        let has_parts = parts.is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
        has_parts && address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
    };
    if contact.email.as_ref().is_some_and(|email| !is_address(email)) {
        let fix = "write an address such as mailto:saml@example.org";
        check.report(&format!("{key}.email"), "is not an e-mail address", fix);
    }
    let extensions = contact.extensions.as_deref().map_or(Ok(true), are_extensions);
    if extensions != Ok(true) {
        let message = match extensions {
            Err(error) => format!("is not the content of an XML element: {error}"),
            Ok(_) => "has no element, or one without a namespace of its own".to_owned(),
        };
        let fix = "write elements that declare their namespace, for example <x:Code xmlns:x=\"https://example.org/ns\">1</x:Code>";
        check.report(&format!("{key}.extensions"), message, fix);
    }
}

/// Returns whether XML consists of elements of other namespaces (`##other` of the schema). What ends
/// the element around it is not well-formed.
fn are_extensions(xml: &str) -> Result<bool, XmlError> {
    let element = format!("<md:Extensions xmlns:md=\"{MD}\">{xml}</md:Extensions>");
    let text = XmlText::read(element.as_bytes(), Limits::RESPONSE)?;
    let document = text.parse()?;
    let root = document.root();
    root.check_no_text()?;
    let is_other = |child: Element<'_, Untrusted>| child.namespace().is_some_and(|name| name != MD);
    Ok(root.children().next().is_some() && root.children().all(is_other))
}

fn write_texts(xml: &mut String, element: &str, texts: &Texts) {
    for (language, text) in texts {
        let text = escape_attribute(text);
        let _ = write!(xml, "<md:{element} xml:lang=\"{language}\">{text}</md:{element}>");
    }
}
