//! The `claims` parameter (OpenID Connect Core 1.0 §5.5), and the level that it requests together
//! with `acr_values`.

use serde_json::{Map, Value};

use super::RequestedClaims;
use super::checks::space_separated;
use super::verified_claims::{VERIFIED_CLAIMS, parse_requests};
use crate::acr::{AcrRegistration, AcrRequest, Level, Platform, RequestedAcr};
use crate::catalogue::ErrorCode as E;
use crate::ids::Secret;
use crate::json;
use crate::registration::ProtocolRules;

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

    /// Returns true if the claim names no value.
    pub(super) const fn has_no_value(&self) -> bool {
        self.values.is_empty()
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

/// Evaluates the requested values of `acr`: all of them, or the essential ones only if there are
/// any, because another level would not satisfy them (Core §5.5.1.1). The lowest accepted level is
/// the minimum.
///
/// # Errors
/// `AcrValuesStandard` or `AcrValuesHigh` if none of them is accepted.
pub(super) fn requested_acr(
    acr_values: &str,
    claim: &AcrClaim,
    registration: &AcrRegistration,
    platform: Platform,
) -> Result<AcrRequest, E> {
    let by_parameter = space_separated(acr_values).filter(|_| !claim.is_binding());
    let requested = by_parameter.chain(claim.values.iter().map(String::as_str));
    let mut values: Vec<RequestedAcr> = Vec::new();
    for value in requested.filter_map(|value| parse_acr_value(value, claim, registration, platform))
    {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    let level = values.iter().map(|value| value.lowest).min().ok_or(match platform {
        Platform::Standard => E::AcrValuesStandard,
        Platform::High => E::AcrValuesHigh,
    })?;
    let essential = claim.is_binding();
    // Without level names, the levels alone decide (R010).
    Ok(if registration.level_names.is_empty() {
        AcrRequest { level, essential, required: claim.required(platform), values: Vec::new() }
    } else {
        AcrRequest { level, essential, required: Vec::new(), values }
    })
}

fn parse_acr_value(
    value: &str,
    claim: &AcrClaim,
    registration: &AcrRegistration,
    platform: Platform,
) -> Option<RequestedAcr> {
    if let Some(level) = platform.levels().iter().find(|level| level.as_str() == value) {
        // An essential value must be answered exactly; on the standard platform every level is
        // answered as the same.
        let is_exact = claim.is_binding() && platform == Platform::High;
        let highest = if is_exact { *level } else { Level::Eidas3 };
        return Some(RequestedAcr {
            name: None,
            lowest: *level,
            highest,
            multi_factor: false,
            mail: false,
        });
    }
    let listed = registration.level_names.iter().find(|listed| *listed.name == *value)?;
    Some(RequestedAcr {
        name: Some(listed.name.clone()),
        lowest: listed.level,
        highest: Level::Eidas3,
        multi_factor: listed.multi_factor,
        mail: listed.mail,
    })
}

/// Like [`requested_acr`], but values that are not accepted are an error only when they are
/// essential.
///
/// # Errors
/// `AcrValuesStandard` or `AcrValuesHigh` if none of the essential values is accepted.
pub(super) fn requested_acr_or_lowest(
    acr_values: &str,
    claim: &AcrClaim,
    registration: &AcrRegistration,
    platform: Platform,
) -> Result<AcrRequest, E> {
    let requested = requested_acr(acr_values, claim, registration, platform);
    match (requested, platform.levels().first()) {
        (Err(_), Some(lowest)) if !claim.is_binding() => Ok(AcrRequest {
            level: *lowest,
            essential: false,
            required: Vec::new(),
            values: Vec::new(),
        }),
        (requested, _) => requested,
    }
}

/// The evaluated members of the `claims` parameter.
#[derive(Default)]
pub(super) struct ParsedClaims {
    pub requested: RequestedClaims,
    pub acr: AcrClaim,
}

/// Parses the `claims` parameter (Core §5.5): all of it must be well formed; four members of
/// `id_token` are evaluated, and under `rules = "openid"` the names of all claims and requests for
/// verified claims.
///
/// # Errors
/// `ClaimsTooLarge` above 4096 bytes, `ClaimsMalformed` if it is not a JSON object;
/// `ClaimsMembers`, `ClaimsSub` or `ClaimsAcr` for an invalid member.
pub(super) fn parse_claims(text: Option<&str>, rules: ProtocolRules) -> Result<ParsedClaims, E> {
    let is_openid = rules == ProtocolRules::Openid;
    let Some(text) = text else {
        let requested =
            RequestedClaims { auth_time_optional: is_openid, ..RequestedClaims::default() };
        return Ok(ParsedClaims { requested, ..ParsedClaims::default() });
    };
    if text.len() > 4096 {
        return Err(E::ClaimsTooLarge);
    }
    let members = json::parse_object(text.as_bytes()).map_err(|_| E::ClaimsMalformed)?;
    let userinfo = claim_requests(members.get("userinfo"), rules)?;
    let id_token = claim_requests(members.get("id_token"), rules)?;
    let verified = |requests| if is_openid { parse_requests(requests) } else { Ok(Vec::new()) };
    let (verified_userinfo, verified_id_token) = (verified(userinfo)?, verified(id_token)?);
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
            verified_userinfo,
            verified_id_token,
            auth_time_optional: is_openid && !is_essential("auth_time"),
        },
        acr,
    })
}

/// Returns `userinfo` or `id_token`: an object of claims, each requested by `null` or an object
/// (Core §5.5.1); verified claims also by an array.
fn claim_requests(
    member: Option<&Value>,
    rules: ProtocolRules,
) -> Result<Option<&Map<String, Value>>, E> {
    let is_well_formed = |(name, request): (&String, &Value)| {
        request.is_null()
            || request.is_object()
            || (rules == ProtocolRules::Openid && name == VERIFIED_CLAIMS)
    };
    match member {
        None => Ok(None),
        Some(Value::Object(claims)) if claims.iter().all(is_well_formed) => Ok(Some(claims)),
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
