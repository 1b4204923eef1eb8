//! Puts disclosures in the place of their digests (RFC 9901 §7.1).
//!
//! Responsible for the form of disclosures and digests. Independent of which claims exist or who
//! asked for them. docs/design/adr/0025-verification-of-wallet-credentials.md says why no library
//! does it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::claims_path::PathComponent;
use crate::credential::DisclosedClaims;
use crate::presentation_error::PresentationError;
use passerelle_protocol::digest;
use passerelle_protocol::json::parse_array;

/// Deepest accepted nesting over all disclosures. Each is bounded when it is parsed, and their
/// chain is here.
const MAX_DEPTH: usize = 16;
/// Name of the member that has the digests of an object's members.
const DIGESTS: &str = "_sd";
/// Name of the only member of an array element that stands for a digest.
const ELEMENT_DIGEST: &str = "...";

struct Disclosure {
    /// `None` for an array element.
    name: Option<String>,
    value: Value,
}

/// Replaces digests by disclosures, and removes the others.
pub(super) fn disclose(
    mut payload: Map<String, Value>,
    disclosures: &[&str],
) -> Result<DisclosedClaims, PresentationError> {
    // RFC 9901 §4.1.1: without it, SHA-256.
    if payload.remove("_sd_alg").is_some_and(|alg| alg != "sha-256") {
        return Err(PresentationError::DigestAlgorithm);
    }
    let mut discloser = Discloser::new(disclosures)?;
    let claims = discloser.object(payload, &mut Vec::new())?;
    // Stops a holder who adds claims that the issuer never signed.
    if !discloser.unused.is_empty() {
        return Err(PresentationError::UnreferencedDisclosure);
    }
    Ok(DisclosedClaims { claims, paths: discloser.paths })
}

struct Discloser {
    /// Disclosures by digest.
    unused: BTreeMap<String, Disclosure>,
    seen_digests: BTreeSet<String>,
    paths: Vec<Vec<PathComponent>>,
}

impl Discloser {
    fn new(disclosures: &[&str]) -> Result<Self, PresentationError> {
        let mut unused = BTreeMap::new();
        for encoded in disclosures {
            let disclosure = parse_disclosure(encoded)?;
            if unused.insert(digest::sha256_base64url(encoded), disclosure).is_some() {
                return Err(PresentationError::RepeatedDisclosure);
            }
        }
        Ok(Self { unused, seen_digests: BTreeSet::new(), paths: Vec::new() })
    }

    fn value(
        &mut self,
        value: Value,
        path: &mut Vec<PathComponent>,
    ) -> Result<Value, PresentationError> {
        if path.len() > MAX_DEPTH {
            return Err(PresentationError::NestedTooDeep);
        }
        match value {
            Value::Object(members) => Ok(Value::Object(self.object(members, path)?)),
            Value::Array(elements) => Ok(Value::Array(self.array(elements, path)?)),
            other => Ok(other),
        }
    }

    fn object(
        &mut self,
        mut members: Map<String, Value>,
        path: &mut Vec<PathComponent>,
    ) -> Result<Map<String, Value>, PresentationError> {
        let digests = match members.remove(DIGESTS) {
            None => Vec::new(),
            Some(Value::Array(digests)) => digests,
            Some(_) => return Err(PresentationError::MalformedDigest),
        };
        if members.contains_key(ELEMENT_DIGEST) {
            return Err(PresentationError::MalformedDigest);
        }
        let mut disclosed = Vec::new();
        for digest in digests {
            let Some(disclosure) = self.take(digest)? else { continue };
            let name = disclosure.name.ok_or(PresentationError::MalformedDigest)?;
            // Stops a disclosure that replaces what the issuer shows to all.
            let is_repeated =
                members.contains_key(&name) || disclosed.iter().any(|(other, _)| *other == name);
            if is_repeated {
                return Err(PresentationError::RepeatedClaim);
            }
            path.push(PathComponent::Key(name.clone()));
            self.paths.push(path.clone());
            path.pop();
            disclosed.push((name, disclosure.value));
        }
        let mut claims = Map::new();
        for (name, value) in members.into_iter().chain(disclosed) {
            path.push(PathComponent::Key(name.clone()));
            claims.insert(name, self.value(value, path)?);
            path.pop();
        }
        Ok(claims)
    }

    fn array(
        &mut self,
        elements: Vec<Value>,
        path: &mut Vec<PathComponent>,
    ) -> Result<Vec<Value>, PresentationError> {
        let mut claims = Vec::new();
        for element in elements {
            path.push(PathComponent::Index(claims.len()));
            let value = match element {
                Value::Object(mut members) if members.contains_key(ELEMENT_DIGEST) => {
                    let digest = members.remove(ELEMENT_DIGEST).unwrap_or_default();
                    let disclosure = self.take(digest)?;
                    let is_named = disclosure.as_ref().is_some_and(|found| found.name.is_some());
                    if !members.is_empty() || is_named {
                        return Err(PresentationError::MalformedDigest);
                    }
                    if disclosure.is_some() {
                        self.paths.push(path.clone());
                    }
                    disclosure.map(|disclosure| disclosure.value)
                }
                plain => Some(plain),
            };
            if let Some(value) = value {
                claims.push(self.value(value, path)?);
            }
            path.pop();
        }
        Ok(claims)
    }

    /// Returns the disclosure of a digest; `None` if the holder keeps it, or it is a decoy.
    fn take(&mut self, digest: Value) -> Result<Option<Disclosure>, PresentationError> {
        let Value::String(digest) = digest else {
            return Err(PresentationError::MalformedDigest);
        };
        let disclosure = self.unused.remove(&digest);
        if self.seen_digests.insert(digest) {
            Ok(disclosure)
        } else {
            Err(PresentationError::RepeatedDigest)
        }
    }
}

/// Parses `[salt, name, value]` or `[salt, value]` (RFC 9901 §4.2).
fn parse_disclosure(encoded: &str) -> Result<Disclosure, PresentationError> {
    let malformed = PresentationError::MalformedDisclosure;
    let bytes = digest::from_base64url(encoded).ok_or(malformed)?;
    let mut parts = parse_array(&bytes).map_err(|_| malformed)?.into_iter();
    let parts = (parts.next(), parts.next(), parts.next(), parts.next());
    match parts {
        (Some(Value::String(_)), Some(value), None, None) => Ok(Disclosure { name: None, value }),
        (Some(Value::String(_)), Some(Value::String(name)), Some(value), None) => {
            if name == DIGESTS || name == ELEMENT_DIGEST {
                return Err(PresentationError::ReservedClaimName);
            }
            Ok(Disclosure { name: Some(name), value })
        }
        _ => Err(malformed),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn any_disclosure_is_read_or_refused(text in "[A-Za-z0-9_-]{0,100}", json in ".{0,60}") {
            let _read = parse_disclosure(&text);
            let _read = parse_disclosure(&digest::base64url(json.as_bytes()));
        }
    }

    /// RFC 9901 §4.2.1 and §4.2.4.
    #[test]
    fn the_digests_of_the_standards_disclosures_are_right() {
        for (disclosure, expected) in [
            (
                "WyI2cU1RdlJMNWhhaiIsICJmYW1pbHlfbmFtZSIsICJNw7ZiaXVzIl0",
                "uutlBuYeMDyjLLTpf6Jxi7yNkEF35jdyWMn9U7b_RYY",
            ),
            (
                "WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIkZSIl0",
                "w0I8EKcdCtUPkGCNUrfwVp2xEgNjtoIDlOxc9-PlOhs",
            ),
        ] {
            assert!(parse_disclosure(disclosure).is_ok());
            assert_eq!(digest::sha256_base64url(disclosure), expected);
        }
        let payload = json!({ "nationalities": [{ "...": "w0I8EKcdCtUPkGCNUrfwVp2xEgNjtoIDlOxc9-PlOhs" }, "DE"] });
        let payload = payload.as_object().unwrap().clone();
        let disclosed =
            disclose(payload, &["WyJsa2x4RjVqTVlsR1RQVW92TU5JdkNBIiwgIkZSIl0"]).unwrap();
        assert_eq!(disclosed.claims["nationalities"], json!(["FR", "DE"]));
    }
}
