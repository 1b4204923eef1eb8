//! The `forwarded_params` of a connector: further authorization parameters of service providers
//! that the identity provider gets.
//!
//! A parameter that the hub or an identity provider gives a meaning in the protocol can't be among
//! them: a service provider could otherwise choose the hub's redirect URI, claims or key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::kind_settings::KindCheck;
use passerelle_federation::forwarded_params::{ForwardedParamRule, ForwardedParams};
use passerelle_protocol::catalogue::Param;
use passerelle_settings::ValueError;

/// Values of a service provider's parameter that the identity provider gets.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardedParam {
    /// Regular expression that the whole value must match.
    #[schemars(example = "[0-9]{14}")]
    pub pattern: String,
    /// Maximum length in characters.
    #[serde(default = "default_max_length")]
    #[schemars(range(min = 1, max = 512))]
    pub max_length: usize,
}

const fn default_max_length() -> usize {
    256
}

/// Longest name of a parameter.
const MAX_NAME_CHARS: usize = 64;

/// Parameters of a connector, at most.
const MAX_PARAMS: usize = 16;

/// Parameters and claims with a meaning in requests to an identity provider, beside those of
/// authorization requests that the hub reads: of other endpoints and extensions (RFC 8707, RFC
/// 9396), and of request objects (RFC 9101 §4), whose claims the parameters become.
const PROTOCOL_NAMES: [&str; 23] = [
    "access_token",
    "assertion",
    "aud",
    "audience",
    "authorization_details",
    "client_assertion",
    "client_assertion_type",
    "client_secret",
    "code",
    "code_verifier",
    "error",
    "exp",
    "grant_type",
    "iat",
    "id_token",
    "iss",
    "jti",
    "nbf",
    "resource",
    "response",
    "sub",
    "token",
    "vp_token",
];

fn check_name(name: &str) -> Result<(), ValueError> {
    // Servers written in PHP read `client.id`, `client id` and `client[id` as `client_id`.
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
    if !(1..=MAX_NAME_CHARS).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(ValueError::new(
            "is not the name of a parameter",
            format!("use at most {MAX_NAME_CHARS} letters, digits, _ and -"),
        ));
    }
    // Servers on ASP.NET ignore the case of names.
    let read = Param::AUTHORIZATION.iter().map(|param| param.name());
    let is_reserved = read
        .chain(PROTOCOL_NAMES)
        .filter(|reserved| *reserved != Param::LoginHint.name())
        .any(|reserved| reserved.eq_ignore_ascii_case(name));
    if is_reserved {
        return Err(ValueError::new(
            "is a protocol parameter, which a service provider must not choose",
            "remove it",
        ));
    }
    Ok(())
}

impl ForwardedParam {
    fn rule(&self) -> Result<ForwardedParamRule, ValueError> {
        ForwardedParamRule::new(&self.pattern, self.max_length).map_err(|_| {
            let message = "is not a regular expression, or too large a one";
            ValueError::new(message, "write for example \"[0-9]{14}\"")
        })
    }
}

/// Returns the parameters of a valid file.
pub(crate) fn forwarded_params(params: &BTreeMap<String, ForwardedParam>) -> ForwardedParams {
    let rule = |(name, param): (&String, &ForwardedParam)| Some((name.clone(), param.rule().ok()?));
    ForwardedParams::new(params.iter().filter_map(rule))
}

/// Checks the names and patterns. `fixed` are the parameters that each request has.
pub(crate) fn check_forwarded_params<'p>(
    check: &mut KindCheck<'_>,
    params: &BTreeMap<String, ForwardedParam>,
    fixed: impl Iterator<Item = &'p String> + Clone,
) {
    const KEY: &str = "forwarded_params";
    if params.len() > MAX_PARAMS {
        let fix = format!("name at most {MAX_PARAMS}");
        check.report(KEY, "has too many parameters", fix);
    }
    for (name, param) in params {
        let key = format!("{KEY}.{name}");
        check.accept(&key, check_name(name));
        check.accept(&format!("{key}.pattern"), param.rule());
        if fixed.clone().any(|fixed| fixed.eq_ignore_ascii_case(name)) {
            check.report(&key, "is also set by this file itself", "remove one of the two");
        }
    }
}
