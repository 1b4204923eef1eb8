//! The choice of a language at the foot of a page: a GET form that changes nothing but one cookie.

use actix_web::HttpResponse;

use super::csrf;
use super::page_language::is_page_path;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::{add_cookie, see_other};
use passerelle_protocol::catalogue::ErrorCode;

/// Path of the form.
pub(crate) const LANGUAGE_PATH: &str = "/api/v2/language";

/// Handles `GET /api/v2/language`: remembers the language, and redirects to the page that showed
/// the form.
///
/// # Errors
/// `Malformed` if the path is not one of the hub's pages.
pub(crate) async fn choose_language(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let query = context.query()?;
    let malformed = || Rejection::malformed(ErrorCode::BadRequest);
    let return_path = query.get("path").filter(|path| is_page_path(path)).ok_or_else(malformed)?;
    let languages = &context.hub.core.federation.load().languages;
    let chosen = query.get("lang").and_then(|tag| languages.find(tag));
    let mut response = see_other(return_path);
    // Another site must not choose the language of its visitors.
    if let Some(locale) = chosen.filter(|_| csrf::check_same_origin(&context.request).is_ok()) {
        add_cookie(&mut response, &context.hub.cookies.language_cookie(locale.tag()));
    }
    Ok(response)
}
