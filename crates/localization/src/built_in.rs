//! The built-in languages and their messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock, PoisonError, RwLock};

use fluent_bundle::FluentResource;
use fluent_syntax::ast::Entry;

use super::message_file::{Placeable, placeables};
use super::{DEFAULT_LANGUAGE, FALLBACK_LANGUAGE, Languages};

/// Messages of a crate: for each built-in language its tag and its file.
pub type MessageTexts = &'static [(&'static str, &'static str)];

/// Returns the [`MessageTexts`] of a crate, from the files `locales/{tag}.ftl` beside its `src`.
#[macro_export]
macro_rules! message_texts {
    () => { $crate::message_texts!(".ftl") };
    ($suffix:literal) => {
        $crate::message_texts!($suffix: "ar" "de" "en" "es" "fr" "it" "nl" "pl" "pt" "ro")
    };
    ($suffix:literal: $($tag:literal)+) => {
        &[$(($tag, include_str!(concat!("../locales/", $tag, $suffix)))),+]
    };
}

/// The files of the pages.
const FILES: MessageTexts = message_texts!("/pages.ftl");

/// The built-in messages of this program: those of the pages, and those of its optional crates.
pub struct Catalogue {
    extensions: Vec<MessageTexts>,
    /// The files of each language, by tag.
    resources: BTreeMap<&'static str, Vec<Arc<FluentResource>>>,
    /// The variables of each message, as the English files have them.
    variables: BTreeMap<String, BTreeSet<String>>,
    languages: OnceLock<Arc<Languages>>,
}

/// The crates of a program belong to the process (docs/design/adr/0037-extensions.md).
static CATALOGUE: LazyLock<RwLock<Arc<Catalogue>>> =
    LazyLock::new(|| RwLock::new(Arc::new(Catalogue::new(Vec::new()))));

/// Returns the built-in messages.
pub fn catalogue() -> Arc<Catalogue> {
    Arc::clone(&CATALOGUE.read().unwrap_or_else(PoisonError::into_inner))
}

/// Adds the messages of an optional crate. Has no effect if they were added before.
pub fn add_extension(texts: MessageTexts) {
    let mut current = CATALOGUE.write().unwrap_or_else(PoisonError::into_inner);
    if !current.extensions.contains(&texts) {
        let extensions = current.extensions.iter().copied().chain([texts]).collect();
        *current = Arc::new(Catalogue::new(extensions));
    }
}

impl Catalogue {
    fn new(extensions: Vec<MessageTexts>) -> Self {
        // A test proves that there are no errors.
        let parse =
            |text: &str| FluentResource::try_new(text.to_owned()).unwrap_or_else(|(ok, _)| ok);
        let mut resources: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (tag, text) in [FILES].iter().chain(&extensions).copied().flatten() {
            resources.entry(*tag).or_default().push(Arc::new(parse(text)));
        }
        let english = resources.get(FALLBACK_LANGUAGE).into_iter().flatten();
        let variables = english.flat_map(|file| variables(file)).collect();
        Self { extensions, resources, variables, languages: OnceLock::new() }
    }

    /// Returns the tags of the built-in languages, sorted.
    pub fn tags(&self) -> impl Iterator<Item = &'static str> {
        self.resources.keys().copied()
    }

    /// Returns whether the language is built in.
    pub fn has_language(&self, tag: &str) -> bool {
        self.resources.contains_key(tag)
    }

    /// Returns the keys of the messages, sorted.
    pub fn message_keys(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Returns the variables that a message may use; `None` for an unknown key.
    pub fn message_variables(&self, key: &str) -> Option<&BTreeSet<String>> {
        self.variables.get(key)
    }

    /// Returns how many files of the fallback language have a text for the key: one, unless two
    /// crates use it.
    pub fn count_texts(&self, key: &str) -> usize {
        let files = self.resources(FALLBACK_LANGUAGE);
        files.filter(|file| variables(file).contains_key(key)).count()
    }

    /// Returns the messages of a built-in language.
    pub(super) fn resources(&self, tag: &str) -> impl Iterator<Item = &Arc<FluentResource>> {
        self.resources.get(tag).into_iter().flatten()
    }

    /// Returns the built-in languages, with [`DEFAULT_LANGUAGE`] as the default.
    pub(super) fn languages(&self) -> Arc<Languages> {
        let languages = || Arc::new(Languages::from_catalogue(self, DEFAULT_LANGUAGE, &[]));
        Arc::clone(self.languages.get_or_init(languages))
    }
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
