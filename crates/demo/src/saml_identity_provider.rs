//! SAML identity provider of the demo: it signs anyone in as a person of the sandbox, and out again
//! (OASIS SAML V2.0, Web Browser SSO and Single Logout by redirects).
//!
//! Its key, and that of the hub toward it, are made at the start of the demo. It answers the signed
//! requests of its hub only.

use std::fmt::Display;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::Server;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer, web};
use openssl::error::ErrorStack;
use passerelle_jose::untrusted_certificate::UntrustedCertificateError;
use passerelle_saml::HTTP_REDIRECT;
use passerelle_saml::identity_provider::{
    AssertedUser, PublishedIdentityProvider, ReceivedRequest, sign_document,
};
use passerelle_saml::logout::{LogoutMessage, LogoutParties, SamlLogoutRequest};
use passerelle_saml::redirect::{ReceivedMessage, RedirectMessage};
use passerelle_saml::response::{NameId, PERSISTENT};
use passerelle_saml::saml_service_provider::SamlServiceProvider;
use passerelle_saml::service_provider_keys::{CertifiedKey, REQUEST_ALGORITHM};
use passerelle_saml::signed_document::XmlSigningError;
use passerelle_saml::xml::{ContentDecryption, VerificationKey};
use serde_json::{Map, Value};
use url::Url;

use super::connectors::{self, DemoPerson, NamedFile, UNIVERSITY};
use super::localized_names;
use super::service_provider::{
    SessionMap, SetupError, UniqueParams, cross_site_reason, negotiate_locale, page_response,
    parse_theme, redirect_to,
};
use passerelle_connector::persona::{SimulatedFailure, offer_persons};
use passerelle_localization::{Locale, OperatorText};
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_web::pages::{
    ConfirmLogOutPage, DemoRequestError, FormPostPage, HiddenField, LoggedOutPage, PageChrome,
    PageTheme, SandboxPage,
};

/// Lifetime of a request that a page shows.
const REQUEST_LIFETIME: Duration = Duration::from_secs(10 * 60);
const SESSION_LIFETIME: Duration = Duration::from_secs(8 * 3600);
const CAPACITY: usize = 1000;
const SESSION_COOKIE: &str = "demo-erable-session";
/// The only class of its authentications.
const CLASS: &str = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
/// `Name` of the attributes that have another one than the claim (SAML V2.0 LDAP Profile).
const ATTRIBUTE_NAMES: [(&str, &str); 4] = [
    ("given_name", "urn:oid:2.5.4.42"),
    ("family_name", "urn:oid:2.5.4.4"),
    ("email", "urn:oid:0.9.2342.19200300.100.1.3"),
    ("preferred_username", "urn:oid:0.9.2342.19200300.100.1.1"),
];

/// Error returned when the SAML identity provider of the demo can't be set up.
#[derive(thiserror::Error, Debug)]
pub enum SamlSetupError {
    #[error("the keys of the demo's SAML identity provider can't be made: {0}")]
    OpenSsl(#[from] ErrorStack),
    #[error("the hub's certificate at the demo's SAML identity provider can't be used: {0}")]
    HubKey(#[from] UntrustedCertificateError),
    #[error(transparent)]
    Theme(#[from] SetupError),
}

/// The identity provider.
pub(crate) struct DemoSamlIdentityProvider {
    entity_id: String,
    single_sign_on: String,
    single_logout: String,
    key: CertifiedKey,
    hub: SamlServiceProvider,
    hub_key: CertifiedKey,
    hub_verification_key: VerificationKey,
    persons: Vec<DemoPerson>,
    env: Env,
    theme: PageTheme,
    /// Requests that a page shows, by the page's id.
    shown: SessionMap<Arc<ReceivedRequest>>,
    /// Ids of signed-in persons, by `SessionIndex`: the fingerprint of the session's cookie.
    sessions: SessionMap<String>,
}

type ProviderData = web::Data<DemoSamlIdentityProvider>;

impl DemoSamlIdentityProvider {
    /// Creates an identity provider at `address` for this hub.
    ///
    /// # Errors
    /// Any [`SamlSetupError`].
    pub(crate) fn new(address: &str, hub: &str, env: Env) -> Result<Self, SamlSetupError> {
        let at_hub = |name: &str| format!("{hub}/connectors/{}/saml/{name}", UNIVERSITY.id);
        let hub_key = CertifiedKey::generate("Demo hub", env.now())?;
        Ok(Self {
            entity_id: format!("{address}/saml"),
            single_sign_on: format!("{address}/sign-in"),
            single_logout: format!("{address}/logout"),
            key: CertifiedKey::generate("Demo university", env.now())?,
            hub: SamlServiceProvider {
                entity_id: at_hub("metadata"),
                consumer_url: at_hub("acs"),
                logout_url: at_hub("logout"),
            },
            hub_verification_key: VerificationKey::from_certificate(
                &hub_key.certificate.to_der()?,
            )?,
            hub_key,
            persons: DemoPerson::built_in(),
            env,
            theme: parse_theme(&UNIVERSITY.theme_without_logo())?,
            shown: SessionMap::new(CAPACITY),
            sessions: SessionMap::new(CAPACITY),
        })
    }

    /// Returns the files that connect the hub.
    ///
    /// # Errors
    /// `OpenSsl`.
    pub(crate) fn hub_files(&self) -> Result<Vec<NamedFile>, SamlSetupError> {
        let metadata = PublishedIdentityProvider {
            entity_id: &self.entity_id,
            certificate: &self.key.certificate.to_der()?,
            single_sign_on: &[(HTTP_REDIRECT, &self.single_sign_on)],
            single_logout: &self.single_logout,
            attributes: "WantAuthnRequestsSigned=\"true\"",
        };
        let mut files = connectors::university_files(&self.entity_id, CLASS);
        files.extend([
            ("saml/erable.xml".to_owned(), metadata.to_xml()),
            ("secrets/connectors/erable/saml.pem".to_owned(), self.hub_key.to_pem()?),
        ]);
        Ok(files)
    }

    /// Serves on `listener` until the returned server is stopped.
    ///
    /// # Errors
    /// Returns an error if the listener can't be used.
    pub(crate) fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || App::new().app_data(this.clone()).configure(Self::routes);
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    fn routes(config: &mut web::ServiceConfig) {
        config
            .route("/sign-in", web::get().to(show_persons))
            .route("/sign-in", web::post().to(sign_in))
            .route("/", web::get().to(ask_to_sign_out))
            // The path of the page's form, which is that of the hubs.
            .route("/session/end/confirm", web::post().to(sign_out))
            .route("/logout", web::get().to(receive_logout));
    }

    /// Verifies a message of the hub.
    fn verify_message(&self, request: &HttpRequest) -> Result<ReceivedMessage, Error> {
        let keys = std::slice::from_ref(&self.hub_verification_key);
        let verified = ReceivedMessage::verify(request.query_string(), keys);
        verified.map_err(|error| self.refuse(request, error))
    }

    /// Returns a signed assertion about a person.
    fn signed_assertion(
        &self,
        received: &ReceivedRequest,
        session_index: &str,
        person: &DemoPerson,
        failure: Option<SimulatedFailure>,
    ) -> Result<String, XmlSigningError> {
        let claims = person.clone().into_claims(failure);
        let user = AssertedUser {
            name_id: &person.id,
            session_index,
            class: CLASS,
            attributes: &attributes(&claims),
        };
        let assertion = received.assertion(&self.entity_id, &user, self.env.now());
        sign_document(&assertion, &self.key.private, REQUEST_ALGORITHM)
    }

    fn logout_message<'a>(&'a self, id: &'a str) -> LogoutMessage<'a> {
        LogoutMessage {
            id,
            issued_at: self.env.now(),
            destination: &self.hub.logout_url,
            issuer: &self.entity_id,
        }
    }

    /// Redirects the browser to the hub with a signed logout message.
    fn send_to_hub(
        &self,
        request: &HttpRequest,
        name: &str,
        xml: &str,
        relay_state: Option<&str>,
    ) -> Result<HttpResponse, Error> {
        let refuse = |reason: String| self.refuse(request, reason);
        let url = Url::parse(&self.hub.logout_url).map_err(|error| refuse(error.to_string()))?;
        let message = RedirectMessage::new(&url, name, xml, relay_state, Some(REQUEST_ALGORITHM));
        let signature = REQUEST_ALGORITHM.sign(&self.key.private, message.signing_input());
        let signed = message.with_signature(&signature.map_err(|error| refuse(error.to_string()))?);
        Ok(redirect_to(signed.as_str(), Vec::new()))
    }

    fn provider_name(&self, locale: &Locale) -> OperatorText {
        locale.localize(&self.theme.name).into()
    }

    fn page(
        &self,
        status: StatusCode,
        request: &HttpRequest,
        render: impl FnOnce(&PageChrome<'_>) -> String,
    ) -> HttpResponse {
        page_response(&self.env, &self.theme, status, &locale_of(request), render)
    }

    fn refuse(&self, request: &HttpRequest, reason: impl Display) -> Error {
        let page = DemoRequestError { reason: reason.to_string() };
        let response = self.page(StatusCode::BAD_REQUEST, request, |chrome| page.render(chrome));
        InternalError::from_response(page.reason, response).into()
    }

    fn check_same_site(&self, request: &HttpRequest) -> Result<(), Error> {
        cross_site_reason(request).map_or(Ok(()), |reason| Err(self.refuse(request, reason)))
    }
}

fn locale_of(request: &HttpRequest) -> Locale {
    let params = UniqueParams::parse(request.query_string().as_bytes());
    negotiate_locale(request, &params, "lang")
}

fn attributes(claims: &Map<String, Value>) -> Vec<(&str, &str)> {
    let mut attributes = Vec::new();
    for (claim, value) in claims {
        let named = ATTRIBUTE_NAMES.iter().find(|(known, _)| known == claim);
        let name = named.map_or(claim.as_str(), |(_, name)| name);
        attributes.extend(value.as_str().map(|value| (name, value)));
    }
    attributes
}

/// Returns the `SessionIndex` of the browser's session.
fn session_index(request: &HttpRequest) -> Option<String> {
    request.cookie(SESSION_COOKIE).map(|cookie| fingerprint(cookie.value()))
}

fn fingerprint(cookie: &str) -> String {
    format!("_{}", digest::sha256_base64url(cookie))
}

/// Verifies the hub's request, and shows the persons to choose from. It asks each time, so
/// `ForceAuthn` changes nothing.
async fn show_persons(this: ProviderData, request: HttpRequest) -> Result<HttpResponse, Error> {
    let ReceivedMessage { message, relay_state, .. } = this.verify_message(&request)?;
    let received = ReceivedRequest::read(message.as_str(), relay_state.unwrap_or_default())
        .filter(|received| received.issuer == this.hub.entity_id)
        .filter(|received| received.consumer_url == this.hub.consumer_url)
        .ok_or_else(|| this.refuse(&request, "It is no AuthnRequest of the hub of this demo."))?;
    let (id, now, locale) = (this.env.entropy().token(), this.env.now(), locale_of(&request));
    let (name, offer) = (this.provider_name(&locale), offer_persons(&this.persons));
    let page = SandboxPage {
        action: "/sign-in".to_owned(),
        hidden: vec![HiddenField::new("request", id.as_str())],
        ..SandboxPage::new(&locale, name, None, &offer)
    };
    this.shown.insert(id, Arc::new(received), now + REQUEST_LIFETIME, now);
    Ok(this.page(StatusCode::OK, &request, |chrome| page.render(chrome)))
}

/// Answers the request as the form says, by a form that the browser posts to the hub.
async fn sign_in(
    this: ProviderData,
    request: HttpRequest,
    body: web::Bytes,
) -> Result<HttpResponse, Error> {
    this.check_same_site(&request)?;
    let (form, now) = (UniqueParams::parse(&body), this.env.now());
    let person = this.persons.iter().find(|person| Some(person.id.as_str()) == form.one("person"));
    let person = person.ok_or_else(|| this.refuse(&request, "The form names no person."))?;
    let received = this.shown.take(form.one("request").unwrap_or_default(), now, |_| true);
    let received = received
        .ok_or_else(|| this.refuse(&request, "The request is unknown, or was answered."))?;
    let failure = form.one("failure").and_then(SimulatedFailure::from_name);
    let cookie = this.env.entropy().token();
    let index = fingerprint(&cookie);
    let content = if let Some(code) = refusal(&received, failure) {
        Err(code)
    } else {
        let signed = this.signed_assertion(&received, &index, person, failure);
        Ok(signed.map_err(|error| this.refuse(&request, error))?)
    };
    let fields = received.response(&this.entity_id, content.as_deref().map_err(|code| *code), now);
    let page = FormPostPage {
        action: received.consumer_url.clone(),
        fields: fields.map(|(name, value)| HiddenField::new(name, value)).into(),
        service: localized_names::HUB.text(locale_of(&request).tag()).into(),
    };
    let mut response = this.page(StatusCode::OK, &request, |chrome| page.render(chrome));
    if content.is_ok() {
        let cookie = Cookie::build(SESSION_COOKIE, cookie).path("/").http_only(true);
        response.add_cookie(&cookie.same_site(SameSite::Lax).finish())?;
        this.sessions.insert(index, person.id.clone(), now + SESSION_LIFETIME, now);
    }
    Ok(response)
}

/// Returns the second status code of a response without assertion.
fn refusal(received: &ReceivedRequest, failure: Option<SimulatedFailure>) -> Option<&'static str> {
    let has_class = received.contexts.is_empty() || received.contexts.iter().any(|c| c == CLASS);
    match failure {
        Some(SimulatedFailure::Cancel) => Some("AuthnFailed"),
        Some(SimulatedFailure::Error) => Some("RequestUnsupported"),
        Some(SimulatedFailure::LevelTooLow) => Some("NoAuthnContext"),
        _ => (!has_class).then_some("NoAuthnContext"),
    }
}

async fn ask_to_sign_out(this: ProviderData, request: HttpRequest) -> HttpResponse {
    let index = session_index(&request);
    let session = index.and_then(|index| this.sessions.load(&index, this.env.now()));
    let provider = session.map(|_| this.provider_name(&locale_of(&request)));
    let page = ConfirmLogOutPage { fields: Vec::new(), service: None, provider };
    this.page(StatusCode::OK, &request, |chrome| page.render(chrome))
}

/// Ends the session, and requests the same of the hub.
async fn sign_out(this: ProviderData, request: HttpRequest) -> Result<HttpResponse, Error> {
    this.check_same_site(&request)?;
    let index = session_index(&request).unwrap_or_default();
    let Some(value) = this.sessions.take(&index, this.env.now(), |_| true) else {
        return Ok(show_signed_out(&this, &request));
    };
    let format = Some(PERSISTENT.to_owned());
    let name_id = NameId { value, format, name_qualifier: None, sp_name_qualifier: None };
    let id = format!("_{}", this.env.entropy().token());
    let xml = this.logout_message(&id).to_request(&name_id, Some(&index));
    this.send_to_hub(&request, "SAMLRequest", &xml, None)
}

/// Receives the hub's request to end a session, or its answer to such a request.
async fn receive_logout(this: ProviderData, request: HttpRequest) -> Result<HttpResponse, Error> {
    let received = this.verify_message(&request)?;
    if received.is_response {
        return Ok(show_signed_out(&this, &request));
    }
    let now = this.env.now();
    let parties = LogoutParties { sender: &this.hub.entity_id, logout_url: &this.single_logout };
    let logout =
        SamlLogoutRequest::read(&received.message, &parties, ContentDecryption::default(), now)
            .map_err(|error| this.refuse(&request, error))?;
    for index in &logout.session_indexes {
        this.sessions.take(index, now, |person| *person == logout.name_id.value);
    }
    let id = format!("_{}", this.env.entropy().token());
    let xml = this.logout_message(&id).to_response(&logout.id, true);
    this.send_to_hub(&request, "SAMLResponse", &xml, received.relay_state.as_deref())
}

fn show_signed_out(this: &DemoSamlIdentityProvider, request: &HttpRequest) -> HttpResponse {
    this.page(StatusCode::OK, request, |chrome| LoggedOutPage::default().render(chrome))
}

#[cfg(test)]
mod tests;
