//! The credentials that a connector accepts, as a DCQL query (OpenID4VP 1.0 §6) and as what a
//! presentation is verified against.
//!
//! Responsible for the names of claims: those of an mdoc of a PID become the names that an SD-JWT
//! VC of a PID has, so that one mapping and one subject serve both formats.

use serde_json::{Map, Value, json};

use super::claims_path::{ClaimsPathPointer, PathComponent};
use super::credential::{
    CredentialFormat, DisclosedClaims, ExpectedCredential, VerifiedCredential,
};
use super::settings::CredentialSettings;
use super::trust::IssuerCertificate;
use super::wallet_page::RequestedClaim;
use passerelle_federation::identity::mapping::ClaimPath;

/// Begins the pin of an issuer by the SHA-256 of its certificate, as base64url.
pub(super) const FINGERPRINT_PREFIX: &str = "sha256:";

/// Document type and namespace of the PID as an mdoc.
const PID_NAMESPACE: &str = "eu.europa.ec.eudi.pid.1";

/// Data elements of the PID, and their names in the SD-JWT VC (PID rulebook §3 and §4).
const PID_CLAIM_NAMES: [(&str, &str); 13] = [
    ("birth_date", "birthdate"),
    ("email_address", "email"),
    ("family_name_birth", "birth_family_name"),
    ("given_name_birth", "birth_given_name"),
    ("mobile_phone_number", "phone_number"),
    ("nationality", "nationalities"),
    ("portrait", "picture"),
    ("resident_address", "/address/formatted"),
    ("resident_city", "/address/locality"),
    ("resident_country", "/address/country"),
    ("resident_postal_code", "/address/postal_code"),
    ("resident_state", "/address/region"),
    ("resident_street", "/address/street_address"),
];

/// A credential of the connector's file.
#[derive(Clone, Debug)]
pub(crate) struct CredentialQuery {
    pub id: String,
    pub expected: ExpectedCredential,
    namespace: Option<String>,
    /// The only accepted issuers; empty for every issuer below the anchors.
    issuers: Vec<String>,
    claims: Vec<RequestedClaim>,
    /// For each claim of `expected`, whether it is retained.
    retained: Vec<bool>,
}

impl CredentialSettings {
    /// Returns true if the wallet must disclose this claim, by its name in an SD-JWT VC.
    pub(super) fn requires(&self, claim: &str) -> bool {
        self.claims.iter().any(|one| are_equal_paths(self.claim_name(one), claim))
    }

    /// Returns true if the wallet is asked for this claim, by its name in the file.
    pub(super) fn requests(&self, claim: &str) -> bool {
        let mut claims = self.claims.iter().chain(&self.optional_claims);
        claims.any(|one| are_equal_paths(one, claim))
    }

    fn namespace(&self) -> Option<&str> {
        match self.format {
            CredentialFormat::DcSdJwt => None,
            CredentialFormat::MsoMdoc => {
                self.namespace.as_deref().or_else(|| self.types.first().map(String::as_str))
            }
        }
    }

    /// Returns the name of a claim in an SD-JWT VC.
    fn claim_name<'c>(&self, written: &'c str) -> &'c str {
        if self.namespace() != Some(PID_NAMESPACE) {
            return written;
        }
        // An element has no `/` in its name, so that `/birth_date` is `birth_date`.
        pid_claim_name(written.strip_prefix('/').unwrap_or(written)).unwrap_or(written)
    }
}

/// Returns true if both texts are the same path, such as `sex` and `/sex`.
pub(super) fn are_equal_paths(left: &str, right: &str) -> bool {
    match (ClaimPath::parse(left), ClaimPath::parse(right)) {
        (Ok(left), Ok(right)) => left.steps() == right.steps(),
        _ => false,
    }
}

fn pid_claim_name(element: &str) -> Option<&'static str> {
    PID_CLAIM_NAMES.iter().find(|(name, _)| *name == element).map(|(_, claim)| *claim)
}

impl From<&CredentialSettings> for CredentialQuery {
    fn from(settings: &CredentialSettings) -> Self {
        let namespace = settings.namespace();
        let pointer = |written: &String| {
            let path = ClaimPath::parse(written).ok();
            let steps = path.as_ref().map(ClaimPath::steps).unwrap_or_default();
            ClaimsPathPointer::from_keys(
                namespace.into_iter().chain(steps.iter().map(String::as_str)),
            )
        };
        let claims = settings.claims.iter().chain(&settings.optional_claims);
        let required = settings.claims.len();
        let claim_sets = if settings.optional_claims.is_empty() {
            Vec::new()
        } else {
            let all = required + settings.optional_claims.len();
            vec![(0..all).collect(), (0..required).collect()]
        };
        let is_retained = |written: &String| {
            settings.retained_claims.iter().any(|retained| are_equal_paths(retained, written))
        };
        let requested = |(index, written): (usize, &String)| RequestedClaim {
            name: settings.claim_name(written).to_owned(),
            is_optional: index >= required,
        };
        Self {
            id: settings.id.clone(),
            namespace: namespace.map(str::to_owned),
            issuers: settings.issuers.clone(),
            claims: claims.clone().enumerate().map(requested).collect(),
            retained: claims.clone().map(is_retained).collect(),
            expected: ExpectedCredential {
                format: settings.format,
                types: settings.types.clone(),
                claims: claims.map(pointer).collect(),
                claim_sets,
            },
        }
    }
}

impl CredentialQuery {
    /// Returns the requested claims, by their names in an SD-JWT VC.
    pub(crate) fn claims(&self) -> &[RequestedClaim] {
        &self.claims
    }

    /// Returns true if the operator accepts this issuer.
    pub(crate) fn accepts_issuer(&self, issuer: &IssuerCertificate) -> bool {
        let is_pinned = |pin: &String| match pin.strip_prefix(FINGERPRINT_PREFIX) {
            Some(fingerprint) => fingerprint == issuer.fingerprint,
            None => *pin == issuer.subject,
        };
        self.issuers.is_empty() || self.issuers.iter().any(is_pinned)
    }

    /// Returns the name of a claim as the connector's file has it.
    fn written_name(&self, path: &[PathComponent]) -> String {
        let path = match (path, &self.namespace) {
            ([PathComponent::Key(first), rest @ ..], Some(namespace)) if first == namespace => rest,
            _ => path,
        };
        let step = |component: &PathComponent| match component {
            // A name comes from the wallet: it is short, and does not end the line of the log.
            PathComponent::Key(key) => {
                key.chars().take(64).map(|c| if c.is_control() { '?' } else { c }).collect()
            }
            PathComponent::Index(_) | PathComponent::AllElements => "*".to_owned(),
        };
        match path {
            [only] => step(only),
            steps => steps.iter().map(|component| format!("/{}", step(component))).collect(),
        }
    }

    /// Returns the names of the required claims that a presentation lacks.
    pub(crate) fn missing_claims(&self, disclosed: &DisclosedClaims) -> Vec<String> {
        let required = self.claims.iter().map(|claim| !claim.is_optional);
        let claims = self.expected.claims.iter().zip(required).filter(|(_, required)| *required);
        let missing = claims.filter(|(pointer, _)| !pointer.is_in(&disclosed.claims));
        missing.map(|(pointer, _)| self.written_name(&pointer.0)).collect()
    }

    /// Returns the names of the disclosed claims that were not requested.
    pub(crate) fn unrequested_claims(&self, disclosed: &DisclosedClaims) -> Vec<String> {
        let unrequested = self.expected.unrequested_paths(&disclosed.paths);
        unrequested.map(|path| self.written_name(path)).collect()
    }

    /// Returns the claims of a verified credential, by their names in an SD-JWT VC.
    pub(crate) fn normalize_claims(&self, credential: VerifiedCredential) -> Map<String, Value> {
        let Some(namespace) = &self.namespace else { return credential.claims };
        let mut namespaces = credential.claims;
        let Some(Value::Object(elements)) = namespaces.remove(namespace) else {
            return Map::new();
        };
        if namespace != PID_NAMESPACE {
            return elements;
        }
        // An element of the PID replaces another one that has its name, the address as a whole:
        // claims that belong together come from one source.
        let (mut claims, mut pid, mut address) = (Map::new(), Map::new(), Map::new());
        for (element, value) in elements {
            match pid_claim_name(&element).map(|name| (name, name.strip_prefix("/address/"))) {
                Some((_, Some(part))) => address.insert(part.to_owned(), value),
                Some((name, None)) => pid.insert(name.to_owned(), value),
                None => claims.insert(element, value),
            };
        }
        claims.extend(pid);
        if !address.is_empty() {
            claims.insert("address".to_owned(), Value::Object(address));
        }
        claims
    }

    /// Returns the query as DCQL. `authorities` are key identifiers for `trusted_authorities`.
    fn to_dcql(&self, authorities: Vec<String>) -> Value {
        let expected = &self.expected;
        let claim = |(index, path): (usize, &ClaimsPathPointer)| match expected.format {
            CredentialFormat::DcSdJwt => json!({ "id": claim_id(index), "path": path }),
            CredentialFormat::MsoMdoc => {
                let is_retained = self.retained.get(index).copied().unwrap_or_default();
                json!({ "id": claim_id(index), "path": path, "intent_to_retain": is_retained })
            }
        };
        let claims: Vec<_> = expected.claims.iter().enumerate().map(claim).collect();
        let meta = match expected.format {
            CredentialFormat::DcSdJwt => json!({ "vct_values": expected.types }),
            CredentialFormat::MsoMdoc => json!({ "doctype_value": expected.types.first() }),
        };
        let mut query = json!({
            "id": self.id, "format": expected.format, "meta": meta, "claims": claims,
        });
        if !expected.claim_sets.is_empty() {
            let set = |set: &Vec<usize>| set.iter().map(|index| claim_id(*index)).collect();
            let sets: Vec<Vec<String>> = expected.claim_sets.iter().map(set).collect();
            insert(&mut query, "claim_sets", json!(sets));
        }
        if !authorities.is_empty() {
            let authorities = json!([{ "type": "aki", "values": authorities }]);
            insert(&mut query, "trusted_authorities", authorities);
        }
        query
    }
}

/// Returns the DCQL query for one of these credentials. `authorities` returns the key identifiers of
/// a credential's authorities, by its `id`; none if the wallet is not to know them.
pub(crate) fn dcql_query(
    queries: &[CredentialQuery],
    authorities: impl Fn(&str) -> Vec<String>,
) -> Value {
    let to_dcql = |query: &CredentialQuery| query.to_dcql(authorities(&query.id));
    let credentials: Vec<_> = queries.iter().map(to_dcql).collect();
    let mut dcql = json!({ "credentials": credentials });
    if queries.len() > 1 {
        let options: Vec<_> = queries.iter().map(|query| [&query.id]).collect();
        insert(&mut dcql, "credential_sets", json!([{ "options": options }]));
    }
    dcql
}

fn claim_id(index: usize) -> String {
    format!("c{index}")
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests;
