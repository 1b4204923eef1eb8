//! Obtains the content encryption key of a JWE from the device that holds the private key (RFC 7518
//! §4.3 and §4.6). The device unwraps or agrees; the rest happens here.

use std::borrow::Cow;

use josekit::JoseError;
use josekit::jwe::{
    ECDH_ES, JweAlgorithm, JweContentEncryption, JweDecrypter, JweHeader, RSA_OAEP, RSA_OAEP_256,
};
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use serde_json::{Map, Value};

use super::key_device::{DeviceKey, KeyDeviceError, OaepHash};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

/// Length of the key of A256GCM.
const CONTENT_KEY_BYTES: usize = 32;
/// Length of a coordinate on P-256.
const COORDINATE_BYTES: usize = 32;

/// The content encryption key of one JWE.
#[derive(Clone, derive_more::Debug)]
#[debug("ContentKey(***)")]
pub(super) struct ContentKey {
    alg: EncryptionAlg,
    key: Secret<Vec<u8>>,
}

impl ContentKey {
    /// Obtains the key from the device.
    ///
    /// # Errors
    /// `Rejected` if the JWE has no usable key for this algorithm; the errors of the device.
    pub(crate) async fn obtain(
        alg: EncryptionAlg,
        key: &DeviceKey,
        header: &Map<String, Value>,
        encrypted_key: &[u8],
    ) -> Result<Self, KeyDeviceError> {
        let hash = match alg {
            EncryptionAlg::EcdhEs => {
                // RFC 7518 §4.6: with direct key agreement there is no encrypted key.
                let peer = ephemeral_point(header).filter(|_| encrypted_key.is_empty());
                let peer = peer.ok_or_else(|| rejected("epk is no point on P-256"))?;
                let info = other_info(header).ok_or_else(|| rejected("apu or apv is malformed"))?;
                let secret = key.device.derive(&key.uri, &peer).await?;
                let derived = digest::sha256_parts([&[0, 0, 0, 1], secret.reveal(), &info]);
                return Ok(Self { alg, key: Secret::new(derived.to_vec()) });
            }
            EncryptionAlg::RsaOaep256 => OaepHash::Sha256,
            EncryptionAlg::RsaOaep => OaepHash::Sha1,
        };
        let unwrapped = key.device.decrypt(&key.uri, hash, encrypted_key).await?;
        if unwrapped.reveal().len() == CONTENT_KEY_BYTES {
            Ok(Self { alg, key: unwrapped })
        } else {
            Err(rejected("the content key has another length than A256GCM's"))
        }
    }
}

fn rejected(why: &str) -> KeyDeviceError {
    KeyDeviceError::Rejected(why.to_owned())
}

/// Returns the sender's ephemeral key as an uncompressed point, which is on the curve. Stops
/// invalid curve attacks, which find a private key by agreeing with points of small order.
fn ephemeral_point(header: &Map<String, Value>) -> Option<Vec<u8>> {
    let key = header.get("epk")?.as_object()?;
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    if text("kty") != Some("EC") || text("crv") != Some("P-256") {
        return None;
    }
    let coordinate = |name: &str| {
        digest::from_base64url(text(name)?).filter(|bytes| bytes.len() == COORDINATE_BYTES)
    };
    let (x, y) = (coordinate("x")?, coordinate("y")?);
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).ok()?;
    let (x_number, y_number) = (BigNum::from_slice(&x).ok()?, BigNum::from_slice(&y).ok()?);
    EcKey::from_public_key_affine_coordinates(&group, &x_number, &y_number)
        .and_then(|key| key.check_key())
        .ok()?;
    Some([&[4], x.as_slice(), &y].concat())
}

/// Returns `OtherInfo` of the Concat KDF (RFC 7518 §4.6.2).
fn other_info(header: &Map<String, Value>) -> Option<Vec<u8>> {
    let party = |name: &str| match header.get(name) {
        None => Some(Vec::new()),
        Some(value) => digest::from_base64url(value.as_str()?),
    };
    let mut info = Vec::new();
    let alg = ContentEncryption::A256GCM.as_str().as_bytes().to_vec();
    for part in [alg, party("apu")?, party("apv")?] {
        info.extend(u32::try_from(part.len()).ok()?.to_be_bytes());
        info.extend(part);
    }
    let key_bits = u32::try_from(CONTENT_KEY_BYTES * 8).ok()?;
    info.extend(key_bits.to_be_bytes());
    Some(info)
}

/// Lets josekit decrypt the content.
impl JweDecrypter for ContentKey {
    fn algorithm(&self) -> &dyn JweAlgorithm {
        match self.alg {
            EncryptionAlg::EcdhEs => &ECDH_ES,
            EncryptionAlg::RsaOaep256 => &RSA_OAEP_256,
            EncryptionAlg::RsaOaep => &RSA_OAEP,
        }
    }

    fn key_id(&self) -> Option<&str> {
        None
    }

    fn decrypt(
        &self,
        _: Option<&[u8]>,
        _: &dyn JweContentEncryption,
        _: &JweHeader,
    ) -> Result<Cow<'_, [u8]>, JoseError> {
        Ok(Cow::Borrowed(self.key.reveal()))
    }

    fn box_clone(&self) -> Box<dyn JweDecrypter> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::device_key_uri::DeviceKeyUri;
    use crate::key_device::{KeyLocation, UnusedKeyDevice};
    use crate::pkcs11_uri::Pkcs11Uri;

    /// The error of a device that must not be called is `Unavailable`.
    async fn outcome(header: &Value, encrypted_key: &[u8]) -> KeyDeviceError {
        let uri = DeviceKeyUri::Pkcs11(Pkcs11Uri::from_id(vec![1]));
        let key = DeviceKey { device: Arc::new(UnusedKeyDevice(KeyLocation::Pkcs11)), uri };
        let header = header.as_object().unwrap();
        ContentKey::obtain(EncryptionAlg::EcdhEs, &key, header, encrypted_key).await.unwrap_err()
    }

    fn header(x: &[u8], y: &[u8]) -> Value {
        let [x, y] = [x, y].map(digest::base64url);
        json!({ "epk": { "kty": "EC", "crv": "P-256", "x": x, "y": y } })
    }

    /// A point on P-256: its generator.
    fn generator() -> (Vec<u8>, Vec<u8>) {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let mut context = openssl::bn::BigNumContext::new().unwrap();
        let (mut x, mut y) = (BigNum::new().unwrap(), BigNum::new().unwrap());
        let point = group.generator_opt().unwrap();
        point.affine_coordinates(&group, &mut x, &mut y, &mut context).unwrap();
        (x.to_vec_padded(32).unwrap(), y.to_vec_padded(32).unwrap())
    }

    #[tokio::test]
    async fn an_invalid_curve_attack_reaches_no_device() {
        let (x, y) = generator();
        let good = header(&x, &y);
        assert!(matches!(outcome(&good, b"").await, KeyDeviceError::Unavailable(_)));
        let mut off = y.clone();
        off[31] ^= 1;
        let with = |name: &str, value: Value| {
            let mut header = good.clone();
            header["epk"][name] = value;
            header
        };
        for (bad, encrypted_key) in [
            (header(&x, &off), b"".as_slice()),
            (header(&[0; 32], &[0; 32]), b""),
            (header(&x[1..], &y), b""),
            (with("crv", "P-384".into()), b""),
            (with("kty", "OKP".into()), b""),
            (with("x", Value::Null), b""),
            (json!({}), b""),
            (good.clone(), b"a key that direct agreement does not have"),
        ] {
            let error = outcome(&bad, encrypted_key).await;
            assert!(matches!(error, KeyDeviceError::Rejected(_)), "{bad}: {error}");
        }
    }
}
