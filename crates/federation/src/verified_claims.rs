//! Verified claims (OpenID Connect for Identity Assurance 1.0): which claims of a user were
//! verified, how, and what of this a request may receive.
//!
//! Nothing is asserted that the hub does not know: by default only what the register confirmed. A
//! request that demands more than is known gets no `verified_claims` instead of weaker ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Federation;
use crate::identity::{Claim, ClaimName, IdentitySource};
use crate::login::IdentifiedUser;
use crate::validity::format_rfc3339;
use passerelle_protocol::authorize::{VERIFIED_CLAIMS, VerifiedClaimsRequest};
use passerelle_protocol::discovery::VerifiedClaimsSupport;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;

/// Claims that the register confirms. The others come from the identity provider.
const REGISTER_CLAIMS: [Claim; 7] = [
    Claim::GivenName,
    Claim::GivenNameArray,
    Claim::FamilyName,
    Claim::Birthdate,
    Claim::Gender,
    Claim::Birthplace,
    Claim::Birthcountry,
];

/// Members of a request for an element that are no part of the element.
const QUALIFIERS: [&str; 2] = ["essential", "purpose"];
/// Members that restrict an element.
const CONSTRAINTS: [&str; 3] = ["value", "values", "max_age"];
/// Members that the schema requires of their element, requested or not.
const REQUIRED: [&str; 2] = ["trust_framework", "type"];

/// Verified claims for service providers with `rules = "openid"` (docs/integrate/scopes-and-claims.md).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifiedClaimsRules {
    /// The trust framework that the identities comply with, as your federation names it.
    #[schemars(example = &"eidas")]
    pub trust_framework: String,
    /// Assurance level, in the words of the trust framework, that each login of this platform
    /// reaches. Default: none is asserted.
    #[serde(default)]
    pub assurance_level: Option<String>,
    /// Type of the electronic record that the register is, in the words of the trust framework.
    #[serde(default = "default_electronic_record")]
    pub electronic_record: String,
    /// Claims that a connector's identity provider has verified under the trust framework, for
    /// identities that no register confirms. Default: none.
    #[serde(default)]
    pub connectors: BTreeMap<ConnectorId, BTreeSet<Claim>>,
}

fn default_electronic_record() -> String {
    "population_register".to_owned()
}

impl VerifiedClaimsRules {
    /// Returns what discovery says of these rules; `None` if no claim of `grantable` can be verified.
    pub fn support(
        &self,
        source: IdentitySource,
        grantable: &BTreeSet<ClaimName>,
    ) -> Option<VerifiedClaimsSupport> {
        let has_register = source == IdentitySource::Register;
        let verified: BTreeSet<Claim> = if has_register {
            REGISTER_CLAIMS.into()
        } else {
            self.connectors.values().flatten().copied().collect()
        };
        let claims: Vec<&'static str> = verified
            .into_iter()
            .filter(|claim| grantable.contains(&ClaimName::from(*claim)))
            .map(Claim::as_str)
            .collect();
        (!claims.is_empty()).then(|| VerifiedClaimsSupport {
            trust_framework: self.trust_framework.clone(),
            claims,
            electronic_record: has_register.then(|| self.electronic_record.clone()),
        })
    }

    /// Returns what is known of a user's verification, and the claims that it covers.
    fn known_verification(&self, user: &IdentifiedUser) -> (Value, BTreeSet<Claim>) {
        let mut known = Map::new();
        known.insert("trust_framework".into(), self.trust_framework.clone().into());
        if let Some(level) = &self.assurance_level {
            known.insert("assurance_level".into(), level.clone().into());
        }
        let Some(confirmed_at) = user.confirmed_at else {
            let claims = self.connectors.get(&user.authentication.connector);
            return (known.into(), claims.cloned().unwrap_or_default());
        };
        known.insert("time".into(), format_rfc3339(confirmed_at).into());
        let record =
            json!({ "type": "electronic_record", "record": { "type": self.electronic_record } });
        known.insert("evidence".into(), json!([record]));
        (known.into(), REGISTER_CLAIMS.into())
    }
}

/// Returns the names of the claims that a response with these claims asserts as verified.
pub fn verified_claim_names(claims: &Map<String, Value>) -> BTreeSet<String> {
    let verified = claims.get(VERIFIED_CLAIMS);
    let elements = verified.map_or(&[][..], |value| {
        value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
    });
    let claims = elements.iter().filter_map(|element| element.get("claims")?.as_object());
    claims.flat_map(Map::keys).cloned().collect()
}

impl Federation {
    /// Returns the value of `verified_claims`: an object, or an array if several requests can be
    /// fulfilled. `None` if there is none. `permitted` are the claims that the service provider may
    /// receive as verified claims.
    pub fn verified_claims(
        &self,
        requests: &[VerifiedClaimsRequest],
        user: &IdentifiedUser,
        permitted: &BTreeSet<ClaimName>,
        now: Timestamp,
    ) -> Option<Value> {
        let rules = self.verified_claims.as_deref().filter(|_| !requests.is_empty())?;
        let (known, covered) = rules.known_verification(user);
        let age = user.confirmed_at.map(|at| now.since(at));
        let permitted = |name: &str| {
            let name = ClaimName::from_name(name);
            permitted.contains(&name) && covered.iter().any(|claim| name == *claim)
        };
        let fulfil = |request: &VerifiedClaimsRequest| {
            let verification = select_members(&request.verification, &known, age).ok()?;
            let requested = request.claims.iter().flatten().filter(|(name, _)| permitted(name));
            let claims: Map<String, Value> = requested
                .filter_map(|(name, wanted)| {
                    let value = user.claims.get(name);
                    Some((name.clone(), select(wanted, value, None).ok()??))
                })
                .collect();
            (!claims.is_empty()).then(|| json!({ "verification": verification, "claims": claims }))
        };
        let mut fulfilled: Vec<Value> = requests.iter().filter_map(fulfil).collect();
        if fulfilled.len() > 1 { Some(fulfilled.into()) } else { fulfilled.pop() }
    }
}

/// The available data does not meet a constraint of the request.
struct Unfulfilled;

/// Returns what a request selects of the available data (Identity Assurance §5.4 and §5.5); `None` if
/// that is nothing. `age` is that of the verification.
fn select(
    wanted: &Value,
    available: Option<&Value>,
    age: Option<Duration>,
) -> Result<Option<Value>, Unfulfilled> {
    match (wanted, available) {
        (Value::Null, available) => Ok(available.cloned()),
        (wanted, None) if is_constrained(wanted) => Err(Unfulfilled),
        (_, None) => Ok(None),
        // Each entry is a filter; one of them must match.
        (Value::Array(filters), Some(Value::Array(items))) => {
            let matching =
                |item| filters.iter().find_map(|filter| select(filter, Some(item), age).ok()?);
            let selected: Vec<Value> = items.iter().filter_map(matching).collect();
            if selected.is_empty() { Err(Unfulfilled) } else { Ok(Some(selected.into())) }
        }
        (Value::Object(wanted), Some(available)) => {
            if !meets_constraints(wanted, available, age) {
                return Err(Unfulfilled);
            }
            // A text has no parts: a member that is not understood is ignored (Core §5.5.1).
            let has_parts = available.is_object() || available.is_array();
            if !has_parts || !wanted.keys().any(|name| is_part(name)) {
                return Ok(Some(available.clone()));
            }
            let selected = select_members(wanted, available, age)?;
            Ok((!selected.is_empty()).then(|| selected.into()))
        }
        _ => Err(Unfulfilled),
    }
}

/// Selects members of an object, and those that the schema requires.
fn select_members(
    wanted: &Map<String, Value>,
    available: &Value,
    age: Option<Duration>,
) -> Result<Map<String, Value>, Unfulfilled> {
    let required = REQUIRED.iter().filter_map(|name| Some((*name, available.get(name)?)));
    let mut selected: Map<String, Value> =
        required.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    for (name, wanted) in wanted.iter().filter(|(name, _)| is_part(name)) {
        if let Some(value) = select(wanted, available.get(name), age)? {
            selected.insert(name.clone(), value);
        }
    }
    Ok(selected)
}

/// Returns true if a member of a request names a part of the element.
fn is_part(name: &str) -> bool {
    !CONSTRAINTS.contains(&name) && !QUALIFIERS.contains(&name)
}

/// Returns true if a value meets `value`, `values` and `max_age` of its request.
fn meets_constraints(wanted: &Map<String, Value>, value: &Value, age: Option<Duration>) -> bool {
    let is_recent = |max_age: &Value| {
        let max_age = max_age.as_u64().map(Duration::from_secs);
        age.zip(max_age).is_some_and(|(age, max_age)| age <= max_age)
    };
    let is_listed = |values: &Value| values.as_array().is_some_and(|values| values.contains(value));
    wanted.get("value").is_none_or(|wanted| wanted == value)
        && wanted.get("values").is_none_or(is_listed)
        && wanted.get("max_age").is_none_or(is_recent)
}

/// Returns true if a request restricts its element, or a part of it.
fn is_constrained(wanted: &Value) -> bool {
    match wanted {
        Value::Object(members) => members.iter().any(|(name, wanted)| {
            CONSTRAINTS.contains(&name.as_str())
                || (!QUALIFIERS.contains(&name.as_str()) && is_constrained(wanted))
        }),
        Value::Array(filters) => filters.iter().any(is_constrained),
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests;
