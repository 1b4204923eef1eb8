//! Encrypted assertions that must not be accepted, or not even be tried.

use openssl::rsa::Padding;

use super::*;
use crate::response::ResponseError as E;
use crate::xml::{XmlDecryptionError as D, XmlError, XmlSignatureError as S};

pub(super) fn forgeries() -> Vec<Forgery> {
    let rsa_1_5 = Encryption {
        transport: "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        padding: Padding::PKCS1,
        ..GCM
    };
    let unknown = Encryption { transport: "http://www.w3.org/2001/04/xmlenc#kw-aes256", ..GCM };
    let triple_des = Encryption { cipher: "http://www.w3.org/2001/04/xmlenc#tripledes-cbc", ..GCM };
    let parameters = Encryption { parameters: "<xenc:OAEPparams>AAAA</xenc:OAEPparams>", ..GCM };
    let mgf = Encryption {
        parameters: r#"<m:MGF xmlns:m="http://www.w3.org/2009/xmlenc11#" Algorithm="http://www.w3.org/2009/xmlenc11#mgf1sha256"/>"#,
        ..GCM
    };
    let signed = sign(ASSERTION);
    let mut forgeries = Vec::new();
    for (name, encryption, rule) in [
        ("RSA 1.5", &rsa_1_5, D::KeyTransport),
        ("a key wrapped by a shared key", &unknown, D::KeyTransport),
        ("OAEP parameters", &parameters, D::KeyTransport),
        ("a mask function that mgf1p does not have", &mgf, D::KeyTransport),
        ("AES-CBC", &CBC, D::ContentEncryption),
        ("triple DES", &triple_des, D::ContentEncryption),
    ] {
        let assertion = encrypted("EncryptedAssertion", &signed, encryption);
        forgeries.push(Forgery::new(format!("{name}, signed inside"), response(&assertion), rule));
        let assertion = encrypted("EncryptedAssertion", ASSERTION, encryption);
        let outside = sign(&response(&assertion));
        forgeries.push(Forgery::new(format!("{name}, signed outside"), outside, rule));
    }
    forgeries.extend(plaintexts(&signed));
    forgeries
}

fn plaintexts(signed: &str) -> Vec<Forgery> {
    let encrypt = |plaintext: &str| response(&encrypted("EncryptedAssertion", plaintext, &GCM));
    let good = encrypt(signed);
    let (before, after) = good.rsplit_once("<xenc:CipherValue>").unwrap();
    let changed = format!("{before}<xenc:CipherValue>AAAA{after}");
    let short = format!(
        "{before}<xenc:CipherValue>AAAA</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:EncryptedAssertion></samlp:Response>"
    );
    let not_base64 = format!("{before}<xenc:CipherValue>*{after}");
    let without_data =
        response("<saml:EncryptedAssertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\"/>");
    let evil = edit(ASSERTION, &[("angela-7", "root")]);
    let declared = |xml: &str| encrypt(&format!("<!DOCTYPE x>{xml}"));
    vec![
        Forgery::new("a changed ciphertext", changed, D::Undecryptable),
        Forgery::new("a ciphertext shorter than its tag", short, D::Undecryptable),
        Forgery::new("a ciphertext that is not base64", not_base64, D::Structure),
        Forgery::new("no ciphertext", without_data, D::Structure),
        Forgery::new("an unsigned assertion, encrypted by anyone", encrypt(&evil), S::Missing),
        Forgery::new(
            "an assertion of another key, encrypted",
            encrypt(&KEYS.stranger.sign(&evil)),
            S::Signature,
        ),
        Forgery::new(
            "a changed assertion, encrypted",
            encrypt(&edit(signed, &[("angela-7", "root")])),
            S::Digest,
        ),
        Forgery::new(
            "a signed response, encrypted",
            encrypt(&sign(&response(ASSERTION))),
            E::NotAnAssertion,
        ),
        Forgery::new(
            "a document type, encrypted",
            declared(signed),
            D::Xml(XmlError::DocumentType),
        ),
        Forgery::new(
            "a document type, encrypted in a signed response",
            sign(&declared(ASSERTION)),
            D::Xml(XmlError::DocumentType),
        ),
        Forgery::new("text, encrypted", encrypt("angela-7"), XmlError::NotWellFormed),
    ]
}
