//! The accessibility statement and the privacy notice: fixed texts in every language, with the
//! operator's answers and the periods of this hub.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::HttpResponse;

use super::settings::{AccessibilityConfig, Assessment, Authority, Conformity, PrivacyConfig};
use super::state::PublicPages;
use passerelle_extension::AuditRetention;
use passerelle_localization::{FluentValue, Locale, OperatorText};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_web::hub::Hub;
use passerelle_web::page_template;
use passerelle_web::pages::PageMessages as _;
use passerelle_web::rejection::Rejection;
use passerelle_web::request_context::RequestContext;
use passerelle_web::responses::landing_page_response;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// A link with a text of the operator.
struct AuthorityLink {
    name: OperatorText,
    url: String,
}

impl AuthorityLink {
    fn new(authority: &Authority, locale: &Locale) -> Self {
        Self { name: locale.localize(&authority.name).into(), url: authority.url.clone() }
    }
}

/// The accessibility statement.
struct AccessibilityPage {
    hub: OperatorText,
    conformity: &'static str,
    assessed: &'static str,
    prepared: String,
    defects: Vec<OperatorText>,
    contact: String,
    enforcement: AuthorityLink,
}

page_template!(AccessibilityPage, "accessibility.html", |_, t| {
    t.text("public-accessibility-title")
});

impl AccessibilityPage {
    fn new(config: &AccessibilityConfig, hub: &Hub, locale: &Locale) -> Self {
        Self {
            hub: locale.localize(&hub.theme.name).into(),
            conformity: match config.conformity {
                Conformity::Full => "public-accessibility-full",
                Conformity::Partial => "public-accessibility-partial",
                Conformity::None => "public-accessibility-none",
            },
            assessed: match config.assessed {
                Assessment::Operator => "public-accessibility-self",
                Assessment::External => "public-accessibility-external",
            },
            prepared: locale.date_in_words(&config.prepared),
            defects: localize_all(&config.defects, locale),
            contact: config.contact.clone(),
            enforcement: AuthorityLink::new(&config.enforcement, locale),
        }
    }

    fn contact_text(&self) -> &str {
        contact_text(&self.contact)
    }
}

/// The privacy notice.
struct PrivacyPage {
    hub: OperatorText,
    controller: OperatorText,
    contact: String,
    data_protection_officer: Option<String>,
    legal_basis: OperatorText,
    has_register: bool,
    recipients: Vec<OperatorText>,
    /// How long each kind of data is kept, a sentence each.
    periods: Vec<String>,
    authority: AuthorityLink,
}

page_template!(PrivacyPage, "privacy.html", |_, t| t.text("public-privacy-title"));

impl PrivacyPage {
    fn new(config: &PrivacyConfig, pages: &PublicPages, hub: &Hub, locale: &Locale) -> Self {
        Self {
            hub: locale.localize(&hub.theme.name).into(),
            controller: locale.localize(&config.controller).into(),
            contact: config.contact.clone(),
            data_protection_officer: config.data_protection_officer.clone(),
            legal_basis: locale.localize(&config.legal_basis).into(),
            has_register: pages.retention.has_register,
            recipients: localize_all(&config.recipients, locale),
            periods: periods(pages, hub, locale),
            authority: AuthorityLink::new(&config.authority, locale),
        }
    }

    fn contact_text(&self) -> &str {
        contact_text(&self.contact)
    }

    fn officer_text(&self) -> Option<&str> {
        self.data_protection_officer.as_deref().map(contact_text)
    }
}

/// Returns how long the hub keeps each kind of data of a person.
fn periods(pages: &PublicPages, hub: &Hub, locale: &Locale) -> Vec<String> {
    let sentence = |key: &str, period: Duration| {
        locale.text_with(key, "period", &duration_text(period, locale))
    };
    let federation = hub.core.federation.load();
    let limits = &hub.core.session_limits;
    let session = [
        ("idle", FluentValue::from(duration_text(limits.idle, locale))),
        ("period", FluentValue::from(duration_text(limits.lifetime, locale))),
    ];
    let refresh_tokens = federation
        .service_providers()
        .filter_map(|service| service.refresh_tokens.as_ref())
        .map(|rules| rules.lifetime)
        .max();
    let audit_log = match pages.retention.audit_log {
        AuditRetention::Off => None,
        AuditRetention::Unlimited => Some(locale.text("public-privacy-audit-unlimited")),
        AuditRetention::Limited(period) => Some(sentence("public-privacy-audit", period)),
    };
    let mut periods = vec![
        sentence("public-privacy-login", pages.retention.login),
        locale.text_with_values("public-privacy-session", session),
    ];
    periods.extend(refresh_tokens.map(|period| sentence("public-privacy-refresh", period)));
    periods.push(sentence("public-privacy-recent", pages.retention.remembered_logins));
    periods.extend(audit_log);
    let kept = pages.retention.extensions.iter();
    periods.extend(kept.map(|kept| sentence(kept.message, kept.period)));
    periods.extend(federation.remember_last.map(|life| sentence("public-privacy-choice", life)));
    periods
}

/// Returns a period in the largest unit that divides it: days, hours or minutes, rounded up.
fn duration_text(period: Duration, locale: &Locale) -> String {
    let seconds = period.as_secs();
    let (key, count) = match seconds {
        DAY.. if seconds.is_multiple_of(DAY) => ("public-days", seconds / DAY),
        HOUR.. if seconds.is_multiple_of(HOUR) => ("public-hours", seconds / HOUR),
        _ => ("public-minutes", seconds.div_ceil(60)),
    };
    locale.text_with_values(key, [("count", FluentValue::from(count))])
}

fn localize_all(texts: &[BTreeMap<String, String>], locale: &Locale) -> Vec<OperatorText> {
    texts.iter().map(|text| locale.localize(text).into()).collect()
}

/// Returns what a link to a contact shows: the address without `mailto:`.
fn contact_text(contact: &str) -> &str {
    contact.strip_prefix("mailto:").unwrap_or(contact)
}

/// Serves the accessibility statement.
///
/// # Errors
/// `NotFound` without the table `public_pages.accessibility`.
pub(crate) async fn show_accessibility(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let pages = public_pages(&context)?;
    let config = pages.config.accessibility.as_ref();
    let config = config.ok_or(Rejection::OutsideLogin(ErrorCode::NotFound))?;
    let locale = context.locale(&[]);
    let page = AccessibilityPage::new(config, &context.hub, &locale);
    Ok(landing_page_response(&context.hub, 200, &locale, |chrome| page.render(chrome)))
}

/// Serves the privacy notice.
///
/// # Errors
/// `NotFound` without the table `public_pages.privacy`.
pub(crate) async fn show_privacy(context: RequestContext) -> Result<HttpResponse, Rejection> {
    let pages = public_pages(&context)?;
    let config = pages.config.privacy.as_ref();
    let config = config.ok_or(Rejection::OutsideLogin(ErrorCode::NotFound))?;
    let locale = context.locale(&[]);
    let page = PrivacyPage::new(config, pages, &context.hub, &locale);
    Ok(landing_page_response(&context.hub, 200, &locale, |chrome| page.render(chrome)))
}

fn public_pages(context: &RequestContext) -> Result<&PublicPages, Rejection> {
    context.hub.extension().ok_or(Rejection::OutsideLogin(ErrorCode::NotFound))
}
