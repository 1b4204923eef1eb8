//! The demo service provider: a relying party as one should be written, to see what a sign-in gives.
//!
//! Owns: its own sign-in (state, nonce, PKCE), its own session, the checks before anything is used (R156). Must not
//! know: the hub's inside. It speaks to the hub over HTTP only, like any service provider.

pub(super) mod hub;
mod judge;
mod memory;
mod page;
mod registration;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::dev::Server;
use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use url::{Url, form_urlencoded};

use self::hub::{Hub, HubFault, Metadata, Tokens};
use self::judge::{Expected, Refusal};
use self::memory::Memory;
use self::page::{home, language, parts, plain};
pub use self::registration::{Registration, Settings};
use crate::config::{Problem, theme};
use crate::digest;
use crate::env::Env;
use crate::ids::Secret;
use crate::protocol::acr::Level;
use crate::web::pages::{DemoError, DemoSignedIn, DemoSignedOut, Fact, Locale, Theme};

/// Its own name and colours.
const THEME: &str = include_str!("service_provider/theme.toml");
/// How long a person may take at the hub, and how long a finished sign-in is shown.
const LIFE: Duration = Duration::from_secs(30 * 60);
/// Sign-ins under way, and finished ones, at most.
const CAPACITY: usize = 1000;

#[derive(thiserror::Error, Debug)]
pub enum SetupFault {
    #[error(
        "the demo service provider's redirect_uri must be an absolute URL with the path /callback"
    )]
    RedirectUri,
    #[error("the demo service provider's HTTP client can't be built: {0}")]
    Client(reqwest::Error),
    #[error("the demo service provider's theme is wrong: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Theme(Vec<Problem>),
}

/// A service provider that can be started on any listener; several may run in one process.
pub struct DemoServiceProvider {
    settings: Settings,
    env: Env,
    hub: Hub,
    theme: Theme,
    secure: bool,
    /// By `state`.
    pending: Memory<Arc<Pending>>,
    /// By the fingerprint of the session cookie.
    finished: Memory<Arc<Outcome>>,
    /// Sign-outs under way, by `state`: the language to come back in.
    leaving: Memory<Locale>,
}

/// A sign-in under way.
struct Pending {
    /// What was asked; it decides the platform.
    level: Level,
    nonce: String,
    verifier: Secret<String>,
    /// Fingerprint of the cookie that only the browser that began has.
    binding: String,
    metadata: Metadata,
    /// In which the person began, and finds the outcome.
    locale: Locale,
}

enum Outcome {
    SignedIn(Box<DemoSignedIn>, Option<SignOut>),
    Failed(DemoError),
}

/// What the hub wants to hear when this sign-in ends.
struct SignOut {
    endpoint: String,
    /// The ID token, decrypted where it came encrypted (R175).
    id_token: Secret<String>,
}

/// Why a callback did not sign anybody in.
#[derive(thiserror::Error, Debug)]
enum CallbackFault {
    #[error(transparent)]
    Hub(#[from] HubFault),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("The answer names another issuer, or none (RFC 9207).")]
    Issuer,
    #[error("The answer holds neither a code nor an error.")]
    Empty,
}

impl DemoServiceProvider {
    /// # Errors
    /// What of the settings, of this machine or of the built-in theme is wrong.
    pub fn new(settings: Settings, env: Env) -> Result<Self, SetupFault> {
        let redirect_uri =
            Url::parse(&settings.redirect_uri).map_err(|_| SetupFault::RedirectUri)?;
        if redirect_uri.path() != "/callback" {
            return Err(SetupFault::RedirectUri);
        }
        let secure = redirect_uri.scheme() == "https";
        let hub = Hub::new().map_err(SetupFault::Client)?;
        let mut problems = Vec::new();
        let theme = theme::embedded(THEME, &mut problems)
            .as_ref()
            .map(Theme::from)
            .ok_or(SetupFault::Theme(problems))?;
        Ok(Self {
            settings,
            env,
            hub,
            theme,
            secure,
            pending: Memory::new(CAPACITY),
            finished: Memory::new(CAPACITY),
            leaving: Memory::new(CAPACITY),
        })
    }

    /// Serves on `listener` until the returned server is stopped. One worker: it is a demo, and its HTTP client belongs
    /// to one runtime.
    ///
    /// # Errors
    /// If the listener can't be used.
    pub fn start(self, listener: TcpListener) -> std::io::Result<Server> {
        let this = web::Data::new(self);
        let app = move || App::new().app_data(this.clone()).configure(Self::routes);
        Ok(HttpServer::new(app).workers(1).disable_signals().listen(listener)?.run())
    }

    /// The routes, for an app whose data holds `web::Data<DemoServiceProvider>`.
    pub fn routes(config: &mut web::ServiceConfig) {
        config
            .app_data(web::PayloadConfig::new(4096))
            .service(web::resource("/").route(web::get().to(show)))
            .service(web::resource("/login").route(web::post().to(log_in)))
            .service(web::resource("/callback").route(web::get().to(callback)))
            .service(web::resource("/logout").route(web::post().to(log_out)))
            .service(web::resource("/signed-out").route(web::get().to(signed_out)));
    }

    fn session_cookie(&self) -> String {
        self.cookie_name("session")
    }

    /// One cookie for each sign-in, so that tabs do not disturb each other.
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

    fn expired(&self, name: String) -> Cookie<'static> {
        let mut cookie = self.cookie(name, String::new());
        cookie.make_removal();
        cookie
    }

    /// RFC 6749, 4.1.1 with RFC 7636 and OpenID Connect Core 3.1.2.1.
    fn authorization_url(&self, pending: &Pending, state: &str) -> Option<String> {
        let mut url = Url::parse(&pending.metadata.authorization_endpoint).ok()?;
        let registration = self.settings.at(pending.level);
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

    async fn finish(&self, pending: &Pending, answer: &Answer) -> Result<Outcome, CallbackFault> {
        let registration = self.settings.at(pending.level);
        let iss_fits = match answer.one("iss") {
            Some(iss) => iss == registration.issuer,
            None => !pending.metadata.authorization_response_iss_parameter_supported,
        };
        if !iss_fits {
            return Err(CallbackFault::Issuer); // RFC 9207, 2.4: the answer of another hub
        }
        if let Some(error) = answer.one("error") {
            let description = answer.one("error_description").map(str::to_owned);
            return Ok(Outcome::Failed(DemoError::Returned {
                error: error.to_owned(),
                description,
            }));
        }
        let code = answer.one("code").ok_or(CallbackFault::Empty)?;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &registration.client_id),
            ("client_secret", registration.client_secret.reveal()),
            ("redirect_uri", &self.settings.redirect_uri),
            ("code", code),
            ("code_verifier", pending.verifier.reveal()),
        ];
        let tokens = self.hub.redeem(&pending.metadata, &form).await?;
        self.believe(pending, tokens).await
    }

    /// R156: every check comes before the first use of a claim.
    async fn believe(&self, pending: &Pending, tokens: Tokens) -> Result<Outcome, CallbackFault> {
        let keys = self.hub.keys(&pending.metadata).await?;
        let registration = self.settings.at(pending.level);
        let expected = Expected {
            issuer: &registration.issuer,
            client_id: &registration.client_id,
            alg: registration.alg,
            seal: registration.sealing.map(|sealing| (sealing, self.settings.keys.as_ref())),
            nonce: &pending.nonce,
            acr: pending.level,
        };
        let id_token = judge::id_token(&tokens.id_token, &keys, &expected, self.env.now())?;
        let answer = self.hub.userinfo(&pending.metadata, &tokens.access_token).await?;
        let userinfo = judge::userinfo(&answer, &keys, &expected, &id_token, self.env.now())?;
        let frame = |name: &str| matches!(name, "iss" | "aud" | "exp" | "iat");
        let claims = userinfo.jws.claims.iter().filter(|(name, _)| !frame(name));
        let claims =
            claims.map(|(name, value)| Fact { name: name.clone(), value: plain(value) }).collect();
        let sign_out = pending
            .metadata
            .end_session_endpoint
            .clone()
            .map(|endpoint| SignOut { endpoint, id_token: id_token.compact.clone() });
        let signed_in = DemoSignedIn {
            level: pending.level,
            claims,
            id_token: parts(&id_token),
            userinfo: parts(&userinfo),
            data_provider: self
                .hub
                .record(registration.data_provider.as_deref(), &tokens.access_token)
                .await,
            token_answer: tokens.raw,
        };
        Ok(Outcome::SignedIn(signed_in.into(), sign_out))
    }
}

type This = web::Data<DemoServiceProvider>;

async fn show(this: This, request: HttpRequest) -> HttpResponse {
    let session = request.cookie(&this.session_cookie());
    let outcome = session.and_then(|cookie| {
        this.finished.load(&digest::fingerprint(cookie.value()), this.env.now())
    });
    let locale = language(&request, &Answer::parse(request.query_string().as_bytes()), "lang");
    this.page(StatusCode::OK, locale, |chrome| match outcome.as_deref() {
        None => DemoSignedOut.render(chrome),
        Some(Outcome::SignedIn(signed_in, _)) => signed_in.render(chrome),
        Some(Outcome::Failed(error)) => error.render(chrome),
    })
}

async fn log_in(this: This, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let form = Answer::parse(&body);
    let locale = language(&request, &form, "ui_locales");
    if let Some(reason) = other_site(&request) {
        return this.refuse(StatusCode::FORBIDDEN, locale, reason);
    }
    let Some(level) = form.one("level").and_then(registration::level) else {
        return this.refuse(
            StatusCode::BAD_REQUEST,
            locale,
            "The form asks for no level of assurance, or for an unknown one.",
        );
    };
    let metadata = match this.hub.discover(&this.settings.at(level).issuer).await {
        Ok(metadata) => metadata,
        Err(fault) => return this.refuse(StatusCode::BAD_GATEWAY, locale, &fault.to_string()),
    };
    let entropy = this.env.entropy();
    let (state, binding) = (entropy.token(), entropy.token());
    let verifier = Secret::new(entropy.token());
    let pending = Pending {
        level,
        nonce: entropy.token(),
        verifier,
        binding: digest::fingerprint(&binding),
        metadata,
        locale,
    };
    let Some(url) = this.authorization_url(&pending, &state) else {
        return this.refuse(
            StatusCode::BAD_GATEWAY,
            locale,
            &HubFault::Malformed("configuration document").to_string(),
        );
    };
    let cookie = this.cookie(this.login_cookie(&state), binding);
    let now = this.env.now();
    this.pending.insert(state, Arc::new(pending), now + LIFE, now);
    go_to(&url, vec![cookie])
}

async fn callback(this: This, request: HttpRequest) -> HttpResponse {
    let answer = Answer::parse(request.query_string().as_bytes());
    let state = answer.one("state").unwrap_or_default();
    let login_cookie = this.login_cookie(state);
    // RFC 6749, 10.12: an answer counts once, and only in the browser that asked for it.
    let pending = request.cookie(&login_cookie).and_then(|cookie| {
        let binding = digest::fingerprint(cookie.value());
        this.pending.take(state, this.env.now(), |pending| {
            digest::equal(pending.binding.as_bytes(), binding.as_bytes())
        })
    });
    let Some(pending) = pending else {
        return this.refuse(
            StatusCode::BAD_REQUEST,
            language(&request, &answer, "lang"),
            "The answer belongs to no sign-in that this browser began (its state is unknown).",
        );
    };
    let outcome = this
        .finish(&pending, &answer)
        .await
        .unwrap_or_else(|fault| Outcome::Failed(DemoError::Refused { reason: fault.to_string() }));
    // A fresh session for each outcome: an id known before the sign-in never becomes a signed-in one.
    let session = this.env.entropy().token();
    let now = this.env.now();
    this.forget_session(&request);
    this.finished.insert(digest::fingerprint(&session), Arc::new(outcome), now + LIFE, now);
    go_to(
        &home(pending.locale),
        vec![this.expired(login_cookie), this.cookie(this.session_cookie(), session)],
    )
}

/// Ends the service provider's own session, then sends the browser to the hub to end its own (R170).
async fn log_out(this: This, request: HttpRequest, body: web::Bytes) -> HttpResponse {
    let locale = language(&request, &Answer::parse(&body), "ui_locales");
    if let Some(reason) = other_site(&request) {
        return this.refuse(StatusCode::FORBIDDEN, locale, reason);
    }
    let location = match this.forget_session(&request).as_deref() {
        Some(Outcome::SignedIn(_, Some(sign_out))) => this.end_session_url(sign_out, locale),
        Some(Outcome::SignedIn(_, None) | Outcome::Failed(_)) | None => None,
    };
    go_to(&location.unwrap_or_else(|| home(locale)), vec![this.expired(this.session_cookie())])
}

/// Back from the hub. A state that is not ours changes nothing: nobody is signed in any more either way.
async fn signed_out(this: This, request: HttpRequest) -> HttpResponse {
    let answer = Answer::parse(request.query_string().as_bytes());
    let locale =
        answer.one("state").and_then(|state| this.leaving.take(state, this.env.now(), |_| true));
    go_to(&home(locale.unwrap_or_else(|| language(&request, &answer, "lang"))), vec![])
}

impl DemoServiceProvider {
    fn forget_session(&self, request: &HttpRequest) -> Option<Arc<Outcome>> {
        let cookie = request.cookie(&self.session_cookie())?;
        self.finished.take(&digest::fingerprint(cookie.value()), self.env.now(), |_| true)
    }

    /// RP-Initiated Logout 1.0, 2.
    fn end_session_url(&self, sign_out: &SignOut, locale: Locale) -> Option<String> {
        let mut url = Url::parse(&sign_out.endpoint).ok()?;
        let (state, now) = (self.env.entropy().token(), self.env.now());
        url.query_pairs_mut()
            .append_pair("id_token_hint", sign_out.id_token.reveal())
            .append_pair("post_logout_redirect_uri", &self.settings.post_logout_redirect_uri)
            .append_pair("state", &state)
            .append_pair("ui_locales", &locale.to_string());
        self.leaving.insert(state, locale, now + LIFE, now);
        Some(url.into())
    }
}

/// A query or form as ordered pairs: a name that stands twice counts as absent, for which one would be meant?
struct Answer(Vec<(String, String)>);

impl Answer {
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

/// Login and logout by a form of another site (CSRF). Browsers too old to say where a form stands are let through: the
/// session cookie is SameSite=Lax.
fn other_site(request: &HttpRequest) -> Option<&'static str> {
    let site = request.headers().get("sec-fetch-site")?;
    let own = site == "same-origin" || site == "none";
    (!own).then_some("This form was sent by another site.")
}

fn go_to(location: &str, cookies: Vec<Cookie<'static>>) -> HttpResponse {
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
