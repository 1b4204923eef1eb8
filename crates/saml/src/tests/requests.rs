//! Requests and metadata of the hub.

use std::io::Read as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use serde_json::json;
use url::Url;

use super::identity_provider::*;
use crate::authn_request::{AuthnRequest, Comparison};
use crate::redirect::RedirectMessage;
use crate::settings::SamlKind;
use crate::sp_metadata::{MetadataValidity, ServiceProviderMetadata};
use crate::xml::{Limits, VerificationKey, XmlText};

fn request() -> AuthnRequest<'static> {
    AuthnRequest {
        id: "_r1",
        issued_at: time(REQUESTED),
        destination: "https://idp.example/sso?tenant=a&lang=\"fr\"",
        issuer: "https://hub.example/saml",
        qualify_issuer: false,
        consumer_url: "https://hub.example/saml/acs",
        force_authn: false,
        name_id_format: None,
        authn_contexts: &[],
        comparison: Comparison::Minimum,
        attribute_consuming_service: None,
        proxy_count: None,
        requester_id: None,
    }
}

#[test]
fn a_request_says_what_was_asked_and_nothing_else() {
    let classes = ["https://refeds.org/profile/mfa".to_owned(), "a<b&c".to_owned()];
    let full = AuthnRequest {
        force_authn: true,
        name_id_format: Some("urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"),
        authn_contexts: &classes,
        attribute_consuming_service: Some(2),
        proxy_count: Some(0),
        requester_id: Some("https://service.example"),
        ..request()
    };
    let xml = XmlText::read(full.to_xml().as_bytes(), Limits::RESPONSE).unwrap();
    let document = xml.parse().unwrap();
    let root = document.root();
    for (name, value) in [
        ("ID", Some("_r1")),
        ("IssueInstant", Some(REQUESTED)),
        ("Destination", Some("https://idp.example/sso?tenant=a&lang=\"fr\"")),
        ("ForceAuthn", Some("true")),
        ("AttributeConsumingServiceIndex", Some("2")),
    ] {
        assert_eq!(root.attribute(name), value, "{name}");
    }
    let names: Vec<_> = root.children().map(|child| child.name()).collect();
    // The order of the schema.
    assert_eq!(names, ["Issuer", "NameIDPolicy", "RequestedAuthnContext", "Scoping"]);
    let contexts = root.children().nth(2).unwrap();
    assert_eq!(contexts.attribute("Comparison"), Some("minimum"));
    assert_eq!(contexts.children().nth(1).unwrap().text(), Ok("a<b&c"));
    let least = request().to_xml();
    for absent in ["ForceAuthn", "IsPassive", "Scoping", "RequesterID", "NameIDPolicy"] {
        assert!(!least.contains(absent), "{absent}");
    }
}

#[test]
fn a_redirect_is_signed_over_its_parameters_in_their_order() {
    let key = &KEYS.provider;
    let location = Url::parse("https://idp.example/sso?tenant=a").unwrap();
    let message = RedirectMessage::new(
        &location,
        "SAMLRequest",
        &request().to_xml(),
        Some("s t&ate"),
        Some(key.algorithm),
    );
    let signature = key.algorithm.sign(&key.private, message.signing_input()).unwrap();
    let url = message.with_signature(&signature);
    let query = url.query().unwrap().strip_prefix("tenant=a&").unwrap();
    let (signed, _) = query.split_once("&Signature=").unwrap();
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let names: Vec<_> = pairs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tenant", "SAMLRequest", "RelayState", "SigAlg", "Signature"]);
    let signature = STANDARD.decode(&pairs[4].1).unwrap();
    let verifies = |key: &VerificationKey, text: &str| {
        key.verifies(KEYS.provider.algorithm, text.as_bytes(), &signature)
    };
    assert!(verifies(&key.verification_key(), signed));
    assert!(!verifies(&key.verification_key(), &signed.replace("RelayState=s", "RelayState=t")));
    assert!(!verifies(&KEYS.stranger.verification_key(), signed));
    let mut inflated = String::new();
    let deflated = STANDARD.decode(&pairs[1].1).unwrap();
    DeflateDecoder::new(&deflated[..]).read_to_string(&mut inflated).unwrap();
    assert_eq!(inflated, request().to_xml());
    assert_eq!(pairs[2].1, "s t&ate");
}

#[test]
fn metadata_of_the_hub_has_both_keys_of_a_rollover_and_what_a_federation_demands() {
    let kind: SamlKind = serde_json::from_value(json!({
        "entity_id": "https://idp.example/saml",
        "name_id_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
        "attribute_consuming_service": 3,
        "service_name": { "fr": "Portail", "it": "Port<a>le" },
        "requested_attributes": [
            { "name": "urn:oid:2.5.4.4", "name_format": "urn:x", "required": true },
            { "name": "a\"b" },
        ],
        "organization": { "name": { "en": "Town & Country" }, "url": { "en": "https://town.example" } },
        "contacts": [{
            "type": "other",
            "extensions": "<x:Code xmlns:x=\"urn:x\">1</x:Code>",
            "company": "Town", "given_name": "Angela", "surname": "Dubois",
            "email": "mailto:saml@town.example", "telephone": "+33",
        }, { "type": "technical", "email": "mailto:ops@town.example" }],
    }))
    .unwrap();
    let certificates = ["AAAA".to_owned(), "BBBB".to_owned()];
    let metadata = ServiceProviderMetadata {
        id: "_m1",
        entity_id: "https://hub.example/saml",
        validity: Some(MetadataValidity {
            valid_until: time("2026-12-06T00:00:00Z"),
            cache_duration: Duration::from_secs(3600),
        }),
        consumer_url: "https://hub.example/saml/acs",
        logout_url: Some("https://hub.example/saml/logout"),
        signing_certificates: &certificates,
        encryption_certificates: &certificates[..1],
        signs_requests: true,
        kind: &kind,
    };
    let signed = sign(&metadata.to_xml());
    let xml = XmlText::read(signed.as_bytes(), Limits::METADATA).unwrap();
    let document = xml.parse().unwrap();
    let root = document.root();
    assert!(root.verify_signature(&[KEYS.provider.verification_key()]).is_ok());
    assert_eq!(root.attribute("validUntil"), Some("2026-12-06T00:00:00Z"));
    assert_eq!(root.attribute("cacheDuration"), Some("PT3600S"));
    // The order of the schema.
    let parts: Vec<_> = root.children().map(|child| child.name()).collect();
    assert_eq!(
        parts,
        ["Signature", "SPSSODescriptor", "Organization", "ContactPerson", "ContactPerson"]
    );
    let mut parts = root.children().skip(1);
    let role = parts.next().unwrap();
    let names: Vec<_> = role.children().map(|child| child.name()).collect();
    assert_eq!(
        names,
        [
            "KeyDescriptor",
            "KeyDescriptor",
            "KeyDescriptor",
            "SingleLogoutService",
            "NameIDFormat",
            "AssertionConsumerService",
            "AttributeConsumingService"
        ]
    );
    let service = role.children().last().unwrap();
    assert_eq!(service.attribute("index"), Some("3"));
    let [french, italian, surname, other] = service.children().collect::<Vec<_>>()[..] else {
        panic!("{service:?}")
    };
    assert_eq!((french.text(), italian.text()), (Ok("Portail"), Ok("Port<a>le")));
    let values = ["Name", "NameFormat", "isRequired"];
    assert_eq!(
        values.map(|name| surname.attribute(name)),
        [Some("urn:oid:2.5.4.4"), Some("urn:x"), Some("true")]
    );
    assert_eq!(values.map(|name| other.attribute(name)), [Some("a\"b"), None, Some("false")]);
    let organization = parts.next().unwrap();
    let texts: Vec<_> = organization.children().map(|one| (one.name(), one.text())).collect();
    assert_eq!(
        texts,
        [
            ("OrganizationName", Ok("Town & Country")),
            ("OrganizationDisplayName", Ok("Town & Country")),
            ("OrganizationURL", Ok("https://town.example")),
        ]
    );
    let contact = parts.next().unwrap();
    assert_eq!(contact.attribute("contactType"), Some("other"));
    assert_eq!(
        contact.children().map(|child| child.name()).collect::<Vec<_>>(),
        ["Extensions", "Company", "GivenName", "SurName", "EmailAddress", "TelephoneNumber"]
    );
    assert_eq!(contact.descendants_named("urn:x", "Code").count(), 1);
    let purposes: Vec<_> = role.children().take(3).filter_map(|key| key.attribute("use")).collect();
    assert_eq!(purposes, ["signing", "signing", "encryption"]);
}
