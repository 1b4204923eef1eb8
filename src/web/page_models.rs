//! Builds the view models of the choice and consent pages from the state of a login.

use std::collections::BTreeMap;

use serde_json::Value;

use super::csrf::{self, FormPurpose};
use super::hub::Hub;
use super::last_choice::ChoiceQuery;
use super::pages::{
    self, CategoryHeading, ChoicePage, ConsentMode, ConsentPage, FailureBanner, Locale,
    ProviderCandidate, ProviderWarning, UnavailableLabel, build_provider_list,
};
use crate::actor::{Availability, LoginSummary, UnavailableReason};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::{self, ClaimsSource, Consenting};

/// Returns the choice page of a login.
pub fn choice_page(
    hub: &Hub,
    locale: Locale,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    summary: &LoginSummary,
    banner: Option<login::ChoiceBanner>,
    query: &ChoiceQuery,
) -> ChoicePage {
    let federation = hub.federation.load();
    let entries =
        hub.connectors.choices(&summary.client_id, summary.requirement, locale.language());
    let candidates = entries.iter().map(|entry| ProviderCandidate {
        id: entry.id.as_str(),
        name: locale.localize(&entry.display.name),
        shown: &entry.display,
        unavailable_label: match (&entry.block_message, entry.unavailable) {
            (Some(message), _) => Some(blocked_label(locale, message)),
            (None, Some(reason)) => Some(unavailable_label(reason)),
            (None, None) => (entry.availability == Availability::Unavailable)
                .then_some(UnavailableLabel::Failing),
        },
        warning: (entry.availability != Availability::Available)
            .then_some(ProviderWarning::RecentFailure),
    });
    let is_shown = |candidate: &ProviderCandidate<'_>| {
        candidate.unavailable_label.is_none()
            || federation.unavailable == crate::config::UnavailableDisplay::Greyed
    };
    let candidates: Vec<ProviderCandidate<'_>> = candidates.filter(is_shown).collect();
    let headings: Vec<CategoryHeading<'_>> = federation
        .categories
        .iter()
        .map(|category| CategoryHeading { id: &category.id, name: locale.localize(&category.name) })
        .collect();
    let logo = federation.service_provider(&summary.client_id).and_then(|sp| sp.logo.as_ref());
    ChoicePage {
        interaction: hash.to_string(),
        choose_csrf: csrf::form_token(cookie, FormPurpose::ChooseProvider, ""),
        cancel_csrf: csrf::form_token(cookie, FormPurpose::CancelLogin, ""),
        service: service_name(hub, locale, summary),
        forget_csrf: csrf::form_token(cookie, FormPurpose::ForgetLastChoice, ""),
        service_logo: logo.map(|logo| format!("/assets/service/{}", logo.version)),
        level: summary.requirement.level,
        list: build_provider_list(
            &candidates,
            &headings,
            query.last_used.as_ref().map(ConnectorId::as_str),
            &query.list,
        ),
        banner: banner.map(|banner| FailureBanner {
            message: banner
                .connector
                .as_ref()
                .and_then(|id| operator_message(hub, locale, summary, id)),
            provider: banner
                .connector
                .and_then(|id| hub.connectors.display_name(&id))
                .map(|name| locale.localize(&name).to_owned())
                .unwrap_or_default(),
            code: banner.code,
            support_id: summary.support_id.to_string(),
        }),
    }
}

const fn unavailable_label(reason: UnavailableReason) -> UnavailableLabel {
    match reason {
        UnavailableReason::ConnectorBlocked | UnavailableReason::BlockedForServiceProvider => {
            UnavailableLabel::Blocked
        }
        UnavailableReason::ConnectorUnknown | UnavailableReason::ConnectorOff => {
            UnavailableLabel::Off
        }
        UnavailableReason::ServiceProviderInactive
        | UnavailableReason::ExcludedByServiceProvider => UnavailableLabel::NotForThisService,
        UnavailableReason::LevelTooHigh | UnavailableReason::LevelTooLow => {
            UnavailableLabel::LevelTooLow
        }
        UnavailableReason::ReauthenticationUnproven => UnavailableLabel::NoReauthentication,
    }
}

fn blocked_label(locale: Locale, message: &BTreeMap<String, String>) -> UnavailableLabel {
    if message.is_empty() {
        UnavailableLabel::Blocked
    } else {
        UnavailableLabel::Message(locale.localize(message).to_owned())
    }
}

/// Returns the operator's message for users while a block is in force.
pub fn operator_message(
    hub: &Hub,
    locale: Locale,
    summary: &LoginSummary,
    connector: &ConnectorId,
) -> Option<String> {
    let message = hub.connectors.operator_message(&summary.client_id, connector);
    Some(locale.localize(&message).to_owned()).filter(|message| !message.is_empty())
}

/// Returns the consent page of a login.
pub fn consent_page(
    hub: &Hub,
    locale: Locale,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    summary: &LoginSummary,
    consenting: &Consenting,
) -> ConsentPage {
    let proven = &consenting.user;
    let page_digest = consenting.page_digest();
    let provider = hub.connectors.display_name(&proven.authentication.connector);
    ConsentPage {
        interaction: hash.to_string(),
        csrf: csrf::form_token(cookie, FormPurpose::Consent, &page_digest),
        page_digest,
        service: service_name(hub, locale, summary),
        provider: provider.map(|name| locale.localize(&name).to_owned()).unwrap_or_default(),
        source: match proven.source {
            ClaimsSource::Register => pages::ClaimSource::Register,
            ClaimsSource::Provider => pages::ClaimSource::Provider,
        },
        mode: if consenting.explicit { ConsentMode::Consent } else { ConsentMode::Information },
        claims: proven
            .claims
            .iter()
            .filter_map(|(name, value)| {
                Some(pages::ConsentClaim {
                    name: pages::ClaimName::from_wire_name(name)?,
                    value: display_value(value),
                })
            })
            .collect(),
    }
}

/// Returns a claim's value as one line.
fn display_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        // An address: `formatted` already contains the parts (OpenID Connect Core §5.1.1).
        Value::Object(parts) => match parts.get("formatted") {
            Some(whole) => display_value(whole),
            None => Some(parts.values().filter_map(display_value).collect::<Vec<_>>().join(", ")),
        },
        Value::Null | Value::Array(_) => None,
    }
}

fn service_name(hub: &Hub, locale: Locale, summary: &LoginSummary) -> String {
    hub.federation
        .load()
        .service_provider(&summary.client_id)
        .map_or("", |sp| locale.localize(&sp.name))
        .to_owned()
}
