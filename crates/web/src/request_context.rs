//! The request that an endpoint handles, with the hub's shared state.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::error::ErrorInternalServerError;
use actix_web::http::header::{ACCEPT_LANGUAGE, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use actix_web::web::Data;
use actix_web::{Error, FromRequest, HttpRequest};

use super::form::{self, FormError};
use super::hub::Hub;
use super::page_language::PageLanguage;
use passerelle_protocol::params::Params;

/// A request and the hub that handles it.
pub struct RequestContext {
    pub hub: Data<Hub>,
    pub request: HttpRequest,
}

impl RequestContext {
    /// Returns the page language: the user's own choice first, then `ui_locales` of the service
    /// provider, then `Accept-Language`, then the default language.
    pub fn locale(&self, ui_locales: &[String]) -> PageLanguage {
        let languages = &self.hub.core.federation.load().languages;
        let chosen = self.hub.cookies.language(&self.request);
        let accepted = self.header(&ACCEPT_LANGUAGE);
        PageLanguage::for_request(languages.negotiate(chosen, ui_locales, accepted), &self.request)
    }

    /// Returns the content type that the request names.
    pub fn content_type(&self) -> Option<&str> {
        self.header(&CONTENT_TYPE)
    }

    /// Parses the query string.
    ///
    /// # Errors
    /// As [`form::parse_query`].
    pub fn query(&self) -> Result<Params, FormError> {
        form::parse_query(self.request.query_string())
    }

    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.request.headers().get(name).and_then(|value| value.to_str().ok())
    }
}

impl FromRequest for RequestContext {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let hub = request.app_data::<Data<Hub>>().cloned();
        let context = hub.map(|hub| Self { hub, request: request.clone() });
        ready(context.ok_or_else(|| ErrorInternalServerError("the routes are not configured")))
    }
}

/// Returns every `Authorization` header, so that a repeated one is detected.
pub fn authorization_headers(request: &HttpRequest) -> Vec<&[u8]> {
    request
        .headers()
        .get_all(AUTHORIZATION)
        .map(actix_http::header::HeaderValue::as_bytes)
        .collect()
}
