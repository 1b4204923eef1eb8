//! A browser that keeps cookies, follows redirects inside the hub, and submits the forms of pages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::cookie::Cookie;
use actix_web::test::TestRequest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::InteractionHash;
use url::form_urlencoded::{Serializer, parse};

use super::federation::BASE;
use super::hub::{Answer, TestHub};
use super::markup::{self, Form};
use super::service::{Authorize, Received};

const SESSION: &str = "__Host-passerelle-session";
const LOGIN: &str = "__Host-passerelle-login-";

pub struct Browser<'h> {
    pub hub: &'h TestHub,
    languages: &'static str,
    cookies: RefCell<BTreeMap<String, StoredCookie>>,
}

struct StoredCookie {
    value: String,
    /// Position in the order of creation.
    created: usize,
    until: Option<Timestamp>,
}

/// The page at which the redirects ended: of the hub, or the first address outside.
pub struct Page<'b> {
    pub browser: &'b Browser<'b>,
    /// A path of the hub with its query, or an absolute URL elsewhere.
    pub url: String,
    pub answer: Answer,
}

impl<'h> Browser<'h> {
    pub fn new(hub: &'h TestHub, languages: &'static str) -> Self {
        Self { hub, languages, cookies: RefCell::default() }
    }

    /// Follows a service provider's link to the hub.
    pub async fn authorize(&'h self, request: &Authorize) -> Page<'h> {
        self.open(&request.url()).await
    }

    /// Opens a URL, and follows redirects inside the hub.
    pub async fn open(&'h self, url: &str) -> Page<'h> {
        let answer = self.get(url).await;
        self.follow(url.to_owned(), answer, None).await
    }

    /// Submits a form of a page of the hub, and follows redirects.
    pub async fn submit(&'h self, form: &Form) -> Page<'h> {
        let answer = self.post(form, Some("same-origin")).await;
        self.follow(form.action.clone(), answer, Some("same-origin")).await
    }

    /// Submits a GET form of a page of the hub, and follows redirects.
    pub async fn submit_get(&'h self, form: &Form) -> Page<'h> {
        let query = Serializer::new(String::new()).extend_pairs(&form.fields).finish();
        let url = format!("{}?{query}", form.action);
        let request = TestRequest::get().uri(&url).insert_header(("sec-fetch-site", "same-origin"));
        let answer = self.send(request).await;
        self.follow(url, answer, Some("same-origin")).await
    }

    /// Sends a GET request, without following redirects.
    pub async fn get(&self, url: &str) -> Answer {
        self.send(TestRequest::get().uri(hub_path(url).unwrap_or(url))).await
    }

    /// Sends a form by POST, without following redirects. `site` is the `Sec-Fetch-Site` header.
    pub async fn post(&self, form: &Form, site: Option<&str>) -> Answer {
        let mut body = Serializer::new(String::new());
        body.extend_pairs(&form.fields);
        let request = TestRequest::post()
            .uri(hub_path(&form.action).unwrap_or(&form.action))
            .insert_header(("content-type", "application/x-www-form-urlencoded"))
            .set_payload(body.finish());
        self.send(match site {
            Some(site) => request.insert_header(("sec-fetch-site", site)),
            None => request,
        })
        .await
    }

    /// Sends a request with this browser's cookies, and stores the cookies of the response.
    pub async fn send(&self, request: TestRequest) -> Answer {
        let request = request.insert_header(("accept-language", self.languages));
        let request = match self.cookie_header() {
            cookies if cookies.is_empty() => request,
            cookies => request.insert_header(("cookie", cookies)),
        };
        let answer = self.hub.send(request).await;
        self.store_cookies(&answer);
        answer
    }

    /// Follows redirects; `site` is the `Sec-Fetch-Site` header of the request that led to them.
    async fn follow(&'h self, mut url: String, mut answer: Answer, site: Option<&str>) -> Page<'h> {
        for _ in 0..10 {
            if answer.status != 303 {
                return Page { browser: self, url, answer };
            }
            url = answer.header("location").split('#').next().unwrap().to_owned();
            let Some(path) = hub_path(&url).map(str::to_owned) else {
                return Page { browser: self, url, answer };
            };
            let request = TestRequest::get().uri(&path);
            answer = self
                .send(match site {
                    Some(site) => request.insert_header(("sec-fetch-site", site)),
                    None => request,
                })
                .await;
            url = path;
        }
        panic!("too many redirects, at {url}")
    }

    fn store_cookies(&self, answer: &Answer) {
        let now = self.hub.now();
        let mut cookies = self.cookies.borrow_mut();
        for header in answer.headers.get_all("set-cookie") {
            let cookie = Cookie::parse(header.to_str().unwrap()).unwrap();
            let life = cookie
                .max_age()
                .map(|life| Duration::from_secs(u64::try_from(life.whole_seconds()).unwrap_or(0)));
            if life == Some(Duration::ZERO) {
                cookies.remove(cookie.name());
            } else {
                let value = cookie.value().to_owned();
                // A replaced cookie keeps its creation time (RFC 6265 §5.3, step 11.3).
                let created = cookies
                    .get(cookie.name())
                    .map_or_else(|| next_position(&cookies), |cookie| cookie.created);
                let kept = StoredCookie { value, created, until: life.map(|life| now + life) };
                cookies.insert(cookie.name().to_owned(), kept);
            }
        }
    }

    fn cookie_header(&self) -> String {
        let now = self.hub.now();
        let mut cookies = self.cookies.borrow_mut();
        cookies.retain(|_, kept| kept.until.is_none_or(|until| now < until));
        let mut sent: Vec<_> = cookies.iter().collect();
        sent.sort_by_key(|(_, kept)| kept.created);
        sent.into_iter()
            .map(|(name, kept)| format!("{name}={}", kept.value))
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Returns the value of the session cookie.
    pub fn session(&self) -> Option<String> {
        self.cookies.borrow().get(SESSION).map(|cookie| cookie.value.clone())
    }

    /// Sets the session cookie, as an attacker who knows its value could.
    pub fn plant_session(&self, value: &str) {
        self.plant(SESSION, value);
    }

    /// Sets a cookie, as an attacker could.
    pub fn plant(&self, name: &str, value: &str) {
        let mut cookies = self.cookies.borrow_mut();
        let created = next_position(&cookies);
        cookies.insert(
            name.to_owned(),
            StoredCookie { value: value.to_owned(), created, until: None },
        );
    }

    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name).map(|cookie| cookie.value.clone())
    }

    /// Returns the names and values of the login cookies.
    pub fn logins(&self) -> Vec<(String, String)> {
        let cookies = self.cookies.borrow();
        let logins = cookies.iter().filter(|(name, _)| name.starts_with(LOGIN));
        logins.map(|(name, kept)| (name.clone(), kept.value.clone())).collect()
    }

    /// Returns the path of the page of the only login.
    pub fn interaction(&self) -> String {
        let logins = self.logins();
        let [(_, value)] = logins.as_slice() else { panic!("{} logins", logins.len()) };
        format!("/api/v2/interaction/{}", InteractionHash::from_cookie(value))
    }

    /// Returns the remaining lifetime of the cookie of the only login.
    pub fn login_cookie_lifetime(&self) -> Duration {
        let cookies = self.cookies.borrow();
        let mut logins = cookies.iter().filter(|(name, _)| name.starts_with(LOGIN));
        let life = logins.next().unwrap().1.until.unwrap().since(self.hub.now());
        assert!(logins.next().is_none(), "more than one login is open");
        life
    }
}

impl<'b> Page<'b> {
    /// Chooses an identity provider on the choice page.
    pub async fn choose(self, connector: &str) -> Page<'b> {
        let form = self.form_with_button("provider", connector);
        self.browser.submit(&form).await
    }

    /// Signs in on the sandbox's page.
    pub async fn sign_in_as(self, person: &str) -> Page<'b> {
        self.sign_in(person, "").await
    }

    /// Submits the sandbox's page as Angela, with this simulated failure.
    pub async fn sign_in_failing(self, failure: &str) -> Page<'b> {
        self.sign_in("angela", failure).await
    }

    async fn sign_in(self, person: &str, failure: &str) -> Page<'b> {
        let form = self.sandbox_form(person).with("failure", failure);
        self.browser.submit(&form).await
    }

    /// Returns the sandbox's form, filled in for this person.
    pub fn sandbox_form(&self, person: &str) -> Form {
        self.form("/sandbox/").with("person", person).with("level", "eidas1").with("method", "pwd")
    }

    /// Completes a login from the choice page, and returns the response to the service provider.
    pub async fn finish_as(self, person: &str) -> Received {
        self.choose("amandier").await.sign_in_as(person).await.consent().await.received()
    }

    /// Consents on the consent page.
    pub async fn consent(self) -> Page<'b> {
        let form = self.consent_form("yes");
        self.browser.submit(&form).await
    }

    /// Refuses on the consent page.
    pub async fn refuse(self) -> Page<'b> {
        let form = self.consent_form("no");
        self.browser.submit(&form).await
    }

    /// Returns the consent page's form with this answer.
    pub fn consent_form(&self, answer: &str) -> Form {
        self.form_with_button("answer", answer)
    }

    /// Cancels the login, and returns to the service provider.
    pub async fn cancel(self) -> Page<'b> {
        let form = self.form("/cancel");
        self.browser.submit(&form).await
    }

    /// Returns the form whose action contains `part`.
    pub fn form(&self, part: &str) -> Form {
        let mut forms = self.forms().into_iter().filter(|form| form.action.contains(part));
        forms
            .next()
            .unwrap_or_else(|| panic!("no form to {part} at {}: {}", self.url, self.summary()))
    }

    fn form_with_button(&self, name: &str, value: &str) -> Form {
        let button = (name.to_owned(), value.to_owned());
        let found = self.forms().into_iter().find(|form| form.buttons.contains(&button));
        let form = found.unwrap_or_else(|| {
            panic!("no button {name}={value} at {}: {}", self.url, self.summary())
        });
        form.with(name, value)
    }

    pub fn forms(&self) -> Vec<Form> {
        markup::forms(&self.answer.body)
    }

    /// Returns whether the page has no link or form except the choice of a language.
    pub fn has_no_links(&self) -> bool {
        let is_language = |form: &Form| {
            form.action == "/api/v2/language" && form.field("path").starts_with("/api/v2/errors/Y")
        };
        self.links().is_empty() && self.forms().iter().all(is_language)
    }

    pub fn links(&self) -> Vec<String> {
        markup::links(&self.answer.body)
    }

    pub fn heading(&self) -> String {
        markup::texts(&self.answer.body, "h1").pop().unwrap_or_default()
    }

    /// Returns the claims that the consent page lists: value by label.
    pub fn listed_claims(&self) -> BTreeMap<String, String> {
        markup::texts(&self.answer.body, "dt")
            .into_iter()
            .zip(markup::texts(&self.answer.body, "dd"))
            .collect()
    }

    /// Returns the connectors that can be chosen on this page.
    pub fn offered(&self) -> Vec<String> {
        let buttons = self.forms().into_iter().flat_map(|form| form.buttons);
        buttons.filter(|(name, _)| name == "provider").map(|(_, value)| value).collect()
    }

    pub fn is_choice(&self) -> bool {
        self.answer.status == 200 && self.heading().starts_with("Sign in to “")
    }

    pub fn is_consent(&self) -> bool {
        self.url.ends_with("/consent")
            && self.forms().iter().any(|form| form.action.ends_with("/consent"))
    }

    /// Returns the error code of an error page, or of the choice page's banner.
    #[track_caller]
    pub fn code(&self) -> String {
        self.references()
            .first()
            .cloned()
            .unwrap_or_else(|| panic!("no code at {}: {}", self.url, self.summary()))
    }

    /// Returns the support id on the page.
    pub fn support_id(&self) -> String {
        self.references().last().map(|grouped| grouped.replace(' ', "")).unwrap_or_default()
    }

    /// Returns the error code, a more precise code if there is one, and the support id.
    pub fn references(&self) -> Vec<String> {
        let body = &self.answer.body;
        let of_page: Vec<String> = body
            .split("<dd class=\"code\">")
            .skip(1)
            .filter_map(|part| Some(part.split_once("</dd>")?.0.to_owned()))
            .collect();
        if of_page.is_empty() { markup::texts(body, "code") } else { of_page }
    }

    /// Returns whether the page asks the user to confirm a logout.
    pub fn is_logout_confirmation(&self) -> bool {
        self.answer.status == 200
            && self.forms().iter().any(|form| form.action.ends_with("/session/end/confirm"))
    }

    /// Asserts that this is an error page, or a page with a banner, of this status and code.
    #[track_caller]
    pub fn assert_error(self, status: u16, code: &str) -> Self {
        assert_eq!((self.answer.status, self.code().as_str()), (status, code), "at {}", self.url);
        assert_ne!(self.support_id(), code, "the page has no support id");
        self
    }

    /// Returns the parameters that the service provider received by redirect.
    #[track_caller]
    pub fn received(&self) -> Received {
        assert!(
            hub_path(&self.url).is_none(),
            "still at the hub, at {}: {}",
            self.url,
            self.summary()
        );
        let (to, query) = self.url.split_at(
            self.url.find("&code=").or(self.url.find("&error=")).unwrap_or(self.url.len()),
        );
        Received { to: to.to_owned(), fields: parse(query.as_bytes()).into_owned().collect() }
    }

    /// Returns the parameters that the page's form posts to the service provider.
    #[track_caller]
    pub fn received_by_post(&self) -> Received {
        assert_eq!(self.answer.status, 200);
        let form = self.form("https://");
        Received { to: form.action, fields: form.fields.into_iter().collect() }
    }

    fn summary(&self) -> String {
        format!("{} {:?}", self.answer.status, markup::texts(&self.answer.body, "p"))
    }
}

fn next_position(cookies: &BTreeMap<String, StoredCookie>) -> usize {
    cookies.values().map(|cookie| cookie.created + 1).max().unwrap_or_default()
}

/// Returns the path of a URL of the hub, or `None` for another URL.
fn hub_path(url: &str) -> Option<&str> {
    match url.strip_prefix(BASE) {
        Some(path) => Some(path),
        None => url.starts_with('/').then_some(url),
    }
}
