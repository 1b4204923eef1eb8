//! Requests for verified claims in the `claims` parameter (OpenID Connect for Identity Assurance 1.0
//! §5.3 to §5.6).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::catalogue::ErrorCode as E;

/// Name of the claim that holds verified claims.
pub const VERIFIED_CLAIMS: &str = "verified_claims";

/// One request for verified claims. Its constraints may contain personal data.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("VerifiedClaimsRequest(***)")]
pub struct VerifiedClaimsRequest {
    /// The requested elements of the verification, each by `null` or with its constraints.
    pub verification: Map<String, Value>,
    /// The requested claims, each by `null` or with its constraints; absent for none.
    pub claims: Option<Map<String, Value>>,
}

/// Reads the member `verified_claims` of `userinfo` or `id_token`: one request, or an array of them.
///
/// # Errors
/// `ClaimsMembers` if one is not an object with the objects `verification` and `claims`, which may be
/// `null`.
pub(super) fn parse_requests(
    requests: Option<&Map<String, Value>>,
) -> Result<Vec<VerifiedClaimsRequest>, E> {
    let parsed = match requests.and_then(|requests| requests.get(VERIFIED_CLAIMS)) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(several @ Value::Array(_)) => serde_json::from_value(several.clone()),
        Some(one) => serde_json::from_value(one.clone()).map(|request| vec![request]),
    };
    parsed.map_err(|_| E::ClaimsMembers)
}
