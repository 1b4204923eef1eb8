//! The `claims` parameter (OpenID Connect Core 1.0 §5.5), and the level that it requests together
//! with `acr_values`.

use serde_json::{Map, Value};

use super::RequestedClaims;
use super::checks::space_separated;
use crate::ids::Secret;
use crate::protocol::acr::{Level, Platform};
use crate::protocol::catalogue::ErrorCode as E;
use crate::protocol::json;
use crate::protocol::registration::ProtocolRules;

/// `claims.id_token.acr`.
#[derive(Default)]
pub(super) struct AcrClaim {
    essential: bool,
    values: Vec<String>,
}

impl AcrClaim {
    /// Returns true if the claim restricts the level. An essential `acr` without values only asks
    /// for any `acr`, which every ID token has.
    pub(super) fn is_binding(&self) -> bool {
        self.essential && !self.values.is_empty()
    }

    /// Returns the levels of which the ID token must carry one. Empty on the standard platform,
    /// where every ID token carries the same.
    pub(super) fn required(&self, platform: Platform) -> Vec<Level> {
        let is_required = |level: &Level| {
            self.is_binding() && self.values.iter().any(|value| value == level.as_str())
        };
        match platform {
            Platform::Standard => Vec::new(),
            Platform::High => platform.levels().iter().copied().filter(is_required).collect(),
        }
    }
}

/// Returns the lowest accepted level of all that were requested; of the essential values only, if
/// there are any, because a lower level would not satisfy them (Core §5.5.1.1).
///
/// # Errors
/// `AcrValuesStandard` or `AcrValuesHigh` if the platform supports none of them.
pub(super) fn requested_level(
    acr_values: &str,
    claim: &AcrClaim,
    platform: Platform,
) -> Result<Level, E> {
    let by_claim = |level: &Level| claim.values.iter().any(|value| value == level.as_str());
    let by_parameter =
        |level: &Level| space_separated(acr_values).any(|value| value == level.as_str());
    let is_requested =
        |level: &Level| by_claim(level) || (!claim.is_binding() && by_parameter(level));
    platform.levels().iter().copied().find(is_requested).ok_or(match platform {
        Platform::Standard => E::AcrValuesStandard,
        Platform::High => E::AcrValuesHigh,
    })
}

/// Like [`requested_level`], but an unsupported level is an error only when it is essential.
///
/// # Errors
/// `AcrValuesStandard` or `AcrValuesHigh` if the platform supports none of the essential values.
pub(super) fn requested_level_or_lowest(
    acr_values: &str,
    claim: &AcrClaim,
    platform: Platform,
) -> Result<Level, E> {
    match (requested_level(acr_values, claim, platform), platform.levels().first()) {
        (Err(_), Some(lowest)) if !claim.is_binding() => Ok(*lowest),
        (level, _) => level,
    }
}

/// The evaluated members of the `claims` parameter.
#[derive(Default)]
pub(super) struct ParsedClaims {
    pub requested: RequestedClaims,
    pub acr: AcrClaim,
}

/// Parses the `claims` parameter (Core §5.5): all of it must be well formed; three members of
/// `id_token` are evaluated, and under `rules = "openid"` the names of all claims.
///
/// # Errors
/// `ClaimsTooLarge` above 4096 bytes, `ClaimsMalformed` if it is not a JSON object;
/// `ClaimsMembers`, `ClaimsSub` or `ClaimsAcr` for an invalid member.
pub(super) fn parse_claims(text: Option<&str>, rules: ProtocolRules) -> Result<ParsedClaims, E> {
    let Some(text) = text else { return Ok(ParsedClaims::default()) };
    if text.len() > 4096 {
        return Err(E::ClaimsTooLarge);
    }
    let members = json::parse_object(text.as_bytes()).map_err(|_| E::ClaimsMalformed)?;
    let userinfo = claim_requests(members.get("userinfo"))?;
    let id_token = claim_requests(members.get("id_token"))?;
    let names = |requests: Option<&Map<String, Value>>| match rules {
        ProtocolRules::Federation => Vec::new(),
        ProtocolRules::Openid => requests.into_iter().flat_map(Map::keys).cloned().collect(),
    };
    let (userinfo, in_id_token) = (names(userinfo), names(id_token));

    let member = |claim: &str, name: &str| id_token?.get(claim)?.get(name);
    let sub = match member("sub", "value") {
        None => None,
        Some(Value::String(sub)) => Some(Secret::new(sub.clone())),
        Some(_) => return Err(E::ClaimsSub),
    };
    // R066: only the boolean `true` counts.
    let is_essential = |claim| member(claim, "essential") == Some(&Value::Bool(true));
    let acr = AcrClaim {
        essential: is_essential("acr"),
        values: acr_claim_values(member("acr", "value"), member("acr", "values"))?,
    };
    Ok(ParsedClaims {
        requested: RequestedClaims {
            amr: is_essential("amr"),
            sub,
            userinfo,
            id_token: in_id_token,
        },
        acr,
    })
}

/// Returns `userinfo` or `id_token`: an object of claims, each requested by `null` or an object
/// (Core §5.5.1).
fn claim_requests(member: Option<&Value>) -> Result<Option<&Map<String, Value>>, E> {
    match member {
        None => Ok(None),
        Some(Value::Object(claims))
            if claims.values().all(|request| request.is_null() || request.is_object()) =>
        {
            Ok(Some(claims))
        }
        Some(_) => Err(E::ClaimsMembers),
    }
}

fn acr_claim_values(value: Option<&Value>, values: Option<&Value>) -> Result<Vec<String>, E> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(E::ClaimsAcr);
    let mut all: Vec<String> = value.map(text).transpose()?.into_iter().collect();
    match values {
        None => {}
        Some(Value::Array(values)) => {
            all.extend(values.iter().map(text).collect::<Result<Vec<_>, _>>()?);
        }
        Some(_) => return Err(E::ClaimsAcr),
    }
    Ok(all)
}
