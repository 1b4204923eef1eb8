//! `POST /api/v2/interaction/{hash}/not-me`: the person on the consent page is not the user of the
//! browser.
//!
//! The login goes back to the choice, and the person's sessions end: the hub's, if the login reused
//! it, and the identity provider's where it has a logout. From there the browser returns to the
//! login.

use actix_web::{HttpResponse, web};

use super::csrf::FormPurpose;
use super::login::{ResponseOrigin, step_response};
use super::login_request_check::verify_login_form;
use super::logout::add_running_logout;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{add_cookie, interaction_path, see_other};
use passerelle_federation::login::{LoginAnswer, LoginRequest};
use passerelle_hub::{Reply, StepError, redirect_state};

/// Handles `POST /api/v2/interaction/{hash}/not-me`.
pub(crate) async fn report_wrong_user(
    context: RequestContext,
    path: web::Path<String>,
    body: web::Payload,
) -> Result<HttpResponse, Rejection> {
    let (login, _) =
        verify_login_form(&context, &path, body, FormPurpose::REPORT_WRONG_USER).await?;
    let hub = &context.hub;
    let cookie = hub.cookies.session(&context.request);
    let failed = |error| Rejection::StepFailed(login.hash.clone(), error);
    let stepped =
        hub.logins.run_step(&login.hash, LoginRequest::ReportWrongUser, cookie.clone()).await;
    let rejected = match stepped.map_err(failed)? {
        Reply { answer: LoginAnswer::WrongUserReported(rejected), .. } => rejected,
        reply => return step_response(&context, &login, reply, ResponseOrigin::Form).await,
    };
    let is_ended = cookie.as_ref().is_some_and(|cookie| rejected.is_of_session(cookie));
    let ended = hub.logouts.end_wrong_user_sessions(rejected, cookie.as_ref(), &login.hash).await;
    let mut response = match ended.map_err(|code| failed(StepError::Hub(code)))? {
        Some(url) => {
            let mut response = see_other(url.as_str());
            if let Some(state) = redirect_state(&url) {
                add_running_logout(hub, &context.request, &mut response, state);
            }
            response
        }
        None => see_other(&interaction_path(&login.hash)),
    };
    if is_ended {
        add_cookie(&mut response, &hub.cookies.expired_session_cookie());
    }
    Ok(response)
}
