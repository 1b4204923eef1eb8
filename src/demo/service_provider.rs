//! Demo service provider: a relying party that shows the result of a login.
//!
//! Responsible for its login requests (state, nonce, PKCE), its sessions, and the checks before any
//! claim is used (R156). It calls the hub over HTTP only.

pub(super) mod op_client;
mod page;
mod registration;
mod sessions;
mod verify;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::Server;
use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use url::{Url, form_urlencoded};

use self::op_client::{DemoTokens, OpClient, OpClientError, OpMetadata};
use self::page::{display_claim, home_path, negotiate_locale, token_parts};
pub use self::registration::{HubRegistration, ServiceProviderSettings};
use self::sessions::SessionMap;
use self::verify::{ExpectedToken, TokenError};
use crate::config::{Diagnostic, theme};
use crate::digest;
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::web::pages::{DemoError, DemoSignedIn, DemoSignedOut, Locale, NamedValue, PageTheme};

/// Theme of the pages.
const THEME: &str = include_str!("service_provider/theme.toml");
/// Lifetime of a pending login, and of a result.
const LOGIN_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Maximum of pending logins, and of results.
const CAPACITY: usize = 1000;

/// Error returned when the demo service provider can't be set up.
#[derive(thiserror::Error, Debug)]
pub enum SetupError {
    #[error(
        "the demo service provider's redirect_uri must be an absolute URL with the path /callback"
    )]
    RedirectUri,
    #[error("the demo service provider's HTTP client can't be built: {0}")]
    Client(reqwest::Error),
    #[error("the demo service provider's theme is wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Theme(Vec<Diagnostic>),
}

/// Demo service provider.
pub struct DemoServiceProvider {
    settings: ServiceProviderSettings,
    env: Env,
    hub: OpClient,
    theme: PageTheme,
    secure: bool,
    /// Pending logins by `state`.
    pending: SessionMap<Arc<PendingLogin>>,
    /// Results by fingerprint of the session cookie.
    finished: SessionMap<Arc<LoginResult>>,
    /// Pending logouts by `state`: the language of the page afterwards.
    logouts: SessionMap<Locale>,
}

/// Login in progress.
struct PendingLogin {
    /// Requested level; it determines the platform.
    level: Level,
    nonce: String,
    verifier: Secret<String>,
    /// Fingerprint of the login cookie, which binds the login to its browser.
    binding: String,
    metadata: OpMetadata,
    /// Language of the pages.
    locale: Locale,
}

enum LoginResult {
    SignedIn(Box<DemoSignedIn>, Option<LogoutTarget>),
    Failed(DemoError),
}

/// Parameters of the logout at the hub.
struct LogoutTarget {
    endpoint: String,
    /// The ID token, decrypted where it came encrypted (R175).
    id_token: Secret<String>,
}

/// Error returned when a callback is rejected.
#[derive(thiserror::Error, Debug)]
enum CallbackError {
    #[error(transparent)]
    Hub(#[from] OpClientError),
    #[error(transparent)]
    Refused(#[from] TokenError),
    #[error("The response names another issuer, or none (RFC 9207).")]
    Issuer,
    #[error("The response has neither a code nor an error.")]
    Empty,
}

impl DemoServiceProvider {
    /// Creates a service provider.
    ///
    /// # Errors
    /// Returns an error if the settings or the built-in theme are invalid, or TLS is not available.
    pub fn new(settings: ServiceProviderSettings, env: Env) -> Result<Self, SetupError> {
        let redirect_uri =
            Url::parse(&settings.redirect_uri).map_err(|_| SetupError::RedirectUri)?;
        if redirect_uri.path() != "/callback" {
            return Err(SetupError::RedirectUri);
        }
        let secure = redirect_uri.scheme() == "https";
        let hub = OpClient::new().map_err(SetupError::Client)?;
        let mut problems = Vec::new();
        let theme = theme::parse_embedded_theme(THEME, &mut problems)
            .as_ref()
            .map(PageTheme::from)
            .ok_or(SetupError::Theme(problems))?;
        Ok(Self {
            settings,
            env,
            hub,
            theme,
            secure,
            pending: SessionMap::new(CAPACITY),
            finished: SessionMap::new(CAPACITY),
            logouts: SessionMap::new(CAPACITY),
        })
    }

    /// Serves on `listener` until the returned server is stopped. Uses one worker, because the HTTP
    /// client belongs to one runtime.
    ///
    /// # Errors
    /// Returns an error if the listener can't be used.
    pub fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || App::new().app_data(this.clone()).configure(Self::routes);
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    /// Adds the routes to an app whose data holds `web::Data<DemoServiceProvider>`.
    pub fn routes(config: &mut web::ServiceConfig) {
        config
            .app_data(web::PayloadConfig::new(4096))
            .service(web::resource("/").route(web::get().to(show_page)))
            .service(web::resource("/login").route(web::post().to(log_in)))
            .service(web::resource("/callback").route(web::get().to(callback)))
            .service(web::resource("/logout").route(web::post().to(log_out)))
            .service(web::resource("/signed-out").route(web::get().to(signed_out)));
    }

    fn session_cookie(&self) -> String {
        self.cookie_name("session")
    }

    /// Returns the name of the cookie of one login, so that tabs do not interfere.
    fn login_cookie(&self, state: &str) -> String {
        self.cookie_name(&format!("login-{}", state.get(..8).unwrap_or_default()))
    }

    fn cookie_name(&self, what: &str) -> String {
        let host = if self.secure { "__Host-" } else { "" };
        format!("{host}{}-{what}", self.settings.cookie_prefix)
    }

    fn cookie(&self, name: String, value: String) -> Cookie<'static> {
        let cookie = Cookie::build(name, value).path("/").http_only(true).same_site(SameSite::Lax);
        cookie.secure(self.secure).finish()
    }

    fn removal_cookie(&self, name: String) -> Cookie<'static> {
        let mut cookie = self.cookie(name, String::new());
        cookie.make_removal();
        cookie
    }

    /// Builds the authorization request (RFC 6749 §4.1.1, RFC 7636, OpenID Connect Core §3.1.2.1).
    fn authorization_url(&self, pending: &PendingLogin, state: &str) -> Option<String> {
        let mut url = Url::parse(&pending.metadata.authorization_endpoint).ok()?;
        let registration = self.settings.registration_for(pending.level);
        let challenge = digest::fingerprint(pending.verifier.reveal());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &registration.client_id)
            .append_pair("redirect_uri", &self.settings.redirect_uri)
            .append_pair("scope", &registration.scopes)
            .append_pair("acr_values", pending.level.as_str())
            .append_pair("claims", r#"{"id_token":{"amr":{"essential":true}}}"#)
            .append_pair("state", state)
            .append_pair("nonce", &pending.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("ui_locales", &pending.locale.to_string());
        Some(url.into())
    }

    async fn finish_login(
        &self,
        pending: &PendingLogin,
        answer: &UniqueParams,
    ) -> Result<LoginResult, CallbackError> {
        let registration = self.settings.registration_for(pending.level);
        let iss_fits = match answer.one("iss") {
            Some(iss) => iss == registration.issuer,
            None => !pending.metadata.authorization_response_iss_parameter_supported,
        };
        if !iss_fits {
            return Err(CallbackError::Issuer); // RFC 9207 §2.4: mix-up with another hub
        }
        if let Some(error) = answer.one("error") {
            let description = answer.one("error_description").map(str::to_owned);
            return Ok(LoginResult::Failed(DemoError::Returned {
                error: error.to_owned(),
                description,
            }));
        }
        let code = answer.one("code").ok_or(CallbackError::Empty)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &registration.client_id),
            ("client_secret", registration.client_secret.reveal()),
            ("redirect_uri", &self.settings.redirect_uri),
            ("code", code),
            ("code_verifier", pending.verifier.reveal()),
        ];
        let tokens = self.hub.redeem_code(&pending.metadata, &form).await?;
        self.verify_tokens(pending, tokens).await
    }

    /// Verifies both tokens before any claim is used (R156).
    async fn verify_tokens(
        &self,
        pending: &PendingLogin,
        tokens: DemoTokens,
    ) -> Result<LoginResult, CallbackError> {
        let keys = self.hub.fetch_keys(&pending.metadata).await?;
        let registration = self.settings.registration_for(pending.level);
        let expected = ExpectedToken {
            issuer: &registration.issuer,
            client_id: &registration.client_id,
            alg: registration.alg,
            encryption: registration
                .encryption
                .map(|encryption| (encryption, self.settings.keys.as_ref())),
            nonce: &pending.nonce,
            acr: pending.level,
        };
        let id_token = verify::verify_id_token(&tokens.id_token, &keys, &expected, self.env.now())?;
        let answer = self.hub.fetch_userinfo(&pending.metadata, &tokens.access_token).await?;
        let userinfo =
            verify::verify_userinfo(&answer, &keys, &expected, &id_token, self.env.now())?;
        let frame = |name: &str| matches!(name, "iss" | "aud" | "exp" | "iat");
        let claims = userinfo.jws.claims.iter().filter(|(name, _)| !frame(name));
        let claims = claims
            .map(|(name, value)| NamedValue { name: name.clone(), value: display_claim(value) })
            .collect();
        let sign_out = pending
            .metadata
            .end_session_endpoint
            .clone()
            .map(|endpoint| LogoutTarget { endpoint, id_token: id_token.compact.clone() });
        let signed_in = DemoSignedIn {
            level: pending.level,
            claims,
            id_token: token_parts(&id_token),
            userinfo: token_parts(&userinfo),
            introspection: self
                .hub
                .fetch_record(registration.data_provider.as_deref(), &tokens.access_token)
                .await,
            token_response: tokens.raw,
        };
        Ok(LoginResult::SignedIn(signed_in.into(), sign_out))
    }
}

type ServiceProviderData = web::Data<DemoServiceProvider>;

async fn show_page(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let session = request.cookie(&this.session_cookie());
    let outcome = session.and_then(|cookie| {
        this.finished.load(&digest::fingerprint(cookie.value()), this.env.now())
    });
    let locale =
        negotiate_locale(&request, &UniqueParams::parse(request.query_string().as_bytes()), "lang");
    this.page(StatusCode::OK, locale, |chrome| match outcome.as_deref() {
        None => DemoSignedOut.render(chrome),
        Some(LoginResult::SignedIn(signed_in, _)) => signed_in.render(chrome),
        Some(LoginResult::Failed(error)) => error.render(chrome),
    })
}

async fn log_in(this: ServiceProviderData, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let form = UniqueParams::parse(&body);
    let locale = negotiate_locale(&request, &form, "ui_locales");
    if let Some(reason) = cross_site_reason(&request) {
        return this.error_page(StatusCode::FORBIDDEN, locale, reason);
    }
    let Some(level) = form.one("level").and_then(registration::parse_level) else {
        return this.error_page(
            StatusCode::BAD_REQUEST,
            locale,
            "The form has no level of assurance, or an unknown one.",
        );
    };
    let metadata = match this.hub.discover(&this.settings.registration_for(level).issuer).await {
        Ok(metadata) => metadata,
        Err(fault) => return this.error_page(StatusCode::BAD_GATEWAY, locale, &fault.to_string()),
    };
    let entropy = this.env.entropy();
    let (state, binding) = (entropy.token(), entropy.token());
    let verifier = Secret::new(entropy.token());
    let pending = PendingLogin {
        level,
        nonce: entropy.token(),
        verifier,
        binding: digest::fingerprint(&binding),
        metadata,
        locale,
    };
    let Some(url) = this.authorization_url(&pending, &state) else {
        return this.error_page(
            StatusCode::BAD_GATEWAY,
            locale,
            &OpClientError::Malformed("configuration document").to_string(),
        );
    };
    let cookie = this.cookie(this.login_cookie(&state), binding);
    let now = this.env.now();
    this.pending.insert(state, Arc::new(pending), now + LOGIN_LIFETIME, now);
    redirect_to(&url, vec![cookie])
}

async fn callback(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let answer = UniqueParams::parse(request.query_string().as_bytes());
    let state = answer.one("state").unwrap_or_default();
    let login_cookie = this.login_cookie(state);
    // RFC 6749 §10.12: a response is accepted once, and only in the browser that sent the request.
    let pending = request.cookie(&login_cookie).and_then(|cookie| {
        let binding = digest::fingerprint(cookie.value());
        this.pending.take(state, this.env.now(), |pending| {
            digest::constant_time_eq(pending.binding.as_bytes(), binding.as_bytes())
        })
    });
    let Some(pending) = pending else {
        return this.error_page(
            StatusCode::BAD_REQUEST,
            negotiate_locale(&request, &answer, "lang"),
            "The response belongs to no sign-in of this browser (its state is unknown).",
        );
    };
    let outcome = this.finish_login(&pending, &answer).await.unwrap_or_else(|fault| {
        LoginResult::Failed(DemoError::Refused { reason: fault.to_string() })
    });
    // A new session id for each result, against session fixation.
    let session = this.env.entropy().token();
    let now = this.env.now();
    this.remove_session(&request);
    this.finished.insert(
        digest::fingerprint(&session),
        Arc::new(outcome),
        now + LOGIN_LIFETIME,
        now,
    );
    redirect_to(
        &home_path(pending.locale),
        vec![this.removal_cookie(login_cookie), this.cookie(this.session_cookie(), session)],
    )
}

/// Ends the session, then redirects to the end session endpoint of the hub (R170).
async fn log_out(
    this: ServiceProviderData,
    request: HttpRequest,
    body: web::Bytes,
) -> HttpResponse {
    let locale = negotiate_locale(&request, &UniqueParams::parse(&body), "ui_locales");
    if let Some(reason) = cross_site_reason(&request) {
        return this.error_page(StatusCode::FORBIDDEN, locale, reason);
    }
    let location = match this.remove_session(&request).as_deref() {
        Some(LoginResult::SignedIn(_, Some(sign_out))) => this.end_session_url(sign_out, locale),
        Some(LoginResult::SignedIn(_, None) | LoginResult::Failed(_)) | None => None,
    };
    redirect_to(
        &location.unwrap_or_else(|| home_path(locale)),
        vec![this.removal_cookie(this.session_cookie())],
    )
}

/// Handles the redirect after the logout at the hub. The state only selects the language.
async fn signed_out(this: ServiceProviderData, request: HttpRequest) -> HttpResponse {
    let answer = UniqueParams::parse(request.query_string().as_bytes());
    let locale =
        answer.one("state").and_then(|state| this.logouts.take(state, this.env.now(), |_| true));
    redirect_to(
        &home_path(locale.unwrap_or_else(|| negotiate_locale(&request, &answer, "lang"))),
        vec![],
    )
}

impl DemoServiceProvider {
    fn remove_session(&self, request: &HttpRequest) -> Option<Arc<LoginResult>> {
        let cookie = request.cookie(&self.session_cookie())?;
        self.finished.take(&digest::fingerprint(cookie.value()), self.env.now(), |_| true)
    }

    /// Builds the logout request (RP-Initiated Logout 1.0 §2).
    fn end_session_url(&self, sign_out: &LogoutTarget, locale: Locale) -> Option<String> {
        let mut url = Url::parse(&sign_out.endpoint).ok()?;
        let (state, now) = (self.env.entropy().token(), self.env.now());
        url.query_pairs_mut()
            .append_pair("id_token_hint", sign_out.id_token.reveal())
            .append_pair("post_logout_redirect_uri", &self.settings.post_logout_redirect_uri)
            .append_pair("state", &state)
            .append_pair("ui_locales", &locale.to_string());
        self.logouts.insert(state, locale, now + LOGIN_LIFETIME, now);
        Some(url.into())
    }
}

/// Parameters of a query or form; a repeated name counts as absent, because its value is ambiguous.
struct UniqueParams(Vec<(String, String)>);

impl UniqueParams {
    fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(other, _)| other == name);
        values
            .next()
            .filter(|_| values.next().is_none())
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }
}

/// Returns why a form is rejected as cross-site (CSRF). Browsers without `Sec-Fetch-Site` are
/// accepted: the session cookie is SameSite=Lax.
fn cross_site_reason(request: &HttpRequest) -> Option<&'static str> {
    let site = request.headers().get("sec-fetch-site")?;
    let own = site == "same-origin" || site == "none";
    (!own).then_some("This form was sent by another site.")
}

fn redirect_to(location: &str, cookies: Vec<Cookie<'static>>) -> HttpResponse {
    let mut answer = HttpResponse::SeeOther();
    answer
        .insert_header((header::LOCATION, location))
        .insert_header((header::CACHE_CONTROL, "no-store"));
    answer.insert_header((header::REFERRER_POLICY, "no-referrer"));
    for cookie in cookies {
        answer.cookie(cookie);
    }
    answer.finish()
}

#[cfg(test)]
mod tests;
