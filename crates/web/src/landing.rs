//! `GET /`: the page for a user who opens the hub's own address.

use actix_web::HttpResponse;

use super::pages::LandingPage;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::landing_page_response;

/// Shows the page that says what this site is and where to continue.
///
/// # Errors
/// None; handlers of pages share this type.
pub(crate) async fn show_landing_page(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let locale = context.locale(&[]);
    Ok(landing_page_response(&context.hub, 200, &locale, |chrome| LandingPage.render(chrome)))
}
