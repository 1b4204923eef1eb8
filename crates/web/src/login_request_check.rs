//! Verifies that a request for a login comes from the browser that started it, and that a form was
//! sent from its page.

use actix_web::web::Payload;

use super::cookies::HeldLogin;
use super::csrf::{self, FormPurpose};
use super::form;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use passerelle_hub::{LoginSummary, StepError};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::InteractionHash;
use passerelle_protocol::params::Params;

/// Returns the login that the URL names and its cookie's value, which proves that this browser
/// started it.
///
/// # Errors
/// `OutsideLogin` if the login is unknown, `OtherBrowser` if another browser started it.
pub(super) async fn verify_login_cookie(
    context: &RequestContext,
    hash: &str,
) -> Result<HeldLogin, Rejection> {
    if !InteractionHash::is_well_formed(hash) {
        return Err(Rejection::OutsideLogin(ErrorCode::LoginUnknown));
    }
    let hash = InteractionHash::new(hash);
    if let Some(secret) = context.hub.cookies.login_proof(&context.request, &hash) {
        Ok(HeldLogin { hash, secret })
    } else {
        let summary = load_summary(context, &hash).await?;
        Err(Rejection::OtherBrowser(hash, summary))
    }
}

/// Parses a form of a login, and verifies its cookie and its CSRF token.
///
/// # Errors
/// As [`verify_login_cookie`], and `InvalidForm` if the token is wrong.
pub(super) async fn verify_login_form(
    context: &RequestContext,
    hash: &str,
    body: Payload,
    purpose: FormPurpose,
) -> Result<(HeldLogin, Params), Rejection> {
    let params = form::parse_body(&context.request, body).await?;
    let login = verify_login_cookie(context, hash).await?;
    // A consent token binds the displayed claims; the step compares them with the current ones.
    let page_digest = if purpose == FormPurpose::CONSENT {
        params.get("page_digest").unwrap_or_default()
    } else {
        ""
    };
    let form_check = csrf::verify_form(
        &context.request,
        &login.secret,
        purpose,
        page_digest,
        params.get("csrf"),
    );
    if let Err(code) = form_check {
        let summary = load_summary(context, &login.hash).await?;
        return Err(Rejection::InvalidForm { code, login, summary });
    }
    Ok((login, params))
}

/// Loads what a page shows of a login.
///
/// # Errors
/// `OutsideLogin` if the login is unknown, `StepFailed` if the store fails.
pub(super) async fn load_summary(
    context: &RequestContext,
    hash: &InteractionHash,
) -> Result<Box<LoginSummary>, Rejection> {
    match context.hub.logins.peek(hash).await {
        Ok(Some(summary)) => Ok(Box::new(summary)),
        Ok(None) => Err(Rejection::OutsideLogin(ErrorCode::LoginUnknown)),
        Err(code) => Err(Rejection::StepFailed(hash.clone(), StepError::Hub(code))),
    }
}
