//! A signing key: what a usable key is, its `kid`, and its public half.

use std::sync::Arc;

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner, JwsVerifier, RS256};
use serde_json::{Map, Value, json};

use super::key_device::{DeviceKey, DeviceSigningKey, KeyDevice, KeyDeviceError, KeyLocation};
use super::verify;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// A private JWK (RFC 7517) as it is in its file. josekit's own type prints `d` in its `Debug`.
pub type PrivateJwk = Secret<Map<String, Value>>;

/// Size of new RSA keys, with about the strength of P-256 (NIST SP 800-57 part 1, table 2). Keys of
/// 2048 bits keep working.
const RSA_BITS: u32 = 3072;
/// Size of RSA keys that are never saved; a demo generates twenty of them at its start.
const EPHEMERAL_RSA_BITS: u32 = 2048;

/// Why a key can't be used. Contains nothing of the key.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyError {
    #[error("the key is neither an EC key on P-256 nor an RSA key")]
    UnsupportedType,
    #[error(
        "the private key is incomplete, malformed, for another use, or an RSA key under 2048 bits"
    )]
    Unusable,
    #[error("the public half of the key does not belong to its private half")]
    KeyPairMismatch,
    #[error(
        "the member `kid` is not the key's RFC 7638 thumbprint: the file was edited or mixed up"
    )]
    KidMismatch,
    #[error("OpenSSL could not generate a key")]
    Generation,
    #[error("the JWK of a key in a device must hold its public half and nothing else")]
    NotPublic,
}

/// A parsed signing key.
#[derive(derive_more::Debug)]
#[debug("SigningKey({} {kid})", alg.as_str())]
pub struct SigningKey {
    pub alg: SigningAlg,
    /// RFC 7638 thumbprint (SHA-256, base64url).
    pub kid: String,
    pub created: Timestamp,
    /// When the key begins to sign; it signs until a later key of its algorithm does.
    pub signs_from: Timestamp,
    /// The public half as a JWK with `kid`, `use` and `alg`.
    public: String,
    /// `base64url({"alg":…,"typ":"JWT","kid":…})`: the header of nearly every token, computed once.
    jwt_header: String,
    private: PrivateSigningKey,
}

/// The private half of a signing key.
enum PrivateSigningKey {
    Local(Box<dyn JwsSigner>),
    Device { device: Arc<dyn KeyDevice>, key: DeviceSigningKey },
}

/// Why a key did not sign.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum SignatureError {
    #[error("OpenSSL failed")]
    Local,
    #[error(transparent)]
    Device(#[from] KeyDeviceError),
}

impl SigningKey {
    /// Parses a private JWK, and checks with one signature that its halves belong together.
    ///
    /// # Errors
    /// Any [`KeyError`] but `Generation` and `NotPublic`.
    pub fn parse(
        private: &PrivateJwk,
        created: Timestamp,
        signs_from: Timestamp,
    ) -> Result<Self, KeyError> {
        let half = identified_public_half(private)?;
        let signer = build_signer(half.alg, private.reveal())?;
        check_key_pair(half.alg, signer.as_ref(), &half.jwk)?;
        let private = PrivateSigningKey::Local(signer);
        Ok(Self::new(half, private, created, signs_from))
    }

    /// Creates a key whose private half is in a device, from its public JWK. Calls no device.
    ///
    /// # Errors
    /// `NotPublic`, `UnsupportedType`, `Unusable`, `KidMismatch`.
    pub fn in_device(
        public: &Map<String, Value>,
        DeviceKey { device, uri }: DeviceKey,
        created: Timestamp,
        signs_from: Timestamp,
    ) -> Result<Self, KeyError> {
        let half = identified_device_half(public)?;
        let verifier = build_verifier(half.alg, &half.jwk)?.into();
        let key = DeviceSigningKey { uri, alg: half.alg, verifier };
        let private = PrivateSigningKey::Device { device, key };
        Ok(Self::new(half, private, created, signs_from))
    }

    fn new(
        PublicHalf { alg, jwk, kid }: PublicHalf,
        private: PrivateSigningKey,
        created: Timestamp,
        signs_from: Timestamp,
    ) -> Self {
        let public = published_jwk(jwk, &kid, "sig", alg.as_str());
        let jwt_header = encoded_header(alg, "JWT", &kid);
        Self { alg, kid, created, signs_from, public, jwt_header, private }
    }

    /// Returns the key in a device; `None` for a local key.
    pub const fn device_key(&self) -> Option<&DeviceSigningKey> {
        match &self.private {
            PrivateSigningKey::Local(_) => None,
            PrivateSigningKey::Device { key, .. } => Some(key),
        }
    }

    /// Returns where the private half is.
    pub const fn location(&self) -> KeyLocation {
        match &self.private {
            PrivateSigningKey::Local(_) => KeyLocation::File,
            PrivateSigningKey::Device { key, .. } => key.uri.location(),
        }
    }

    /// Returns false while the device that holds the key has failed.
    pub fn is_available(&self) -> bool {
        match &self.private {
            PrivateSigningKey::Local(_) => true,
            PrivateSigningKey::Device { device, .. } => device.is_available(),
        }
    }

    /// Returns the public JWK, with `kid`, `use` and `alg`.
    pub fn public_jwk(&self) -> &str {
        &self.public
    }

    /// Returns the base64url of the JOSE header of a token with this `typ`.
    pub fn header(&self, typ: &str) -> std::borrow::Cow<'_, str> {
        if typ == "JWT" {
            (&self.jwt_header).into()
        } else {
            encoded_header(self.alg, typ, &self.kid).into()
        }
    }

    /// Returns the raw JWS signature over `signing_input` (RFC 7515 §5.1). Waits only for a device.
    ///
    /// # Errors
    /// OpenSSL or the device failed.
    pub async fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignatureError> {
        match &self.private {
            PrivateSigningKey::Local(signer) => {
                signer.sign(signing_input).map_err(|_| SignatureError::Local)
            }
            PrivateSigningKey::Device { device, key } => {
                Ok(device.sign(key, signing_input).await?)
            }
        }
    }
}

/// Generates a private key with OpenSSL's randomness. EC takes less than a millisecond, RSA up to
/// two seconds.
///
/// # Errors
/// `Generation`.
pub(crate) fn generate(alg: SigningAlg) -> Result<PrivateJwk, KeyError> {
    generate_with(alg, RSA_BITS)
}

/// Generates a private key that is never saved.
///
/// # Errors
/// `Generation`.
pub fn generate_ephemeral(alg: SigningAlg) -> Result<PrivateJwk, KeyError> {
    generate_with(alg, EPHEMERAL_RSA_BITS)
}

fn generate_with(alg: SigningAlg, rsa_bits: u32) -> Result<PrivateJwk, KeyError> {
    let jwk = match alg {
        SigningAlg::ES256 => Jwk::generate_ec_key(EcCurve::P256),
        SigningAlg::RS256 => Jwk::generate_rsa_key(rsa_bits),
    };
    Ok(Secret::new(jwk.map_err(|_| KeyError::Generation)?.into()))
}

/// The public half of a key.
pub(super) struct PublicHalf {
    pub alg: SigningAlg,
    pub jwk: Map<String, Value>,
    /// Thumbprint of the JWK (RFC 7638).
    pub kid: String,
}

/// Returns the public half of a private JWK.
///
/// # Errors
/// `UnsupportedType`, `Unusable`; `KidMismatch` if the JWK has a `kid` that is not the thumbprint.
pub(super) fn identified_public_half(private: &PrivateJwk) -> Result<PublicHalf, KeyError> {
    let (alg, jwk) = public_half(private.reveal())?;
    let kid = checked_kid(private.reveal(), &jwk)?;
    Ok(PublicHalf { alg, jwk, kid })
}

/// Returns the public half of the JWK of a key in a device.
///
/// # Errors
/// `NotPublic` if it has other members than the public ones and `kid`; `UnsupportedType`,
/// `Unusable`, `KidMismatch`.
pub(super) fn identified_device_half(public: &Map<String, Value>) -> Result<PublicHalf, KeyError> {
    let (alg, jwk) = public_half(public)?;
    if public.keys().any(|name| name != "kid" && !jwk.contains_key(name)) {
        return Err(KeyError::NotPublic);
    }
    let kid = checked_kid(public, &jwk)?;
    Ok(PublicHalf { alg, jwk, kid })
}

/// Returns the thumbprint of a public half, which must be the `kid` of the JWK if it has one.
fn checked_kid(jwk: &Map<String, Value>, half: &Map<String, Value>) -> Result<String, KeyError> {
    let kid = thumbprint(half);
    match jwk.get("kid") {
        Some(named) if named.as_str() != Some(&kid) => Err(KeyError::KidMismatch),
        _ => Ok(kid),
    }
}

/// Returns the JWK to publish (RFC 7517 §4).
pub(super) fn published_jwk(
    mut public: Map<String, Value>,
    kid: &str,
    usage: &str,
    alg: &str,
) -> String {
    for (name, value) in [("kid", kid), ("use", usage), ("alg", alg)] {
        public.insert(name.into(), value.into());
    }
    Value::Object(public).to_string()
}

/// Returns the members of the public key (RFC 7638 §3.2) in lexicographic order. Picking the public
/// members, rather than removing the private ones, keeps `d` out of a key set.
///
/// # Errors
/// `UnsupportedType`, or `Unusable` if a member is missing.
pub(super) fn public_half(
    members: &Map<String, Value>,
) -> Result<(SigningAlg, Map<String, Value>), KeyError> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let (alg, names): (_, &[&str]) = match (text("kty"), text("crv")) {
        (Some("EC"), Some("P-256")) => (SigningAlg::ES256, &["crv", "kty", "x", "y"]),
        (Some("RSA"), None) => (SigningAlg::RS256, &["e", "kty", "n"]),
        _ => return Err(KeyError::UnsupportedType),
    };
    let mut public = Map::new();
    for name in names {
        public.insert((*name).to_owned(), text(name).ok_or(KeyError::Unusable)?.into());
    }
    Ok((alg, public))
}

/// Returns the thumbprint of RFC 7638 §3: SHA-256 of the required members in lexicographic order,
/// without white space.
pub(crate) fn thumbprint(public: &Map<String, Value>) -> String {
    let sorted: std::collections::BTreeMap<_, _> = public.iter().collect();
    let canonical = json!(sorted).to_string();
    digest::sha256_base64url(&canonical)
}

/// Returns what signs with a private JWK.
///
/// # Errors
/// `Unusable`.
pub(super) fn build_signer(
    alg: SigningAlg,
    members: &Map<String, Value>,
) -> Result<Box<dyn JwsSigner>, KeyError> {
    let unusable = |_| KeyError::Unusable;
    let jwk = Jwk::from_map(members.clone()).map_err(unusable)?;
    Ok(match alg {
        SigningAlg::ES256 => Box::new(ES256.signer_from_jwk(&jwk).map_err(unusable)?),
        SigningAlg::RS256 => Box::new(RS256.signer_from_jwk(&jwk).map_err(unusable)?),
    })
}

/// Checks that the public half verifies what the private half signs: a mismatch would fail every
/// login.
fn check_key_pair(
    alg: SigningAlg,
    signer: &dyn JwsSigner,
    public: &Map<String, Value>,
) -> Result<(), KeyError> {
    let verifier = build_verifier(alg, public)?;
    let probe = b"passerelle";
    let signature = signer.sign(probe).map_err(|_| KeyError::Unusable)?;
    verifier.verify(probe, &signature).map_err(|_| KeyError::KeyPairMismatch)
}

fn build_verifier(
    alg: SigningAlg,
    public: &Map<String, Value>,
) -> Result<Box<dyn JwsVerifier>, KeyError> {
    Jwk::from_map(public.clone())
        .and_then(|jwk| verify::build_verifier(alg.into(), &jwk))
        .map_err(|_| KeyError::Unusable)
}

fn encoded_header(alg: SigningAlg, typ: &str, kid: &str) -> String {
    // R030: alg, typ, kid.
    digest::base64url(json!({ "alg": alg.as_str(), "typ": typ, "kid": kid }).to_string().as_bytes())
}

#[cfg(test)]
mod tests;
