//! The operator's support address, with placeholders for what a page knows of the problem.
//!
//! The template is parsed once, when the theme is loaded. Every value is percent-encoded, so that a
//! name or a code can't change the address (RFC 3986 §2.4).

use std::fmt::Write as _;

use url::{Url, form_urlencoded};

use passerelle_settings::ValueError;
use passerelle_settings::address::{self, PlainHttp};

/// A support address: `https` or `mailto`, with placeholders in its query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SupportUrlTemplate(Vec<SupportUrlTemplatePart>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum SupportUrlTemplatePart {
    Literal(String),
    Value(Placeholder),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Placeholder {
    Code,
    SupportId,
    Service,
    IdentityProvider,
}

/// Values of a problem that a page can put into the support URL; absent values are empty.
#[derive(Clone, Copy, Default, Debug)]
pub struct SupportDetails<'a> {
    /// `Y` and six digits.
    pub code: &'a str,
    pub support_id: &'a str,
    /// Name of the service provider.
    pub service: &'a str,
    /// Name of the identity provider.
    pub identity_provider: &'a str,
}

const PLACEHOLDER_FIX: &str =
    "use {code}, {support_id}, {service} and {identity_provider}, each after the ?";

impl SupportUrlTemplate {
    /// Parses a template. A `mailto` address without a query gets the references as its subject.
    ///
    /// # Errors
    /// Returns the rule that it breaks: the scheme, or a placeholder that is unknown or stands
    /// before the query, where it could change the host or the path.
    pub fn parse(template: &str) -> Result<Self, ValueError> {
        let with_subject;
        let template = if template.starts_with("mailto:") && !template.contains('?') {
            with_subject = format!("{template}?subject={{code}}%20{{support_id}}");
            &with_subject
        } else {
            template
        };
        let mut parts = Vec::new();
        let (address, query) = template.split_once('?').unwrap_or((template, ""));
        if address.contains(['{', '}']) {
            return Err(ValueError::new("has a placeholder before the ?", PLACEHOLDER_FIX));
        }
        let mut literal = address.to_owned();
        if template.len() > address.len() {
            literal.push('?');
        }
        let mut rest = query;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| ValueError::new("has a { without a }", PLACEHOLDER_FIX))?;
            literal.push_str(before);
            parts.push(SupportUrlTemplatePart::Literal(std::mem::take(&mut literal)));
            parts.push(SupportUrlTemplatePart::Value(Placeholder::from_name(name)?));
            rest = after;
        }
        literal.push_str(rest);
        parts.push(SupportUrlTemplatePart::Literal(literal));
        let support = Self(parts);
        check_address(&support.expand(&SupportDetails::default()))?;
        Ok(support)
    }

    /// Returns whether the address carries the id that names a person's login to the support.
    pub fn has_support_id(&self) -> bool {
        self.0.contains(&SupportUrlTemplatePart::Value(Placeholder::SupportId))
    }

    /// Returns the address with these values in place of the placeholders.
    pub fn expand(&self, details: &SupportDetails<'_>) -> String {
        let mut address = String::new();
        for part in &self.0 {
            match part {
                SupportUrlTemplatePart::Literal(text) => address.push_str(text),
                SupportUrlTemplatePart::Value(value) => {
                    push_encoded(&mut address, value.value(details));
                }
            }
        }
        address
    }
}

impl Placeholder {
    fn from_name(name: &str) -> Result<Self, ValueError> {
        match name {
            "code" => Ok(Self::Code),
            "support_id" => Ok(Self::SupportId),
            "service" => Ok(Self::Service),
            "identity_provider" => Ok(Self::IdentityProvider),
            _ => Err(ValueError::new("has an unknown placeholder", PLACEHOLDER_FIX)),
        }
    }

    const fn value<'a>(self, details: &SupportDetails<'a>) -> &'a str {
        match self {
            Self::Code => details.code,
            Self::SupportId => details.support_id,
            Self::Service => details.service,
            Self::IdentityProvider => details.identity_provider,
        }
    }
}

/// Appends a value in percent-encoding. A space becomes `%20` and not `+`, which a mail program
/// would show.
fn push_encoded(address: &mut String, value: &str) {
    for piece in form_urlencoded::byte_serialize(value.as_bytes()) {
        let _infallible = address.write_str(if piece == "+" { "%20" } else { piece });
    }
}

fn check_address(address: &str) -> Result<(), ValueError> {
    let is_mail = |url: &Url| url.scheme() == "mailto" && url.path().contains('@');
    let is_plain = address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_plain && Url::parse(address).is_ok_and(|url| is_mail(&url)) {
        return Ok(());
    }
    address::parse_absolute_url(address, PlainHttp::Loopback).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded_in_the_query() {
        let filled = |template: &str| {
            SupportUrlTemplate::parse(template).unwrap().expand(&SupportDetails {
                code: "Y020004",
                support_id: "7K3Q9WZX2M4T",
                service: "Mairie de Nîmes",
                identity_provider: "Impôts + moi",
            })
        };
        assert_eq!(
            filled(
                "https://help.example.org/ask?c={code}&n={support_id}&s={service}&p={identity_provider}"
            ),
            "https://help.example.org/ask?c=Y020004&n=7K3Q9WZX2M4T&s=Mairie%20de%20N%C3%AEmes&p=Imp%C3%B4ts%20%2B%20moi"
        );
        assert_eq!(
            filled("mailto:help@example.org?subject={code}%20{support_id}"),
            "mailto:help@example.org?subject=Y020004%207K3Q9WZX2M4T"
        );
        assert_eq!(
            filled("mailto:help@example.org"),
            "mailto:help@example.org?subject=Y020004%207K3Q9WZX2M4T"
        );
        assert_eq!(filled("https://help.example.org/"), "https://help.example.org/");
    }

    #[test]
    fn a_template_that_could_lead_elsewhere_is_refused() {
        for template in [
            "javascript:alert(1)",
            "javascript:alert(1)//?{code}",
            "data:text/html,x",
            "//help.example.org/?{code}",
            "/help?{code}",
            "http://help.example.org/?{code}",
            "https://{service}/?x",
            "https://help.example.org/{service}?x",
            "https://help.example.org/?{name}",
            "https://help.example.org/?{code",
            "https://help.example.org/?x=a b",
            "https://user:password@help.example.org/?{code}",
            "mailto:help?{code}",
            "mailto:help@example.org\n?x",
            "",
        ] {
            assert!(SupportUrlTemplate::parse(template).is_err(), "{template}");
        }
    }

    #[test]
    fn attack_a_name_cannot_change_the_support_address() {
        let support =
            SupportUrlTemplate::parse("https://help.example.org/?service={service}&code={code}")
                .unwrap();
        for name in [
            "x&code=Y000000&admin=1",
            "x#fragment",
            "\"><script>alert(1)</script>",
            "javascript:alert(1)",
            "../../other",
            "a\r\nSet-Cookie: x=y",
            "%26code%3Dx",
            "{code}",
            "\u{202e}evil\0",
        ] {
            let details = SupportDetails { service: name, code: "Y1", ..Default::default() };
            let address = support.expand(&details);
            let url = Url::parse(&address).unwrap();
            assert_eq!(url.host_str(), Some("help.example.org"), "{address}");
            assert_eq!((url.path(), url.fragment()), ("/", None), "{address}");
            let pairs: Vec<_> = url.query_pairs().into_owned().collect();
            let expected = [("service", name), ("code", "Y1")].map(|(k, v)| (k.into(), v.into()));
            assert_eq!(pairs, expected, "{address}");
            assert!(!address.contains(['<', '>', '"', '\'', '{', ' ', '\n']), "{address}");
        }
    }
}
