//! The built-in languages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use fluent_bundle::FluentResource;
use fluent_syntax::ast::Entry;

use super::FALLBACK_LANGUAGE;
use super::message_file::{Placeable, placeables};

macro_rules! built_in_languages {
    ($($tag:literal)*) => {
        /// The files, by tag.
        const FILES: &[(&str, &str)] =
            &[$(($tag, include_str!(concat!("../locales/", $tag, "/pages.ftl")))),*];
    };
}

built_in_languages!("ar" "de" "en" "es" "fr" "it" "nl" "pl" "pt" "ro");

static RESOURCES: LazyLock<BTreeMap<&'static str, Arc<FluentResource>>> = LazyLock::new(|| {
    // A test proves that there are no errors.
    let parse = |text: &str| FluentResource::try_new(text.to_owned()).unwrap_or_else(|(ok, _)| ok);
    FILES.iter().map(|(tag, text)| (*tag, Arc::new(parse(text)))).collect()
});

/// The variables of each message of the pages, as the English file has them.
static VARIABLES: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    resource(FALLBACK_LANGUAGE).map(|english| variables(english)).unwrap_or_default()
});

/// Returns the tags of the built-in languages, sorted.
pub fn tags() -> impl Iterator<Item = &'static str> {
    RESOURCES.keys().copied()
}

/// Returns whether the language is built in.
#[must_use]
pub fn is_built_in(tag: &str) -> bool {
    RESOURCES.contains_key(tag)
}

/// Returns the messages of a built-in language.
pub fn resource(tag: &str) -> Option<&'static Arc<FluentResource>> {
    RESOURCES.get(tag)
}

/// Returns the keys of the messages of the pages, sorted.
pub fn message_keys() -> impl Iterator<Item = &'static str> {
    VARIABLES.keys().map(String::as_str)
}

/// Returns the variables that a message of the pages may use; `None` for an unknown key.
#[must_use]
pub fn message_variables(key: &str) -> Option<&'static BTreeSet<String>> {
    VARIABLES.get(key)
}

/// Returns the variables of each message.
pub(super) fn variables(resource: &FluentResource) -> BTreeMap<String, BTreeSet<String>> {
    let of_message = |entry: &Entry<&str>| {
        let Entry::Message(message) = entry else { return None };
        let names = placeables(message).into_iter().filter_map(|placeable| match placeable {
            Placeable::Variable(name) => Some(name.to_owned()),
            Placeable::Other(_) => None,
        });
        Some((message.id.name.to_owned(), names.collect()))
    };
    resource.entries().filter_map(of_message).collect()
}
