//! The address of an error page outside a login, `GET /api/v2/errors/{code}`. The choice of a
//! language leads there: the page's own request may be a form, or an attacker's.

use actix_web::HttpResponse;
use url::form_urlencoded::Serializer;

use super::csrf;
use super::error_pages;
use super::page_language::is_page_path;
use super::pages::{ErrorDetail, ErrorPage, PageAction};
use super::request_context::RequestContext;
use super::responses::{BASE_PATH, landing_page_response};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use passerelle_protocol::params::Params;

/// Returns the path at which a page can be shown in another language: that of its first action, if
/// it leads to a page of the hub, or the address of the error.
pub(super) fn return_path(page: &ErrorPage) -> String {
    match page.actions.first() {
        Some(PageAction::TryAgain { href } | PageAction::SignOut { href })
            if is_page_path(href) =>
        {
            href.clone()
        }
        _ => error_path(page),
    }
}

/// Returns the address of the error.
fn error_path(page: &ErrorPage) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("support_id", &page.support_id);
    query.append_pair("time", &page.at.seconds().to_string());
    if let Some(detail) = &page.detail {
        query.append_pair("detail", &detail.code);
    }
    format!("{BASE_PATH}/errors/{}?{}", page.code.entry().code, query.finish())
}

/// Shows an error page again. `None` if there is no such code.
///
/// The references of the address are shown only where the hub's own page led here (Fetch Metadata):
/// people who follow a link would else report the support id of its author.
pub(super) fn show_again(context: &RequestContext, code: &str) -> Option<HttpResponse> {
    let hub = &context.hub;
    let first = error_pages::new_error_page(&hub.core.env, find_code(code)?, None);
    let query = if csrf::states_same_origin(&context.request) {
        context.query().unwrap_or_default()
    } else {
        // The id of this page leads to this line.
        tracing::info!(support_id = first.support_id, code, "error page opened by a link");
        Params::default()
    };
    let support_id = query.get("support_id").and_then(SupportId::parse);
    let time = query.get("time").and_then(|seconds| seconds.parse().ok());
    let page = ErrorPage {
        detail: query.get("detail").and_then(find_code).map(ErrorDetail::from),
        support_id: support_id.map_or(first.support_id, |id| id.to_string()),
        at: time.map_or(first.at, |seconds| Timestamp::from_seconds(seconds).min(first.at)),
        ..first
    };
    let locale = context.locale(&[]).with_return_path(error_path(&page));
    Some(landing_page_response(hub, 200, &locale, |chrome| page.render(chrome)))
}

fn find_code(code: &str) -> Option<ErrorCode> {
    ErrorCode::find(code)
}
