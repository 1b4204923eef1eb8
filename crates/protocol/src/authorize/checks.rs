//! The checks of an authorization request, one function for each: it takes the raw value, and
//! returns the parsed one or the error code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Prompt, RequestMethod, ResponseMode};
use crate::catalogue::{ErrorCode as E, RequiredParam};
use crate::ids::{ConnectorId, Scope, Secret};
use crate::params::Params;
use crate::pkce;
use crate::redirect_uri::match_redirect_uri;
use crate::refresh::OFFLINE_ACCESS;
use crate::registration::{ClientDirectory, ProtocolRules, Registration};

/// Returns the registration of the client that `client_id` names.
///
/// # Errors
/// `Missing` or `Repeated` for the parameter, `ClientIdUnknown`, or `ClientIdInactive`.
pub(super) fn find_client<'d>(
    params: &Params,
    directory: &'d dyn ClientDirectory,
) -> Result<&'d Registration, E> {
    let client_id = params.required(RequiredParam::ClientId)?;
    let registration = directory.registration(client_id).ok_or(E::ClientIdUnknown)?;
    if registration.active { Ok(registration) } else { Err(E::ClientIdInactive) }
}

/// Returns the registered value rather than the sent one (RFC 9700 §4.1.3).
///
/// # Errors
/// `Missing` or `Repeated` for the parameter, or `RedirectUriNotRegistered`.
pub(super) fn find_registered_redirect_uri<'d>(
    params: &Params,
    registration: &'d Registration,
) -> Result<Cow<'d, str>, E> {
    let requested = params.required(RequiredParam::RedirectUri)?;
    match_redirect_uri(&registration.redirect_uris, requested, registration.client_type)
        .ok_or(E::RedirectUriNotRegistered)
}

/// Maximum length of a `state`. Service providers that are brokers put the state of their own client
/// into theirs, in 2,400 characters and more. It is returned in an address, percent-encoded, and
/// servers accept addresses of 16 KiB.
pub(super) const MAX_STATE_CHARS: usize = 4096;

/// Maximum length of a `nonce`.
const MAX_NONCE_CHARS: usize = 1024;

/// Values of `idp_hint` that are read: those of one page.
const MAX_IDP_HINTS: usize = 24;

/// Maximum length of a further parameter that identity providers may get.
const MAX_FORWARDED_BYTES: usize = 2048;

/// Length and character rule of `state` and `nonce`.
pub(super) struct OpaqueParamRule {
    param: RequiredParam,
    max_chars: usize,
    too_short_get: E,
    too_short_post: E,
    too_long: E,
    characters: E,
}

/// Rule of `state`.
pub(super) const STATE: OpaqueParamRule = OpaqueParamRule {
    param: RequiredParam::State,
    max_chars: MAX_STATE_CHARS,
    too_short_get: E::StateTooShortGet,
    too_short_post: E::StateTooShortPost,
    too_long: E::StateTooLong,
    characters: E::StateCharacters,
};

/// Rule of `nonce`.
pub(super) const NONCE: OpaqueParamRule = OpaqueParamRule {
    param: RequiredParam::Nonce,
    max_chars: MAX_NONCE_CHARS,
    too_short_get: E::NonceTooShortGet,
    too_short_post: E::NonceTooShortPost,
    too_long: E::NonceTooLong,
    characters: E::NonceCharacters,
};

impl OpaqueParamRule {
    /// Returns the required value if its characters and its length are permitted. The minimum
    /// length depends on the method of the request.
    ///
    /// # Errors
    /// `Missing` or `Repeated` for the parameter, or the error code of the violated part of the
    /// rule.
    pub(super) fn check<'a>(
        &self,
        params: &'a Params,
        method: RequestMethod,
    ) -> Result<&'a str, E> {
        let value = params.required(self.param)?;
        self.check_characters(value)?;
        self.check_length(value, method)?;
        Ok(value)
    }

    /// Checks the length for a request by this method (R112, R113).
    ///
    /// # Errors
    /// Returns the error code for a value that is too short or too long.
    pub(super) fn check_length(&self, value: &str, method: RequestMethod) -> Result<(), E> {
        let (minimum, too_short) = match method {
            RequestMethod::Get => (22, self.too_short_get),
            RequestMethod::Post => (32, self.too_short_post),
        };
        match value.len() {
            length if length < minimum => Err(too_short),
            length if length > self.max_chars => Err(self.too_long),
            _ => Ok(()),
        }
    }

    /// Checks an optional value of any length up to the maximum, for `rules = "openid"`.
    ///
    /// # Errors
    /// Returns the error code for a forbidden character, or for a value that is too long.
    pub(super) fn check_optional<'a>(&self, value: Option<&'a str>) -> Result<Option<&'a str>, E> {
        let Some(value) = value else { return Ok(None) };
        self.check_characters(value)?;
        if value.len() > self.max_chars { Err(self.too_long) } else { Ok(Some(value)) }
    }

    fn check_characters(&self, value: &str) -> Result<(), E> {
        if value.bytes().all(|c| (0x20..=0x7e).contains(&c)) {
            Ok(())
        } else {
            Err(self.characters)
        }
    }
}

/// Checks that `response_type` is `code`.
///
/// # Errors
/// `ResponseTypeUnsupported` for every other value.
pub(super) fn check_response_type(value: &str) -> Result<(), E> {
    if value == "code" { Ok(()) } else { Err(E::ResponseTypeUnsupported) }
}

/// Checks that `scope` contains `openid` (OpenID Connect Core §3.1.2.1).
///
/// # Errors
/// `ScopeWithoutOpenid` if it does not.
pub(super) fn check_openid_scope(scope: &str) -> Result<(), E> {
    if space_separated(scope).any(|value| value == "openid") {
        Ok(())
    } else {
        Err(E::ScopeWithoutOpenid)
    }
}

/// Returns the requested scopes that are granted. Unknown scopes are ignored (RFC 6749 §3.3).
///
/// # Errors
/// `ScopeNotGranted` if a requested scope is known, but not granted to the client.
pub(super) fn grant_scopes(
    scope: &str,
    registration: &Registration,
    directory: &dyn ClientDirectory,
) -> Result<Vec<Scope>, E> {
    let mut scopes: Vec<Scope> = Vec::new();
    for requested in std::iter::once("openid").chain(space_separated(scope)) {
        match registration.granted_scopes.iter().find(|granted| granted.as_str() == requested) {
            Some(granted) if scopes.contains(granted) => {}
            Some(granted) => scopes.push(granted.clone()),
            None if requested == "openid"
                || directory.is_known_scope(requested, registration.rules) =>
            {
                return Err(E::ScopeNotGranted);
            }
            None => {}
        }
    }
    Ok(scopes)
}

/// Leaves `offline_access` out of a request that doesn't ask for the user's consent (OpenID Connect
/// Core §11).
pub(super) fn drop_unasked_offline_access(mut scopes: Vec<Scope>, prompt: Prompt) -> Vec<Scope> {
    if !prompt.consent {
        scopes.retain(|scope| scope.as_str() != OFFLINE_ACCESS);
    }
    scopes
}

/// Parses `prompt` (OpenID Connect Core §3.1.2.1). If it is absent or empty, the default applies
/// under the federation's rules, and nothing is requested under `rules = "openid"`.
///
/// # Errors
/// `PromptUnknown` for an unknown value, `PromptNoneWithOther` for `none` with another value.
pub(super) fn parse_prompt(value: Option<&str>, rules: ProtocolRules) -> Result<Prompt, E> {
    let mut prompt = Prompt { login: false, consent: false, none: false, select_account: false };
    for word in space_separated(value.unwrap_or_default()) {
        match word {
            "login" => prompt.login = true,
            "consent" => prompt.consent = true,
            "none" => prompt.none = true,
            "select_account" => prompt.select_account = true,
            _ => return Err(E::PromptUnknown),
        }
    }
    match prompt {
        Prompt { none: true, login, consent, select_account }
            if login || consent || select_account =>
        {
            Err(E::PromptNoneWithOther)
        }
        // A value of spaces only requests nothing: it must not bypass the default.
        Prompt { none: false, login: false, consent: false, select_account: false }
            if rules == ProtocolRules::Federation =>
        {
            Ok(Prompt::default())
        }
        prompt => Ok(prompt),
    }
}

/// Returns `response_mode`, if it is a mode that this service provider may ask for.
///
/// # Errors
/// `ResponseModeUnknown` for an unsupported mode; `ResponseModeUnsigned` for a plain one, or none,
/// where responses must be signed.
pub(super) fn check_response_mode(
    value: Option<&str>,
    registration: &Registration,
) -> Result<Option<ResponseMode>, E> {
    let must_sign = registration.protection.requires_signed_messages();
    let error = if must_sign { E::ResponseModeUnsigned } else { E::ResponseModeUnknown };
    match value {
        None if must_sign => Err(error),
        None => Ok(None),
        Some(value) => ResponseMode::parse(value, registration).map(Some).ok_or(error),
    }
}

/// Parses `max_age`, in seconds.
///
/// # Errors
/// `MaxAgeMalformed` unless the value is a decimal number of digits only that fits 64 bits.
pub(super) fn parse_max_age(value: Option<&str>) -> Result<Option<u64>, E> {
    let Some(value) = value else { return Ok(None) };
    // `parse` would take a plus sign.
    if !value.bytes().all(|c| c.is_ascii_digit()) {
        return Err(E::MaxAgeMalformed);
    }
    value.parse().map(Some).map_err(|_| E::MaxAgeMalformed)
}

/// Validates the challenge and its method (RFC 7636 §4.3). A missing method would mean `plain`,
/// which the hub does not support.
///
/// # Errors
/// Returns the error code of the invalid, missing or unsupported part; `CodeChallengeRequired` if
/// the client must use PKCE and sends neither.
pub(super) fn validate_code_challenge(
    challenge: Option<&str>,
    method: Option<&str>,
    registration: &Registration,
) -> Result<Option<String>, E> {
    match (challenge, method) {
        (None, Some(_)) => Err(E::CodeChallengeMethodAlone),
        (None, None) if registration.needs_pkce() => Err(E::CodeChallengeRequired),
        (None, None) => Ok(None),
        (Some(_), None) => Err(E::CodeChallengeMethodMissing),
        (Some(challenge), Some("S256")) if pkce::is_challenge(challenge) => {
            Ok(Some(challenge.to_owned()))
        }
        (Some(_), Some("S256")) => Err(E::CodeChallengeMalformed),
        (Some(_), Some(_)) => Err(E::CodeChallengeMethodUnsupported),
    }
}

/// Returns the thumbprint of the key that the code is bound to (RFC 9449 §10).
///
/// # Errors
/// `DpopJktMalformed`.
pub(super) fn parse_dpop_jkt(value: Option<&str>) -> Result<Option<String>, E> {
    match value {
        // A thumbprint has the form of a challenge: base64url of SHA-256.
        Some(jkt) if !pkce::is_challenge(jkt) => Err(E::DpopJktMalformed),
        jkt => Ok(jkt.map(str::to_owned)),
    }
}

/// Returns `login_hint`, unless it is longer than 256 characters.
pub(super) fn parse_login_hint(value: Option<&str>) -> Option<Secret<String>> {
    value.filter(|hint| hint.chars().count() <= 256).map(|hint| Secret::new(hint.to_owned()))
}

/// Returns the connectors of `idp_hint`, separated by spaces, that the service provider's file
/// permits, 24 at most. Others are ignored, as are those that the gate rejects.
pub(super) fn permitted_idp_hints(
    value: Option<&str>,
    registration: &Registration,
) -> Vec<ConnectorId> {
    let named = space_separated(value.unwrap_or_default())
        .take(MAX_IDP_HINTS)
        .filter(|hint| ConnectorId::is_well_formed(hint))
        .map(ConnectorId::from)
        .filter(|connector| registration.hints.permits(connector));
    let mut hints = Vec::new();
    for connector in named {
        if !hints.contains(&connector) {
            hints.push(connector);
        }
    }
    hints
}

/// Returns the further parameters with these names, if any. A repeated or malformed one is ignored:
/// no login needs it.
pub(super) fn read_forwarded(
    params: &Params,
    names: &[String],
) -> Option<Secret<BTreeMap<String, String>>> {
    let value = |name: &String| params.get(name).filter(|value| value.len() <= MAX_FORWARDED_BYTES);
    let sent: BTreeMap<String, String> =
        names.iter().filter_map(|name| Some((name.clone(), value(name)?.to_owned()))).collect();
    (!sent.is_empty()).then(|| Secret::new(sent))
}

/// Returns the first eight well-formed language tags (RFC 5646).
pub(super) fn parse_ui_locales(value: Option<&str>) -> Vec<String> {
    let is_tag =
        |tag: &&str| tag.len() <= 35 && tag.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    space_separated(value.unwrap_or_default()).filter(is_tag).take(8).map(str::to_owned).collect()
}

/// Splits values separated by spaces (RFC 6749 §3.3).
pub(super) fn space_separated(value: &str) -> impl Iterator<Item = &str> {
    value.split(' ').filter(|word| !word.is_empty())
}
