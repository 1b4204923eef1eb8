//! `/status`: which identity providers work, as choice pages see it now, as a page, as JSON and as
//! an Atom feed (RFC 4287).
//!
//! It has no history, no numbers and no causes. Every hub answers from its own view.

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, VARY};
use askama::Template;
use serde_json::{Value, json};

use super::state::PublicPages;
use passerelle_federation::notices::Notice;
use passerelle_federation::validity::{Validity, format_rfc3339};
use passerelle_hub::registry::{ConnectorState, ProviderStatus, PublicBlock};
use passerelle_localization::{Locale, OperatorText};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_web::page_template;
use passerelle_web::pages::PageMessages as _;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::{json_response, landing_page_response};

/// How long caches may keep the status: a failure or its end is visible within half a minute.
const CACHE: &str = "public, max-age=30";

/// The status at one moment.
struct Status {
    now: Timestamp,
    /// The service provider that it is for; `None` for all.
    service: Option<ClientId>,
    providers: Vec<ProviderStatus>,
    notices: Vec<Notice>,
    /// Notices that begin later.
    planned_notices: Vec<Notice>,
}

impl Status {
    /// Reads the status for the service provider that the request names by `client_id`, or for all.
    ///
    /// # Errors
    /// `NotFound` for a service provider that is unknown or named twice, or whose file does not
    /// publish its status: the same for all.
    fn read(context: &RequestContext, locale: &Locale) -> Result<Self, Rejection> {
        let federation = context.hub.core.federation.load();
        let not_found = Rejection::OutsideLogin(ErrorCode::NotFound);
        let Ok(query) = context.query() else { return Err(not_found) };
        let Ok(client_id) = query.single("client_id") else { return Err(not_found) };
        let client_id = client_id.map(ClientId::from);
        let service = match &client_id {
            Some(client_id) => {
                let service = federation.active_service_provider(client_id);
                let service = service.filter(|service| service.status_page).ok_or(not_found)?;
                Some((client_id, service.as_ref()))
            }
            None => None,
        };
        let now = context.hub.core.env.now();
        let providers = context.hub.connectors.public_status(service, locale.tag());
        let notices = &context.hub.notices;
        let (notices, planned_notices) = (notices.in_force(), notices.planned());
        Ok(Self { now, service: client_id, providers, notices, planned_notices })
    }

    fn to_json(&self) -> Value {
        let provider = |provider: &ProviderStatus| {
            json!({
                "id": provider.id.as_str(),
                "name": provider.display.name,
                "status": provider.state.as_str(),
                "block": provider.block.as_ref().map(block_json),
                "planned": provider.planned.iter().map(block_json).collect::<Vec<_>>(),
            })
        };
        let notice = |notice: &Notice| {
            let (from, until) = period(&notice.validity);
            let Notice { text, severity, link, .. } = notice;
            json!({ "text": text, "severity": severity, "link": link, "from": from, "until": until })
        };
        json!({
            "time": format_rfc3339(self.now),
            "identity_providers": self.providers.iter().map(provider).collect::<Vec<_>>(),
            "notices": self.notices.iter().map(notice).collect::<Vec<_>>(),
            "planned_notices": self.planned_notices.iter().map(notice).collect::<Vec<_>>(),
        })
    }
}

fn period(validity: &Validity) -> (Option<String>, Option<String>) {
    (validity.not_before.map(format_rfc3339), validity.not_after.map(format_rfc3339))
}

fn block_json(block: &PublicBlock) -> Value {
    let (from, until) = period(&block.validity);
    json!({ "message": *block.message, "from": from, "until": until })
}

/// A line of the page: an identity provider and what is known of it, or a notice that begins later.
struct StatusRow {
    /// Empty for a notice.
    name: OperatorText,
    state: String,
    message: OperatorText,
    link: Option<String>,
    from: Option<Timestamp>,
    until: Option<Timestamp>,
}

/// The status page.
struct StatusPage {
    /// What is wrong now, by name.
    problems: Vec<StatusRow>,
    planned: Vec<StatusRow>,
    available: Vec<OperatorText>,
    now: Timestamp,
}

page_template!(StatusPage, "status.html", |_, t| t.text("public-status-title"));

impl StatusPage {
    fn new(status: &Status, locale: &Locale) -> Self {
        let name = |provider: &ProviderStatus| locale.localize(&provider.display.name).into();
        let row = |provider: &ProviderStatus, state: &str, block: Option<&PublicBlock>| StatusRow {
            name: name(provider),
            state: locale.text(&format!("public-status-{state}")),
            message: block.map(|block| locale.localize(&block.message).into()).unwrap_or_default(),
            link: None,
            from: block.and_then(|block| block.validity.not_before),
            until: block.and_then(|block| block.validity.not_after),
        };
        let (available, failing): (Vec<_>, Vec<_>) =
            status.providers.iter().partition(|one| one.state == ConnectorState::Available);
        let problem = |one: &&ProviderStatus| StatusRow {
            from: None,
            ..row(one, one.state.as_str(), one.block.as_ref())
        };
        let planned = status.providers.iter().flat_map(|provider| {
            provider.planned.iter().map(move |block| row(provider, "planned", Some(block)))
        });
        let planned_notice = |notice: &Notice| StatusRow {
            name: OperatorText::default(),
            state: String::new(),
            message: locale.localize(&notice.text).into(),
            link: notice.link.clone(),
            from: notice.validity.not_before,
            until: notice.validity.not_after,
        };
        let planned_notices = status.planned_notices.iter().map(planned_notice);
        let mut planned: Vec<StatusRow> = planned.chain(planned_notices).collect();
        planned.sort_by_key(|row| row.from);
        Self {
            problems: failing.iter().map(problem).collect(),
            planned,
            available: available.into_iter().map(name).collect(),
            now: status.now,
        }
    }

    fn available_count(&self, t: &Locale) -> String {
        t.text_with_values(
            "public-status-available-count",
            [("count", self.available.len().into())],
        )
    }

    #[expect(clippy::unused_self, reason = "templates call methods of their page")]
    fn time_text(&self, at: &Timestamp, t: &Locale) -> String {
        t.date_time(*at)
    }

    /// Returns a time as HTML's `datetime` has it.
    #[expect(clippy::unused_self, reason = "templates call methods of their page")]
    fn datetime(&self, at: &Timestamp) -> String {
        format_rfc3339(*at)
    }
}

/// Serves the page.
///
/// # Errors
/// As [`Status::read`].
pub(crate) async fn show_page(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let locale = context.locale(&[]);
    let page = StatusPage::new(&Status::read(&context, &locale)?, &locale);
    let response = landing_page_response(&context.hub, 200, &locale, |chrome| page.render(chrome));
    Ok(cached(response, "accept-language, cookie"))
}

/// Serves the status for programs, with the texts of all languages.
///
/// # Errors
/// As [`Status::read`].
pub(crate) async fn serve_json(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let status = Status::read(&context, &context.locale(&[]))?;
    Ok(cached(json_response(status.to_json().to_string()), "origin"))
}

/// What the feed says of one identity provider or notice.
struct FeedEntry {
    /// What its id adds to the address of the page.
    fragment: String,
    title: String,
    updated: String,
    text: String,
}

/// The feed.
#[derive(Template)]
#[template(path = "status.xml")]
struct StatusFeed<'a> {
    base_url: &'a str,
    /// The query of the request, with its question mark; empty without one.
    query: String,
    language: &'a str,
    title: String,
    updated: String,
    entries: Vec<FeedEntry>,
}

/// Serves what is wrong, planned and announced as an Atom feed, in the language of `lang`.
///
/// # Errors
/// As [`Status::read`].
pub(crate) async fn serve_feed(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let query = context.query().unwrap_or_default();
    let languages: Vec<String> = query.get("lang").map(str::to_owned).into_iter().collect();
    let locale = context.locale(&languages);
    let status = Status::read(&context, &locale)?;
    let issuer = &context.hub.core.issuer;
    let base_url = issuer.strip_suffix(passerelle_web::responses::BASE_PATH).unwrap_or(issuer);
    let query = match context.request.query_string() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let drafts = draft_entries(&status, &locale);
    let pages = context.hub.extension::<PublicPages>();
    let since = pages.map_or_else(Vec::new, |pages| {
        let known = drafts.iter().map(|draft| draft.fragment.clone());
        pages.feed_entry_times.record(status.service.as_ref(), known, status.now)
    });
    let entries: Vec<FeedEntry> = drafts
        .into_iter()
        .zip(since)
        .map(|(draft, since)| draft.into_entry(since, status.now))
        .collect();
    let feed = StatusFeed {
        base_url,
        query,
        language: locale.tag(),
        title: locale.text_with(
            "public-status-feed",
            "hub",
            &locale.localize(&context.hub.theme.name),
        ),
        updated: entries
            .iter()
            .map(|entry| entry.updated.as_str())
            .max()
            .map_or_else(|| format_rfc3339(Timestamp::default()), str::to_owned),
        entries,
    };
    let mut response = HttpResponse::Ok().body(passerelle_web::pages::render_template(&feed));
    let content_type = HeaderValue::from_static("application/atom+xml; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(cached(response, "accept-language, cookie, origin"))
}

/// A [`FeedEntry`] before it is known when this hub saw it first.
struct EntryDraft<'s> {
    fragment: String,
    title: String,
    /// The period and the text, if an operator has written them.
    announced: Option<(&'s Validity, String)>,
}

impl EntryDraft<'_> {
    /// Returns the entry, first seen at `since`. Each time that an identity provider fails is an
    /// entry of its own.
    fn into_entry(self, since: Timestamp, now: Timestamp) -> FeedEntry {
        let Self { fragment, title, announced } = self;
        let Some((validity, text)) = announced else {
            let fragment = format!("{fragment}-{}", since.seconds());
            return FeedEntry {
                fragment,
                title,
                updated: format_rfc3339(since),
                text: String::new(),
            };
        };
        // What begins later was announced when it was first seen.
        let began = validity.not_before.filter(|began| *began <= now).unwrap_or(since);
        FeedEntry { fragment, title, updated: format_rfc3339(began), text }
    }
}

fn draft_entries<'s>(status: &'s Status, locale: &Locale) -> Vec<EntryDraft<'s>> {
    let mut drafts = Vec::new();
    for provider in &status.providers {
        let name = locale.localize(&provider.display.name);
        let mut add = |state: &str, block: Option<&'s PublicBlock>| {
            let fragment = format!("{}-{state}", provider.id);
            drafts.push(EntryDraft {
                title: format!("{name}: {}", locale.text(&format!("public-status-{state}"))),
                fragment: match block {
                    Some(block) => format!("{fragment}-{}", short_hash(&block_json(block))),
                    None => fragment,
                },
                announced: block.map(|block| {
                    let message = locale.localize(&block.message).to_string();
                    (&block.validity, text_with_period(message, &block.validity, locale))
                }),
            });
        };
        if provider.state != ConnectorState::Available {
            add(provider.state.as_str(), provider.block.as_ref());
        }
        for block in &provider.planned {
            add("planned", Some(block));
        }
    }
    let beginning = |notice: &Notice| notice.validity.not_before.map(format_rfc3339);
    let notices = status.notices.iter().chain(&status.planned_notices);
    drafts.extend(notices.map(|notice| EntryDraft {
        fragment: format!("notice-{}", short_hash(&json!([notice.text, beginning(notice)]))),
        title: locale.localize(&notice.text).to_string(),
        announced: Some((
            &notice.validity,
            text_with_period(notice.link.clone().unwrap_or_default(), &notice.validity, locale),
        )),
    }));
    drafts
}

/// Names a block or a notice by what it says, so that its id is the same at every hub.
fn short_hash(said: &Value) -> String {
    let hash = digest::sha256(said.to_string().as_bytes());
    digest::base64url(hash.get(..12).unwrap_or_default())
}

/// Returns a text and a period, in one line.
fn text_with_period(text: String, validity: &Validity, locale: &Locale) -> String {
    let date = |key: &str, at: Option<Timestamp>| {
        at.map(|at| locale.text_with(key, "time", &locale.date_time(at)))
    };
    [
        Some(text).filter(|text| !text.is_empty()),
        date("public-status-from", validity.not_before),
        date("public-status-until", validity.not_after),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join("\n")
}

fn cached(mut response: HttpResponse, vary: &'static str) -> HttpResponse {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(CACHE));
    response.headers_mut().insert(VARY, HeaderValue::from_static(vary));
    response
}
