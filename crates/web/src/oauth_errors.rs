//! The pages about errors, `GET /api/v2/errors/{error}`, and the `error_uri` that leads there.

use actix_web::{HttpResponse, web};

use super::error_address;
use super::pages::OauthErrorPage;
use super::rejection::Rejection;
use super::request_context::RequestContext;
use super::responses::landing_page_response;
use passerelle_protocol::catalogue::ErrorCode;

/// Shows the page about an error of the token endpoint, or an error page again.
pub(crate) async fn show_error(
    context: RequestContext,
    path: web::Path<String>,
) -> Result<HttpResponse, Rejection> {
    let hub = &context.hub;
    let Some(page) = OauthErrorPage::for_error(&path, hub.service_documentation.clone()) else {
        let shown = error_address::show_again(&context, &path);
        return shown.ok_or(Rejection::OutsideLogin(ErrorCode::NotFound));
    };
    let locale = &context.locale(&[]);
    Ok(landing_page_response(hub, 200, locale, |chrome| page.render(chrome)))
}

/// Returns the `error_uri` of a response of the token endpoint (RFC 6749 §5.2). It depends on the
/// public `error` only, so that it does not reveal whether a client exists. `None` for an error
/// without a page.
pub(crate) fn error_uri(issuer: &str, code: ErrorCode) -> Option<String> {
    let error = code.entry().oauth;
    OauthErrorPage::for_error(error, None).map(|_| format!("{issuer}/errors/{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_token_endpoint_has_a_page() {
        let hub = ["Y000429", "Y000500", "Y000503", "Y500001", "Y500002", "Y500004", "Y500031"];
        let is_token = |code: &&ErrorCode| {
            let code = code.entry().code;
            ["Y040", "Y041", "Y042"].iter().any(|family| code.starts_with(family))
                || hub.contains(&code)
        };
        for code in ErrorCode::all().iter().filter(is_token) {
            let uri = error_uri("https://hub.example/api/v2", *code);
            let expected = format!("https://hub.example/api/v2/errors/{}", code.entry().oauth);
            assert_eq!(uri, Some(expected), "{}", code.entry().code);
        }
        assert_eq!(error_uri("https://hub.example/api/v2", ErrorCode::UserCancelled), None);
    }
}
