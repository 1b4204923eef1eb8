//! Demo service provider: a relying party that shows the result of a login.
//!
//! Responsible for its login requests (state, nonce, PKCE), its sessions, and the checks before any
//! claim is used (R156). It calls the hub over HTTP only.

mod console;
mod handlers;
mod http;
pub(super) mod op_client;
mod page;
mod sessions;
mod settings;
mod verify;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::Server;
use actix_web::{App, HttpRequest, HttpServer, web};
use url::Url;

pub(super) use self::http::{UniqueParams, cross_site_reason, redirect_to};
use self::op_client::{DemoTokens, OpClient, OpClientError, OpMetadata};
use self::page::{authentication_methods, display_claim, token_parts};
pub(super) use self::page::{negotiate_locale, page_response};
pub(super) use self::sessions::SessionMap;
pub use self::settings::{ConsoleAccess, HubRegistration, ServiceProviderSettings};
use self::verify::{ExpectedToken, TokenError};
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_settings::Diagnostic;
use passerelle_web::pages::{
    DemoError, DemoSignIn, DemoSignedIn, DemoSignedOut, Locale, NamedValue, PageTheme,
};
use passerelle_web::theme;

/// Theme of the pages.
const THEME: &str = include_str!("service_provider/theme.toml");
/// Lifetime of a pending login, and of a result.
const LOGIN_LIFETIME: Duration = Duration::from_secs(30 * 60);
/// Maximum number of pending logins, and of results.
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
    #[error("a theme of the demo is wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
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
    /// Pending logouts by `state`.
    logouts: SessionMap<Arc<PendingLogout>>,
}

/// Login in progress.
struct PendingLogin {
    sign_in: DemoSignIn,
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
    SignedOut(DemoSignedOut),
}

/// Logout in progress at the hub.
struct PendingLogout {
    /// Fingerprint of the session cookie, which binds the logout to its browser.
    session: String,
    /// Language of the page afterwards.
    locale: Locale,
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

/// Returns the theme of the demo's own pages.
///
/// # Errors
/// `Theme`.
pub(super) fn demo_theme() -> Result<PageTheme, SetupError> {
    parse_theme(&format!("name = {}\n{THEME}", super::localized_names::SERVICE.to_toml()))
}

/// Parses the text of a theme.
///
/// # Errors
/// `Theme`.
pub(super) fn parse_theme(text: &str) -> Result<PageTheme, SetupError> {
    let mut problems = Vec::new();
    let theme = theme::parse_embedded_theme(text, &mut problems);
    theme.as_ref().map(PageTheme::from).ok_or(SetupError::Theme(problems))
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
        let theme = demo_theme()?;
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
            .service(web::resource("/").route(web::get().to(handlers::show_page)))
            .service(web::resource("/login").route(web::post().to(handlers::log_in)))
            .service(web::resource("/callback").route(web::get().to(handlers::callback)))
            .service(web::resource("/logout").route(web::post().to(handlers::log_out)))
            .service(web::resource("/console").route(web::post().to(console::open_console)))
            .service(web::resource("/signed-out").route(web::get().to(handlers::signed_out)));
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
        let registration = self.settings.registration_for(pending.sign_in);
        let challenge = digest::sha256_base64url(pending.verifier.reveal());
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &registration.client_id)
            .append_pair("redirect_uri", &self.settings.redirect_uri)
            .append_pair("scope", &registration.scopes)
            .append_pair("acr_values", pending.sign_in.level.as_str())
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
        let registration = self.settings.registration_for(pending.sign_in);
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
        let registration = self.settings.registration_for(pending.sign_in);
        let expected = ExpectedToken {
            issuer: &registration.issuer,
            client_id: &registration.client_id,
            alg: registration.alg,
            encryption: registration
                .encryption
                .map(|encryption| (encryption, self.settings.keys.as_ref())),
            nonce: &pending.nonce,
            acr: pending.sign_in.level,
        };
        let now = self.env.now();
        let id_token = verify::verify_id_token(&tokens.id_token, &keys, &expected, now).await?;
        let answer = self.hub.fetch_userinfo(&pending.metadata, &tokens.access_token).await?;
        let userinfo =
            verify::verify_userinfo(&answer, &keys, &expected, &id_token, self.env.now()).await?;
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
            sign_in: pending.sign_in,
            methods: authentication_methods(&id_token),
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

    fn remove_session(&self, request: &HttpRequest) -> Option<Arc<LoginResult>> {
        let cookie = request.cookie(&self.session_cookie())?;
        self.finished.take(&digest::sha256_base64url(cookie.value()), self.env.now(), |_| true)
    }

    /// Saves what the start page shows to the browser with this session.
    fn save_result(&self, session: String, result: LoginResult) {
        let now = self.env.now();
        self.finished.insert(session, Arc::new(result), now + LOGIN_LIFETIME, now);
    }

    /// Builds the logout request (RP-Initiated Logout 1.0 §2). `session` is the fingerprint of the
    /// cookie with which the browser comes back.
    fn end_session_url(
        &self,
        sign_out: &LogoutTarget,
        locale: &Locale,
        session: &str,
    ) -> Option<String> {
        let mut url = Url::parse(&sign_out.endpoint).ok()?;
        let (state, now) = (self.env.entropy().token(), self.env.now());
        url.query_pairs_mut()
            .append_pair("id_token_hint", sign_out.id_token.reveal())
            .append_pair("post_logout_redirect_uri", &self.settings.post_logout_redirect_uri)
            .append_pair("state", &state)
            .append_pair("ui_locales", &locale.to_string());
        let pending = PendingLogout { session: session.to_owned(), locale: locale.clone() };
        self.logouts.insert(state, Arc::new(pending), now + LOGIN_LIFETIME, now);
        Some(url.into())
    }
}

#[cfg(test)]
mod tests;
