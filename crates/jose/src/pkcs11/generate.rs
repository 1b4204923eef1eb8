//! Generates keys in a token, and reads their public halves. Blocks.

use cryptoki::error::Error;
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectHandle};
use cryptoki::session::Session;
use openssl::encrypt::Encrypter;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Public};
use openssl::rsa::{Padding, Rsa};
use serde_json::{Map, Value};

use super::session::TokenSession;
use super::token::{Pkcs11Token, SessionAccess};
use crate::device_key_uri::DeviceKeyUri;
use crate::guarded_device::DeviceOperation;
use crate::key_device::{
    DeviceKeyGenerator, DeviceKeySpec, DeviceKeyUsage, GeneratedDeviceKey, KeyDeviceError,
    KeyGenerationError, OaepHash,
};
use crate::key_type::KeyType;
use crate::pkcs11_uri::Pkcs11Uri;
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::digest;

/// Size of new RSA keys, as that of key files.
const RSA_BITS: u64 = 3072;
/// DER of the object identifier of P-256 (RFC 5480 §2.1.1.1).
const P256_OID: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// Length of an uncompressed point on P-256.
const P256_POINT_BYTES: usize = 65;

impl DeviceKeyGenerator for Pkcs11Token {
    fn supports(&self, _: DeviceKeyUsage, _: KeyType) -> bool {
        true
    }

    fn generate(&self, spec: &DeviceKeySpec) -> Result<GeneratedDeviceKey, KeyGenerationError> {
        let mut session = self.connect(SessionAccess::ReadWrite)?;
        let failed = |error: Error| {
            KeyDeviceError::Unavailable(format!("it could not generate a key: {error}"))
        };
        let object = generate_key_pair(&session.session, spec).map_err(failed)?;
        let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(spec.id.clone()));
        let public = read_public_jwk(&session.session, object, spec.key_type);
        let public = public
            .map_err(|error| KeyGenerationError { error: failed(error), uri: Some(uri.clone()) })?;
        let algorithms = match (spec.usage, spec.key_type) {
            (DeviceKeyUsage::Sign, _) => Vec::new(),
            (DeviceKeyUsage::Decrypt, KeyType::Ec) => vec![EncryptionAlg::EcdhEs],
            (DeviceKeyUsage::Decrypt, KeyType::Rsa) => supported_oaep(&mut session, &uri, &public),
        };
        Ok(GeneratedDeviceKey { uri, public, algorithms })
    }
}

/// Generates a key pair; returns its public object.
fn generate_key_pair(session: &Session, spec: &DeviceKeySpec) -> Result<ObjectHandle, Error> {
    let common = [
        Attribute::Token(true),
        Attribute::Id(spec.id.clone()),
        Attribute::Label(spec.label.clone().into_bytes()),
    ];
    let (public_use, private_use) = match (spec.usage, spec.key_type) {
        (DeviceKeyUsage::Sign, _) => (Attribute::Verify(true), Attribute::Sign(true)),
        (DeviceKeyUsage::Decrypt, KeyType::Rsa) => {
            (Attribute::Encrypt(true), Attribute::Decrypt(true))
        }
        (DeviceKeyUsage::Decrypt, KeyType::Ec) => {
            (Attribute::Derive(true), Attribute::Derive(true))
        }
    };
    let (mechanism, mut public_template) = match spec.key_type {
        KeyType::Rsa => (
            Mechanism::RsaPkcsKeyPairGen,
            vec![Attribute::ModulusBits(RSA_BITS.into()), Attribute::PublicExponent(vec![1, 0, 1])],
        ),
        KeyType::Ec => (Mechanism::EccKeyPairGen, vec![Attribute::EcParams(P256_OID.to_vec())]),
    };
    public_template.extend(common.clone());
    public_template.extend([Attribute::Private(false), public_use]);
    let mut private_template = common.to_vec();
    private_template.extend([
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        private_use,
    ]);
    let pair = session.generate_key_pair(&mechanism, &public_template, &private_template)?;
    Ok(pair.0)
}

fn read_public_jwk(
    session: &Session,
    public: ObjectHandle,
    key_type: KeyType,
) -> Result<Map<String, Value>, Error> {
    let read = |kind: AttributeType| -> Result<Vec<u8>, Error> {
        match session.get_attributes(public, &[kind])?.pop() {
            Some(
                Attribute::Modulus(value)
                | Attribute::PublicExponent(value)
                | Attribute::EcPoint(value),
            ) => Ok(value),
            _ => Err(Error::InvalidValue),
        }
    };
    let text = |bytes: &[u8]| Value::from(digest::base64url(bytes));
    let members = match key_type {
        KeyType::Rsa => vec![
            ("kty", Value::from("RSA")),
            ("n", text(without_leading_zeros(&read(AttributeType::Modulus)?))),
            ("e", text(without_leading_zeros(&read(AttributeType::PublicExponent)?))),
        ],
        KeyType::Ec => {
            let point = read(AttributeType::EcPoint)?;
            let (x, y) = coordinates(&point).ok_or(Error::InvalidValue)?;
            vec![
                ("kty", Value::from("EC")),
                ("crv", Value::from("P-256")),
                ("x", text(x)),
                ("y", text(y)),
            ]
        }
    };
    Ok(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let start = number.iter().position(|byte| *byte != 0).unwrap_or(0);
    number.get(start..).unwrap_or(number)
}

/// Returns the coordinates of `CKA_EC_POINT`: an uncompressed point, in most tokens inside a DER
/// octet string.
fn coordinates(point: &[u8]) -> Option<(&[u8], &[u8])> {
    let raw = point.len().checked_sub(P256_POINT_BYTES).and_then(|start| point.get(start..))?;
    let (form, coordinates) = raw.split_first()?;
    (*form == 4).then(|| coordinates.split_at(coordinates.len() / 2))
}

/// Returns the forms of RSA-OAEP that the token supports. Tokens do not report them, so each one is
/// tried.
fn supported_oaep(
    session: &mut TokenSession,
    uri: &DeviceKeyUri,
    public: &Map<String, Value>,
) -> Vec<EncryptionAlg> {
    let forms = [
        (EncryptionAlg::RsaOaep256, OaepHash::Sha256, MessageDigest::sha256()),
        (EncryptionAlg::RsaOaep, OaepHash::Sha1, MessageDigest::sha1()),
    ];
    let mut can_decrypt = |hash: OaepHash, digest: MessageDigest| -> Option<()> {
        let probe = b"passerelle";
        let ciphertext = encrypt_oaep(public, digest, probe)?;
        let operation = DeviceOperation::Decrypt { key: uri.clone(), hash, ciphertext };
        (session.run(&operation).ok()? == probe).then_some(())
    };
    forms
        .into_iter()
        .filter(|(_, hash, digest)| can_decrypt(*hash, *digest).is_some())
        .map(|(alg, ..)| alg)
        .collect()
}

fn encrypt_oaep(
    public: &Map<String, Value>,
    hash: MessageDigest,
    content: &[u8],
) -> Option<Vec<u8>> {
    let number = |name: &str| {
        let bytes = digest::from_base64url(public.get(name)?.as_str()?)?;
        openssl::bn::BigNum::from_slice(&bytes).ok()
    };
    let key: PKey<Public> =
        PKey::from_rsa(Rsa::from_public_components(number("n")?, number("e")?).ok()?).ok()?;
    let mut encrypter = Encrypter::new(&key).ok()?;
    encrypter.set_rsa_padding(Padding::PKCS1_OAEP).ok()?;
    encrypter.set_rsa_oaep_md(hash).ok()?;
    encrypter.set_rsa_mgf1_md(hash).ok()?;
    let mut ciphertext = vec![0; encrypter.encrypt_len(content).ok()?];
    let length = encrypter.encrypt(content, &mut ciphertext).ok()?;
    ciphertext.truncate(length);
    Some(ciphertext)
}
