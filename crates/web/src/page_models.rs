//! Builds the view models of the choice and consent pages from the state of a login.

use serde_json::Value;

use super::cookies::HeldLogin;
use super::csrf::{self, FormPurpose};
use super::email_lookup::EmailLookup;
use super::hub::Hub;
use super::last_choice::ChoiceQuery;
use super::page_language::PageLanguage;
use super::pages::{
    self, CategoryHeading, ChoicePage, ConsentMode, ConsentPage, EmailSearch, FailureBanner,
    Locale, NoAccountAdvice, ProviderCandidate, ProviderList, build_provider_list,
};
use super::request_context::RequestContext;
use super::responses::interaction_path;
use crate::pages::ClaimLabel;
use passerelle_federation::identity::{Claim, ClaimName, Identity};
use passerelle_federation::login::{self, Consenting};
use passerelle_federation::{ConnectorProfile, UnavailableDisplay};
use passerelle_hub::{ChoiceEntry, LoginSummary};
use passerelle_localization::OperatorText;
use passerelle_protocol::email_domain::EmailDomain;
use passerelle_protocol::ids::{ConnectorId, InteractionHash};

/// A login whose page is shown to the browser that started it.
pub struct LoginPageContext<'a> {
    pub hub: &'a Hub,
    pub locale: PageLanguage,
    pub login: &'a HeldLogin,
    pub summary: &'a LoginSummary,
}

impl<'a> LoginPageContext<'a> {
    /// Creates the context of a login's page, in the page language.
    pub fn new(
        context: &'a RequestContext,
        login: &'a HeldLogin,
        summary: &'a LoginSummary,
    ) -> Self {
        let locale = context
            .locale(&summary.ui_locales)
            .with_default_return_path(interaction_path(&login.hash));
        Self { hub: &context.hub, locale, login, summary }
    }

    /// Returns the hash that names the login in URLs.
    pub const fn hash(&self) -> &'a InteractionHash {
        &self.login.hash
    }

    /// Returns the token of a form of the login.
    pub fn form_token(&self, purpose: FormPurpose, bound: &str) -> String {
        csrf::form_token(&self.login.secret, purpose, bound)
    }

    /// Returns the name of the service provider; empty if it is no longer registered.
    pub fn service_name(&self) -> OperatorText {
        self.hub.service_name(&self.summary.client_id, &self.locale).unwrap_or_default()
    }

    /// Returns the choice page's entries for the connectors that `is_wanted` accepts.
    fn choices(
        &self,
        is_wanted: impl Fn(&ConnectorId, &ConnectorProfile) -> bool,
    ) -> Vec<ChoiceEntry> {
        let LoginSummary { client_id, requirement, .. } = self.summary;
        self.hub.connectors.choices(client_id, *requirement, self.locale.tag(), is_wanted)
    }

    /// Returns the operator's message for users while a block is in force.
    pub fn operator_message(&self, connector: &ConnectorId) -> Option<OperatorText> {
        let message = self.hub.connectors.operator_message(&self.summary.client_id, connector);
        Some(self.locale.localize(&message).into())
            .filter(|message: &OperatorText| !message.is_empty())
    }
}

/// Returns the choice page of a login.
pub fn choice_page(
    login: &LoginPageContext<'_>,
    banner: Option<login::ChoiceBanner>,
    query: &ChoiceQuery,
) -> ChoicePage {
    let LoginPageContext { hub, locale, summary, .. } = login;
    let federation = hub.core.federation.load();
    let hinted = hinted_choices(login);
    let (email, entries) = if hinted.is_empty() {
        let (email, found) = email_search(login, banner.is_some(), &query.lookup);
        let is_wanted = |id: &ConnectorId, connector: &ConnectorProfile| match &found {
            Some(found) => found.contains(id),
            None => connector.listed,
        };
        (email, login.choices(is_wanted))
    } else {
        (None, hinted)
    };
    let is_shown = |candidate: &ProviderCandidate<'_>| {
        candidate.unavailable.is_none() || federation.unavailable == UnavailableDisplay::Disabled
    };
    let candidates = entries.iter().map(|entry| candidate(locale, entry));
    let candidates: Vec<ProviderCandidate<'_>> = candidates.filter(is_shown).collect();
    let headings: Vec<CategoryHeading<'_>> = federation
        .categories
        .iter()
        .map(|category| CategoryHeading { id: &category.id, name: locale.localize(&category.name) })
        .collect();
    let last_used = query.last_used.as_ref().map(ConnectorId::as_str);
    let list = build_provider_list(&candidates, &headings, last_used, &query.list);
    let logo = federation.service_provider(&summary.client_id).and_then(|sp| sp.logo.as_ref());
    ChoicePage {
        interaction: login.hash().to_string(),
        choose_csrf: login.form_token(FormPurpose::CHOOSE_PROVIDER, ""),
        cancel_csrf: login.form_token(FormPurpose::CANCEL_LOGIN, ""),
        service: login.service_name(),
        forget_csrf: list
            .last_used
            .is_some()
            .then(|| login.form_token(FormPurpose::FORGET_LAST_CHOICE, "")),
        service_logo: logo.map(|logo| format!("/assets/service/{}", logo.version)),
        level: summary.requirement.level,
        list: match email {
            // The question takes the place of the list, except for the account used last.
            Some(EmailSearch::Question { .. }) => ProviderList {
                last_used: list.last_used,
                total: list.total,
                ..ProviderList::default()
            },
            _ => list,
        },
        banner: banner.map(|banner| failure_banner(login, banner)),
        email,
        no_account: federation.no_account.as_ref().map(|advice| NoAccountAdvice {
            text: locale.localize(&advice.text).into(),
            link: advice.link.clone(),
        }),
    }
}

fn has_available(entries: &[ChoiceEntry]) -> bool {
    entries.iter().any(|entry| entry.unavailable.is_none())
}

/// Returns the entries of the connectors that the service provider has named, if there are several;
/// none if none of them can be chosen.
fn hinted_choices(login: &LoginPageContext<'_>) -> Vec<ChoiceEntry> {
    let hints = &login.summary.idp_hints;
    if hints.is_empty() {
        return Vec::new();
    }
    let entries = login.choices(|id, _| hints.contains(id));
    if has_available(&entries) { entries } else { Vec::new() }
}

fn failure_banner(login: &LoginPageContext<'_>, banner: login::ChoiceBanner) -> FailureBanner {
    FailureBanner {
        message: banner.connector.as_ref().and_then(|id| login.operator_message(id)),
        provider: banner
            .connector
            .and_then(|id| login.hub.provider_name(&id, &login.locale))
            .unwrap_or_default(),
        code: pages::displayed_code(banner.code),
        support_id: login.summary.support_id.to_string(),
    }
}

fn candidate<'a>(locale: &Locale, entry: &'a ChoiceEntry) -> ProviderCandidate<'a> {
    ProviderCandidate {
        id: entry.id.as_str(),
        name: locale.localize(&entry.display.name),
        shown: &entry.display,
        unavailable: entry.unavailable,
        block_message: Some(locale.localize(&entry.block_message))
            .filter(|_| !entry.block_message.is_empty()),
        failed_recently: entry.is_recovering,
    }
}

/// Returns how far the search by an e-mail address is, and the connectors that it found.
fn email_search(
    login: &LoginPageContext<'_>,
    has_failed: bool,
    lookup: &EmailLookup,
) -> (Option<EmailSearch>, Option<Vec<ConnectorId>>) {
    let federation = login.hub.core.federation.load();
    let question = |is_malformed| EmailSearch::Question {
        csrf: login.form_token(FormPurpose::FIND_BY_EMAIL, ""),
        is_malformed,
    };
    let asked = |search: EmailSearch| (federation.ask_email.then_some(search), None);
    match lookup {
        EmailLookup::Malformed => asked(question(true)),
        EmailLookup::List => asked(EmailSearch::List),
        EmailLookup::Domain(domain) => {
            let name = domain.as_str().to_owned();
            let found = federation.connectors_for_domain(domain);
            // Where the page shows no unavailable connectors, the answer doesn't reveal them either.
            let is_shown = federation.unavailable == UnavailableDisplay::Disabled
                || has_available(&login.choices(|id, _| found.contains(id)));
            if found.is_empty() || !is_shown {
                (Some(EmailSearch::Unknown { domain: name }), None)
            } else {
                (Some(EmailSearch::Found { domain: name }), Some(found))
            }
        }
        EmailLookup::NotAsked => {
            let hinted = login.summary.login_hint_domain.as_ref().filter(|_| !has_failed);
            let service = federation.service_provider(&login.summary.client_id);
            let is_permitted =
                |id: &ConnectorId| service.is_some_and(|sp| sp.registration.hints.permits(id));
            let found = hinted.map(|domain| (domain, federation.connectors_for_domain(domain)));
            match found {
                Some((domain, found)) if found.iter().any(is_permitted) => {
                    let found = found.into_iter().filter(is_permitted).collect();
                    (Some(EmailSearch::Found { domain: domain.as_str().to_owned() }), Some(found))
                }
                _ => asked(question(false)),
            }
        }
    }
}

/// Returns the connector for an e-mail domain, if there is only one and it can be chosen.
pub fn sole_connector_for_domain(
    login: &LoginPageContext<'_>,
    domain: &EmailDomain,
) -> Option<ConnectorId> {
    let mut found = login.hub.core.federation.load().connectors_for_domain(domain);
    let only = found.pop().filter(|_| found.is_empty())?;
    let entries = login.choices(|id, _| *id == only);
    candidate(&login.locale, entries.first()?).unavailable.is_none().then_some(only)
}

/// Returns the consent page of a login.
pub fn consent_page(login: &LoginPageContext<'_>, consenting: &Consenting) -> ConsentPage {
    let proven = &consenting.user;
    let page_digest = consenting.page_digest();
    let provider = login.hub.provider_name(&proven.authentication.connector, &login.locale);
    let federation = login.hub.core.federation.load();
    ConsentPage {
        interaction: login.hash().to_string(),
        csrf: login.form_token(FormPurpose::CONSENT, &page_digest),
        not_me_csrf: login.form_token(FormPurpose::REPORT_WRONG_USER, ""),
        person: display_name(&proven.identity),
        page_digest,
        service: login.service_name(),
        provider: provider.unwrap_or_default(),
        source: proven.source,
        offline_access: login.summary.offline_access,
        mode: if consenting.explicit { ConsentMode::Consent } else { ConsentMode::Information },
        claims: proven
            .claims
            .iter()
            .filter_map(|(name, value)| {
                let claim = ClaimName::from_name(name);
                let language = login.locale.tag();
                Some(pages::ConsentClaim {
                    name: ClaimLabel::new(&claim, &federation.declared_claims, &login.locale)?,
                    value: display_value(&login.locale, value),
                    place: place_code(&claim, value)
                        .and_then(|code| federation.place_name(code, language))
                        .map(str::to_owned),
                })
            })
            .collect(),
    }
}

/// Returns the name by which the page greets a person; `None` if the hub knows none.
fn display_name(identity: &Identity) -> Option<String> {
    let parts = [identity.given_name(), identity.family_name.clone()];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let others = || identity.preferred_username.clone().or_else(|| identity.email.clone());
    Some(name).filter(|name| !name.is_empty()).or_else(others)
}

/// Returns the code of a place or country.
fn place_code<'a>(claim: &ClaimName, value: &'a Value) -> Option<&'a str> {
    match claim {
        ClaimName::Specified(Claim::Birthplace | Claim::Birthcountry) => value.as_str(),
        _ => None,
    }
}

/// Returns a claim's value as one line.
fn display_value(locale: &Locale, value: &Value) -> Option<String> {
    let join = |values: &mut dyn Iterator<Item = &Value>| {
        values.filter_map(|value| display_value(locale, value)).collect::<Vec<_>>().join(", ")
    };
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(locale.text(if *truth { "value-yes" } else { "value-no" })),
        Value::Number(_) => Some(value.to_string()),
        // An address: `formatted` already contains the parts (OpenID Connect Core §5.1.1).
        Value::Object(parts) => match parts.get("formatted") {
            Some(whole) => display_value(locale, whole),
            None => Some(join(&mut parts.values())),
        },
        Value::Array(items) => Some(join(&mut items.iter())),
        Value::Null => None,
    }
}
