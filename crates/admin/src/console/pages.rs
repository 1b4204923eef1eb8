//! The pages of the admin console, in English. They work without script; the templates escape every
//! value.

pub(crate) mod acts;
pub(super) mod failures;
pub(super) mod overview;
mod provider_rows;
pub(super) mod providers;

use askama::Template;
use serde_json::Value;

use super::descriptions;
use super::views::{ConfigurationView, EventView, LoginView, PersonLogins};
use crate::operators::AdminRequester;
use crate::readable;
use crate::responses::AdminError;
use crate::settings::OperatorRole;
use passerelle_audit::EventKind;
use passerelle_federation::notices::NoticeSeverity;
use passerelle_federation::validity::format_rfc3339;
use passerelle_hub::notices::NoticeRow;
use passerelle_localization::Languages;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::catalogue::{CatalogueEntry, ErrorCode};
use passerelle_protocol::env::Timestamp;
use passerelle_web::csrf::{self, FormPurpose};
use passerelle_web::pages::render_template;

/// Data that every page for an operator has.
pub(crate) struct PageContext {
    nonce: String,
    /// Name of this hub.
    node: String,
    /// Name and role of the operator.
    operator: Option<(String, OperatorRole)>,
    /// Token of the forms; empty if the operator may change nothing.
    form_token: String,
    /// Time of the page, RFC 3339.
    now: String,
    /// Languages of the pages for users.
    languages: Vec<String>,
}

impl PageContext {
    /// Creates the context of a page for this operator.
    pub(super) fn new(
        nonce: &str,
        node: &str,
        by: Option<&AdminRequester>,
        now: Timestamp,
        languages: &Languages,
    ) -> Self {
        let form_key = by.and_then(|by| by.form_key.as_ref());
        let token = form_key.map(|key| csrf::form_token(key, FormPurpose::ADMIN_ACTION, ""));
        Self {
            nonce: nonce.to_owned(),
            node: node.to_owned(),
            operator: by.map(|by| (by.operator.name.clone(), by.operator.role)),
            form_token: token.unwrap_or_default(),
            now: format_rfc3339(now),
            languages: languages.locales().map(ToString::to_string).collect(),
        }
    }

    /// Creates the context of a page without an operator, which shows no times.
    fn without_operator(nonce: &str) -> Self {
        Self {
            nonce: nonce.to_owned(),
            node: String::new(),
            operator: None,
            form_token: String::new(),
            now: format_rfc3339(Timestamp::default()),
            languages: Vec::new(),
        }
    }

    /// Returns how long ago a time is, or when it comes.
    fn relative_time(&self, at: &str) -> String {
        readable::relative_time(at, &self.now)
    }

    /// Returns whether the page offers changes.
    fn may_change(&self) -> bool {
        !self.form_token.is_empty()
            && self.operator.as_ref().is_some_and(|(_, role)| *role == OperatorRole::Operator)
    }

    /// Returns the operator's name and role; empty on the sign-in page.
    fn signed_in_as(&self) -> String {
        let described =
            self.operator.as_ref().map(|(name, role)| format!("{name} ({})", role.as_str()));
        described.unwrap_or_default()
    }
}

/// Renders the configuration in use.
pub(super) fn configuration_page(configuration: &ConfigurationView, page: &PageContext) -> String {
    let mut settings = Vec::new();
    flatten_settings("", &configuration.settings, &mut settings);
    render_template(&ConfigurationTemplate { page, configuration, settings })
}

/// Renders the notices to users, with the forms that publish and remove them.
pub(crate) fn notices_page(notices: &[NoticeRow], page: &PageContext) -> String {
    render_template(&NoticesTemplate { page, notices })
}

/// Renders one login.
pub(super) fn login_page(login: &LoginView, page: &PageContext) -> String {
    render_template(&LoginTemplate { page, login })
}

/// Renders the recent logins of a person.
pub(crate) fn person_logins_page(found: &PersonLogins, page: &PageContext) -> String {
    render_template(&PersonLoginsTemplate { page, found })
}

/// Renders the page for an unknown or malformed support id.
pub(super) fn not_found_page(error: &AdminError, page: &PageContext) -> String {
    render_template(&NotFoundTemplate {
        page,
        entry: error.code.entry(),
        details: &error.details,
        is_malformed: error.code == ErrorCode::SupportIdMalformed,
    })
}

/// Renders the sign-in form. `refused` is the error of a token that was sent.
pub(crate) fn sign_in_page(next: &str, refused: Option<ErrorCode>, nonce: &str) -> String {
    let page = &PageContext::without_operator(nonce);
    render_template(&SignInTemplate { page, next, refused: refused.map(ErrorCode::entry) })
}

const fn platform_name(platform: Platform) -> &'static str {
    match platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    }
}

/// Appends the value of each key with the key's full path.
fn flatten_settings(prefix: &str, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten_settings(&key, value, rows);
            }
        }
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        other => rows.push((prefix.to_owned(), other.to_string())),
    }
}

#[derive(Template)]
#[template(path = "admin_config.html")]
struct ConfigurationTemplate<'a> {
    page: &'a PageContext,
    configuration: &'a ConfigurationView,
    settings: Vec<(String, String)>,
}

#[derive(Template)]
#[template(path = "admin_notices.html")]
struct NoticesTemplate<'a> {
    page: &'a PageContext,
    notices: &'a [NoticeRow],
}

#[derive(Template)]
#[template(path = "admin_login.html")]
struct LoginTemplate<'a> {
    page: &'a PageContext,
    login: &'a LoginView,
}

impl LoginTemplate<'_> {
    fn platform(&self) -> &'static str {
        platform_name(self.login.platform)
    }

    fn state_class(&self) -> &'static str {
        match self.login.state.as_str() {
            "refused" | "failed" | "no_login" => " error",
            "granted" => "",
            _ if self.login.refusal.is_some() || self.login.state == "expired" => " warning",
            _ => "",
        }
    }

    fn state(&self) -> &str {
        descriptions::describe_state(&self.login.state)
    }

    /// Returns whether other hubs were asked.
    fn has_other_hubs(&self) -> bool {
        self.login.nodes.len() > 1
    }
}

impl EventView {
    /// Returns what happened, in plain words.
    fn describe_event(&self) -> &str {
        match EventKind::find(&self.event) {
            Some(kind) => descriptions::describe_event(kind),
            None => &self.meaning,
        }
    }
}

#[derive(Template)]
#[template(path = "admin_not_found.html")]
struct NotFoundTemplate<'a> {
    page: &'a PageContext,
    entry: &'static CatalogueEntry,
    details: &'a [String],
    is_malformed: bool,
}

#[derive(Template)]
#[template(path = "admin_person.html")]
struct PersonLoginsTemplate<'a> {
    page: &'a PageContext,
    found: &'a PersonLogins,
}

#[derive(Template)]
#[template(path = "admin_sign_in.html")]
struct SignInTemplate<'a> {
    page: &'a PageContext,
    next: &'a str,
    refused: Option<&'static CatalogueEntry>,
}
