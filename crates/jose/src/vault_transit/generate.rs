//! Generates keys in the engine, and reads their public halves. Blocks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use http::{Method, StatusCode};
use openssl::bn::{BigNum, BigNumContext};
use openssl::nid::Nid;
use openssl::pkey::{PKey, Public};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::client::{TransitCall, TransitClient, answer_data, status_error, unexpected};
use super::options::TransitOptions;
use crate::block_on::block_on_thread;
use crate::device_key_uri::DeviceKeyUri;
use crate::key_device::{
    DeviceKeyGenerator, DeviceKeySpec, DeviceKeyUsage, GeneratedDeviceKey, KeyDeviceError,
    KeyGenerationError,
};
use crate::key_type::KeyType;
use crate::transit_key_uri::TransitKeyUri;
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::digest;

/// Longest time of a call that generates an RSA key.
const GENERATION_TIMEOUT: Duration = Duration::from_secs(30);
/// Length of a coordinate on P-256.
const COORDINATE_BYTES: i32 = 32;

/// Generates keys in an engine.
pub struct TransitKeyGenerator {
    options: TransitOptions,
}

/// What `GET /v1/transit/keys/:name` returns of a key pair.
#[derive(Deserialize)]
struct KeyData {
    #[serde(rename = "type")]
    key_type: String,
    exportable: bool,
    latest_version: u32,
    keys: BTreeMap<u32, KeyVersion>,
}

#[derive(Deserialize)]
struct KeyVersion {
    /// PEM.
    public_key: String,
}

impl TransitKeyGenerator {
    /// Creates a generator with these settings, but for the time limit. Makes no call.
    #[must_use]
    pub fn new(options: TransitOptions) -> Self {
        Self { options: TransitOptions { timeout: GENERATION_TIMEOUT, ..options } }
    }

    async fn create(&self, spec: &DeviceKeySpec) -> Result<GeneratedDeviceKey, KeyGenerationError> {
        let client = TransitClient::new(&self.options);
        let client = client.map_err(|error| KeyDeviceError::Unavailable(error.to_string()))?;
        let name = key_name(spec);
        let body = json!({
            "type": transit_type(spec.key_type),
            "exportable": false,
            "allow_plaintext_backup": false,
        });
        let call =
            TransitCall { method: Method::POST, operation: "keys", key: &name, body: Some(body) };
        let created = client.send(&call).await?;
        if !matches!(created.status(), StatusCode::OK | StatusCode::NO_CONTENT) {
            return Err(status_error(created.status()).into());
        }
        read_key(&client, &name, spec).await.map_err(|error| KeyGenerationError {
            error,
            uri: TransitKeyUri::new(&name, 1).map(DeviceKeyUri::VaultTransit),
        })
    }
}

/// Reads the new key.
async fn read_key(
    client: &TransitClient,
    name: &str,
    spec: &DeviceKeySpec,
) -> Result<GeneratedDeviceKey, KeyDeviceError> {
    let call = TransitCall { method: Method::GET, operation: "keys", key: name, body: None };
    let read = client.send(&call).await?;
    if read.status() != StatusCode::OK {
        return Err(status_error(read.status()));
    }
    let key: KeyData = answer_data(&read)?;
    if key.key_type != transit_type(spec.key_type) || key.exportable {
        return Err(unexpected("the new key has another type, or can be exported"));
    }
    let version = key.keys.get(&key.latest_version);
    let public = version.and_then(|version| public_jwk(&version.public_key, spec.key_type));
    let public = public.ok_or_else(|| unexpected("the new key has no such public half"))?;
    let uri = TransitKeyUri::new(name, key.latest_version);
    let uri = uri.ok_or_else(|| unexpected("the new key has no version"))?;
    let algorithms = match spec.usage {
        DeviceKeyUsage::Sign => Vec::new(),
        DeviceKeyUsage::Decrypt => vec![EncryptionAlg::RsaOaep256],
    };
    Ok(GeneratedDeviceKey { uri: DeviceKeyUri::VaultTransit(uri), public, algorithms })
}

impl DeviceKeyGenerator for TransitKeyGenerator {
    fn supports(&self, usage: DeviceKeyUsage, key_type: KeyType) -> bool {
        // No operation of Transit agrees on a secret, which ECDH-ES needs.
        (usage, key_type) != (DeviceKeyUsage::Decrypt, KeyType::Ec)
    }

    fn generate(&self, spec: &DeviceKeySpec) -> Result<GeneratedDeviceKey, KeyGenerationError> {
        if !self.supports(spec.usage, spec.key_type) {
            let why = "Transit has no key agreement, so no keys for ECDH-ES";
            return Err(KeyDeviceError::Rejected(why.to_owned()).into());
        }
        block_on_thread(self.create(spec))
            .map_err(|error| KeyDeviceError::Unavailable(error.to_string()))?
    }
}

/// Returns the name of a key type in Transit.
const fn transit_type(key_type: KeyType) -> &'static str {
    match key_type {
        KeyType::Ec => "ecdsa-p256",
        KeyType::Rsa => "rsa-3072",
    }
}

/// Returns a name that no other key has: `passerelle-tokens-1790000000-8f0a…`.
fn key_name(spec: &DeviceKeySpec) -> String {
    let mut name = format!("{}-", spec.label.replace(' ', "-"));
    for byte in &spec.id {
        // Writing to a string can't fail.
        let _written = write!(name, "{byte:02x}");
    }
    name
}

/// Returns the public JWK of a key of this type; `None` for any other key.
fn public_jwk(pem: &str, key_type: KeyType) -> Option<Map<String, Value>> {
    let key = PKey::public_key_from_pem(pem.as_bytes()).ok()?;
    let members = match key_type {
        KeyType::Ec => ec_members(&key)?,
        KeyType::Rsa => {
            let key = key.rsa().ok()?;
            let (n, e) = (text(&key.n().to_vec()), text(&key.e().to_vec()));
            vec![("kty", "RSA".into()), ("n", n), ("e", e)]
        }
    };
    Some(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn ec_members(key: &PKey<Public>) -> Option<Vec<(&'static str, Value)>> {
    let key = key.ec_key().ok()?;
    if key.group().curve_name() != Some(Nid::X9_62_PRIME256V1) {
        return None;
    }
    let (mut x, mut y) = (BigNum::new().ok()?, BigNum::new().ok()?);
    let mut context = BigNumContext::new().ok()?;
    key.public_key().affine_coordinates(key.group(), &mut x, &mut y, &mut context).ok()?;
    let [x, y] = [x, y].map(|number| number.to_vec_padded(COORDINATE_BYTES).ok());
    Some(vec![("kty", "EC".into()), ("crv", "P-256".into()), ("x", text(&x?)), ("y", text(&y?))])
}

fn text(bytes: &[u8]) -> Value {
    digest::base64url(bytes).into()
}
