//! The authorization request (OpenID Connect Core 1.0, 3.1.2.1; RFC 6749, 4.1.1), judged by one ordered table.
//!
//! Owns: which request is served, and by which way a refusal travels (decisions 3, both rules). Must not know:
//! HTTP libraries, where registrations come from, what a login does with the request.
//!
//! The table is the pair of functions `prove` and `judge`, to be read from top to bottom: one line for each row, the
//! first finding is the answer. What `prove` finds is shown on a page, what `judge` finds goes back by redirect; the type
//! of [`ProvenRedirect`] sees to it that no refusal is redirected before `client_id` and `redirect_uri` are proven.
//! `rules = "openid"` proves less and judges the rest by the same table: `openid`.

mod openid;
mod redirect;
mod request_object;
mod rows;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(super) use self::redirect::append;
pub use self::redirect::{ProvenRedirect, ResponseMode, SpAnswer};
use self::rows::Asked;
use super::acr::{Demand, Level, Platform};
use super::catalogue::ErrorCode;
use super::params::{Params, is_form_urlencoded};
use super::registration::{Directory, Registration, Rules};
use crate::ids::{ClientId, ConnectorId, Scope, Secret};

/// How the request came; `state` and `nonce` have another minimum in each (R112, R113).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestForm {
    Get,
    Post,
}

/// A request that passed every check. Nothing in it needs to be looked at twice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    pub client_id: ClientId,
    pub redirect: ProvenRedirect,
    /// What was asked and is granted, `openid` first, then in the order asked, each once.
    pub scopes: Vec<Scope>,
    /// The minimum asked: the lowest value that the platform accepts, or that an essential `acr` claim allows.
    pub level: Level,
    /// The level was asked by an essential `acr` claim: not reached means that the login fails (Core, 5.5.1.1).
    pub acr_essential: bool,
    /// The levels that an essential `acr` claim names, one of which the ID token must carry (Core, 5.5.1.1). Empty: any from
    /// `level` up, and on the standard platform, where there is one level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acr_required: Vec<Level>,
    /// Goes into the ID token as it is. Absent only under `rules = "openid"`.
    pub nonce: Option<Secret<String>>,
    pub prompt: Prompt,
    /// Seconds since the authentication (Core, 3.1.2.1).
    pub max_age: Option<u64>,
    pub claims: ClaimsAsked,
    /// S256 challenge, 43 base64url characters.
    pub code_challenge: Option<String>,
    /// At most 256 characters.
    pub login_hint: Option<Secret<String>>,
    /// Not verified yet.
    pub id_token_hint: Option<Secret<String>>,
    /// Well formed, but not known to exist.
    pub idp_hint: Option<ConnectorId>,
    /// Language tags, most wanted first.
    pub ui_locales: Vec<String>,
}

impl AuthorizationRequest {
    /// Returns what the request needs of an identity provider.
    #[must_use]
    pub const fn demand(&self) -> Demand {
        Demand { level: self.level, reauthentication: self.prompt.login || self.max_age.is_some() }
    }

    /// Returns true if an ID token with this `acr` is an answer to the request's essential `acr` claim, if it has one.
    #[must_use]
    pub fn accepts_acr(&self, level: Level) -> bool {
        self.acr_required.is_empty() || self.acr_required.contains(&level)
    }

    /// Proves a second time what the checks proved: between the request and its answer the registration may change, and
    /// what was withdrawn meanwhile receives and releases nothing (RFC 9700 §4.11).
    ///
    /// # Errors
    /// `RedirectUriWithdrawn`, before which nothing may be redirected; `ScopeWithdrawn`.
    pub fn check_registration(&self, registration: Option<&Registration>) -> Result<(), ErrorCode> {
        let holds = |registration: &&Registration| {
            registration.holds_redirect_uri(self.redirect.redirect_uri())
        };
        let registration = registration.filter(holds).ok_or(ErrorCode::RedirectUriWithdrawn)?;
        if registration.grants(&self.scopes) { Ok(()) } else { Err(ErrorCode::ScopeWithdrawn) }
    }
}

/// What `prompt` asks for; `none` stands alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Prompt {
    /// The identity provider must authenticate the user again.
    pub login: bool,
    /// The consent or information page must be shown.
    pub consent: bool,
    /// Nothing may be shown.
    pub none: bool,
    /// The user must be asked which account to use: the choice page is shown, whatever session or hint there is.
    #[serde(default)]
    pub select_account: bool,
}

impl Prompt {
    /// The values that are understood.
    pub const VALUES: &'static [&'static str] = &["none", "login", "consent", "select_account"];
}

/// R114
impl Default for Prompt {
    fn default() -> Self {
        Self { login: true, consent: true, none: false, select_account: false }
    }
}

/// What the `claims` parameter asks for. Under federation rules identity claims come by scope alone.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClaimsAsked {
    /// `id_token.amr.essential` is the boolean `true` (R066).
    pub amr: bool,
    /// `id_token.sub.value`: whoever logs in must be this user.
    pub sub: Option<Secret<String>>,
    /// Under `rules = "openid"`: names of claims for userinfo. What is granted of them is not decided yet.
    pub userinfo: Vec<String>,
    /// The same, for the ID token.
    pub id_token: Vec<String>,
}

/// Why a request is not served, and the only way in which that may be told.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A 400 page that shows `Y000400` and this code; no link to the URI that was sent.
    #[error("{}", .0.entry().description)]
    Page(ErrorCode),
    /// [`ProvenRedirect::error`] with this code.
    #[error("{}", .1.entry().description)]
    Redirect(ProvenRedirect, ErrorCode),
}

/// Whether a POST may be read at all: a form, with nothing in its address (R120). `query` is what follows the `?`.
///
/// # Errors
/// The code for a 400 page.
pub fn admit_post(content_type: Option<&str>, query: &str) -> Result<(), ErrorCode> {
    if !is_form_urlencoded(content_type) {
        return Err(ErrorCode::AuthorizeNotForm);
    }
    if !query.is_empty() {
        return Err(ErrorCode::AuthorizePostWithQuery);
    }
    Ok(())
}

/// Judges one authorization request. `issuer` is this hub's, for the answer's `iss`.
///
/// # Errors
/// The first finding, with the way it may travel.
pub fn check(
    params: &Params,
    form: RequestForm,
    platform: Platform,
    issuer: &str,
    directory: &dyn Directory,
) -> Result<AuthorizationRequest, Refusal> {
    let (asked, repeated) = Asked::read(params);
    let registration = asked.client_id.and_then(|id| directory.registration(id));
    if registration.is_some_and(|registration| registration.rules == Rules::Openid) {
        return openid::check(params, &asked, repeated, platform, issuer, directory);
    }
    repeated.map_or(Ok(()), |twice| Err(Refusal::Page(twice)))?; // a parameter twice
    let proven = prove(&asked, form, issuer, directory).map_err(Refusal::Page)?;
    judge(&asked, &proven, platform, directory)
        .map_err(|code| Refusal::Redirect(proven.redirect, code))
}

/// The level that a request asks for, and those that an essential `acr` claim names, by its `acr_values` and `claims` alone, as [`check`] finds it.
///
/// # Errors
/// The finding on one of the two.
pub fn level_asked(
    acr_values: &str,
    claims: Option<&str>,
    rules: Rules,
    platform: Platform,
) -> Result<(Level, Vec<Level>), ErrorCode> {
    if acr_values.is_empty() && rules == Rules::Federation {
        return Err(ErrorCode::AcrValuesMissing);
    }
    let claims = rows::claims(claims.filter(|claims| !claims.is_empty()), rules)?;
    Ok((level(acr_values, &claims, rules, platform)?, claims.acr.required(platform)))
}

fn level(
    acr_values: &str,
    claims: &rows::Claims,
    rules: Rules,
    platform: Platform,
) -> Result<Level, ErrorCode> {
    match rules {
        Rules::Federation => rows::level(acr_values, &claims.acr, platform),
        Rules::Openid => rows::level_or_lowest(acr_values, &claims.acr, platform),
    }
}

/// What `prove` hands on: the required values, and the way back.
struct Proven<'a> {
    registration: &'a Registration,
    redirect: ProvenRedirect,
    response_type: &'a str,
    scope: &'a str,
    acr_values: Option<&'a str>,
    nonce: Option<&'a str>,
}

/// The rows whose finding is a page.
fn prove<'a>(
    asked: &Asked<'a>,
    form: RequestForm,
    issuer: &str,
    directory: &'a dyn Directory,
) -> Result<Proven<'a>, ErrorCode> {
    let registration = rows::client(asked.client_id, directory)?;
    let redirect_uri = rows::redirect_uri(asked.redirect_uri, registration)?;

    let response_type = asked.response_type.ok_or(ErrorCode::ResponseTypeMissing)?;
    let scope = asked.scope.ok_or(ErrorCode::ScopeMissing)?;
    let acr_values = asked.acr_values.ok_or(ErrorCode::AcrValuesMissing)?;
    let state = rows::STATE.check(asked.state, form)?;
    let nonce = rows::NONCE.check(asked.nonce, form)?;

    // An unknown mode is found by `judge`; that answer travels in the default one.
    let mode = asked.response_mode.and_then(ResponseMode::parse).unwrap_or_default();
    let redirect = ProvenRedirect::new(redirect_uri, Some(state), mode, issuer);
    Ok(Proven {
        registration,
        redirect,
        response_type,
        scope,
        acr_values: Some(acr_values),
        nonce: Some(nonce),
    })
}

/// The rows whose finding goes back by the proven redirect.
fn judge(
    asked: &Asked<'_>,
    proven: &Proven<'_>,
    platform: Platform,
    directory: &dyn Directory,
) -> Result<AuthorizationRequest, ErrorCode> {
    let rules = proven.registration.rules;
    rows::response_type(proven.response_type)?;

    rows::openid_is_asked(proven.scope)?;
    let claims = rows::claims(asked.claims, rules)?;
    let prompt = rows::prompt(asked.prompt, rules)?;
    rows::response_mode(asked.response_mode)?;
    let max_age = rows::max_age(asked.max_age)?;
    let code_challenge = rows::code_challenge(
        asked.code_challenge,
        asked.code_challenge_method,
        proven.registration,
    )?;

    let scopes = rows::scopes(proven.scope, proven.registration, directory)?;
    let level = level(proven.acr_values.unwrap_or_default(), &claims, rules, platform)?;

    rows::absent(asked.request, ErrorCode::RequestNotSupported)?;
    rows::absent(asked.request_uri, ErrorCode::RequestUriNotSupported)?;
    rows::absent(asked.registration, ErrorCode::RegistrationNotSupported)?;

    Ok(AuthorizationRequest {
        client_id: proven.registration.client_id.clone(),
        redirect: proven.redirect.clone(),
        scopes,
        level,
        acr_essential: claims.acr.is_binding(),
        acr_required: claims.acr.required(platform),
        nonce: proven.nonce.map(|nonce| Secret::new(nonce.to_owned())),
        prompt,
        max_age,
        claims: claims.asked,
        code_challenge,
        login_hint: rows::login_hint(asked.login_hint),
        id_token_hint: asked.id_token_hint.map(|hint| Secret::new(hint.to_owned())),
        idp_hint: rows::idp_hint(asked.idp_hint, proven.registration),
        ui_locales: rows::ui_locales(asked.ui_locales),
    })
}
