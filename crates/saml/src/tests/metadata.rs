//! Metadata of identity providers: what is read, and what is refused.

use std::time::Duration;

use super::identity_provider::*;
use crate::metadata::{
    IdentityProviderMetadata, IdentityProviderMetadataError as E, find_identity_provider,
    verify_metadata,
};
use crate::xml::{Limits, VerifiedXml, XmlError, XmlSignatureError};

pub(super) const ENTITY: &str = "https://idp.example/saml";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn entity(certificates: &[Vec<u8>]) -> String {
    let keys: String = certificates
        .iter()
        .map(|der| {
            let certificate = openssl::base64::encode_block(der);
            format!(
                "<md:KeyDescriptor use=\"signing\"><ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">\
                 <ds:X509Data><ds:X509Certificate>\n{certificate}\n</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
            )
        })
        .collect();
    format!(
        concat!(
            r#"<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" ID="_e1" entityID="https://idp.example/saml" validUntil="2026-12-05T00:00:00Z" cacheDuration="PT6H">"#,
            r#"<md:Extensions><shibmd:Scope xmlns:shibmd="urn:mace:shibboleth:metadata:1.0" regexp="false">idp.example</shibmd:Scope>"#,
            r#"<shibmd:Scope xmlns:shibmd="urn:mace:shibboleth:metadata:1.0" regexp="true">.*</shibmd:Scope></md:Extensions>"#,
            r#"<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" WantAuthnRequestsSigned="true">{keys}"#,
            r#"<md:SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/slo" ResponseLocation="https://idp.example/slo/response"/>"#,
            r#"<md:NameIDFormat>urn:oasis:names:tc:SAML:2.0:nameid-format:persistent</md:NameIDFormat>"#,
            r#"<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/>"#,
            r#"<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:SOAP" Location="https://idp.example/soap"/>"#,
            r#"<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="javascript:alert(1)"/>"#,
            r#"</md:IDPSSODescriptor></md:EntityDescriptor>"#
        ),
        keys = keys
    )
}

pub(super) fn provider() -> String {
    entity(&[KEYS.provider.certificate()])
}

fn find(xml: &str) -> Result<IdentityProviderMetadata, E> {
    let metadata = VerifiedXml::from_operators_file(xml.as_bytes(), Limits::METADATA)?;
    find_identity_provider(&metadata, ENTITY, None, time(NOW))
}

#[test]
fn a_signed_description_is_read() {
    let keys = [KEYS.provider.verification_key()];
    let metadata =
        verify_metadata(format!("\u{feff}{}", sign(&provider())).as_bytes(), &keys).unwrap();
    let found = find_identity_provider(&metadata, ENTITY, Some(7 * DAY), time(NOW)).unwrap();
    assert_eq!(found.valid_until, Some(time("2026-12-05T00:00:00Z")));
    assert_eq!(found.cache_duration, Some(Duration::from_secs(21_600)));
    assert_eq!(found.signing_keys.len(), 1);
    assert!(found.wants_signed_requests);
    assert_eq!(found.scopes, ["idp.example"]);
    let locations: Vec<_> = found.single_sign_on.iter().map(|e| e.location.as_str()).collect();
    assert_eq!(locations, ["https://idp.example/sso"]);
    let logout = found.single_logout.first().unwrap();
    assert_eq!(logout.response_location.as_deref(), Some("https://idp.example/slo/response"));
}

#[test]
fn metadata_with_traces_of_xinclude_and_comments_beside_certificates_is_read() {
    let provider = edit(
        &provider(),
        &[
            (" entityID=", " xml:base=\"idps/one.xml\" entityID="),
            ("<ds:X509Certificate>", "<!-- expires in 2027 --><ds:X509Certificate>"),
        ],
    );
    assert_eq!(find(&provider).unwrap().signing_keys.len(), 1);
    let keys = [KEYS.provider.verification_key()];
    assert!(verify_metadata(sign(&provider).as_bytes(), &keys).is_ok());
}

#[test]
fn a_rollover_has_two_keys_and_a_bad_certificate_stops_nothing() {
    let small = KeyPair::rsa(1024).certificate();
    let pairs = [KEYS.provider.certificate(), small, vec![1, 2, 3], KEYS.stranger.certificate()];
    let found = find(&entity(&pairs)).unwrap();
    assert_eq!((found.signing_keys.len(), found.skipped_keys), (2, 2));
    for pair in [&KEYS.provider, &KEYS.stranger] {
        let response = response(&pair.sign(ASSERTION));
        assert!(check_by_keys(&response, &found.signing_keys, |_| {}).is_ok());
    }
}

#[test]
fn metadata_that_no_configured_key_signed_is_refused() {
    let keys = [KEYS.provider.verification_key()];
    let verify = |xml: &str| verify_metadata(xml.as_bytes(), &keys).map(drop);
    let signed = sign(&provider());
    let other_entity = provider().replace("_e1", "_e2");
    let aggregate = format!(
        "<md:EntitiesDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" ID=\"_x\">{signed}{other_entity}</md:EntitiesDescriptor>"
    );
    for (name, xml, error) in [
        ("unsigned", provider(), E::Signature(XmlSignatureError::Missing)),
        (
            "the key of another",
            KEYS.stranger.sign(&provider()),
            E::Signature(XmlSignatureError::Signature),
        ),
        (
            "another key inserted",
            edit(&signed, &[("<md:KeyDescriptor ", "<md:KeyDescriptor/><md:KeyDescriptor ")]),
            E::Signature(XmlSignatureError::Digest),
        ),
        (
            "a signed entity in an unsigned aggregate",
            aggregate,
            E::Signature(XmlSignatureError::Missing),
        ),
        ("a response", sign(&response(ASSERTION)), E::NotMetadata),
        ("a document type", format!("<!DOCTYPE x>{signed}"), E::Xml(XmlError::DocumentType)),
        (
            "too large",
            format!("{signed}{}", " ".repeat(Limits::METADATA.bytes)),
            E::Xml(XmlError::TooLarge),
        ),
    ] {
        assert_eq!(verify(&xml), Err(error), "{name}");
    }
    assert_eq!(verify(&signed), Ok(()));
}

#[test]
fn each_unusable_description_is_refused_for_its_reason() {
    let good = provider();
    let change = |from: &str, to: &str| edit(&good, &[(from, to)]);
    let validity = "validUntil=\"2026-12-05T00:00:00Z\"";
    let second = good.replace("_e1", "_e2");
    for (name, xml, error) in [
        ("expired", change(validity, "validUntil=\"2026-11-29T17:00:09Z\""), E::Expired),
        (
            "expired role",
            change(
                "<md:IDPSSODescriptor ",
                "<md:IDPSSODescriptor validUntil=\"2026-11-01T00:00:00Z\" ",
            ),
            E::Expired,
        ),
        ("malformed time", change(validity, "validUntil=\"soon\""), E::Time),
        ("malformed duration", change("PT6H", "6h"), E::Time),
        (
            "another entity",
            change(
                "entityID=\"https://idp.example/saml\"",
                "entityID=\"https://idp.example/SAML\"",
            ),
            E::UnknownEntity,
        ),
        (
            "twice",
            format!(
                "<md:EntitiesDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\">{good}{second}</md:EntitiesDescriptor>"
            ),
            E::RepeatedEntity,
        ),
        ("SAML 1.1", change("SAML:2.0:protocol", "SAML:1.1:protocol"), E::NotAnIdentityProvider),
        (
            "a service provider",
            good.replace("IDPSSODescriptor", "SPSSODescriptor"),
            E::NotAnIdentityProvider,
        ),
        ("no key", entity(&[]), E::NoSigningKey),
        ("a key for encryption", change("use=\"signing\"", "use=\"encryption\""), E::NoSigningKey),
        (
            "SOAP only",
            change(
                "SAML:2.0:bindings:HTTP-Redirect\" Location=\"https://idp.example/sso\"",
                "SAML:2.0:bindings:PAOS\" Location=\"https://idp.example/sso\"",
            ),
            E::NoSingleSignOnService,
        ),
        ("no metadata", ASSERTION.to_owned(), E::NotMetadata),
    ] {
        assert_eq!(find(&xml).map(drop), Err(error), "{name}");
    }
}

#[test]
fn old_metadata_is_refused_where_an_end_is_demanded() {
    let good = provider();
    let without_end = edit(&good, &[(" validUntil=\"2026-12-05T00:00:00Z\"", "")]);
    for (xml, max, error) in [
        (&without_end, Some(7 * DAY), Some(E::ValidTooLong)),
        (&good, Some(DAY), Some(E::ValidTooLong)),
        (&good, Some(7 * DAY), None),
        (&without_end, None, None),
    ] {
        let metadata = VerifiedXml::from_operators_file(xml.as_bytes(), Limits::METADATA).unwrap();
        assert_eq!(find_identity_provider(&metadata, ENTITY, max, time(NOW)).err(), error);
    }
}

#[test]
fn an_aggregate_of_a_federation_is_searched() {
    let others: String = (0..700)
        .map(|n| {
            provider()
                .replace("_e1", &format!("_o{n}"))
                .replace("idp.example/saml", &format!("idp{n}.example/saml"))
        })
        .collect();
    let aggregate = format!(
        "<md:EntitiesDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" ID=\"_all\" validUntil=\"2026-12-01T00:00:00Z\">{others}{}</md:EntitiesDescriptor>",
        provider()
    );
    let signed = sign(&aggregate);
    assert!(signed.len() > 1_500_000 && signed.len() < Limits::METADATA.bytes);
    let metadata = verify_metadata(signed.as_bytes(), &[KEYS.provider.verification_key()]).unwrap();
    let found = find_identity_provider(&metadata, ENTITY, None, time(NOW)).unwrap();
    assert_eq!(found.valid_until, Some(time("2026-12-01T00:00:00Z")));
}
