//! Encodes and decodes the JSON of `docs/register.openapi.yaml`, and detects every breach of it.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::{RegisterAnswer, RegisterError};
use passerelle_federation::identity::pivot::Pivot;
use passerelle_federation::identity::rules::IdentityRules;
use passerelle_federation::identity::{Claim, Identity};
use passerelle_protocol::field_value::is_media_type;
use passerelle_protocol::json::parse_object;

/// Maximum size of an answer in bytes.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

const GIVEN_NAMES: &str = "given_names";
/// Members of an identity besides `given_names`; named as the claims are.
const MEMBERS: [Claim; 5] =
    [Claim::FamilyName, Claim::Birthdate, Claim::Gender, Claim::Birthplace, Claim::Birthcountry];

/// Encodes a query: the pivot identity, and no other data of the person.
pub fn encode_query(pivot: &Identity) -> Vec<u8> {
    let Identity { given_names, family_name, birthdate, gender, birthplace, birthcountry, .. } =
        pivot;
    let values = [family_name, birthdate, gender, birthplace, birthcountry];
    let mut members = Map::new();
    if !given_names.is_empty() {
        members.insert(GIVEN_NAMES.to_owned(), json!(given_names));
    }
    for (claim, value) in MEMBERS.into_iter().zip(values) {
        if let Some(value) = value {
            members.insert(claim.as_str().to_owned(), json!(value));
        }
    }
    Value::Object(members).to_string().into_bytes()
}

/// Decodes a response of status 200 to a query about `queried`.
///
/// # Errors
/// `Contract` names the breach, `Identity` the claim and the rule; neither has a value.
pub fn decode_response(
    headers: &HeaderMap,
    body: &[u8],
    queried: &Identity,
    rules: &IdentityRules,
) -> Result<RegisterAnswer, RegisterError> {
    if !is_json(headers) {
        return contract_error("its Content-Type is not application/json");
    }
    let Ok(mut members) = parse_object(body) else {
        return contract_error(
            "its body is not one JSON object, or names a member twice, or is nested too deeply",
        );
    };
    let Some(Value::String(outcome)) = members.remove("outcome") else {
        return contract_error("`outcome` is missing, or is not a string");
    };
    let identity = match members.remove("identity") {
        None | Some(Value::Null) => None,
        Some(Value::Object(identity)) => Some(identity),
        Some(_) => return contract_error("`identity` is not an object"),
    };
    let known = match (outcome.as_str(), identity) {
        ("found" | "corrected", Some(identity)) => parse_identity(identity, rules)?,
        ("found" | "corrected", None) => {
            return contract_error("`identity` is missing, though `outcome` requires it");
        }
        ("not_found", None) => return Ok(RegisterAnswer::NotFound),
        ("several", None) => return Ok(RegisterAnswer::MultipleMatches),
        ("deceased", None) => return Ok(RegisterAnswer::Deceased),
        ("refused", None) => return Ok(RegisterAnswer::Refused),
        ("not_found" | "several" | "deceased" | "refused", Some(_)) => {
            return contract_error("`identity` is there, though `outcome` allows none");
        }
        _ => {
            return contract_error(
                "`outcome` is none of found, corrected, not_found, several, deceased, refused",
            );
        }
    };
    if outcome == "corrected" {
        return Ok(RegisterAnswer::Corrected(Box::new(known)));
    }
    // A mixed-up answer would sign one user in as another.
    let pivot = |identity: &Identity| Pivot::from_identity(identity, &rules.home_country);
    let is_same = match (pivot(&known), pivot(queried)) {
        (Some(known), Some(queried)) => known.is_same_person(&queried),
        (known, queried) => known.is_none() && queried.is_none(),
    };
    if !is_same {
        return contract_error("`outcome` is found, but `identity` is not the person asked about");
    }
    Ok(RegisterAnswer::Found(Box::new(known)))
}

fn contract_error<T>(what: &str) -> Result<T, RegisterError> {
    Err(RegisterError::Contract(what.to_owned()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(http::header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    is_media_type(value.to_str().ok(), "application/json")
}

/// Parses the six members of a pivot identity; ignores all others.
fn parse_identity(
    mut members: Map<String, Value>,
    rules: &IdentityRules,
) -> Result<Identity, RegisterError> {
    let mut claims = Map::new();
    let names = members.remove(GIVEN_NAMES).unwrap_or_default();
    let is_list = names.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    if !names.is_null() && !is_list {
        return contract_error("`identity.given_names` is not an array of strings");
    }
    claims.insert(Claim::GivenNameArray.as_str().to_owned(), names);
    for claim in MEMBERS {
        let value = members.remove(claim.as_str()).unwrap_or_default();
        if !value.is_null() && !value.is_string() {
            return contract_error(&format!("`identity.{claim}` is not a string"));
        }
        claims.insert(claim.as_str().to_owned(), value);
    }
    Identity::from_claims(&claims, rules).map_err(RegisterError::Identity)
}
