//! Keys of the seeds. They are fixed, so that a committed token stays valid.

use josekit::jwe::{JweHeader, RSA_OAEP_256};
use josekit::jwk::Jwk;
use josekit::jws::{ES256, JwsSigner};
use serde_json::{Map, Value, json};

use passerelle_jose::decryption_key::DecryptionKey;
use passerelle_jose::{Keyring, PrivateJwk, RelyingPartyKeys, SigningKey};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;

/// The time at which the seeds are read.
pub(super) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

const EC_KEY: &str = include_str!("../../../../fuzz/keys/ec.json");
const RSA_KEY: &str = include_str!("../../../../fuzz/keys/rsa.json");

fn members(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

fn private_key(text: &str) -> PrivateJwk {
    Secret::new(members(text))
}

/// Returns the JWK set of the public half of the key that [`sign_parts`] uses.
pub(super) fn public_jwks() -> Vec<u8> {
    let mut key = members(EC_KEY);
    key.remove("d");
    json!({ "keys": [key] }).to_string().into_bytes()
}

/// Signs a header and a payload, whatever they are, as a compact JWS.
pub(super) struct SampleSigner(Box<dyn JwsSigner>);

impl SampleSigner {
    pub(super) fn new() -> Self {
        let key = Jwk::from_map(members(EC_KEY)).unwrap();
        Self(Box::new(ES256.signer_from_jwk(&key).unwrap()))
    }

    /// The input is `header line break payload`; without a line break it is the whole token.
    pub(super) fn token(&self, data: &[u8]) -> Option<String> {
        let Some(end) = data.iter().position(|byte| *byte == b'\n') else {
            return String::from_utf8(data.to_vec()).ok();
        };
        let part = |bytes: &[u8]| digest::base64url(bytes);
        let signed = format!("{}.{}", part(&data[..end]), part(&data[end + 1..]));
        let signature = self.0.sign(signed.as_bytes()).unwrap();
        Some(format!("{signed}.{}", part(&signature)))
    }
}

/// Returns the keys that the JWEs of the seeds are for.
pub(super) fn upstream_keys() -> RelyingPartyKeys {
    let start = Timestamp::from_seconds(NOW.seconds() - 86_400);
    let decryption =
        [EC_KEY, RSA_KEY].map(|key| DecryptionKey::parse(&private_key(key), start).unwrap());
    let signing =
        [EC_KEY, RSA_KEY].map(|key| SigningKey::parse(&private_key(key), start, start).unwrap());
    RelyingPartyKeys::new(decryption.into(), Keyring::new(signing.into(), NOW).unwrap()).unwrap()
}

/// Encrypts any content to the RSA key.
pub(super) struct SampleEncrypter(Box<dyn josekit::jwe::JweEncrypter>);

impl SampleEncrypter {
    pub(super) fn new() -> Self {
        let mut public = members(RSA_KEY);
        public.retain(|name, _| ["kty", "n", "e"].contains(&name.as_str()));
        let key = Jwk::from_map(public).unwrap();
        Self(Box::new(RSA_OAEP_256.encrypter_from_jwk(&key).unwrap()))
    }

    pub(super) fn encrypt(&self, content: &[u8]) -> String {
        let mut header = JweHeader::new();
        header.set_content_encryption("A256GCM");
        header.set_content_type("JWT");
        josekit::jwe::serialize_compact(content, &header, &*self.0).unwrap()
    }
}
