//! Validates authorization requests (OpenID Connect Core 1.0 §3.1.2.1; RFC 6749 §4.1.1;
//! `docs/authorization-checks.md`).
//!
//! Responsible for which requests are served, and for how an error travels. Does not depend on HTTP
//! libraries, where registrations come from, or what a login does with the request.
//!
//! `validate_client` and `validate_parameters` are an ordered table: one line per check, the first
//! failure is the result. Failures of the former are shown on a page, those of the latter are
//! redirected; the type [`ProvenRedirect`] ensures that no error is redirected before `client_id`
//! and `redirect_uri` are proven. `rules = "openid"` proves less, and runs the other checks of the
//! same table: `openid`.

mod checks;
mod claims;
pub mod explanation;
mod openid;
pub mod parameter_source;
pub mod pushed;
mod redirect;
pub mod request_object;
#[cfg(test)]
mod tests;
mod verified_claims;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::{As, DefaultOnNull, OneOrMany, Same};

pub(super) use self::redirect::append_params;
pub use self::redirect::{AuthorizationResponse, ProvenRedirect, ResponseMode, UnsignedResponse};
pub use self::verified_claims::{VERIFIED_CLAIMS, VerifiedClaimsRequest};
use super::acr::{
    self, AchievedAcr, AcrRegistration, AcrRequest, AuthenticationRequirement, Level, Platform,
    RequestedAcr,
};
use super::catalogue::{ErrorCode, Param, RequiredParam};
use super::params::Params;
use super::registration::{ClientDirectory, ProtocolRules, Registration};
use crate::ids::{ClientId, ConnectorId, Scope, Secret};

/// HTTP method of the request; `state` and `nonce` have another minimum length in each (R112,
/// R113).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestMethod {
    Get,
    Post,
}

/// A validated authorization request. No part of it needs another check.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    pub client_id: ClientId,
    pub redirect: ProvenRedirect,
    /// The requested scopes that are granted: `openid` first, then in the requested order, each
    /// once.
    pub scopes: Vec<Scope>,
    /// The requested minimum: the lowest value that the platform accepts, or that an essential
    /// `acr` claim allows.
    pub level: Level,
    /// Whether an essential `acr` claim requests the level: the login fails if it is not reached
    /// (Core §5.5.1.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acr_essential: bool,
    /// The levels that an essential `acr` claim names; the ID token must carry one of them (Core
    /// §5.5.1.1). Empty: any from `level` up. Always empty on the standard platform, which has one
    /// level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acr_required: Vec<Level>,
    /// The requested values of `acr`, in order, if the service provider has level names; otherwise
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acr_values: Vec<RequestedAcr>,
    /// Copied to the ID token unchanged. Absent only under `rules = "openid"`.
    #[serde(default, with = "crate::ids::stored_secret")]
    pub nonce: Option<Secret<String>>,
    pub prompt: Prompt,
    /// Maximum age of the authentication in seconds (Core §3.1.2.1).
    pub max_age: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub claims: RequestedClaims,
    /// S256 challenge, 43 base64url characters.
    pub code_challenge: Option<String>,
    /// Thumbprint of the DPoP key that the code is bound to (RFC 9449 §10).
    pub dpop_jkt: Option<String>,
    /// At most 256 characters.
    #[serde(default, with = "crate::ids::stored_secret")]
    pub login_hint: Option<Secret<String>>,
    /// Not verified yet.
    #[serde(default, with = "crate::ids::stored_secret")]
    pub id_token_hint: Option<Secret<String>>,
    /// The connectors that `idp_hint` names: well formed, each once, but not known to exist.
    /// Stored as one text if there is one, as earlier releases did.
    #[serde(
        default,
        rename = "idp_hint",
        skip_serializing_if = "Vec::is_empty",
        with = "As::<DefaultOnNull<OneOrMany<Same>>>"
    )]
    pub idp_hints: Vec<ConnectorId>,
    /// Further parameters that identity providers may get, by name. Their values are not checked.
    #[serde(default, with = "crate::ids::stored_secret")]
    pub forwarded: Option<Secret<BTreeMap<String, String>>>,
    /// Language tags, preferred first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ui_locales: Vec<String>,
}

impl AuthorizationRequest {
    /// Returns what the request needs from an identity provider.
    pub const fn requirement(&self) -> AuthenticationRequirement {
        AuthenticationRequirement {
            level: self.level,
            reauthentication: self.prompt.login || self.max_age.is_some(),
        }
    }

    /// Returns true if the request needs to know when the user authenticated.
    pub const fn needs_auth_time(&self) -> bool {
        self.requirement().reauthentication || !self.claims.auth_time_optional
    }

    /// Returns true if an authentication of this level can satisfy the request's essential `acr`
    /// claim, if any.
    pub fn accepts_level(&self, level: Level) -> bool {
        acr::accepts_level(&self.acr_required, self.acr_essential, &self.acr_values, level)
    }

    /// Returns true if this authentication satisfies the request's essential `acr` claim, if any
    /// (Core §5.5.1.1).
    pub fn accepts_acr(&self, proof: &AchievedAcr<'_>) -> bool {
        self.accepts_level(proof.level) && (!self.acr_essential || self.meets_requested_acr(proof))
    }

    /// Returns true if this authentication meets a requested value of `acr`, or if the service
    /// provider has no level names.
    pub fn meets_requested_acr(&self, proof: &AchievedAcr<'_>) -> bool {
        self.acr_values.is_empty() || self.acr_values.iter().any(|value| value.is_met(proof))
    }

    /// Returns the level name to answer as `acr`: that of the first requested value that this
    /// authentication meets. `None`: the level is answered.
    pub fn acr_answer(&self, proof: &AchievedAcr<'_>) -> Option<Arc<str>> {
        self.acr_values.iter().find(|value| value.is_met(proof))?.name.clone()
    }

    /// Returns true if confirmation by mail would change the answered `acr`.
    pub fn is_answered_better_with_mail(&self, proof: &AchievedAcr<'_>) -> bool {
        self.acr_values.iter().any(|value| value.mail)
            && self.acr_answer(proof) != self.acr_answer(&AchievedAcr { mail: true, ..*proof })
    }

    /// Returns the requested level names that can be the answer, in order.
    pub fn level_names(&self) -> impl Iterator<Item = &Arc<str>> {
        acr::answerable_names(&self.acr_values, self.level)
    }

    /// Repeats the checks against the registration: it may change between the request and its
    /// response, and a withdrawn redirect URI or scope receives and releases nothing (RFC 9700
    /// §4.11).
    ///
    /// # Errors
    /// `RedirectUriWithdrawn`, after which nothing may be redirected; `ScopeWithdrawn`.
    pub fn check_registration(&self, registration: Option<&Registration>) -> Result<(), ErrorCode> {
        let holds = |registration: &&Registration| {
            registration.has_redirect_uri(self.redirect.redirect_uri())
        };
        let registration = registration.filter(holds).ok_or(ErrorCode::RedirectUriWithdrawn)?;
        if registration.grants_scopes(&self.scopes) {
            Ok(())
        } else {
            Err(ErrorCode::ScopeWithdrawn)
        }
    }
}

/// Values of `prompt`; `none` excludes the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Prompt {
    /// The identity provider must authenticate the user again.
    pub login: bool,
    /// The consent or information page must be shown.
    pub consent: bool,
    /// Nothing may be shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
    /// The user must choose an account: the choice page is shown, whatever the session or hints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub select_account: bool,
}

impl Prompt {
    /// The supported values.
    pub const VALUES: &'static [&'static str] = &["none", "login", "consent", "select_account"];
}

/// R114
impl Default for Prompt {
    fn default() -> Self {
        Self { login: true, consent: true, none: false, select_account: false }
    }
}

/// Content of the `claims` parameter. Under federation rules, identity claims are requested by
/// scope only.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RequestedClaims {
    /// `id_token.amr.essential` is the boolean `true` (R066).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub amr: bool,
    /// `id_token.sub.value`: the user who must log in.
    #[serde(default, with = "crate::ids::stored_secret")]
    pub sub: Option<Secret<String>>,
    /// Names of claims for userinfo, under `rules = "openid"`. Which of them are granted is decided
    /// later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub userinfo: Vec<String>,
    /// The same, for the ID token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id_token: Vec<String>,
    /// Requests for verified claims in userinfo, under `rules = "openid"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified_userinfo: Vec<VerifiedClaimsRequest>,
    /// The same, for the ID token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verified_id_token: Vec<VerifiedClaimsRequest>,
    /// Whether the ID token may lack `auth_time`: under `rules = "openid"`, unless it is essential
    /// or registered as required (Core §2).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auth_time_optional: bool,
}

/// Returns true if the value is the default, which stored records leave out.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Why a request is rejected, and how the error may travel.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum AuthorizationError {
    /// A 400 page with `Y000400` and this code, without a link to the URI that was sent.
    #[error("{}", .0.entry().description)]
    Page(ErrorCode),
    /// A redirect with [`ProvenRedirect::error_response`] of this code.
    #[error("{}", .1.entry().description)]
    Redirect(ProvenRedirect, ErrorCode),
}

/// Validates an authorization request. `issuer` is this hub's, for the `iss` of the response.
///
/// # Errors
/// The first failed check, and how it may travel.
pub fn validate_request(
    params: &Params,
    method: RequestMethod,
    platform: Platform,
    issuer: &str,
    directory: &dyn ClientDirectory,
) -> Result<AuthorizationRequest, AuthorizationError> {
    let registration = params.get(Param::ClientId.name()).and_then(|id| directory.registration(id));
    if registration.is_some_and(|registration| registration.rules == ProtocolRules::Openid) {
        return openid::validate_openid_request(params, platform, issuer, directory);
    }
    let proven =
        validate_client(params, method, issuer, directory).map_err(AuthorizationError::Page)?;
    validate_parameters(params, &proven, platform, directory)
        .map_err(|code| AuthorizationError::Redirect(proven.redirect, code))
}

/// Returns what a request asks of `acr`, from `acr_values` and `claims` only, as
/// [`validate_request`] does.
///
/// # Errors
/// The failed check of one of the two.
pub fn evaluate_requested_acr(
    acr_values: &str,
    claims: Option<&str>,
    rules: ProtocolRules,
    registration: &AcrRegistration,
    platform: Platform,
) -> Result<AcrRequest, ErrorCode> {
    if acr_values.is_empty()
        && rules == ProtocolRules::Federation
        && registration.default_values.is_empty()
    {
        return Err(ErrorCode::Missing(RequiredParam::AcrValues));
    }
    let claims = claims::parse_claims(claims.filter(|claims| !claims.is_empty()), rules)?;
    evaluate_acr_for_rules(acr_values, &claims, rules, registration, platform)
}

fn evaluate_acr_for_rules(
    acr_values: &str,
    claims: &claims::ParsedClaims,
    rules: ProtocolRules,
    registration: &AcrRegistration,
    platform: Platform,
) -> Result<AcrRequest, ErrorCode> {
    let defaults = registration.default_values.join(" ");
    let is_default = acr_values.is_empty() && claims.acr.has_no_value();
    let acr_values = if is_default { defaults.as_str() } else { acr_values };
    match rules {
        ProtocolRules::Federation => {
            claims::requested_acr(acr_values, &claims.acr, registration, platform)
        }
        ProtocolRules::Openid => {
            claims::requested_acr_or_lowest(acr_values, &claims.acr, registration, platform)
        }
    }
}

/// The parameters that the hub doesn't support, each with its error (Core §3.1.2.6).
const UNSUPPORTED: [(Param, ErrorCode); 3] = [
    (Param::Request, ErrorCode::RequestNotSupported),
    (Param::RequestUri, ErrorCode::RequestUriNotSupported),
    (Param::Registration, ErrorCode::RegistrationNotSupported),
];

/// Result of `validate_client`: the required values, and the proven redirect.
struct ValidatedClient<'a> {
    registration: &'a Registration,
    redirect: ProvenRedirect,
    response_type: &'a str,
    scope: &'a str,
    acr_values: Option<&'a str>,
    nonce: Option<&'a str>,
}

/// The checks whose failure is a page.
fn validate_client<'a>(
    params: &'a Params,
    method: RequestMethod,
    issuer: &str,
    directory: &'a dyn ClientDirectory,
) -> Result<ValidatedClient<'a>, ErrorCode> {
    params.check_repeated(Param::AUTHORIZATION)?;
    let registration = checks::find_client(params, directory)?;
    let redirect_uri = checks::find_registered_redirect_uri(params, registration)?;

    let response_type = params.required(RequiredParam::ResponseType)?;
    let scope = params.required(RequiredParam::Scope)?;
    let acr_values = if registration.acr.default_values.is_empty() {
        Some(params.required(RequiredParam::AcrValues)?)
    } else {
        params.once(Param::AcrValues)?
    };
    let state = checks::STATE.check(params, method)?;
    let nonce = checks::NONCE.check(params, method)?;

    let redirect = federation_redirect(params, registration, &redirect_uri, state, issuer);
    Ok(ValidatedClient {
        registration,
        redirect,
        response_type,
        scope,
        acr_values,
        nonce: Some(nonce),
    })
}

/// Returns the redirect of a request under federation rules.
fn federation_redirect(
    params: &Params,
    registration: &Registration,
    redirect_uri: &str,
    state: &str,
    issuer: &str,
) -> ProvenRedirect {
    // `validate_parameters` rejects an unknown mode; that error travels in the default mode.
    let mode = params.get(Param::ResponseMode.name());
    let mode = mode.and_then(|mode| ResponseMode::parse(mode, registration));
    let mode = mode.unwrap_or_else(|| ResponseMode::default_for(registration));
    ProvenRedirect::new(redirect_uri, Some(state), mode, issuer, &registration.client_id)
}

/// The checks whose failure is redirected.
fn validate_parameters(
    params: &Params,
    proven: &ValidatedClient<'_>,
    platform: Platform,
    directory: &dyn ClientDirectory,
) -> Result<AuthorizationRequest, ErrorCode> {
    let rules = proven.registration.rules;
    let value = |param: Param| params.get(param.name());
    checks::check_response_type(proven.response_type)?;

    checks::check_openid_scope(proven.scope)?;
    let mut claims = claims::parse_claims(value(Param::Claims), rules)?;
    claims.requested.auth_time_optional &= !proven.registration.require_auth_time;
    let prompt = checks::parse_prompt(value(Param::Prompt), rules)?;
    checks::check_response_mode(value(Param::ResponseMode), proven.registration)?;
    let max_age = checks::parse_max_age(value(Param::MaxAge))?;
    let code_challenge = checks::validate_code_challenge(
        value(Param::CodeChallenge),
        value(Param::CodeChallengeMethod),
        proven.registration,
    )?;
    let dpop_jkt = checks::parse_dpop_jkt(value(Param::DpopJkt))?;

    let scopes = checks::grant_scopes(proven.scope, proven.registration, directory)?;
    let scopes = checks::drop_unasked_offline_access(scopes, prompt);
    let acr_values = proven.acr_values.unwrap_or_default();
    let acr =
        evaluate_acr_for_rules(acr_values, &claims, rules, &proven.registration.acr, platform)?;

    for (param, code) in UNSUPPORTED {
        value(param).map_or(Ok(()), |_| Err(code))?;
    }

    Ok(AuthorizationRequest {
        client_id: proven.registration.client_id.clone(),
        redirect: proven.redirect.clone(),
        scopes,
        level: acr.level,
        acr_essential: acr.essential,
        acr_required: acr.required,
        acr_values: acr.values,
        nonce: proven.nonce.map(|nonce| Secret::new(nonce.to_owned())),
        prompt,
        max_age,
        claims: claims.requested,
        code_challenge,
        dpop_jkt,
        login_hint: checks::parse_login_hint(value(Param::LoginHint)),
        id_token_hint: value(Param::IdTokenHint).map(|hint| Secret::new(hint.to_owned())),
        idp_hints: checks::permitted_idp_hints(value(Param::IdpHint), proven.registration),
        forwarded: checks::read_forwarded(params, directory.forwarded_params()),
        ui_locales: checks::parse_ui_locales(value(Param::UiLocales)),
    })
}
