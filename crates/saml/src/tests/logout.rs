//! Logout in both directions: what is sent, and what is refused of what arrives.

use url::Url;

use super::identity_provider::*;
use crate::logout::{
    LogoutMessage, LogoutMessageError as E, LogoutParties, SamlLogoutRequest, read_logout_response,
};
use crate::redirect::{ReceivedMessage, RedirectError, RedirectMessage};
use crate::response::NameId;
use crate::xml::{
    ContentDecryption, SignatureAlgorithm, XmlDecryptionError as D, XmlDecryptionKey, XmlError,
    XmlSignatureError as S,
};

const PARTIES: LogoutParties<'static> = LogoutParties {
    sender: "https://idp.example/saml",
    logout_url: "https://hub.example/saml/logout",
};

/// A message that the identity provider sends.
fn message() -> LogoutMessage<'static> {
    LogoutMessage {
        id: "_l1",
        issued_at: time("2026-11-29T17:00:00Z"),
        destination: PARTIES.logout_url,
        issuer: PARTIES.sender,
    }
}

fn name_id() -> NameId {
    NameId {
        value: "angela-7 & co".to_owned(),
        format: Some("urn:oasis:names:tc:SAML:2.0:nameid-format:persistent".to_owned()),
        name_qualifier: None,
        sp_name_qualifier: Some("https://hub.example/saml".to_owned()),
    }
}

fn request() -> String {
    message().to_request(&name_id(), Some("_s1"))
}

/// Returns [`request`] with this in place of its `NameID`.
fn request_naming(identifier: &str) -> String {
    let request = request();
    let (before, rest) = request.split_once("<saml:NameID").unwrap();
    let (_, after) = rest.split_once("</saml:NameID>").unwrap();
    format!("{before}{identifier}{after}")
}

/// Returns the `NameID` of [`request`].
fn plain_name_id() -> String {
    let request = request();
    let (_, rest) = request.split_once("<saml:NameID").unwrap();
    let (name_id, _) = rest.split_once("</saml:NameID>").unwrap();
    format!("<saml:NameID{name_id}</saml:NameID>")
}

/// Sends a message by a redirect, and returns the query.
fn query_signed_by(pair: &KeyPair, name: &str, xml: &str) -> String {
    let location = Url::parse(PARTIES.logout_url).unwrap();
    let message = RedirectMessage::new(&location, name, xml, Some("st/ate"), Some(pair.algorithm));
    let signature = pair.algorithm.sign(&pair.private, message.signing_input()).unwrap();
    message.with_signature(&signature).query().unwrap().to_owned()
}

fn verify(query: &str) -> Result<ReceivedMessage, RedirectError> {
    ReceivedMessage::verify(query, &[KEYS.provider.verification_key()])
}

fn read_request(xml: &str) -> Result<SamlLogoutRequest, E> {
    read_request_with(xml, false)
}

fn read_request_with(xml: &str, allow_cbc: bool) -> Result<SamlLogoutRequest, E> {
    let received = verify(&query_signed_by(&KEYS.provider, "SAMLRequest", xml)).unwrap();
    assert!(!received.is_response);
    assert_eq!(received.relay_state.as_deref(), Some("st/ate"));
    let keys = [XmlDecryptionKey::new(KEYS.hub.clone()).unwrap()];
    let decryption = ContentDecryption { keys: &keys, allow_cbc };
    SamlLogoutRequest::read(&received.message, &PARTIES, decryption, time(NOW))
}

fn read_response(xml: &str) -> Result<bool, E> {
    let received = verify(&query_signed_by(&KEYS.provider, "SAMLResponse", xml)).unwrap();
    assert!(received.is_response);
    read_logout_response(&received.message, &PARTIES, time(NOW))
}

#[test]
fn a_request_names_the_user_and_the_session() {
    let request = read_request(&request()).unwrap();
    assert_eq!(request.id, "_l1");
    assert_eq!(request.issued_at, time("2026-11-29T17:00:00Z"));
    assert_eq!(request.name_id, name_id());
    assert_eq!(request.session_indexes, ["_s1"]);
}

#[test]
fn a_response_says_whether_every_session_ended() {
    let complete = message().to_response("_l0", true);
    let partial = edit(
        &complete,
        &[(
            "Success\"/>",
            "Success\"><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:PartialLogout\"/></samlp:StatusCode>",
        )],
    );
    let failed = message().to_response("_l0", false);
    for (xml, is_complete) in [(complete, true), (partial, false), (failed, false)] {
        assert_eq!(read_response(&xml), Ok(is_complete));
    }
}

#[test]
fn forged_logout_messages_are_refused_each_for_its_rule() {
    let edits: [(&str, &str, E); 9] = [
        ("Version=\"2.0\"", "Version=\"1.1\"", E::NotALogoutMessage),
        ("ID=\"_l1\"", "ID=\"\"", E::NotALogoutMessage),
        ("Issuer>https://idp.example/saml<", "Issuer>https://other.example<", E::Issuer),
        ("<saml:Issuer>https://idp.example/saml</saml:Issuer>", "", E::Issuer),
        ("https://hub.example/saml/logout", "https://service.example/logout", E::Destination),
        (" Destination=\"https://hub.example/saml/logout\"", "", E::Destination),
        ("2026-11-29T17:00:00Z", "2026-11-29T16:50:00Z", E::IssueInstant),
        ("2026-11-29T17:00:00Z", "2026-11-29T17:10:00Z", E::IssueInstant),
        (" IssueInstant=\"2026-11-29T17:00:00Z\"", "", E::IssueInstant),
    ];
    for (from, to, rule) in edits {
        assert_eq!(read_request(&edit(&request(), &[(from, to)])), Err(rule), "request: {to}");
        let response = edit(&message().to_response("_l0", true), &[(from, to)]);
        assert_eq!(read_response(&response), Err(rule), "response: {to}");
    }
    for (from, to, rule) in [
        ("ID=\"_l1\"", "ID=\"_l1\" NotOnOrAfter=\"2026-11-29T16:59:00Z\"", E::NotOnOrAfter),
        ("ID=\"_l1\"", "ID=\"_l1\" NotOnOrAfter=\"later\"", E::NotOnOrAfter),
        ("angela-7 &amp; co", "", E::NameId),
        ("saml:NameID", "saml:EncryptedID", E::Decryption(D::Structure)),
        (
            "<saml:NameID",
            "<saml:NameID>x</saml:NameID><saml:NameID",
            E::Xml(XmlError::ElementContent),
        ),
    ] {
        let request = edit(&request(), &[(from, to)]).replace("</saml:NameID></samlp:S", "");
        let request = if to == "saml:EncryptedID" {
            request.replace("</saml:NameID", "</saml:EncryptedID")
        } else {
            request
        };
        assert_eq!(read_request(&request), Err(rule), "{to}");
    }
    assert_eq!(read_request(&message().to_response("_l0", true)), Err(E::NotALogoutMessage));
    assert_eq!(read_response(&request()), Err(E::NotALogoutMessage));
}

#[test]
fn a_request_may_encrypt_its_user() {
    for (form, allow_cbc) in [(&GCM, false), (&SHA256_OAEP, false), (&CBC, true)] {
        let request = request_naming(&encrypted("EncryptedID", &plain_name_id(), form));
        let read = read_request_with(&request, allow_cbc).unwrap();
        assert_eq!(read.name_id, name_id());
        assert_eq!(read.session_indexes, ["_s1"]);
    }
}

#[test]
fn an_encrypted_user_is_refused_for_the_rule_that_it_breaks() {
    let plain = plain_name_id();
    let encrypt = |plaintext: &str| encrypted("EncryptedID", plaintext, &GCM);
    let rsa_1_5 = Encryption {
        transport: "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        padding: openssl::rsa::Padding::PKCS1,
        ..GCM
    };
    for (name, identifiers, rule) in [
        (
            "to another key",
            encrypted_to(&KEYS.stranger.private, "EncryptedID", &plain, &GCM),
            E::Decryption(D::Undecryptable),
        ),
        (
            "by CBC, which is off",
            encrypted("EncryptedID", &plain, &CBC),
            E::Decryption(D::ContentEncryption),
        ),
        ("by RSA 1.5", encrypted("EncryptedID", &plain, &rsa_1_5), E::Decryption(D::KeyTransport)),
        (
            "with a document type",
            encrypt(&format!("<!DOCTYPE x>{plain}")),
            E::Decryption(D::Xml(XmlError::DocumentType)),
        ),
        ("an assertion", encrypt(ASSERTION), E::NameId),
        ("two users", encrypt(&plain.repeat(2)), E::NameId),
        ("encrypted twice", encrypt(&encrypt(&plain)), E::NameId),
        ("beside another user", format!("{plain}{}", encrypt(&plain)), E::NameId),
        ("two times", encrypt(&plain).repeat(2), E::Xml(XmlError::ElementContent)),
    ] {
        assert_eq!(read_request(&request_naming(&identifiers)), Err(rule), "{name}");
    }
}

#[test]
fn redirects_that_the_identity_provider_did_not_sign_are_refused() {
    let good = query_signed_by(&KEYS.provider, "SAMLRequest", &request());
    let (unsigned, signature) = good.split_once("&Signature=").unwrap();
    let other = query_signed_by(&KEYS.provider, "SAMLRequest", &message().to_response("_l0", true));
    let (other_message, _) = other.split_once("&RelayState").unwrap();
    let (message, rest) = good.split_once("&RelayState").unwrap();
    let sha1 =
        edit(&good, &[("2001%2F04%2Fxmldsig-more%23rsa-sha256", "2000%2F09%2Fxmldsig%23rsa-sha1")]);
    let signature_error = |error| RedirectError::Signature(error);
    for (name, query, error) in [
        ("no signature", unsigned.to_owned(), signature_error(S::Missing)),
        ("no algorithm", format!("{message}&Signature={signature}"), signature_error(S::Missing)),
        ("SHA-1", sha1, signature_error(S::Algorithm)),
        (
            "another key",
            query_signed_by(&KEYS.stranger, "SAMLRequest", &request()),
            signature_error(S::Signature),
        ),
        (
            "another message",
            format!("{other_message}&RelayState{rest}"),
            signature_error(S::Signature),
        ),
        ("another state", good.replace("st%2Fate", "other"), signature_error(S::Signature)),
        ("no state", good.replace("RelayState=st%2Fate&", ""), signature_error(S::Signature)),
        (
            "a signature that is not base64",
            format!("{unsigned}&Signature=*"),
            signature_error(S::Base64),
        ),
        (
            "a second message before the signed one",
            format!("{other_message}&{good}"),
            RedirectError::Query,
        ),
        (
            "a second message after the signed one",
            format!("{good}&{other_message}"),
            RedirectError::Query,
        ),
        (
            "a response beside the request",
            format!("{good}&SAMLResponse=AAAA"),
            RedirectError::Query,
        ),
        ("a second state", format!("{good}&RelayState=x"), RedirectError::Query),
        ("another encoding", format!("{good}&SAMLEncoding=urn%3Ax"), RedirectError::Query),
        ("nothing", String::new(), RedirectError::Query),
        ("a long query", format!("{good}&x={}", "x".repeat(20_000)), RedirectError::Query),
        (
            "a document type",
            query_signed_by(&KEYS.provider, "SAMLRequest", "<!DOCTYPE x><x/>"),
            signature_error(S::Xml(XmlError::DocumentType)),
        ),
    ] {
        assert_eq!(verify(&query).map(drop), Err(error), "{name}");
    }
    assert!(verify(&format!("{good}&x=y")).is_ok());
}

/// The bytes of a compressed message can be a thousand times as many.
#[test]
fn a_decompression_bomb_is_refused() {
    let bomb = format!("<x>{}</x>", " ".repeat(5_000_000));
    let query = query_signed_by(&KEYS.provider, "SAMLRequest", &bomb);
    let refused = RedirectError::Signature(S::Xml(XmlError::TooLarge));
    assert_eq!(verify(&query).map(drop), Err(refused));
}

#[test]
fn what_is_signed_but_no_compressed_message_is_refused() {
    let pair = &KEYS.provider;
    let algorithm = SignatureAlgorithm::RSA_SHA256;
    let uri: String = url::form_urlencoded::byte_serialize(algorithm.uri().as_bytes()).collect();
    let signed = format!("SAMLRequest=AAAA&SigAlg={uri}");
    let signature =
        openssl::base64::encode_block(&algorithm.sign(&pair.private, signed.as_bytes()).unwrap());
    let signature: String = url::form_urlencoded::byte_serialize(signature.as_bytes()).collect();
    assert_eq!(
        verify(&format!("{signed}&Signature={signature}")).map(drop),
        Err(RedirectError::Message)
    );
}
