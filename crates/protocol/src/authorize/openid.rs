//! Validates requests under `rules = "openid"`: plain OpenID Connect Core 1.0, for service
//! providers whose software can't send what the federation's specification adds
//! (`docs/authorization-checks.md`).
//!
//! Responsible for what may be missing, and for redirecting every failure after the proof of
//! `client_id` and `redirect_uri`, in the requested response mode.

use super::checks;
use super::request_object::ReturnParams;
use super::{
    AuthorizationError, AuthorizationRequest, ProvenRedirect, ResponseMode, ValidatedClient,
    validate_parameters,
};
use crate::acr::Platform;
use crate::catalogue::{ErrorCode, Param, RequiredParam};
use crate::params::Params;
use crate::registration::{ClientDirectory, Registration};

/// Validates a request of a service provider under these rules.
///
/// # Errors
/// `Page` until `client_id` and `redirect_uri` are proven, `Redirect` after that.
pub(super) fn validate_openid_request(
    params: &Params,
    platform: Platform,
    issuer: &str,
    directory: &dyn ClientDirectory,
) -> Result<AuthorizationRequest, AuthorizationError> {
    let registration = checks::find_client(params, directory).map_err(AuthorizationError::Page)?;
    let redirect =
        prove_redirect(params, registration, issuer).map_err(AuthorizationError::Page)?;
    let validated = validate_openid_client(params, registration, redirect.clone())
        .and_then(|proven| validate_parameters(params, &proven, platform, directory));
    validated.map_err(|code| AuthorizationError::Redirect(redirect, code))
}

/// Returns the redirect of the request.
///
/// # Errors
/// The failed check of `redirect_uri`.
pub(super) fn prove_redirect(
    params: &Params,
    registration: &Registration,
    issuer: &str,
) -> Result<ProvenRedirect, ErrorCode> {
    let redirect_uri = checks::find_registered_redirect_uri(params, registration)?;
    // A longer state could make a URL that servers reject: the error travels without it.
    let value = |param: Param| params.get(param.name());
    let state = value(Param::State).filter(|state| state.len() <= checks::MAX_STATE_CHARS);
    // If a request object is rejected, its `state` and `response_mode` are used for the error when
    // the query has none.
    let object = value(Param::Request)
        .map(|object| ReturnParams::from_request_object(object, registration))
        .unwrap_or_default();
    let state = if params.contains("state") { state } else { object.state.as_deref() };
    let mode = if params.contains("response_mode") {
        value(Param::ResponseMode).and_then(|mode| ResponseMode::parse(mode, registration))
    } else {
        object.mode
    };
    let mode = mode.unwrap_or_else(|| ResponseMode::default_for(registration));
    Ok(ProvenRedirect::new(&redirect_uri, state, mode, issuer, &registration.client_id))
}

/// The checks that fail with a page under the federation's rules.
fn validate_openid_client<'a>(
    params: &'a Params,
    registration: &'a Registration,
    redirect: ProvenRedirect,
) -> Result<ValidatedClient<'a>, ErrorCode> {
    params.check_repeated(Param::AUTHORIZATION)?; // RFC 6749 §3.1
    checks::STATE.check_optional(params.once(Param::State)?)?;
    Ok(ValidatedClient {
        registration,
        redirect,
        response_type: params.required(RequiredParam::ResponseType)?,
        scope: params.required(RequiredParam::Scope)?,
        acr_values: params.once(Param::AcrValues)?,
        nonce: checks::NONCE.check_optional(params.once(Param::Nonce)?)?,
    })
}

#[cfg(test)]
mod tests;
