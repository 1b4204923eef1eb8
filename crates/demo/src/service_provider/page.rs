//! Renders the pages of the demo service provider: language, security headers, tokens for display.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};

use super::DemoServiceProvider;
use super::http::UniqueParams;
use super::verify::VerifiedToken;
use passerelle_localization::{Languages, Locale};
use passerelle_protocol::env::Env;
use passerelle_web::pages::{DemoError, PageChrome, PageTheme, TokenParts};

impl DemoServiceProvider {
    /// Renders an error page.
    pub fn error_page(&self, status: StatusCode, locale: &Locale, reason: &str) -> HttpResponse {
        self.page(status, locale, |chrome| {
            DemoError::Refused { reason: reason.to_owned() }.render(chrome)
        })
    }

    /// Renders a page.
    pub fn page(
        &self,
        status: StatusCode,
        locale: &Locale,
        render: impl FnOnce(&PageChrome<'_>) -> String,
    ) -> HttpResponse {
        page_response(&self.env, &self.theme, status, locale, render)
    }
}

/// Renders a page with a content security policy: only styles and scripts with its nonce are
/// allowed.
pub(crate) fn page_response(
    env: &Env,
    theme: &PageTheme,
    status: StatusCode,
    locale: &Locale,
    render: impl FnOnce(&PageChrome<'_>) -> String,
) -> HttpResponse {
    let nonce = env.entropy().token();
    let html = render(&PageChrome {
        locale,
        nonce: &nonce,
        theme,
        base_path: "",
        notices: &[],
        languages: &Languages::built_in(),
        return_path: None,
    });
    // No `form-action`: browsers apply it to redirects after a form, which lead to the hub here.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; frame-ancestors 'none'"
    );
    HttpResponse::build(status)
        .insert_header((header::CONTENT_TYPE, "text/html;charset=UTF-8"))
        .insert_header((header::CONTENT_LANGUAGE, locale.to_string()))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::CONTENT_SECURITY_POLICY, policy))
        .insert_header((header::REFERRER_POLICY, "no-referrer"))
        .insert_header((header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .body(html)
}

/// Returns the language of the parameter `name`, or that of the browser.
pub(crate) fn negotiate_locale(
    request: &HttpRequest,
    parameters: &UniqueParams,
    name: &str,
) -> Locale {
    let chosen: Vec<String> =
        parameters.one(name).unwrap_or_default().split(' ').map(str::to_owned).collect();
    let accepted =
        request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    Languages::built_in().negotiate(None, &chosen, accepted)
}

/// Returns the path of the start page.
pub(super) fn home_path(locale: &Locale) -> String {
    format!("/?lang={locale}")
}

/// Returns the parts of a token as indented JSON.
pub(super) fn token_parts(token: &VerifiedToken) -> TokenParts {
    let VerifiedToken { jwe_header, jws, .. } = token;
    TokenParts {
        jwe_header: jwe_header.as_ref().map(indented),
        header: indented(&jws.header),
        payload: indented(&jws.claims),
    }
}

/// Returns the `amr` of an ID token.
pub(super) fn authentication_methods(token: &VerifiedToken) -> Vec<String> {
    let amr = token.jws.claims.get("amr").and_then(Value::as_array);
    amr.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn indented(members: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(members).unwrap_or_default()
}

/// Formats a claim: text without quotes, lists with commas.
pub(super) fn display_claim(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(display_claim).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
