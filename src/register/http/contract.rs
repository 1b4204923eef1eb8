//! The wire of `docs/register.openapi.yaml`: one question out, one answer in, and every way in which an answer can
//! break the contract.
//!
//! Owns: the JSON of both directions. Must not know: connections, credentials, the breaker.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::identity::pivot::{Derivation, Pivot};
use crate::identity::rules::{IdentityFault, Rule, Rules};
use crate::identity::{Claim, Identity};
use crate::protocol::json::parse_object;
use crate::register::{Answer, RegisterFault};

/// No answer about one person needs more bytes.
pub const LARGEST: usize = 64 << 10;

const GIVEN_NAMES: &str = "given_names";
/// Members of an identity besides `given_names`: called as the claims are.
const MEMBERS: [Claim; 5] =
    [Claim::FamilyName, Claim::Birthdate, Claim::Gender, Claim::Birthplace, Claim::Birthcountry];

/// The body of a question: the pivot identity, and nothing else of what is known of the person.
pub fn question(pivot: &Identity) -> Vec<u8> {
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

/// What a 200 says of `asked`.
///
/// # Errors
/// `Contract`, naming what is broken, or `Identity`, naming the claim and the rule; never a value.
pub fn answer(
    headers: &HeaderMap,
    body: &[u8],
    asked: &Identity,
    rules: &Rules,
) -> Result<Answer, RegisterFault> {
    if !is_json(headers) {
        return broken("its Content-Type is not application/json");
    }
    let Ok(mut members) = parse_object(body) else {
        return broken(
            "its body is not one JSON object, or names a member twice, or is nested too deeply",
        );
    };
    let Some(Value::String(outcome)) = members.remove("outcome") else {
        return broken("`outcome` is missing, or is no string");
    };
    let identity = match members.remove("identity") {
        None | Some(Value::Null) => None,
        Some(Value::Object(identity)) => Some(identity),
        Some(_) => return broken("`identity` is not an object"),
    };
    let known = match (outcome.as_str(), identity) {
        ("found" | "corrected", Some(identity)) => read(identity, rules)?,
        ("found" | "corrected", None) => {
            return broken("`identity` is missing, though `outcome` says that it is there");
        }
        ("not_found", None) => return Ok(Answer::NotFound),
        ("several", None) => return Ok(Answer::Several),
        ("deceased", None) => return Ok(Answer::Deceased),
        ("refused", None) => return Ok(Answer::Refused),
        ("not_found" | "several" | "deceased" | "refused", Some(_)) => {
            return broken("`identity` is there, though `outcome` allows none");
        }
        _ => {
            return broken(
                "`outcome` is none of found, corrected, not_found, several, deceased, refused",
            );
        }
    };
    if outcome == "corrected" {
        return Ok(Answer::Corrected(Box::new(known)));
    }
    // Answers that got mixed up on their way would sign one person in as another.
    let pivot = |identity: &Identity| Pivot::of(identity, &rules.home_country, Derivation::LATEST);
    if pivot(&known) != pivot(asked) {
        return broken("`outcome` is found, but `identity` is not the person asked about");
    }
    Ok(Answer::Found(Box::new(known)))
}

fn broken<T>(what: &str) -> Result<T, RegisterFault> {
    Err(RegisterFault::Contract(what.to_owned()))
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(http::header::CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

/// The six members of a pivot identity; whatever else is there is not looked at.
fn read(mut members: Map<String, Value>, rules: &Rules) -> Result<Identity, RegisterFault> {
    let mut claims = Map::new();
    if let Some(names) = members.remove(GIVEN_NAMES) {
        claims.insert(Claim::GivenNameArray.as_str().to_owned(), names);
    }
    for claim in MEMBERS {
        if let Some(value) = members.remove(claim.as_str()) {
            claims.insert(claim.as_str().to_owned(), value);
        }
    }
    Identity::from_claims(&claims, rules).map_err(|fault| match fault {
        IdentityFault { claim: Claim::GivenNameArray, rule: Rule::TextArray } => {
            RegisterFault::Contract("`identity.given_names` is not an array of strings".to_owned())
        }
        IdentityFault { claim, rule: Rule::Text } => {
            RegisterFault::Contract(format!("`identity.{claim}` is not a string"))
        }
        fault => RegisterFault::Identity(fault),
    })
}
