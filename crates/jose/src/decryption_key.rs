//! A decryption key of the hub: what a usable key is, its algorithms, and its published JWKs (RFC
//! 7517; RFC 7518 §4.3 and §4.6).

mod trial;

use josekit::jwe::{JweDecrypter, JweHeader};
use josekit::jwk::alg::rsa::RsaKeyPair;
use josekit::jwk::{Jwk, KeyPair as _};
use openssl::pkey::{PKey, Private};
use serde_json::{Map, Value};

pub use self::trial::DecryptionTrialError;
use super::content_key::ContentKey;
use super::jwe;
use super::key_device::{DeviceKey, KeyDeviceError, KeyLocation};
use super::key_type::KeyType;
use super::signing_key::{self, KeyError, PrivateJwk, PublicHalf};
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// A private key for JWEs that identity providers send.
#[derive(derive_more::Debug)]
#[debug("DecryptionKey({} {kid})", key_type.encryption_alg_names())]
pub struct DecryptionKey {
    pub key_type: KeyType,
    /// RFC 7638 thumbprint (SHA-256, base64url).
    pub kid: String,
    pub created: Timestamp,
    algorithm_keys: Vec<AlgorithmKey>,
    local_rsa_key: Option<PKey<Private>>,
}

/// The key with one algorithm. A published JWK names one `alg` (RFC 7517 §4.4), so a key for two
/// algorithms is published twice, with two ids.
struct AlgorithmKey {
    alg: EncryptionAlg,
    kid: String,
    public: String,
    private: PrivateDecryptionKey,
}

/// The private half of a decryption key.
enum PrivateDecryptionKey {
    Local(Box<dyn JweDecrypter>),
    Device(DeviceKey),
}

/// Why a JWE could not be decrypted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum DecryptionError {
    /// It was encrypted to another key, or modified.
    Undecryptable,
    Device(KeyDeviceError),
}

impl DecryptionKey {
    /// Parses a private JWK, and checks for each algorithm that its halves belong together.
    ///
    /// # Errors
    /// Any [`KeyError`] but `Generation`.
    pub fn parse(private: &PrivateJwk, created: Timestamp) -> Result<Self, KeyError> {
        let PublicHalf { alg, jwk: public, kid } = signing_key::identified_public_half(private)?;
        let key_type = KeyType::from_signing_alg(alg);
        let algorithm_keys = key_type
            .encryption_algs()
            .iter()
            .map(|alg| AlgorithmKey::local(*alg, &kid, private.reveal(), &public))
            .collect::<Result<_, _>>()?;
        let local_rsa_key = match key_type {
            KeyType::Rsa => Some(rsa_private_key(private)?),
            KeyType::Ec => None,
        };
        Ok(Self { key_type, kid, created, algorithm_keys, local_rsa_key })
    }

    /// Creates a key whose private half is in a device, from its public JWK and the algorithms that
    /// the device has. Calls no device.
    ///
    /// # Errors
    /// `NotPublic`, `UnsupportedType`, `KidMismatch`; `Unusable` also if no algorithm fits the key.
    pub fn in_device(
        public: &Map<String, Value>,
        algorithms: &[EncryptionAlg],
        key: &DeviceKey,
        created: Timestamp,
    ) -> Result<Self, KeyError> {
        let PublicHalf { alg, jwk: public, kid } = signing_key::identified_device_half(public)?;
        let key_type = KeyType::from_signing_alg(alg);
        let offered = key_type.encryption_algs().iter().filter(|alg| algorithms.contains(alg));
        let algorithm_keys: Vec<AlgorithmKey> = offered
            .map(|alg| {
                AlgorithmKey::new(*alg, &kid, PrivateDecryptionKey::Device(key.clone()), &public)
            })
            .collect();
        if algorithm_keys.is_empty() || algorithm_keys.len() != algorithms.len() {
            return Err(KeyError::Unusable);
        }
        Ok(Self { key_type, kid, created, algorithm_keys, local_rsa_key: None })
    }

    /// Returns the private half of an RSA key, for what is encrypted outside of JOSE; `None` for a
    /// key in a device, and for an EC key.
    pub const fn local_rsa_key(&self) -> Option<&PKey<Private>> {
        self.local_rsa_key.as_ref()
    }

    /// Returns the key in a device; `None` for a local key.
    pub fn device_key(&self) -> Option<&DeviceKey> {
        self.algorithm_keys.iter().find_map(|key| match &key.private {
            PrivateDecryptionKey::Local(_) => None,
            PrivateDecryptionKey::Device(key) => Some(key),
        })
    }

    /// Returns where the private half is.
    pub fn location(&self) -> KeyLocation {
        self.device_key().map_or(KeyLocation::File, |key| key.uri.location())
    }

    /// Returns the public JWKs, one per algorithm, with `kid`, `use` and `alg`.
    pub fn public_jwks(&self) -> impl Iterator<Item = &str> {
        self.algorithm_keys.iter().map(|key| key.public.as_str())
    }

    /// Returns true if one of its published ids is `kid`.
    pub fn is_named(&self, kid: &str) -> bool {
        self.algorithm_keys.iter().any(|key| key.kid == kid)
    }

    /// Returns true if the key can decrypt this algorithm.
    pub fn supports(&self, alg: EncryptionAlg) -> bool {
        self.algorithm_keys.iter().any(|key| key.alg == alg)
    }

    /// Decrypts a compact JWE whose header was checked. Waits only for a device.
    ///
    /// # Errors
    /// `Undecryptable`, also if the key is of another kind; `Device` if the device failed.
    pub(super) async fn decrypt(
        &self,
        compact: &str,
        header: &Map<String, Value>,
        alg: EncryptionAlg,
    ) -> Result<Vec<u8>, DecryptionError> {
        let key = self.algorithm_keys.iter().find(|key| key.alg == alg);
        let content = match key.map(|key| &key.private) {
            None => return Err(DecryptionError::Undecryptable),
            Some(PrivateDecryptionKey::Local(decrypter)) => {
                jwe::CONTEXT.deserialize_compact(compact, decrypter.as_ref())
            }
            Some(PrivateDecryptionKey::Device(key)) => {
                let encrypted_key = compact.split('.').nth(1).and_then(digest::from_base64url);
                let encrypted_key = encrypted_key.ok_or(DecryptionError::Undecryptable)?;
                let content_key = ContentKey::obtain(alg, key, header, &encrypted_key).await;
                let content_key = content_key.map_err(|error| match error {
                    KeyDeviceError::Rejected(_) => DecryptionError::Undecryptable,
                    error => DecryptionError::Device(error),
                })?;
                jwe::CONTEXT.deserialize_compact(compact, &content_key)
            }
        };
        content.map(|(content, _)| content).map_err(|_| DecryptionError::Undecryptable)
    }
}

/// Generates a key that the hub encrypts to. Returns the private JWK for the service provider, and
/// the JWK Set to register (RFC 7517 §5).
///
/// # Errors
/// Returns an error if OpenSSL can't generate a key.
pub fn generate_client_key(now: Timestamp) -> Result<(PrivateJwk, String), KeyError> {
    let private = signing_key::generate(SigningAlg::ES256)?;
    let key = DecryptionKey::parse(&private, now)?;
    let mut members = private.into_inner();
    let alg = EncryptionAlg::EcdhEs.as_str();
    for (name, value) in [("kid", key.kid.as_str()), ("use", "enc"), ("alg", alg)] {
        members.insert(name.into(), value.into());
    }
    let public: Vec<&str> = key.public_jwks().collect();
    Ok((Secret::new(members), format!("{{\"keys\":[{}]}}", public.join(","))))
}

impl AlgorithmKey {
    fn local(
        alg: EncryptionAlg,
        thumbprint: &str,
        private: &Map<String, Value>,
        public: &Map<String, Value>,
    ) -> Result<Self, KeyError> {
        let decrypter = decrypter(alg, private)?;
        check_key_pair(alg, decrypter.as_ref(), public)?;
        Ok(Self::new(alg, thumbprint, PrivateDecryptionKey::Local(decrypter), public))
    }

    fn new(
        alg: EncryptionAlg,
        thumbprint: &str,
        private: PrivateDecryptionKey,
        public: &Map<String, Value>,
    ) -> Self {
        let kid = match alg {
            EncryptionAlg::EcdhEs | EncryptionAlg::RsaOaep256 => thumbprint.to_owned(),
            EncryptionAlg::RsaOaep => format!("{thumbprint}.{}", alg.as_str()),
        };
        let public = signing_key::published_jwk(public.clone(), &kid, "enc", alg.as_str());
        Self { alg, kid, public, private }
    }
}

fn decrypter(
    alg: EncryptionAlg,
    members: &Map<String, Value>,
) -> Result<Box<dyn JweDecrypter>, KeyError> {
    // josekit requires the header's kid to match a decrypter that has one; the hub chooses keys
    // itself.
    let without_kid: Map<String, Value> = members
        .iter()
        .filter(|(name, _)| *name != "kid")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    let jwk = Jwk::from_map(without_kid).map_err(|_| KeyError::Unusable)?;
    jwe::decrypter(alg, &jwk).map_err(|_| KeyError::Unusable)
}

fn rsa_private_key(private: &PrivateJwk) -> Result<PKey<Private>, KeyError> {
    let jwk = Jwk::from_map(private.reveal().clone()).map_err(|_| KeyError::Unusable)?;
    let pair = RsaKeyPair::from_jwk(&jwk).map_err(|_| KeyError::Unusable)?;
    PKey::private_key_from_pkcs8(&pair.to_der_private_key()).map_err(|_| KeyError::Unusable)
}

/// Checks that the private half decrypts what the public half encrypts: a mismatch would fail every
/// login.
fn check_key_pair(
    alg: EncryptionAlg,
    decrypter: &dyn JweDecrypter,
    public: &Map<String, Value>,
) -> Result<(), KeyError> {
    let jwk = Jwk::from_map(public.clone()).map_err(|_| KeyError::Unusable)?;
    let encrypted = encrypt_probe(alg, &jwk)?;
    if decrypts_to_probe(&encrypted, decrypter) { Ok(()) } else { Err(KeyError::KeyPairMismatch) }
}

/// Plaintext of a trial encryption.
const PROBE: &[u8] = b"passerelle";

/// Encrypts [`PROBE`] as a compact JWE.
fn encrypt_probe(alg: EncryptionAlg, public: &Jwk) -> Result<String, KeyError> {
    let encrypter = jwe::encrypter(alg, public).map_err(|_| KeyError::Unusable)?;
    let mut header = JweHeader::new();
    header.set_content_encryption(ContentEncryption::A256GCM.as_str());
    let encrypted = jwe::CONTEXT.serialize_compact(PROBE, &header, encrypter.as_ref());
    encrypted.map_err(|_| KeyError::Unusable)
}

fn decrypts_to_probe(compact: &str, decrypter: &dyn JweDecrypter) -> bool {
    let decrypted = jwe::CONTEXT.deserialize_compact(compact, decrypter);
    decrypted.is_ok_and(|(content, _)| content == PROBE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::ids::Secret;

    fn parse(jwk: &PrivateJwk) -> Result<DecryptionKey, KeyError> {
        DecryptionKey::parse(jwk, Timestamp::default())
    }

    #[test]
    fn the_public_half_is_for_encryption_and_holds_nothing_private() {
        for (alg, key_type, names) in [
            (
                SigningAlg::ES256,
                KeyType::Ec,
                ["alg", "crv", "kid", "kty", "use", "x", "y"].as_slice(),
            ),
            (SigningAlg::RS256, KeyType::Rsa, ["alg", "e", "kid", "kty", "n", "use"].as_slice()),
        ] {
            let key = parse(&signing_key::generate(alg).unwrap()).unwrap();
            assert_eq!(key.key_type, key_type);
            let published: Vec<Map<String, Value>> =
                key.public_jwks().map(|jwk| serde_json::from_str(jwk).unwrap()).collect();
            assert_eq!(published.len(), key_type.encryption_algs().len());
            for (jwk, alg) in published.iter().zip(key_type.encryption_algs()) {
                let mut found: Vec<_> = jwk.keys().map(String::as_str).collect();
                found.sort_unstable();
                assert_eq!(found, names);
                assert_eq!(
                    (jwk["use"].as_str(), jwk["alg"].as_str()),
                    (Some("enc"), Some(alg.as_str()))
                );
                assert!(key.is_named(jwk["kid"].as_str().unwrap()));
            }
            assert!(!format!("{key:?}").contains("\"d\""));
        }
    }

    #[test]
    fn damaged_keys_are_refused_by_what_is_wrong_with_them() {
        let ec = signing_key::generate(SigningAlg::ES256).unwrap();
        let other = signing_key::generate(SigningAlg::ES256).unwrap();
        let with = |changes: &[(&str, Value)]| {
            let mut members = ec.reveal().clone();
            members.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
            Secret::new(members)
        };
        let swapped =
            with(&[("x", other.reveal()["x"].clone()), ("y", other.reveal()["y"].clone())]);
        let small = Secret::new(Jwk::generate_rsa_key(1024).unwrap().into());
        for (jwk, error) in [
            (swapped, KeyError::KeyPairMismatch),
            (with(&[("kid", "mine".into())]), KeyError::KidMismatch),
            (with(&[("crv", "P-384".into())]), KeyError::UnsupportedType),
            (with(&[("use", "sig".into())]), KeyError::Unusable),
            (with(&[("alg", "ECDH-ES+A256KW".into())]), KeyError::Unusable),
            (small, KeyError::Unusable),
        ] {
            assert_eq!(parse(&jwk).map(|_| ()).unwrap_err(), error);
        }
    }
}
