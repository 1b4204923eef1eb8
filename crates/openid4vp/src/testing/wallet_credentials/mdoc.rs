//! Presentations of mdocs.

use ciborium::Value as Cbor;
use openssl::pkey::{PKey, Private};

use super::{CLIENT_ID, NONCE, PRESENTED_AT, RESPONSE_URI, TestSigner, coordinates, new_key};
use crate::cbor::{encode_cbor, encoded_cbor_item};
use passerelle_protocol::digest;

/// Namespace and document type of a PID.
pub const PID_DOC_TYPE: &str = "eu.europa.ec.eudi.pid.1";

/// A data element that the issuer has signed.
#[derive(Clone)]
pub struct IssuedElement {
    pub namespace: String,
    /// `IssuerSignedItem`.
    pub item: Cbor,
}

impl IssuedElement {
    /// Returns an element of the PID.
    pub fn new(digest_id: u64, name: &str, value: impl Into<Cbor>) -> Self {
        let random = vec![u8::try_from(digest_id).unwrap(); 32];
        let item = map([
            ("digestID", digest_id.into()),
            ("random", Cbor::Bytes(random)),
            ("elementIdentifier", name.into()),
            ("elementValue", value.into()),
        ]);
        Self { namespace: PID_DOC_TYPE.into(), item }
    }

    /// Returns it as a response holds it, and as it is hashed.
    pub fn encoded(&self) -> Cbor {
        encoded_cbor_item(&encode_cbor(&self.item))
    }
}

/// A response before it is signed.
pub struct MdocPresentation {
    pub doc_type: String,
    /// What is returned.
    pub elements: Vec<IssuedElement>,
    pub security_object: Cbor,
    /// Protected header of the issuer's signature.
    pub issuer_header: Cbor,
    /// Value of `x5chain`.
    pub certificates: Cbor,
    pub issuer_key: PKey<Private>,
    pub device_header: Cbor,
    pub device_key: PKey<Private>,
    pub device_name_spaces: Cbor,
    pub transcript: Cbor,
    /// `DeviceResponse` members that replace or join the usual ones.
    pub response_members: Vec<(Cbor, Cbor)>,
    pub document_members: Vec<(Cbor, Cbor)>,
    /// Replaces `deviceAuth`.
    pub device_auth: Option<Cbor>,
}

impl MdocPresentation {
    /// Returns a true presentation of a PID that returns the family name and the nationality, and
    /// keeps the birth date.
    pub fn of_pid(issuer: &TestSigner) -> Self {
        let nationality = Cbor::Array(vec!["DE".into()]);
        let elements = vec![
            IssuedElement::new(1, "family_name", "Mustermann"),
            IssuedElement::new(2, "nationality", nationality),
            IssuedElement::new(3, "birth_date", date("1964-08-12")),
        ];
        let device_key = new_key();
        let certificates = issuer.chain.iter().map(|der| Cbor::Bytes(der.clone())).collect();
        Self {
            doc_type: PID_DOC_TYPE.into(),
            security_object: security_object(&elements, &device_key),
            elements: elements[..2].to_vec(),
            issuer_header: Cbor::Map(vec![(1.into(), (-7).into())]),
            certificates: Cbor::Array(certificates),
            issuer_key: issuer.key.clone(),
            device_header: Cbor::Map(vec![(1.into(), (-7).into())]),
            device_key,
            device_name_spaces: Cbor::Map(Vec::new()),
            transcript: redirect_transcript(CLIENT_ID, NONCE, Some(&[7; 32]), RESPONSE_URI),
            response_members: Vec::new(),
            document_members: Vec::new(),
            device_auth: None,
        }
    }

    /// Signs and returns the presentation.
    pub fn present(&self) -> String {
        digest::base64url(&encode_cbor(&self.response()))
    }

    /// Signs and returns the `DeviceResponse`.
    pub fn response(&self) -> Cbor {
        let object = encode_cbor(&encoded_cbor_item(&encode_cbor(&self.security_object)));
        let unprotected = Cbor::Map(vec![(33.into(), self.certificates.clone())]);
        let issuer_auth =
            sign1(&self.issuer_header, unprotected, Some(&object), &object, &self.issuer_key);
        let mut name_spaces: Vec<(Cbor, Cbor)> = Vec::new();
        for element in &self.elements {
            let namespace = Cbor::from(element.namespace.as_str());
            match name_spaces.iter_mut().find(|(key, _)| *key == namespace) {
                Some((_, Cbor::Array(items))) => items.push(element.encoded()),
                _ => name_spaces.push((namespace, Cbor::Array(vec![element.encoded()]))),
            }
        }
        let device_name_spaces = encoded_cbor_item(&encode_cbor(&self.device_name_spaces));
        let device_auth = self.device_auth.clone().unwrap_or_else(|| {
            map([("deviceSignature", self.device_signature(&device_name_spaces))])
        });
        let mut document = vec![
            ("docType".into(), self.doc_type.as_str().into()),
            (
                "issuerSigned".into(),
                map([("nameSpaces", Cbor::Map(name_spaces)), ("issuerAuth", issuer_auth)]),
            ),
            (
                "deviceSigned".into(),
                map([("nameSpaces", device_name_spaces), ("deviceAuth", device_auth)]),
            ),
        ];
        replace(&mut document, &self.document_members);
        let mut response = vec![
            ("version".into(), "1.0".into()),
            ("documents".into(), Cbor::Array(vec![Cbor::Map(document)])),
            ("status".into(), 0.into()),
        ];
        replace(&mut response, &self.response_members);
        Cbor::Map(response)
    }

    fn device_signature(&self, device_name_spaces: &Cbor) -> Cbor {
        let authentication = Cbor::Array(vec![
            "DeviceAuthentication".into(),
            self.transcript.clone(),
            self.doc_type.as_str().into(),
            device_name_spaces.clone(),
        ]);
        let detached = encode_cbor(&encoded_cbor_item(&encode_cbor(&authentication)));
        sign1(&self.device_header, Cbor::Map(Vec::new()), None, &detached, &self.device_key)
    }
}

/// Returns a mobile security object over these elements.
pub fn security_object(elements: &[IssuedElement], device_key: &PKey<Private>) -> Cbor {
    let digests = elements.iter().map(|element| {
        let id = cbor_member(&element.item, "digestID").clone();
        (id, Cbor::Bytes(digest::sha256(&encode_cbor(&element.encoded())).to_vec()))
    });
    let now = PRESENTED_AT.seconds();
    map([
        ("version", "1.0".into()),
        ("digestAlgorithm", "SHA-256".into()),
        ("valueDigests", map([(PID_DOC_TYPE, Cbor::Map(digests.collect()))])),
        ("deviceKeyInfo", map([("deviceKey", cose_key(device_key))])),
        ("docType", PID_DOC_TYPE.into()),
        (
            "validityInfo",
            map([
                ("signed", date_time(now - 1000)),
                ("validFrom", date_time(now - 1000)),
                ("validUntil", date_time(now + 86_400)),
            ]),
        ),
        (
            "status",
            map([(
                "status_list",
                map([("idx", 7.into()), ("uri", "https://status.example/1".into())]),
            )]),
        ),
    ])
}

/// Returns the public key as a `COSE_Key`.
pub fn cose_key(key: &PKey<Private>) -> Cbor {
    let (x, y) = coordinates(key);
    let curve = if x.len() == 32 { 1 } else { 2 };
    Cbor::Map(vec![
        (1.into(), 2.into()),
        ((-1).into(), curve.into()),
        ((-2).into(), Cbor::Bytes(x)),
        ((-3).into(), Cbor::Bytes(y)),
    ])
}

/// Returns the transcript of a request by redirect, as OpenID4VP 1.0 appendix B.2.6.1 writes it.
pub fn redirect_transcript(
    client_id: &str,
    nonce: &str,
    thumbprint: Option<&[u8; 32]>,
    response_uri: &str,
) -> Cbor {
    let thumbprint = thumbprint.map_or(Cbor::Null, |key| Cbor::Bytes(key.to_vec()));
    let info = vec![client_id.into(), nonce.into(), thumbprint, response_uri.into()];
    transcript("OpenID4VPHandover", info)
}

/// Returns the transcript of a request over the Digital Credentials API, as OpenID4VP 1.0 appendix
/// B.2.6.2 writes it.
pub fn digital_credentials_transcript(origin: &str, nonce: &str, thumbprint: &[u8; 32]) -> Cbor {
    let info = vec![origin.into(), nonce.into(), Cbor::Bytes(thumbprint.to_vec())];
    transcript("OpenID4VPDCAPIHandover", info)
}

/// Returns a transcript.
pub fn transcript(name: &str, info: Vec<Cbor>) -> Cbor {
    let hash = digest::sha256(&encode_cbor(&Cbor::Array(info)));
    let handover = Cbor::Array(vec![name.into(), Cbor::Bytes(hash.to_vec())]);
    Cbor::Array(vec![Cbor::Null, Cbor::Null, handover])
}

/// Returns a map with text keys.
pub fn map<const N: usize>(members: [(&str, Cbor); N]) -> Cbor {
    Cbor::Map(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// Returns a date and time of the mobile security object.
pub fn date_time(seconds: u64) -> Cbor {
    let time = chrono::DateTime::from_timestamp(i64::try_from(seconds).unwrap(), 0).unwrap();
    Cbor::Tag(0, Box::new(time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true).into()))
}

/// Returns a full date.
pub fn date(text: &str) -> Cbor {
    Cbor::Tag(1004, Box::new(text.into()))
}

/// Returns a member of a map to change it.
pub fn cbor_member_mut<'a>(value: &'a mut Cbor, key: &str) -> &'a mut Cbor {
    let entries = value.as_map_mut().unwrap();
    &mut entries.iter_mut().find(|(k, _)| k.as_text() == Some(key)).unwrap().1
}

fn cbor_member<'a>(value: &'a Cbor, key: &str) -> &'a Cbor {
    let entries = value.as_map().unwrap();
    &entries.iter().find(|(k, _)| k.as_text() == Some(key)).unwrap().1
}

fn replace(members: &mut Vec<(Cbor, Cbor)>, others: &[(Cbor, Cbor)]) {
    members.retain(|(key, _)| others.iter().all(|(other, _)| other != key));
    members.extend_from_slice(others);
}

/// Signs as `COSE_Sign1`; `payload` is attached, and `signed` is what the signature covers.
pub fn sign1(
    protected: &Cbor,
    unprotected: Cbor,
    payload: Option<&[u8]>,
    signed: &[u8],
    key: &PKey<Private>,
) -> Cbor {
    let protected = Cbor::Bytes(encode_cbor(protected));
    let structure = Cbor::Array(vec![
        "Signature1".into(),
        protected.clone(),
        Cbor::Bytes(Vec::new()),
        Cbor::Bytes(signed.to_vec()),
    ]);
    let signature = super::sign_raw(key, &encode_cbor(&structure));
    let payload = payload.map_or(Cbor::Null, |payload| Cbor::Bytes(payload.to_vec()));
    Cbor::Array(vec![protected, unprotected, payload, Cbor::Bytes(signature)])
}
