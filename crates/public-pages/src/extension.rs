//! What the crate adds to a hub.

use std::collections::BTreeMap;
use std::sync::Arc;

use passerelle_extension::{Extension, ExtensionContext, StartedExtension};
use passerelle_localization::message_texts;
use passerelle_settings::ConfiguredTable;
use passerelle_web::endpoint::Endpoint;
use passerelle_web::hub::Hub;
use passerelle_web::theme::{FooterLink, LinkPurpose};

use super::settings::{self, PublicPagesConfig};
use super::state::{FeedEntryTimes, PublicPages};
use super::{statements, status};

const STATUS_PATH: &str = "/status";
const ACCESSIBILITY_PATH: &str = "/accessibility";
const PRIVACY_PATH: &str = "/privacy";

/// The routes, texts and settings of the public pages.
pub const EXTENSION: Extension = Extension {
    messages: message_texts!(),
    table: Some(settings::TABLE),
    endpoints,
    footer_links,
    start,
    ..Extension::new("public-pages")
};

fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::document(STATUS_PATH, status::show_page).enabled_if(has_status),
        Endpoint::document("/status.json", status::serve_json)
            .enabled_if(has_status)
            .for_every_origin()
            .for_programs(),
        Endpoint::document("/status.atom", status::serve_feed)
            .enabled_if(has_status)
            .for_every_origin()
            .for_programs(),
        Endpoint::document(ACCESSIBILITY_PATH, statements::show_accessibility)
            .enabled_if(|hub| pages(hub).is_some_and(|pages| pages.accessibility.is_some())),
        Endpoint::document(PRIVACY_PATH, statements::show_privacy)
            .enabled_if(|hub| pages(hub).is_some_and(|pages| pages.privacy.is_some())),
    ]
}

fn pages(hub: &Hub) -> Option<&PublicPagesConfig> {
    Some(&hub.extension::<PublicPages>()?.config)
}

fn has_status(hub: &Hub) -> bool {
    pages(hub).is_some_and(|pages| pages.status)
}

/// Returns the links that lead to the pages which the table turns on.
fn footer_links(table: &ConfiguredTable) -> Vec<FooterLink> {
    let Some(config) = table.settings::<PublicPagesConfig>() else { return Vec::new() };
    let link = |message: &'static str, path: &str, purpose| FooterLink {
        label: BTreeMap::new(),
        message: Some(message),
        url: path.to_owned(),
        purpose,
    };
    let pages = [
        (config.status, link("public-status-title", STATUS_PATH, None)),
        (
            config.accessibility.is_some(),
            link(
                "public-accessibility-title",
                ACCESSIBILITY_PATH,
                Some(LinkPurpose::Accessibility),
            ),
        ),
        (
            config.privacy.is_some(),
            link("public-privacy-title", PRIVACY_PATH, Some(LinkPurpose::Privacy)),
        ),
    ];
    pages.into_iter().filter(|(is_on, _)| *is_on).map(|(_, link)| link).collect()
}

fn start(context: &ExtensionContext<'_>) -> StartedExtension {
    let config = context.table.and_then(ConfiguredTable::settings);
    let Some(config): Option<&PublicPagesConfig> = config else {
        return StartedExtension::default();
    };
    let state = PublicPages {
        config: config.clone(),
        retention: context.retention.clone(),
        feed_entry_times: FeedEntryTimes::default(),
    };
    StartedExtension { state: Some(Arc::new(state)), ..StartedExtension::default() }
}
