//! `rules = "openid"`: plain OpenID Connect Core 1.0, for service providers whose software can't send what the
//! specification adds (decisions 3, Rules per SP, points 1 to 4 and 6).
//!
//! Owns: what may be missing, and that after the proof of `client_id` and `redirect_uri` every finding travels by
//! redirect, in the response mode asked. Must not know: the rows themselves, which are the table's.

use super::request_object::ReturnParams;
use super::rows::{self, Asked};
use super::{AuthorizationRequest, Proven, ProvenRedirect, Refusal, ResponseMode, judge};
use crate::protocol::acr::Platform;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::params::Params;
use crate::protocol::registration::{Directory, Registration};

/// Judges a request of a service provider under these rules. `repeated` is the finding on a parameter that came twice.
pub(super) fn check(
    params: &Params,
    asked: &Asked<'_>,
    repeated: Option<ErrorCode>,
    platform: Platform,
    issuer: &str,
    directory: &dyn Directory,
) -> Result<AuthorizationRequest, Refusal> {
    let registration = rows::client(asked.client_id, directory).map_err(Refusal::Page)?;
    let redirect_uri =
        params.one("redirect_uri").map_err(|_| Refusal::Page(ErrorCode::RedirectUriTwice))?;
    let redirect_uri = rows::redirect_uri(redirect_uri, registration).map_err(Refusal::Page)?;

    // A longer one would make an address that nobody takes: its finding goes without it.
    let state = asked.state.filter(|state| state.len() <= rows::LONGEST_OPAQUE);
    // A request object is refused; one that holds the only `state` and `response_mode` lends both to the refusal.
    let object = asked.request.map(ReturnParams::from_request_object).unwrap_or_default();
    let state = if params.names("state") { state } else { object.state.as_deref() };
    let mode = if params.names("response_mode") {
        asked.response_mode.and_then(ResponseMode::parse)
    } else {
        object.mode
    };
    let redirect = ProvenRedirect::new(redirect_uri, state, mode.unwrap_or_default(), issuer);
    let judged = prove(asked, repeated, registration, redirect.clone())
        .and_then(|proven| judge(asked, &proven, platform, directory));
    judged.map_err(|code| Refusal::Redirect(redirect, code))
}

/// The rows that the federation's rules answer with a page.
fn prove<'a>(
    asked: &Asked<'a>,
    repeated: Option<ErrorCode>,
    registration: &'a Registration,
    redirect: ProvenRedirect,
) -> Result<Proven<'a>, ErrorCode> {
    repeated.map_or(Ok(()), Err)?; // RFC 6749, 3.1
    rows::STATE.check_optional(asked.state)?;
    Ok(Proven {
        registration,
        redirect,
        response_type: asked.response_type.ok_or(ErrorCode::ResponseTypeMissing)?,
        scope: asked.scope.ok_or(ErrorCode::ScopeMissing)?,
        acr_values: asked.acr_values,
        nonce: rows::NONCE.check_optional(asked.nonce)?,
    })
}

#[cfg(test)]
mod tests;
