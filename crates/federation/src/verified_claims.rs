//! Verified claims (OpenID Connect for Identity Assurance 1.0): which claims of a user were
//! verified, how, and what of this a request may receive.
//!
//! Nothing is asserted that the hub does not know: by default only what the register confirmed, and
//! of an identity provider what the operator lists, with the records that the hub verified. A
//! request that demands more than is known gets no `verified_claims` instead of weaker ones.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Federation;
use crate::identity::{Claim, ClaimName, IdentitySource};
use crate::login::IdentifiedUser;
use crate::login::upstream::{Authentication, ElectronicRecord};
use crate::validity::{format_rfc3339, parse_rfc3339};
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
const REQUIRED: [&str; 3] = ["trust_framework", "type", "check_method"];

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
    /// Returns what is known of a user's verification, and the claims that it covers.
    fn known_verification(&self, user: &IdentifiedUser) -> (Value, BTreeSet<Claim>) {
        let mut known = Map::new();
        known.insert("trust_framework".into(), self.trust_framework.clone().into());
        if let Some(level) = &self.assurance_level {
            known.insert("assurance_level".into(), level.clone().into());
        }
        let (time, evidence, claims) = if let Some(confirmed_at) = user.confirmed_at {
            let record = json!({ "type": self.electronic_record });
            let evidence = json!({ "type": "electronic_record", "record": record });
            (Some(confirmed_at), vec![evidence], REGISTER_CLAIMS.into())
        } else {
            let Authentication { connector, electronic_records, .. } = &user.authentication;
            let claims = self.connectors.get(connector).cloned().unwrap_or_default();
            // The verification is not newer than any of its checks.
            let time = electronic_records.iter().map(|record| record.verified_at).min();
            (time, electronic_records.iter().map(ElectronicRecord::to_evidence).collect(), claims)
        };
        known.extend(time.map(|time| ("time".to_owned(), format_seconds(time).into())));
        if !evidence.is_empty() {
            known.insert("evidence".into(), evidence.into());
        }
        (known.into(), claims)
    }
}

impl ElectronicRecord {
    /// Returns the record as evidence. The time of its creation is rounded down to the day: to the
    /// second, it would show two service providers with different `sub`s that a person is one.
    fn to_evidence(&self) -> Value {
        const DAY: u64 = 24 * 60 * 60;
        let day = |at: Timestamp| Timestamp::from_seconds(at.seconds() / DAY * DAY);
        let date = |at| format_seconds(at).chars().take_while(|symbol| *symbol != 'T').collect();
        let source: Map<String, Value> = present([
            ("name", self.source_name.clone()),
            ("country_code", self.source_country.clone()),
        ]);
        let mut record = present([
            ("type", Some(self.record_type.clone())),
            ("created_at", self.created_at.map(|at| format_seconds(day(at)))),
            ("date_of_expiry", self.expires_at.map(date)),
        ]);
        if !source.is_empty() {
            record.insert("source".to_owned(), source.into());
        }
        let check = json!({ "check_method": "vcrypt", "time": format_seconds(self.verified_at) });
        json!({ "type": "electronic_record", "check_details": [check], "record": record })
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

/// Returns the members that have a value.
fn present<const N: usize>(members: [(&str, Option<String>); N]) -> Map<String, Value> {
    let members =
        members.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
    members.collect()
}

/// Formats a time in whole seconds, as the schema has it.
fn format_seconds(at: Timestamp) -> String {
    format_rfc3339(Timestamp::from_seconds(at.seconds()))
}

/// Parses a time, or a date as its last second (Identity Assurance §5.5.2).
fn parse_time(text: &str) -> Option<Timestamp> {
    parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{text}T23:59:59Z")))
}

impl Federation {
    /// Returns what discovery says of verified claims; `None` if no claim can be verified.
    pub fn verified_claims_support(&self, source: IdentitySource) -> Option<VerifiedClaimsSupport> {
        let rules = self.verified_claims.as_deref()?;
        let grantable = self.openid_scopes.all_claim_names();
        let listed = || rules.connectors.iter().filter(|(_, claims)| !claims.is_empty());
        let (verified, electronic_record_types): (BTreeSet<Claim>, BTreeSet<String>) = match source
        {
            IdentitySource::Register => {
                (REGISTER_CLAIMS.into(), [rules.electronic_record.clone()].into())
            }
            IdentitySource::Provider => {
                let profiles = listed().filter_map(|(id, _)| self.connector(id));
                let types = profiles.flat_map(|profile| profile.electronic_record_types.clone());
                (listed().flat_map(|(_, claims)| claims.clone()).collect(), types.collect())
            }
        };
        let claims: Vec<&'static str> = verified
            .into_iter()
            .filter(|claim| grantable.contains(&ClaimName::from(*claim)))
            .map(Claim::as_str)
            .collect();
        (!claims.is_empty()).then(|| VerifiedClaimsSupport {
            trust_framework: rules.trust_framework.clone(),
            claims,
            electronic_record_types,
        })
    }

    /// Returns true if the operator lists claims that this connector's identity provider has
    /// verified.
    pub fn lists_verified_claims(&self, connector: &ConnectorId) -> bool {
        let rules = self.verified_claims.as_deref();
        rules
            .and_then(|rules| rules.connectors.get(connector))
            .is_some_and(|claims| !claims.is_empty())
    }

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
        let permitted = |name: &str| {
            let name = ClaimName::from_name(name);
            permitted.contains(&name) && covered.iter().any(|claim| name == *claim)
        };
        let fulfil = |request: &VerifiedClaimsRequest| {
            let verification = select_members(&request.verification, &known, now).ok()?;
            let requested = request.claims.iter().flatten().filter(|(name, _)| permitted(name));
            let claims: Map<String, Value> = requested
                .filter_map(|(name, wanted)| {
                    let value = user.claims.get(name);
                    Some((name.clone(), select(wanted, value, now).ok()??))
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
/// that is nothing.
fn select(
    wanted: &Value,
    available: Option<&Value>,
    now: Timestamp,
) -> Result<Option<Value>, Unfulfilled> {
    match (wanted, available) {
        (Value::Null, available) => Ok(available.cloned()),
        (wanted, None) if is_constrained(wanted) => Err(Unfulfilled),
        (_, None) => Ok(None),
        // Each entry is a filter; one of them must match.
        (Value::Array(filters), Some(Value::Array(items))) => {
            let matching =
                |item| filters.iter().find_map(|filter| select(filter, Some(item), now).ok()?);
            let selected: Vec<Value> = items.iter().filter_map(matching).collect();
            if selected.is_empty() { Err(Unfulfilled) } else { Ok(Some(selected.into())) }
        }
        (Value::Object(wanted), Some(available)) => {
            if !meets_constraints(wanted, available, now) {
                return Err(Unfulfilled);
            }
            // A text has no parts: a member that is not understood is ignored (Core §5.5.1).
            let has_parts = available.is_object() || available.is_array();
            if !has_parts || !wanted.keys().any(|name| is_part(name)) {
                return Ok(Some(available.clone()));
            }
            let selected = select_members(wanted, available, now)?;
            Ok((!selected.is_empty()).then(|| selected.into()))
        }
        _ => Err(Unfulfilled),
    }
}

/// Selects members of an object, and those that the schema requires.
fn select_members(
    wanted: &Map<String, Value>,
    available: &Value,
    now: Timestamp,
) -> Result<Map<String, Value>, Unfulfilled> {
    let required = REQUIRED.iter().filter_map(|name| Some((*name, available.get(name)?)));
    let mut selected: Map<String, Value> =
        required.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    for (name, wanted) in wanted.iter().filter(|(name, _)| is_part(name)) {
        if let Some(value) = select(wanted, available.get(name), now)? {
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
fn meets_constraints(wanted: &Map<String, Value>, value: &Value, now: Timestamp) -> bool {
    let is_recent = |max_age: &Value| {
        let max_age = max_age.as_u64().map(Duration::from_secs);
        let time = value.as_str().and_then(parse_time);
        time.zip(max_age).is_some_and(|(time, max_age)| now.since(time) <= max_age)
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
