//! Demo wallet: a page that holds fictional documents and presents them to the demo's hubs
//! (OpenID for Verifiable Presentations 1.0), so that a login with a wallet needs no phone.
//!
//! It is its own issuer. Its keys are made at the start of the demo and trusted by its hubs only.

mod credentials;
mod presentation;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

pub(crate) use self::credentials::IssuerSetupError;
use self::credentials::{DemoIssuer, HubCertificate};
use self::presentation::{PresentationParams, RequestClient, ValidRequest};
use super::connectors::{self, DemoPerson, NamedFile};
use super::service_provider::{
    SessionMap, UniqueParams, cross_site_reason, negotiate_locale, page_response, redirect_to,
};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::env::Env;
use passerelle_web::pages::{DemoRequestError, DemoWalletPage, NamedValue, PageChrome, PageTheme};

/// Lifetime of a request that the page shows.
const REQUEST_LIFETIME: Duration = Duration::from_secs(10 * 60);
const CAPACITY: usize = 1000;

/// Wallet of the demo.
pub(crate) struct DemoWallet {
    issuer: DemoIssuer,
    persons: Vec<DemoPerson>,
    client: RequestClient,
    /// Origins of the hubs, the only ones that it calls.
    hubs: Vec<String>,
    env: Env,
    theme: PageTheme,
    /// Requests that a page shows, by the page's id.
    shown: SessionMap<Arc<ValidRequest>>,
}

impl DemoWallet {
    /// Creates a wallet for these hubs.
    ///
    /// # Errors
    /// Returns an error if OpenSSL or TLS is not available.
    pub(crate) fn new(
        hubs: Vec<String>,
        theme: PageTheme,
        env: Env,
    ) -> Result<Self, IssuerSetupError> {
        Ok(Self {
            issuer: DemoIssuer::new(&env)?,
            persons: DemoPerson::built_in(),
            client: RequestClient::new()?,
            hubs,
            env,
            theme,
            shown: SessionMap::new(CAPACITY),
        })
    }

    /// Returns the files that connect a hub to this wallet at `address`.
    ///
    /// # Errors
    /// Returns an error if OpenSSL can't make a certificate for the hub.
    pub(crate) fn hub_files(
        &self,
        platform: Platform,
        address: &str,
    ) -> Result<Vec<NamedFile>, IssuerSetupError> {
        let HubCertificate { chain, private_key } = HubCertificate::new(&self.env)?;
        Ok(vec![
            ("connectors/portefeuille.toml".to_owned(), connectors::wallet_file(platform, address)),
            ("wallet/access.pem".to_owned(), chain),
            ("secrets/connectors/portefeuille/access.key".to_owned(), private_key),
            ("wallet/issuers.pem".to_owned(), self.issuer.anchor().to_owned()),
        ])
    }

    /// Serves on `listener` until the returned server is stopped. Uses one worker, because the HTTP
    /// client belongs to one runtime.
    ///
    /// # Errors
    /// Returns an error if the listener can't be used.
    pub(crate) fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || {
            App::new()
                .app_data(this.clone())
                .service(web::resource("/authorize").route(web::get().to(show_request)))
                .service(web::resource("/answer").route(web::post().to(receive_answer)))
        };
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    fn page(
        &self,
        status: StatusCode,
        request: &HttpRequest,
        render: impl FnOnce(&PageChrome<'_>) -> String,
    ) -> HttpResponse {
        let params = UniqueParams::parse(request.query_string().as_bytes());
        let locale = negotiate_locale(request, &params, "lang");
        page_response(&self.env, &self.theme, status, &locale, render)
    }

    fn error_page(&self, request: &HttpRequest, reason: String) -> HttpResponse {
        self.page(StatusCode::BAD_REQUEST, request, |chrome| {
            DemoRequestError { reason }.render(chrome)
        })
    }
}

/// Fetches the request of the link, and shows what it asks for.
async fn show_request(this: web::Data<DemoWallet>, request: HttpRequest) -> HttpResponse {
    let params = UniqueParams::parse(request.query_string().as_bytes());
    let (Some(client_id), Some(uri)) = (params.one("client_id"), params.one("request_uri")) else {
        return this.error_page(&request, "The link names no request.".to_owned());
    };
    if !this.hubs.iter().any(|hub| uri.starts_with(&format!("{hub}/"))) {
        return this.error_page(&request, "The request is not of a hub of this demo.".to_owned());
    }
    let valid = match this.client.fetch_request(client_id, uri).await {
        Ok(valid) => valid,
        Err(error) => return this.error_page(&request, error.to_string()),
    };
    let (id, now) = (this.env.entropy().token(), this.env.now());
    let persons = this
        .persons
        .iter()
        .map(|person| NamedValue { name: person.id.clone(), value: person.label.clone() });
    let page = DemoWalletPage {
        verifier: valid.response_origin().to_owned(),
        claims: valid.claims.clone(),
        persons: persons.collect(),
        request: id.clone(),
    };
    this.shown.insert(id, Arc::new(valid), now + REQUEST_LIFETIME, now);
    this.page(StatusCode::OK, &request, |chrome| page.render(chrome))
}

/// Answers the request as the form says, and sends the browser where the hub wants it.
async fn receive_answer(
    this: web::Data<DemoWallet>,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let form = UniqueParams::parse(&body);
    if let Some(reason) = cross_site_reason(&request) {
        return this.error_page(&request, reason.to_owned());
    }
    let id = form.one("request").unwrap_or_default();
    let Some(valid) = this.shown.take(id, this.env.now(), |_| true) else {
        return this.error_page(&request, "The request is unknown, or was answered.".to_owned());
    };
    let person = this.persons.iter().find(|person| Some(person.id.as_str()) == form.one("person"));
    let person = person.filter(|_| form.one("answer") == Some("agree"));
    let params = PresentationParams { issuer: &this.issuer, request: &valid, env: &this.env };
    match this.client.send_answer(&params, person).await {
        Ok(redirect_uri) => redirect_to(&redirect_uri, Vec::new()),
        Err(error) => this.error_page(&request, error.to_string()),
    }
}
