//! Public keys that verify signatures, and which keys of a set are accepted (RFC 7517 §5).

use std::collections::{BTreeMap, BTreeSet};

use josekit::JoseError;
use josekit::jwk::Jwk;
use josekit::jws::{ES256, EdDSA, JwsVerifier, PS256, RS256};
use serde_json::{Map, Value};

use super::{JwsError, MAX_KEYS_PER_SET, MAX_USABLE_KEYS_PER_SET, is_sound_rsa};
use passerelle_protocol::alg::{SigningAlg, VerificationAlg};
use passerelle_protocol::digest;
use passerelle_protocol::json::{self, ObjectWithoutRepeated};

/// Members that only a private or symmetric JWK has (RFC 7518 §6.2.2, §6.3.2, §6.4.1).
pub const PRIVATE_JWK_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
/// Members that decide whether and how a key is used (RFC 7517 §4, RFC 7518 §6).
const USED_JWK_MEMBERS: [&str; 10] =
    ["kty", "crv", "x", "y", "n", "e", "use", "key_ops", "alg", "kid"];

/// Public keys of one issuer, parsed once: parsing an EC key costs about a third of a verification.
#[derive(Default)]
pub struct VerificationKeys {
    keys: Vec<VerificationKey>,
    skipped: BTreeMap<UnusableKey, usize>,
    dropped_members: BTreeSet<String>,
}

/// Why a key of a set can't verify signatures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, derive_more::Display)]
pub enum UnusableKey {
    #[display("with published private or symmetric members, which anyone can sign with")]
    Secret,
    #[display("for another use than signatures")]
    OtherUse,
    #[display("of another type, curve or algorithm")]
    OtherAlgorithm,
    #[display(
        "RSA under 2048 or over 4096 bits, or with an exponent that is even, 1 or over 65537"
    )]
    UnsoundRsa,
    #[display("with key material that is not base64url without padding (RFC 7515 §2)")]
    Encoding,
    #[display("malformed")]
    Malformed,
    #[display("with a repeated member, of which no value counts")]
    RepeatedMember,
    #[display("repeated")]
    Duplicate,
    #[display("beyond the limit of usable keys per set")]
    OverLimit,
}

impl UnusableKey {
    /// Returns true if the issuer should correct the key; false if the key is merely for others.
    pub const fn is_fault(self) -> bool {
        match self {
            Self::Secret
            | Self::UnsoundRsa
            | Self::Encoding
            | Self::Malformed
            | Self::RepeatedMember
            | Self::OverLimit => true,
            Self::OtherUse | Self::OtherAlgorithm | Self::Duplicate => false,
        }
    }
}

struct VerificationKey {
    kid: Option<String>,
    /// An RSA key may serve two.
    verifiers: Vec<(VerificationAlg, Box<dyn JwsVerifier>)>,
}

impl VerificationKeys {
    /// Parses a JWK Set (RFC 7517 §5). Skips keys that can't verify ES256 or RS256: symmetric,
    /// private or encryption keys, other types, curves and algorithms, weak RSA keys, keys that
    /// repeat a member that decides about them, duplicates, and keys after the first
    /// [`MAX_USABLE_KEYS_PER_SET`] that can. Any other repeated member is dropped.
    ///
    /// # Errors
    /// `Malformed` if it is not a JSON object with one array `keys`.
    pub fn from_jwks(bytes: &[u8]) -> Result<Self, JwsError> {
        let set = json::parse_object_without_repeated(bytes).map_err(|_| JwsError::Malformed)?;
        let accepted = [VerificationAlg::ES256, VerificationAlg::RS256];
        Self::from_set(set, &accepted, MAX_USABLE_KEYS_PER_SET)
    }

    /// Parses the JWK Set of a client in the same way, but reads [`MAX_KEYS_PER_SET`] keys only;
    /// they may verify any [`VerificationAlg`].
    ///
    /// # Errors
    /// `Malformed` also if a member is repeated.
    pub fn from_client_jwks(bytes: &[u8]) -> Result<Self, JwsError> {
        let members = json::parse_object(bytes).map_err(|_| JwsError::Malformed)?;
        let set = ObjectWithoutRepeated { members, repeated: BTreeSet::new() };
        Self::from_set(set, &VerificationAlg::ALL, MAX_KEYS_PER_SET)
    }

    fn from_set(
        set: ObjectWithoutRepeated,
        accepted: &[VerificationAlg],
        limit: usize,
    ) -> Result<Self, JwsError> {
        let Some(Value::Array(jwks)) = set.members.get("keys") else {
            return Err(JwsError::Malformed);
        };
        let (ambiguous, dropped_members): (BTreeSet<_>, BTreeSet<_>) =
            set.repeated.into_iter().partition(|pointer| repeated_in_key(pointer).is_some());
        let ambiguous: BTreeSet<&str> =
            ambiguous.iter().filter_map(|pointer| repeated_in_key(pointer)).collect();
        let (mut keys, mut skipped, mut seen) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let mut prepare = |index: usize, jwk: &Value| {
            if ambiguous.contains(index.to_string().as_str()) {
                return Err(UnusableKey::RepeatedMember);
            }
            let candidate = CandidateKey::from_jwk(jwk, accepted)?;
            if !seen.insert((
                candidate.kid.clone(),
                Value::from(candidate.material.clone()).to_string(),
            )) {
                return Err(UnusableKey::Duplicate);
            }
            if seen.len() > limit {
                return Err(UnusableKey::OverLimit);
            }
            candidate.prepare()
        };
        for (index, jwk) in jwks.iter().enumerate() {
            match prepare(index, jwk) {
                Ok(key) => keys.push(key),
                Err(unfit) => *skipped.entry(unfit).or_default() += 1,
            }
        }
        Ok(Self { keys, skipped, dropped_members })
    }

    /// Returns JSON Pointers to the repeated members that were dropped, because no key needs them.
    pub fn dropped_members(&self) -> &BTreeSet<String> {
        &self.dropped_members
    }

    /// Returns the number of usable keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if no key is usable.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of skipped keys.
    pub fn skipped(&self) -> usize {
        self.skipped.values().sum()
    }

    /// Returns the number of skipped keys by reason.
    pub fn skipped_by_reason(&self) -> impl Iterator<Item = (UnusableKey, usize)> {
        self.skipped.iter().map(|(unfit, count)| (*unfit, *count))
    }

    /// Returns true if a key can verify this algorithm.
    pub fn verifies(&self, alg: impl Into<VerificationAlg>) -> bool {
        let alg = alg.into();
        self.keys.iter().any(|key| key.verifier(alg).is_some())
    }

    /// Spends the time of a failing verification where there is nothing to verify, so that timing
    /// does not reveal it.
    pub fn verify_dummy(&self, alg: SigningAlg) {
        // Numbers in range: OpenSSL rejects others before any arithmetic.
        let signature: &[u8] = match alg {
            SigningAlg::ES256 => &[1; 64],
            SigningAlg::RS256 => &[1; 256],
        };
        if let Some(verifier) = self.keys.iter().find_map(|key| key.verifier(alg.into())) {
            let _refused = verifier.verify(b"dummy", signature);
        }
    }

    /// Returns the verifier of the one key that fits.
    pub(super) fn select_verifier(
        &self,
        header: &Map<String, Value>,
        alg: VerificationAlg,
    ) -> Result<&dyn JwsVerifier, JwsError> {
        let kid = match header.get("kid") {
            None => None,
            Some(Value::String(kid)) => Some(kid.as_str()),
            Some(_) => return Err(JwsError::Malformed),
        };
        let named = self.keys.iter().filter(|key| kid.is_none() || key.kid.as_deref() == kid);
        let mut fitting = named.filter_map(|key| key.verifier(alg));
        match (fitting.next(), fitting.next()) {
            (Some(verifier), None) => Ok(verifier),
            (None, _) => Err(JwsError::UnknownKey),
            (Some(_), Some(_)) => Err(JwsError::AmbiguousKey),
        }
    }
}

impl VerificationKey {
    fn verifier(&self, alg: VerificationAlg) -> Option<&dyn JwsVerifier> {
        let (_, verifier) = self.verifiers.iter().find(|(own, _)| *own == alg)?;
        Some(verifier.as_ref())
    }
}

/// A key of a set that may verify signatures, before the costly part of its parsing.
struct CandidateKey {
    kid: Option<String>,
    algs: Vec<VerificationAlg>,
    /// Only the key material: given a `kid`, josekit would require it in every token.
    material: Map<String, Value>,
}

impl CandidateKey {
    fn from_jwk(jwk: &Value, accepted: &[VerificationAlg]) -> Result<Self, UnusableKey> {
        let jwk = jwk.as_object().ok_or(UnusableKey::Malformed)?;
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let part = |name: &str| text(name).ok_or(UnusableKey::Malformed);
        // A published private key proves nothing.
        if PRIVATE_JWK_MEMBERS.iter().any(|member| jwk.contains_key(*member)) {
            return Err(UnusableKey::Secret);
        }
        // `null` and empty values occur where a member is meant to be absent.
        let present = |name: &str| jwk.get(name).filter(|value| !is_blank(value));
        let for_signatures = present("use").is_none_or(|purpose| purpose == "sig");
        let operations =
            |ops: &Value| ops.as_array().is_some_and(|ops| ops.iter().any(|op| op == "verify"));
        if !for_signatures || !present("key_ops").is_none_or(operations) {
            return Err(UnusableKey::OtherUse);
        }
        // Distinguished from a key that is too short: the issuer has to do something else.
        let is_base64url = |name| text(name).is_none_or(|it| digest::from_base64url(it).is_some());
        if !["n", "e", "x", "y"].into_iter().all(is_base64url) {
            return Err(UnusableKey::Encoding);
        }
        let fitting: &[VerificationAlg] = match part("kty")? {
            "EC" if part("crv")? == "P-256" => &[VerificationAlg::ES256],
            "RSA" if is_sound_rsa(part("n")?, part("e")?) => {
                &[VerificationAlg::RS256, VerificationAlg::PS256]
            }
            "RSA" => return Err(UnusableKey::UnsoundRsa),
            "OKP" if part("crv")? == "Ed25519" => &[VerificationAlg::EdDSA],
            _ => return Err(UnusableKey::OtherAlgorithm),
        };
        let is_own = |alg: &VerificationAlg| {
            present("alg").is_none_or(|own| own.as_str().is_some_and(|own| alg.is_named(own)))
        };
        let algs: Vec<_> =
            fitting.iter().filter(|alg| accepted.contains(alg) && is_own(alg)).copied().collect();
        if algs.is_empty() {
            return Err(UnusableKey::OtherAlgorithm);
        }
        Ok(Self { kid: text("kid").map(str::to_owned), algs, material: key_material(jwk) })
    }

    fn prepare(self) -> Result<VerificationKey, UnusableKey> {
        let material = Jwk::from_map(self.material).map_err(|_| UnusableKey::Malformed)?;
        let verifiers = self.algs.into_iter().map(|alg| Ok((alg, build_verifier(alg, &material)?)));
        let verifiers = verifiers.collect::<Result<_, JoseError>>();
        let verifiers = verifiers.map_err(|_| UnusableKey::Malformed)?;
        Ok(VerificationKey { kid: self.kid, verifiers })
    }
}

/// Returns the index of the key whose used or private member a JSON Pointer names.
fn repeated_in_key(pointer: &str) -> Option<&str> {
    let (index, member) = pointer.strip_prefix("/keys/")?.split_once('/')?;
    let member = member.split('/').next()?;
    let is_used = USED_JWK_MEMBERS.contains(&member) || PRIVATE_JWK_MEMBERS.contains(&member);
    is_used.then_some(index)
}

/// Returns true for a value that stands for an absent member of a JWK.
pub fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Returns the members of a public JWK that are its key.
pub(crate) fn key_material(jwk: &Map<String, Value>) -> Map<String, Value> {
    let material = jwk
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "kty" | "crv" | "x" | "y" | "n" | "e"));
    material.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Builds the verifier of a public key.
///
/// # Errors
/// The key does not fit `alg`.
pub(crate) fn build_verifier(
    alg: VerificationAlg,
    key: &Jwk,
) -> Result<Box<dyn JwsVerifier>, JoseError> {
    Ok(match alg {
        VerificationAlg::ES256 => Box::new(ES256.verifier_from_jwk(key)?),
        VerificationAlg::RS256 => Box::new(RS256.verifier_from_jwk(key)?),
        VerificationAlg::PS256 => Box::new(PS256.verifier_from_jwk(key)?),
        VerificationAlg::EdDSA => Box::new(EdDSA.verifier_from_jwk(key)?),
    })
}
