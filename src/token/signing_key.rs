//! A signing key: what a usable key is, its `kid`, and its public half.

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner, JwsVerifier, RS256};
use serde_json::{Map, Value, json};

use crate::digest;
use crate::env::Timestamp;
use crate::ids::Secret;
use crate::protocol::alg::SigningAlg;

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
}

/// A parsed signing key.
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
    signer: Box<dyn JwsSigner>,
}

impl SigningKey {
    /// Parses a private JWK, and checks with one signature that its halves belong together.
    ///
    /// # Errors
    /// Any [`KeyError`] but `Generation`.
    pub fn parse(
        private: &PrivateJwk,
        created: Timestamp,
        signs_from: Timestamp,
    ) -> Result<Self, KeyError> {
        let (alg, half, kid) = identified_public_half(private)?;
        let signer = build_signer(alg, private.reveal())?;
        check_key_pair(alg, signer.as_ref(), &half)?;
        let public = published_jwk(half, &kid, "sig", alg.as_str());
        let jwt_header = encoded_header(alg, "JWT", &kid);
        Ok(Self { alg, kid, created, signs_from, public, jwt_header, signer })
    }

    /// Returns the public JWK, with `kid`, `use` and `alg`.
    #[must_use]
    pub fn public_jwk(&self) -> &str {
        &self.public
    }

    /// Returns the base64url of the JOSE header of a token with this `typ`.
    #[must_use]
    pub fn header(&self, typ: &str) -> std::borrow::Cow<'_, str> {
        if typ == "JWT" {
            (&self.jwt_header).into()
        } else {
            encoded_header(self.alg, typ, &self.kid).into()
        }
    }

    /// Returns the raw JWS signature over `signing_input` (RFC 7515 §5.1); `None` if OpenSSL fails.
    #[must_use]
    pub fn sign(&self, signing_input: &[u8]) -> Option<Vec<u8>> {
        self.signer.sign(signing_input).ok()
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningKey({} {})", self.alg.as_str(), self.kid)
    }
}

/// Generates a private key with OpenSSL's randomness. EC takes less than a millisecond, RSA up to
/// two seconds.
///
/// # Errors
/// `Generation`.
pub fn generate(alg: SigningAlg) -> Result<PrivateJwk, KeyError> {
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

/// Returns the public half of a private JWK, and its thumbprint.
///
/// # Errors
/// `UnsupportedType`, `Unusable`; `KidMismatch` if the JWK has a `kid` that is not the thumbprint.
pub(super) fn identified_public_half(
    private: &PrivateJwk,
) -> Result<(SigningAlg, Map<String, Value>, String), KeyError> {
    let (alg, public) = public_half(private.reveal())?;
    let kid = thumbprint(&public);
    match private.reveal().get("kid") {
        Some(named) if named.as_str() != Some(&kid) => Err(KeyError::KidMismatch),
        _ => Ok((alg, public, kid)),
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
pub(super) fn thumbprint(public: &Map<String, Value>) -> String {
    let sorted: std::collections::BTreeMap<_, _> = public.iter().collect();
    let canonical = json!(sorted).to_string();
    digest::fingerprint(&canonical)
}

/// Returns what signs with a private JWK.
///
/// # Errors
/// `Unusable`.
pub(super) fn build_signer(
    alg: SigningAlg,
    members: &Map<String, Value>,
) -> Result<Box<dyn JwsSigner>, KeyError> {
    let jwk = Jwk::from_map(members.clone()).map_err(|_| KeyError::Unusable)?;
    match alg {
        SigningAlg::ES256 => {
            ES256.signer_from_jwk(&jwk).map(|signer| Box::new(signer) as Box<dyn JwsSigner>)
        }
        SigningAlg::RS256 => {
            RS256.signer_from_jwk(&jwk).map(|signer| Box::new(signer) as Box<dyn JwsSigner>)
        }
    }
    .map_err(|_| KeyError::Unusable)
}

/// Checks that the public half verifies what the private half signs: a mismatch would fail every
/// login.
fn check_key_pair(
    alg: SigningAlg,
    signer: &dyn JwsSigner,
    public: &Map<String, Value>,
) -> Result<(), KeyError> {
    let jwk = Jwk::from_map(public.clone()).map_err(|_| KeyError::Unusable)?;
    let verifier: Box<dyn JwsVerifier> = match alg {
        SigningAlg::ES256 => {
            Box::new(ES256.verifier_from_jwk(&jwk).map_err(|_| KeyError::Unusable)?)
        }
        SigningAlg::RS256 => {
            Box::new(RS256.verifier_from_jwk(&jwk).map_err(|_| KeyError::Unusable)?)
        }
    };
    let probe = b"passerelle";
    let signature = signer.sign(probe).map_err(|_| KeyError::Unusable)?;
    verifier.verify(probe, &signature).map_err(|_| KeyError::KeyPairMismatch)
}

fn encoded_header(alg: SigningAlg, typ: &str, kid: &str) -> String {
    // R030: alg, typ, kid.
    digest::base64url(json!({ "alg": alg.as_str(), "typ": typ, "kid": kid }).to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(jwk: &PrivateJwk) -> Result<SigningKey, KeyError> {
        SigningKey::parse(jwk, Timestamp::default(), Timestamp::default())
    }

    fn with(jwk: &PrivateJwk, name: &str, value: Value) -> PrivateJwk {
        let mut members = jwk.reveal().clone();
        members.insert(name.into(), value);
        Secret::new(members)
    }

    #[test]
    fn kid_is_the_thumbprint_of_rfc_7638_3_1() {
        let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
        let public =
            json!({ "kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29" });
        let (_, public) = public_half(public.as_object().unwrap()).unwrap();
        assert_eq!(thumbprint(&public), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    #[test]
    fn the_public_half_holds_nothing_private() {
        for (alg, names) in [
            (SigningAlg::ES256, ["alg", "crv", "kid", "kty", "use", "x", "y"].as_slice()),
            (SigningAlg::RS256, ["alg", "e", "kid", "kty", "n", "use"].as_slice()),
        ] {
            let key = parse(&generate(alg).unwrap()).unwrap();
            let public: Map<String, Value> = serde_json::from_str(key.public_jwk()).unwrap();
            let mut found: Vec<_> = public.keys().map(String::as_str).collect();
            found.sort_unstable();
            assert_eq!(found, names);
            assert!(!format!("{key:?}").contains("\"d\""));
        }
    }

    #[test]
    fn new_rsa_keys_have_3072_bits_and_those_of_2048_still_work() {
        let bits = |jwk: &PrivateJwk| {
            let (_, public) = public_half(jwk.reveal()).unwrap();
            8 * digest::from_base64url(public["n"].as_str().unwrap()).unwrap().len()
        };
        let (new, former) =
            (generate(SigningAlg::RS256).unwrap(), generate_ephemeral(SigningAlg::RS256).unwrap());
        assert_eq!((bits(&new), bits(&former)), (3072, 2048));
        assert!(parse(&new).is_ok() && parse(&former).is_ok());
    }

    #[test]
    fn damaged_keys_are_refused_by_what_is_wrong_with_them() {
        let ec = generate(SigningAlg::ES256).unwrap();
        let other = generate(SigningAlg::ES256).unwrap();
        let mut swapped = with(&ec, "x", other.reveal()["x"].clone());
        swapped = with(&swapped, "y", other.reveal()["y"].clone());
        let small = Secret::new(Jwk::generate_rsa_key(1024).unwrap().into());
        for (jwk, error) in [
            (swapped, KeyError::KeyPairMismatch),
            (with(&ec, "kid", "mine".into()), KeyError::KidMismatch),
            (with(&ec, "kid", 7.into()), KeyError::KidMismatch),
            (with(&ec, "crv", "P-384".into()), KeyError::UnsupportedType),
            (with(&ec, "kty", "oct".into()), KeyError::UnsupportedType),
            (with(&ec, "use", "enc".into()), KeyError::Unusable),
            (with(&ec, "alg", "ES384".into()), KeyError::Unusable),
            (with(&ec, "d", Value::Null), KeyError::Unusable),
            (with(&ec, "y", Value::Null), KeyError::Unusable),
            (small, KeyError::Unusable),
        ] {
            assert_eq!(parse(&jwk).map(|_| ()).unwrap_err(), error);
        }
    }
}
