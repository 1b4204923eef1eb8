//! The rows of the table, one function each: a value as it came in, what it means out, or the code of the finding.

use serde_json::{Map, Value};

use super::{ClaimsAsked, Prompt, RequestForm, ResponseMode};
use crate::ids::{ConnectorId, Scope, Secret};
use crate::protocol::acr::{Level, Platform};
use crate::protocol::catalogue::ErrorCode as E;
use crate::protocol::params::{Params, Repeated};
use crate::protocol::registration::{Directory, Registration, Rules};
use crate::protocol::{json, pkce};

/// Every parameter that is read. An empty one is absent, and one that came twice is worth nothing.
pub(super) struct Asked<'a> {
    pub client_id: Option<&'a str>,
    pub redirect_uri: Option<&'a str>,
    pub response_type: Option<&'a str>,
    pub scope: Option<&'a str>,
    pub acr_values: Option<&'a str>,
    pub state: Option<&'a str>,
    pub nonce: Option<&'a str>,
    pub claims: Option<&'a str>,
    pub prompt: Option<&'a str>,
    pub response_mode: Option<&'a str>,
    pub max_age: Option<&'a str>,
    pub code_challenge: Option<&'a str>,
    pub code_challenge_method: Option<&'a str>,
    pub request: Option<&'a str>,
    pub request_uri: Option<&'a str>,
    pub registration: Option<&'a str>,
    pub login_hint: Option<&'a str>,
    pub id_token_hint: Option<&'a str>,
    pub idp_hint: Option<&'a str>,
    pub ui_locales: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// With the finding on the first that came twice.
    pub(super) fn read(params: &'a Params) -> (Self, Option<E>) {
        let mut repeated = None;
        let mut once = |name: &str, twice: E| match params.one(name) {
            Ok(value) => value,
            Err(Repeated) => {
                repeated.get_or_insert(twice);
                None
            }
        };
        // Accepted without effect, but not twice.
        once("display", E::DisplayTwice);
        once("claims_locales", E::ClaimsLocalesTwice);
        let asked = Self {
            client_id: once("client_id", E::ClientIdTwice),
            redirect_uri: once("redirect_uri", E::RedirectUriTwice),
            response_type: once("response_type", E::ResponseTypeTwice),
            scope: once("scope", E::ScopeTwice),
            acr_values: once("acr_values", E::AcrValuesTwice),
            state: once("state", E::StateTwice),
            nonce: once("nonce", E::NonceTwice),
            claims: once("claims", E::ClaimsTwice),
            prompt: once("prompt", E::PromptTwice),
            response_mode: once("response_mode", E::ResponseModeTwice),
            max_age: once("max_age", E::MaxAgeTwice),
            code_challenge: once("code_challenge", E::CodeChallengeTwice),
            code_challenge_method: once("code_challenge_method", E::CodeChallengeMethodTwice),
            request: once("request", E::RequestTwice),
            request_uri: once("request_uri", E::RequestUriTwice),
            registration: once("registration", E::RegistrationTwice),
            login_hint: once("login_hint", E::LoginHintTwice),
            id_token_hint: once("id_token_hint", E::IdTokenHintTwice),
            idp_hint: once("idp_hint", E::IdpHintTwice),
            ui_locales: once("ui_locales", E::UiLocalesTwice),
        };
        (asked, repeated)
    }
}

pub(super) fn client<'d>(
    client_id: Option<&str>,
    directory: &'d dyn Directory,
) -> Result<&'d Registration, E> {
    let client_id = client_id.ok_or(E::ClientIdMissing)?;
    let registration = directory.registration(client_id).ok_or(E::ClientIdUnknown)?;
    if registration.active { Ok(registration) } else { Err(E::ClientIdInactive) }
}

/// Exact comparison, and the registered value goes on, not the one that was sent (RFC 9700, 4.1.3).
pub(super) fn redirect_uri<'d>(
    redirect_uri: Option<&str>,
    registration: &'d Registration,
) -> Result<&'d str, E> {
    let redirect_uri = redirect_uri.ok_or(E::RedirectUriMissing)?;
    registration
        .redirect_uris
        .iter()
        .map(String::as_str)
        .find(|registered| *registered == redirect_uri)
        .ok_or(E::RedirectUriNotRegistered)
}

/// Characters of a `state` or a `nonce`.
pub(super) const LONGEST_OPAQUE: usize = 1024;

/// The rule that `state` and `nonce` share.
pub(super) struct Opaque {
    missing: E,
    too_short_get: E,
    too_short_post: E,
    too_long: E,
    characters: E,
}

pub(super) const STATE: Opaque = Opaque {
    missing: E::StateMissing,
    too_short_get: E::StateTooShortGet,
    too_short_post: E::StateTooShortPost,
    too_long: E::StateTooLong,
    characters: E::StateCharacters,
};

pub(super) const NONCE: Opaque = Opaque {
    missing: E::NonceMissing,
    too_short_get: E::NonceTooShortGet,
    too_short_post: E::NonceTooShortPost,
    too_long: E::NonceTooLong,
    characters: E::NonceCharacters,
};

impl Opaque {
    pub(super) fn check<'a>(
        &self,
        value: Option<&'a str>,
        form: RequestForm,
    ) -> Result<&'a str, E> {
        let value = value.ok_or(self.missing)?;
        self.characters(value)?;
        // R112, R113
        let (minimum, too_short) = match form {
            RequestForm::Get => (22, self.too_short_get),
            RequestForm::Post => (32, self.too_short_post),
        };
        match value.len() {
            length if length < minimum => Err(too_short),
            length if length > LONGEST_OPAQUE => Err(self.too_long),
            _ => Ok(value),
        }
    }

    /// Under `rules = "openid"`: none, or one of any length up to the same most.
    pub(super) fn check_optional<'a>(&self, value: Option<&'a str>) -> Result<Option<&'a str>, E> {
        let Some(value) = value else { return Ok(None) };
        self.characters(value)?;
        if value.len() > LONGEST_OPAQUE { Err(self.too_long) } else { Ok(Some(value)) }
    }

    fn characters(&self, value: &str) -> Result<(), E> {
        if value.bytes().all(|c| (0x20..=0x7e).contains(&c)) {
            Ok(())
        } else {
            Err(self.characters)
        }
    }
}

pub(super) fn response_type(value: &str) -> Result<(), E> {
    if value == "code" { Ok(()) } else { Err(E::ResponseTypeUnsupported) }
}

pub(super) fn openid_is_asked(scope: &str) -> Result<(), E> {
    if words(scope).any(|value| value == "openid") { Ok(()) } else { Err(E::ScopeWithoutOpenid) }
}

/// Asked and granted; a scope that nobody knows is ignored (RFC 6749, 3.3).
pub(super) fn scopes(
    scope: &str,
    registration: &Registration,
    directory: &dyn Directory,
) -> Result<Vec<Scope>, E> {
    let mut scopes: Vec<Scope> = Vec::new();
    for asked in std::iter::once("openid").chain(words(scope)) {
        match registration.granted_scopes.iter().find(|granted| granted.as_str() == asked) {
            Some(granted) if scopes.contains(granted) => {}
            Some(granted) => scopes.push(granted.clone()),
            None if asked == "openid" || directory.scope_is_known(asked, registration.rules) => {
                return Err(E::ScopeNotGranted);
            }
            None => {}
        }
    }
    Ok(scopes)
}

/// `claims.id_token.acr`.
#[derive(Default)]
pub(super) struct AcrClaim {
    essential: bool,
    values: Vec<String>,
}

impl AcrClaim {
    /// An essential `acr` without values asks only that there is one, and there always is.
    pub(super) fn is_binding(&self) -> bool {
        self.essential && !self.values.is_empty()
    }

    /// The levels one of which must be answered. On the standard platform every answer has the same.
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

/// The lowest accepted of all that was asked; of the essential values alone where there are any, for a lower level
/// would not satisfy them (Core, 5.5.1.1).
pub(super) fn level(acr_values: &str, claim: &AcrClaim, platform: Platform) -> Result<Level, E> {
    let by_claim = |level: &Level| claim.values.iter().any(|value| value == level.as_str());
    let by_parameter = |level: &Level| words(acr_values).any(|value| value == level.as_str());
    let is_asked = |level: &Level| by_claim(level) || (!claim.is_binding() && by_parameter(level));
    platform.levels().iter().copied().find(is_asked).ok_or(match platform {
        Platform::Standard => E::AcrValuesStandard,
        Platform::High => E::AcrValuesHigh,
    })
}

/// As [`level`]; but what can't be had is only then a finding when it is essential (decisions 3, Rules per SP).
pub(super) fn level_or_lowest(
    acr_values: &str,
    claim: &AcrClaim,
    platform: Platform,
) -> Result<Level, E> {
    match (level(acr_values, claim, platform), platform.levels().first()) {
        (Err(_), Some(lowest)) if !claim.is_binding() => Ok(*lowest),
        (judged, _) => judged,
    }
}

#[derive(Default)]
pub(super) struct Claims {
    pub asked: ClaimsAsked,
    pub acr: AcrClaim,
}

/// The `claims` parameter (Core, 5.5): all of it well formed, three members of `id_token` understood, and under
/// `rules = "openid"` the name of every claim.
pub(super) fn claims(text: Option<&str>, rules: Rules) -> Result<Claims, E> {
    let Some(text) = text else { return Ok(Claims::default()) };
    if text.len() > 4096 {
        return Err(E::ClaimsTooLarge);
    }
    let members = json::parse_object(text.as_bytes()).map_err(|_| E::ClaimsMalformed)?;
    let userinfo = claim_requests(members.get("userinfo"))?;
    let id_token = claim_requests(members.get("id_token"))?;
    let names = |requests: Option<&Map<String, Value>>| match rules {
        Rules::Federation => Vec::new(),
        Rules::Openid => requests.into_iter().flat_map(Map::keys).cloned().collect(),
    };
    let (userinfo, in_id_token) = (names(userinfo), names(id_token));

    let member = |claim: &str, name: &str| id_token?.get(claim)?.get(name);
    let sub = match member("sub", "value") {
        None => None,
        Some(Value::String(sub)) => Some(Secret::new(sub.clone())),
        Some(_) => return Err(E::ClaimsSub),
    };
    // R066: only the boolean counts, whatever else is there.
    let is_essential = |claim| member(claim, "essential") == Some(&Value::Bool(true));
    let acr = AcrClaim {
        essential: is_essential("acr"),
        values: acr_values(member("acr", "value"), member("acr", "values"))?,
    };
    Ok(Claims {
        asked: ClaimsAsked { amr: is_essential("amr"), sub, userinfo, id_token: in_id_token },
        acr,
    })
}

/// `userinfo` or `id_token`: an object of claims, each asked by `null` or by an object (Core, 5.5.1).
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

fn acr_values(value: Option<&Value>, values: Option<&Value>) -> Result<Vec<String>, E> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(E::ClaimsAcr);
    let mut all: Vec<String> = value.map(text).transpose()?.into_iter().collect();
    match values {
        None => {}
        Some(Value::Array(values)) => {
            all.extend(values.iter().map(text).collect::<Result<Vec<_>, _>>()?)
        }
        Some(_) => return Err(E::ClaimsAcr),
    }
    Ok(all)
}

pub(super) fn prompt(value: Option<&str>, rules: Rules) -> Result<Prompt, E> {
    let mut asked = Prompt { login: false, consent: false, none: false, select_account: false };
    for word in words(value.unwrap_or_default()) {
        match word {
            "login" => asked.login = true,
            "consent" => asked.consent = true,
            "none" => asked.none = true,
            "select_account" => asked.select_account = true,
            _ => return Err(E::PromptUnknown),
        }
    }
    match asked {
        Prompt { none: true, login, consent, select_account }
            if login || consent || select_account =>
        {
            Err(E::PromptNoneWithOther)
        }
        // Nothing but spaces is nothing asked: it must not become a way around the default.
        Prompt { none: false, login: false, consent: false, select_account: false }
            if rules == Rules::Federation =>
        {
            Ok(Prompt::default())
        }
        asked => Ok(asked),
    }
}

pub(super) fn response_mode(value: Option<&str>) -> Result<(), E> {
    match value {
        Some(value) if ResponseMode::parse(value).is_none() => Err(E::ResponseModeUnknown),
        _ => Ok(()),
    }
}

pub(super) fn max_age(value: Option<&str>) -> Result<Option<u64>, E> {
    let Some(value) = value else { return Ok(None) };
    // `parse` would take a plus sign.
    if !value.bytes().all(|c| c.is_ascii_digit()) {
        return Err(E::MaxAgeMalformed);
    }
    value.parse().map(Some).map_err(|_| E::MaxAgeMalformed)
}

/// RFC 7636, 4.3; a missing method would mean `plain` there, which is not spoken here.
pub(super) fn code_challenge(
    challenge: Option<&str>,
    method: Option<&str>,
    registration: &Registration,
) -> Result<Option<String>, E> {
    match (challenge, method) {
        (None, Some(_)) => Err(E::CodeChallengeMethodAlone),
        (None, None) if registration.require_pkce => Err(E::CodeChallengeRequired),
        (None, None) => Ok(None),
        (Some(_), None) => Err(E::CodeChallengeMethodMissing),
        (Some(challenge), Some("S256")) if pkce::is_challenge(challenge) => {
            Ok(Some(challenge.to_owned()))
        }
        (Some(_), Some("S256")) => Err(E::CodeChallengeMalformed),
        (Some(_), Some(_)) => Err(E::CodeChallengeMethodUnsupported),
    }
}

/// A parameter that must not be there (Core, 3.1.2.6).
pub(super) fn absent(value: Option<&str>, code: E) -> Result<(), E> {
    if value.is_some() { Err(code) } else { Ok(()) }
}

pub(super) fn login_hint(value: Option<&str>) -> Option<Secret<String>> {
    value.filter(|hint| hint.chars().count() <= 256).map(|hint| Secret::new(hint.to_owned()))
}

/// A hint that the service provider's file doesn't permit is ignored, as one that the gate refuses is: everything after
/// reads the request as if it had none.
pub(super) fn idp_hint(value: Option<&str>, registration: &Registration) -> Option<ConnectorId> {
    let named = value.filter(|hint| ConnectorId::is_well_formed(hint)).map(ConnectorId::from);
    named.filter(|connector| registration.hints.follow(connector))
}

/// What looks like a language tag (RFC 5646), the first eight: more is not a wish but a load.
pub(super) fn ui_locales(value: Option<&str>) -> Vec<String> {
    let is_tag =
        |tag: &&str| tag.len() <= 35 && tag.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    words(value.unwrap_or_default()).filter(is_tag).take(8).map(str::to_owned).collect()
}

/// Values separated by spaces (RFC 6749, 3.3).
fn words(value: &str) -> impl Iterator<Item = &str> {
    value.split(' ').filter(|word| !word.is_empty())
}
