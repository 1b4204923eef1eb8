//! From where a login stands to what a page shows.

use std::collections::BTreeMap;

use serde_json::Value;

use super::csrf::{self, Purpose};
use super::hub::Hub;
use super::last_choice::Wish;
use super::pages::{
    self, Banner, Candidate, ChoicePage, ConsentPage, Heading, Locale, Question, Refusal, Trouble,
    arrange,
};
use crate::actor::{Condition, Obstacle, Standing};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::{self, Consenting, Source};

pub fn choice(
    hub: &Hub,
    locale: Locale,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    standing: &Standing,
    banner: Option<login::Banner>,
    wish: &Wish,
) -> ChoicePage {
    let federation = hub.federation.load();
    let entries = hub.connectors.choices(&standing.client_id, standing.demand, locale.language());
    let candidates = entries.iter().map(|entry| Candidate {
        id: entry.id.as_str(),
        name: locale.pick(&entry.shown.name),
        shown: &entry.shown,
        refusal: entry.obstacle.as_ref().map(|obstacle| match obstacle {
            Obstacle::Off => Refusal::Off,
            Obstacle::Blocked(word) => refusal(locale, word),
            Obstacle::NotForThisService => Refusal::NotForThisService,
            Obstacle::LevelTooLow => Refusal::TooLow,
            Obstacle::ReauthenticationUnproven => Refusal::NoReauthentication,
            Obstacle::Failing => Refusal::InTrouble,
        }),
        trouble: (entry.standing != Condition::Well).then_some(Trouble::Recent),
    });
    let is_shown = |one: &Candidate<'_>| {
        one.refusal.is_none() || federation.unavailable == crate::config::Unavailable::Greyed
    };
    let candidates: Vec<Candidate<'_>> = candidates.filter(is_shown).collect();
    let headings: Vec<Heading<'_>> = federation
        .categories
        .iter()
        .map(|one| Heading { id: &one.id, name: locale.pick(&one.name) })
        .collect();
    let logo = federation.service(&standing.client_id).and_then(|sp| sp.logo.as_ref());
    ChoicePage {
        interaction: hash.to_string(),
        choose_csrf: csrf::token(cookie, Purpose::Choose, ""),
        cancel_csrf: csrf::token(cookie, Purpose::Cancel, ""),
        service: service(hub, locale, standing),
        forget_csrf: csrf::token(cookie, Purpose::Forget, ""),
        service_logo: logo.map(|logo| format!("/assets/service/{}", logo.version)),
        level: standing.demand.level,
        arrangement: arrange(
            &candidates,
            &headings,
            wish.last_used.as_ref().map(ConnectorId::as_str),
            &wish.asked,
        ),
        banner: banner.map(|banner| Banner {
            message: banner.connector.as_ref().and_then(|id| word(hub, locale, standing, id)),
            provider: banner
                .connector
                .and_then(|id| hub.connectors.name(&id))
                .map(|name| locale.pick(&name).to_owned())
                .unwrap_or_default(),
            code: banner.code,
            support_id: standing.support_id.to_string(),
        }),
    }
}

fn refusal(locale: Locale, word: &BTreeMap<String, String>) -> Refusal {
    if word.is_empty() { Refusal::Blocked } else { Refusal::Message(locale.pick(word).to_owned()) }
}

/// What the operator has to say to the person while a kill switch is in force.
pub fn word(
    hub: &Hub,
    locale: Locale,
    standing: &Standing,
    connector: &ConnectorId,
) -> Option<String> {
    let word = hub.connectors.word(&standing.client_id, connector);
    Some(locale.pick(&word).to_owned()).filter(|word| !word.is_empty())
}

pub fn consent(
    hub: &Hub,
    locale: Locale,
    hash: &InteractionHash,
    cookie: &Secret<String>,
    standing: &Standing,
    consenting: &Consenting,
) -> ConsentPage {
    let proven = &consenting.proven;
    let shown = consenting.shown();
    let provider = hub.connectors.name(&proven.authentication.connector);
    ConsentPage {
        interaction: hash.to_string(),
        csrf: csrf::token(cookie, Purpose::Consent, &shown),
        shown,
        service: service(hub, locale, standing),
        provider: provider.map(|name| locale.pick(&name).to_owned()).unwrap_or_default(),
        source: match proven.source {
            Source::Register => pages::Source::Register,
            Source::Provider => pages::Source::Provider,
        },
        question: if consenting.explicit { Question::Consent } else { Question::Information },
        claims: proven
            .claims
            .iter()
            .filter_map(|(name, value)| {
                Some(pages::Claim { name: pages::ClaimName::of_wire(name)?, value: legible(value) })
            })
            .collect(),
    }
}

/// A claim's value in one line.
fn legible(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        // An address; where it is written out whole, its parts say nothing more.
        Value::Object(parts) => match parts.get("formatted") {
            Some(whole) => legible(whole),
            None => Some(parts.values().filter_map(legible).collect::<Vec<_>>().join(", ")),
        },
        Value::Null | Value::Array(_) => None,
    }
}

fn service(hub: &Hub, locale: Locale, standing: &Standing) -> String {
    hub.federation
        .load()
        .service(&standing.client_id)
        .map_or("", |sp| locale.pick(&sp.name))
        .to_owned()
}
