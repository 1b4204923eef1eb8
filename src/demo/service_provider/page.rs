//! How the demo service provider's pages are sent: in which language, under which policy, and tokens as a person reads them.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::{Map, Value};

use super::judge::Proven;
use super::{Answer, DemoServiceProvider};
use crate::web::pages::{Chrome, DemoError, Locale, TokenParts, negotiate};

impl DemoServiceProvider {
    pub fn refuse(&self, status: StatusCode, locale: Locale, reason: &str) -> HttpResponse {
        self.page(status, locale, |chrome| {
            DemoError::Refused { reason: reason.to_owned() }.render(chrome)
        })
    }

    /// One HTML document under a policy of its own: only the styles and the script that carry its nonce count.
    pub fn page(
        &self,
        status: StatusCode,
        locale: Locale,
        render: impl FnOnce(&Chrome<'_>) -> String,
    ) -> HttpResponse {
        let nonce = self.env.entropy().token();
        let html = render(&Chrome {
            locale,
            nonce: &nonce,
            theme: &self.theme,
            base_path: "",
            notices: &[],
        });
        // No `form-action`: browsers apply it to the redirect behind a form, which here leads to the hub.
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
}

/// The language of a person: what was chosen on the page, as the parameter `name` says, else the browser's.
pub fn language(request: &HttpRequest, parameters: &Answer, name: &str) -> Locale {
    let chosen: Vec<String> =
        parameters.one(name).unwrap_or_default().split(' ').map(str::to_owned).collect();
    let accepted =
        request.headers().get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    negotiate(&chosen, accepted)
}

pub fn home(locale: Locale) -> String {
    format!("/?lang={locale}")
}

/// A token taken apart, each part as indented JSON.
pub fn parts(token: &Proven) -> TokenParts {
    let Proven { seal, jws, .. } = token;
    TokenParts {
        seal: seal.as_ref().map(indented),
        header: indented(&jws.header),
        payload: indented(&jws.claims),
    }
}

fn indented(members: &Map<String, Value>) -> String {
    serde_json::to_string_pretty(members).unwrap_or_default()
}

/// A claim as a person reads it: text without quotes, lists with commas.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
