//! Opens the admin console of a demo hub for the person at this machine.
//!
//! The service provider signs in with the hub's administration token, and hands the console's
//! cookie to the browser: cookies ignore ports. The token never leaves the process. Only the demo
//! does this: it listens on loopback, and its logins are of fictional persons.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use url::{Position, Url};

use super::DemoServiceProvider;
use super::handlers::ServiceProviderData;
use super::http::{UniqueParams, cross_site_reason, redirect_to};
use super::page::negotiate_locale;
use super::settings::ConsoleAccess;

/// Signs the browser in to the console that the form names, and redirects there.
pub(super) async fn open_console(
    this: ServiceProviderData,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let form = UniqueParams::parse(&body);
    let locale = negotiate_locale(&request, &form, "ui_locales");
    let rejection = cross_site_reason(&request).or_else(|| this.other_host_reason(&request));
    if let Some(reason) = rejection {
        return this.error_page(StatusCode::FORBIDDEN, &locale, reason);
    }
    let Some(console) = form.one("platform").and_then(|platform| this.console(platform)) else {
        let reason = "The form names no platform, or an unknown one.";
        return this.error_page(StatusCode::BAD_REQUEST, &locale, reason);
    };
    match this.hub.sign_in_to_console(&console.origin, &console.token).await {
        Ok(cookie) => redirect_to(&format!("{}/admin/", console.origin), vec![cookie]),
        Err(error) => this.error_page(StatusCode::BAD_GATEWAY, &locale, &error.to_string()),
    }
}

impl DemoServiceProvider {
    fn console(&self, platform: &str) -> Option<&ConsoleAccess> {
        match platform {
            "standard" => Some(&self.settings.standard_console),
            "high" => Some(&self.settings.high_console),
            _ => None,
        }
    }

    /// Returns why a request to another host name is rejected: a site that resolves its own name to
    /// loopback (DNS rebinding) is same-origin with its forms.
    fn other_host_reason(&self, request: &HttpRequest) -> Option<&'static str> {
        let own = Url::parse(&self.settings.redirect_uri).ok();
        let own = own.as_ref().map(|url| &url[Position::BeforeHost..Position::AfterPort]);
        let sent = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        (sent.is_none() || sent != own).then_some("This form was sent to another host name.")
    }
}
