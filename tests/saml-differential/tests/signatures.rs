//! Compares the hub's XML signatures with xmlsec1 (Debian's package `xmlsec1`, in C), bergshamra and
//! xml-sec (in Rust), three parsers: what the hub accepts they accept too, with the same bytes
//! before the digest.
//!
//! `PROPTEST_CASES=2000 RUSTC_WRAPPER=$PWD/fuzz/rustc cargo test --manifest-path
//! tests/saml-differential/Cargo.toml` runs more; without the wrapper the pages don't compile.

use std::cell::Cell;
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use bergshamra::c14n::{C14nMode, canonicalize};
use bergshamra::keys::loader::load_x509_cert_pem;
use bergshamra::{DsigContext, KeysManager, verify as verify_signature};
use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::{X509, X509Builder};
use passerelle_saml::signed_document::UnsignedDocument;
use passerelle_saml::xml::{Limits, SignatureAlgorithm, VerificationKey, XmlText};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;
use xml_sec::xmldsig::{DsigStatus, verify_signature_with_pem_key};

struct Signer {
    private: PKey<Private>,
    certificate: X509,
    folder: TempDir,
}

static SIGNER: LazyLock<Signer> = LazyLock::new(|| {
    let private = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
    let mut builder = X509Builder::new().unwrap();
    builder.set_pubkey(&private).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(9).unwrap()).unwrap();
    builder.sign(&private, MessageDigest::sha256()).unwrap();
    let signer =
        Signer { private, certificate: builder.build(), folder: tempfile::tempdir().unwrap() };
    fs::write(signer.folder.path().join("key.pem"), signer.certificate.to_pem().unwrap()).unwrap();
    signer
});

/// Signs a document with the hub's canonicalization; `None` if the hub does not read it.
fn sign(xml: &str) -> Option<String> {
    let algorithm = SignatureAlgorithm::RSA_SHA256;
    let unsigned = UnsignedDocument::new(xml, algorithm).ok()?;
    let signature = algorithm.sign(&SIGNER.private, unsigned.signing_input()).unwrap();
    Some(unsigned.with_signature(&signature))
}

/// Returns the bytes that the hub digests; `None` if it refuses the document.
fn verify(xml: &str) -> Option<String> {
    let key = VerificationKey::from_certificate(&SIGNER.certificate.to_der().unwrap()).unwrap();
    let text = XmlText::read(xml.as_bytes(), Limits::RESPONSE).ok()?;
    let document = text.parse().ok()?;
    let verified = document.root().verify_signature(&[key]).ok()?;
    Some(verified.as_str().to_owned())
}

/// Returns the bytes that xmlsec1 digests; an error if it refuses the document.
fn verify_by_xmlsec(xml: &str) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new_in(SIGNER.folder.path()).unwrap();
    fs::write(file.path(), xml).unwrap();
    let output = Command::new("xmlsec1")
        .args(["--verify", "--store-references", "--print-debug"])
        .args(["--id-attr:ID", "Response"])
        .arg("--pubkey-cert-pem")
        .arg(SIGNER.folder.path().join("key.pem"))
        .arg(file.path())
        .output()
        .expect("xmlsec1 is installed: apt-get install xmlsec1");
    let text = String::from_utf8(output.stdout).unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let (_, data) = text.split_once("== PreDigest data - start buffer:\n").ok_or("no data")?;
    let (data, _) = data.split_once("\n== PreDigest data - end buffer").ok_or("no end")?;
    Ok(data.to_owned())
}

/// Returns the bytes that bergshamra digests; an error if it refuses the document.
fn verify_by_bergshamra(xml: &str) -> Result<String, String> {
    let mut keys = KeysManager::new();
    let certificate = SIGNER.certificate.to_pem().unwrap();
    keys.add_key(load_x509_cert_pem(&certificate).map_err(|error| error.to_string())?);
    let context = DsigContext::new(keys);
    let result = verify_signature(&context, xml).map_err(|error| error.to_string())?;
    if !result.is_valid() || !result.all_reference_digests_verified() {
        return Err(format!("{result:?}"));
    }
    // It does not return the bytes: they are those of the document without the signature.
    let (before, signature) = xml.split_once("<ds:Signature ").ok_or("no signature")?;
    let (_, after) = signature.split_once("</ds:Signature>").ok_or("no end")?;
    let rest = format!("{before}{after}");
    let bytes = canonicalize::<&str>(&rest, C14nMode::Exclusive, None, &[]);
    String::from_utf8(bytes.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// Returns the bytes that xml-sec digests; an error if it refuses the document.
fn verify_by_xml_sec(xml: &str) -> Result<String, String> {
    let key = SIGNER.certificate.public_key().unwrap().public_key_to_pem().unwrap();
    let key = String::from_utf8(key).unwrap();
    let result = verify_signature_with_pem_key(xml, &key, true).map_err(|e| e.to_string())?;
    if result.status != DsigStatus::Valid {
        return Err(format!("{:?}", result.status));
    }
    let [reference] = &result.signed_info_references[..] else { return Err("references".into()) };
    let bytes = reference.pre_digest_data.clone().ok_or("no data")?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// A library to compare with.
struct Other {
    name: &'static str,
    verify: fn(&str) -> Result<String, String>,
    /// Returns true for a document that it is known to read or canonicalize otherwise than the
    /// standard and xmlsec1.
    has_known_fault: fn(&str) -> bool,
}

const OTHERS: [Other; 3] = [
    Other { name: "xmlsec1", verify: verify_by_xmlsec, has_known_fault: |_| false },
    // It keeps line ends and tabs in attributes, which are spaces (XML 1.0 §3.3.3).
    Other {
        name: "bergshamra",
        verify: verify_by_bergshamra,
        has_known_fault: has_white_space_in_attributes,
    },
    // It writes `xmlns=""` below a default namespace that no element has in the output (Exclusive XML
    // Canonicalization §3).
    Other {
        name: "xml-sec",
        verify: verify_by_xml_sec,
        has_known_fault: |xml| xml.contains("xmlns=\"\""),
    },
];

fn has_white_space_in_attributes(xml: &str) -> bool {
    let tags = xml.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default());
    tags.flat_map(|tag| tag.split('=').skip(1)).any(|value| {
        let quote = value.trim_start().chars().next();
        let quoted = quote.and_then(|quote| value.trim_start()[1..].split(quote).next());
        quoted.is_some_and(|text| text.contains(['\n', '\r', '\t']))
    })
}

/// Fails unless the others accept each document that the hub accepts, with the same bytes. `accept`
/// returns what the hub accepts, and its bytes. Returns the number of compared documents.
fn compare<S: Strategy>(
    generated: &S,
    accept: impl Fn(S::Value) -> Option<(String, String)>,
) -> u32 {
    let (all, compared) = (Cell::new(0_u32), Cell::new(0_u32));
    let mut runner = TestRunner::default();
    let outcome = runner.run(generated, |value| {
        all.set(all.get() + 1);
        let Some((signed, own)) = accept(value) else { return Ok(()) };
        compared.set(compared.get() + 1);
        for Other { name, verify, has_known_fault } in OTHERS {
            if !has_known_fault(&signed) {
                prop_assert_eq!(verify(&signed), Ok(own.clone()), "{}: {}", name, signed);
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    println!("compared {} of {} documents", compared.get(), all.get());
    compared.get()
}

fn attributes() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" xmlns='urn:x'".to_owned()),
        Just(" xmlns=\"\"".to_owned()),
        Just(" z='&#10;\n\t' b:y='\"&#34;' a=\"'&#39;\"".to_owned()),
        Just(" e:k='&#13;&#x9;' xml:lang='fr' b:k='&lt;>'".to_owned()),
        Just(" xmlns:f='urn:b' f:q='1' b:z='2'".to_owned()),
        Just(" xmlns:b='urn:b'   c = '\r\n'".to_owned()),
        Just(" xml:lang='fr' xmlns:xml='http://www.w3.org/XML/1998/namespace'".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~&&[^<&>\\]]]{0,6}",
        Just("&lt;&#13;\n&gt;&amp;".to_owned()),
        Just("\r&amp;\r\n\r".to_owned()),
        Just("é\t\u{1f5dd}&#xE9;".to_owned()),
        Just("]]&gt;".to_owned()),
    ]
}

fn element(depth: u32) -> BoxedStrategy<String> {
    let name = prop_oneof!["a", "b:c", "b:d", "e:f"];
    if depth == 0 {
        return (name, attributes(), text())
            .prop_map(|(name, attributes, text)| format!("<{name}{attributes}>{text}</{name}>"))
            .boxed();
    }
    let comment = Just("<!-- c --><b:c/><!---->".to_owned()).boxed();
    let inner = prop_oneof![3 => element(depth - 1), 1 => text().boxed(), 1 => comment];
    let inner = prop::collection::vec(inner, 0..4);
    (name, attributes(), inner)
        .prop_map(|(name, attributes, inner)| {
            format!("<{name}{attributes}>{}</{name}>", inner.concat())
        })
        .boxed()
}

fn document() -> impl Strategy<Value = String> {
    (attributes(), prop::collection::vec(element(3), 1..4)).prop_map(|(attributes, inner)| {
        let attributes = attributes.replace(" xmlns:b='urn:b'", "");
        format!(
            "<b:Response xmlns:b='urn:b' xmlns:e='urn:e' ID='_1'{attributes}>{}</b:Response>",
            inner.concat()
        )
    })
}

/// A change of a signed document: what it removes, and what it puts there.
fn change() -> impl Strategy<Value = (prop::sample::Index, usize, String)> {
    let inserted = prop_oneof![
        Just(String::new()),
        Just("<!-- x -->".to_owned()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("&#32;".to_owned()),
        Just("<b:c/>".to_owned()),
        Just(" xmlns:n='urn:n'".to_owned()),
        Just("<?x?>".to_owned()),
        Just("<![CDATA[]]>".to_owned()),
        Just("'".to_owned()),
        Just(" ID='_1'".to_owned()),
    ];
    (any::<prop::sample::Index>(), 0_usize..3, inserted)
}

#[test]
fn others_verify_what_the_hub_signs_with_the_same_bytes() {
    let compared = compare(&document(), |xml| {
        let signed = sign(&xml)?;
        let own = verify(&signed).unwrap_or_else(|| panic!("its own signature: {signed}"));
        Some((signed, own))
    });
    assert!(compared > 0);
}

#[test]
fn others_verify_what_the_hub_accepts_of_changed_documents() {
    let changes = prop::collection::vec(change(), 1..3);
    compare(&(document(), changes), |(xml, changes)| {
        let mut signed = sign(&xml)?;
        for (index, length, inserted) in changes {
            let characters: Vec<char> = signed.chars().collect();
            let at = index.index(characters.len());
            let before: String = characters[..at].iter().collect();
            let after: String = characters[(at + length).min(characters.len())..].iter().collect();
            signed = format!("{before}{inserted}{after}");
        }
        let own = verify(&signed)?;
        Some((signed, own))
    });
}

/// The comparison can fail: the others refuse a changed document, and their bytes differ from others.
#[test]
fn the_comparison_can_fail() {
    let signed = sign("<b:Response xmlns:b='urn:b' ID='_1'><b:c>x</b:c></b:Response>").unwrap();
    for Other { name, verify, .. } in OTHERS {
        let bytes = verify(&signed);
        let expected = "<b:Response xmlns:b=\"urn:b\" ID=\"_1\"><b:c>x</b:c></b:Response>";
        assert_eq!(bytes.as_deref(), Ok(expected), "{name}");
        assert!(verify(&signed.replace(">x<", ">y<")).is_err(), "{name}");
    }
}
