//! The pages of the admin console, in English. They work without script; the templates escape every
//! value.

use askama::Template;
use serde_json::Value;

use super::descriptions;
use super::trend::LoginMinute;
use super::views::{ConfigurationView, EventView, HubStatus, LoginView, PersonLogins};
use crate::operators::AdminRequester;
use crate::responses::AdminError;
use crate::settings::OperatorRole;
use passerelle_audit::EventKind;
use passerelle_hub::registry::{BlockRow, ConnectorRow, ConnectorState};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::catalogue::{CatalogueEntry, ErrorCode};
use passerelle_web::csrf::{self, FormPurpose};
use passerelle_web::pages::render_template;

/// Interval of the refreshed overview in seconds.
pub(super) const REFRESH_SECONDS: u16 = 10;

/// Data that every page for an operator has.
pub struct PageContext {
    nonce: String,
    /// Name of this hub.
    node: String,
    /// Name and role of the operator.
    operator: Option<(String, OperatorRole)>,
    /// Token of the forms; empty if the operator may change nothing.
    form_token: String,
}

impl PageContext {
    /// Creates the context of a page for this operator.
    pub(super) fn new(nonce: &str, node: &str, by: Option<&AdminRequester>) -> Self {
        let form_key = by.and_then(|by| by.form_key.as_ref());
        let token = form_key.map(|key| csrf::form_token(key, FormPurpose::ADMIN_ACTION, ""));
        Self {
            nonce: nonce.to_owned(),
            node: node.to_owned(),
            operator: by.map(|by| (by.operator.name.clone(), by.operator.role)),
            form_token: token.unwrap_or_default(),
        }
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

/// Whether the overview loads itself again at an interval. The operator decides, so that nothing
/// moves unasked (WCAG 2.2, 2.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RefreshMode {
    On,
    Off,
}

impl RefreshMode {
    /// Reads the mode from the query of the overview.
    pub(super) fn from_query(query: &str) -> Self {
        if query == "refresh=on" { Self::On } else { Self::Off }
    }
}

/// Renders the overview.
pub(super) fn overview_page(
    status: &HubStatus,
    refresh: RefreshMode,
    page: &PageContext,
) -> String {
    render_template(&OverviewTemplate { page, status, refreshes: refresh == RefreshMode::On })
}

/// Renders the configuration in use.
pub(super) fn configuration_page(configuration: &ConfigurationView, page: &PageContext) -> String {
    let mut settings = Vec::new();
    flatten_settings("", &configuration.settings, &mut settings);
    render_template(&ConfigurationTemplate { page, configuration, settings })
}

/// Renders one login.
pub(super) fn login_page(login: &LoginView, page: &PageContext) -> String {
    render_template(&LoginTemplate { page, login })
}

/// Renders the recent logins of a person.
pub fn person_logins_page(found: &PersonLogins, page: &PageContext) -> String {
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

/// Renders the page after a change.
pub fn done_page(message: &str, page: &PageContext) -> String {
    render_template(&OutcomeTemplate { page, message, error: None })
}

/// Renders the page after a change that was refused.
pub fn not_done_page(error: &AdminError, page: &PageContext) -> String {
    render_template(&OutcomeTemplate { page, message: "", error: Some(error) })
}

/// Renders the page of a request that was refused before its operator was known.
pub fn refused_page(error: &AdminError, nonce: &str) -> String {
    not_done_page(error, &PageContext::new(nonce, "", None))
}

/// Renders the sign-in form. `refused` is the error of a token that was sent.
pub fn sign_in_page(next: &str, refused: Option<ErrorCode>, nonce: &str) -> String {
    let page = &PageContext::new(nonce, "", None);
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
        Value::Null => rows.push((prefix.to_owned(), "not set".to_owned())),
        Value::String(text) => rows.push((prefix.to_owned(), text.clone())),
        other => rows.push((prefix.to_owned(), other.to_string())),
    }
}

#[derive(Template)]
#[template(path = "admin_overview.html")]
struct OverviewTemplate<'a> {
    page: &'a PageContext,
    status: &'a HubStatus,
    refreshes: bool,
}

impl OverviewTemplate<'_> {
    fn platform(&self) -> &'static str {
        platform_name(self.status.platform)
    }

    fn english_name(&self, row: &ConnectorRow) -> String {
        super::english_name(&row.name)
    }

    /// Returns failures and latency of the calls in the last minute.
    fn recent_calls(&self, row: &ConnectorRow) -> String {
        let Some(health) = &row.health else { return String::new() };
        let within = health
            .p99_seconds
            .map(|seconds| format!(", 99 % within {seconds:.3} s"))
            .unwrap_or_default();
        format!("{:.0} % failed{within}", health.failure_ratio * 100.0)
    }

    /// Returns what is wrong with the file, why calls failed in the last minute, and the clock skew.
    fn findings(&self, row: &ConnectorRow) -> String {
        let invalid = row.invalid_file.iter();
        let mut findings: Vec<String> = invalid
            .map(|problem| format!("the last valid version of its file is in use: {problem}"))
            .collect();
        let Some(health) = &row.health else { return findings.concat() };
        findings.extend(health.reasons.iter().map(|(code, count)| format!("{code} ×{count}")));
        findings.extend(health.unreachable.as_ref().map(|unreachable| {
            let reason = unreachable.reason.trim_end_matches('.');
            format!("{reason} ({} since {})", unreachable.code, unreachable.since)
        }));
        findings.extend(
            health
                .skew_seconds
                .filter(|skew| skew.abs() > 2)
                .map(|skew| format!("clock skew {skew:+} s")),
        );
        if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }
    }

    fn state_class(&self, row: &ConnectorRow) -> &'static str {
        if row.is_healthy() {
            ""
        } else if row.state == ConnectorState::Down {
            " error"
        } else {
            " warning"
        }
    }
}

impl OverviewTemplate<'_> {
    /// Returns the running logins with the words of the page.
    fn live_rows(&self) -> [(&'static str, i64); 5] {
        let live = &self.status.live;
        [
            ("choosing", live.choosing),
            ("at the identity provider", live.awaiting_callback),
            ("coming back", live.verifying),
            ("being identified", live.identifying),
            ("on the last page", live.consenting),
        ]
    }

    /// Returns the blocks that were set by command, also those of connectors that no longer exist.
    fn liftable_blocks(&self) -> impl Iterator<Item = &BlockRow> {
        let current = self.status.connectors.iter().flat_map(|row| &row.blocks);
        current.chain(&self.status.orphaned_blocks).filter(|block| block.id.is_some())
    }

    /// Returns the bars of the last hour.
    fn trend(&self) -> TrendChart {
        TrendChart::from_minutes(&self.status.last_hour)
    }
}

/// The bars of the last hour: one for each minute, at most [`TrendChart::HEIGHT`] high.
struct TrendChart {
    bars: Vec<TrendBar>,
    granted: u64,
    unsuccessful: u64,
    highest: u64,
}

struct TrendBar {
    x: usize,
    granted_y: u64,
    granted_height: u64,
    unsuccessful_y: u64,
    unsuccessful_height: u64,
}

impl TrendChart {
    const HEIGHT: u64 = 60;
    const BAR_WIDTH: usize = 10;

    fn from_minutes(minutes: &[LoginMinute]) -> Self {
        let sum = |of: fn(&LoginMinute) -> u64| minutes.iter().map(of).sum();
        let highest = minutes.iter().map(|minute| minute.granted + minute.unsuccessful).max();
        let highest = highest.unwrap_or_default();
        let scaled = |count: u64| (count * Self::HEIGHT).div_ceil(highest.max(1));
        let first = 60_usize.saturating_sub(minutes.len());
        let bar = |(index, minute): (usize, &LoginMinute)| {
            let unsuccessful_height = scaled(minute.unsuccessful);
            let granted_height = scaled(minute.granted).min(Self::HEIGHT - unsuccessful_height);
            TrendBar {
                x: (first + index) * Self::BAR_WIDTH,
                granted_y: Self::HEIGHT - granted_height,
                granted_height,
                unsuccessful_y: Self::HEIGHT - granted_height - unsuccessful_height,
                unsuccessful_height,
            }
        };
        Self {
            bars: minutes.iter().enumerate().map(bar).collect(),
            granted: sum(|minute| minute.granted),
            unsuccessful: sum(|minute| minute.unsuccessful),
            highest,
        }
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

    /// Removes the Markdown code marks of the catalogue's sentences.
    fn without_code_marks(&self, sentence: &str) -> String {
        sentence.replace('`', "")
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
#[template(path = "admin_outcome.html")]
struct OutcomeTemplate<'a> {
    page: &'a PageContext,
    message: &'a str,
    error: Option<&'a AdminError>,
}

#[derive(Template)]
#[template(path = "admin_sign_in.html")]
struct SignInTemplate<'a> {
    page: &'a PageContext,
    next: &'a str,
    refused: Option<&'static CatalogueEntry>,
}
