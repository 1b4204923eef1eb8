//! The languages of the pages and their messages, in the format of Project Fluent.
//!
//! A language is built in (`locales/`), or an operator's files add it or replace some of
//! its messages. Responsible for negotiation, and for the message that a language lacks. Does not
//! read files or know pages. Begin with [`Languages`].

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

pub mod accept_language;
mod built_in;
mod message_file;
mod operator_text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use unic_langid::{CharacterDirection, LanguageIdentifier};

pub use built_in::{Catalogue, MessageTexts, add_extension, catalogue};
pub use fluent_bundle::FluentValue;
pub use message_file::MessageFile;
pub use operator_text::{LocalizedStr, OperatorText, TextInLanguage};

/// Language of the pages if the operator names no other.
pub const DEFAULT_LANGUAGE: &str = "fr";

/// Language of the messages that neither a language nor the default language has.
const FALLBACK_LANGUAGE: &str = "en";

/// Key of a language's own name.
const NAME_KEY: &str = "language-name";

/// First strong isolate: begins a value in [`Locale::write_isolated`].
pub const FIRST_STRONG_ISOLATE: char = '\u{2068}';

/// Pop directional isolate: ends the value.
pub const POP_DIRECTIONAL_ISOLATE: char = '\u{2069}';

type Bundle = FluentBundle<Arc<FluentResource>>;

/// The languages of the pages, of which one is the default. Immutable.
#[derive(Clone, Debug)]
pub struct Languages {
    /// Sorted by tag.
    locales: Vec<Locale>,
    default: Locale,
}

/// A language of the pages with its messages. Displays as its tag (`fr`). Cheap to clone.
#[derive(Clone, derive_more::Debug, derive_more::Display)]
#[display("{}", _0.tag)]
#[debug("Locale({:?})", _0.tag)]
pub struct Locale(Arc<Language>);

struct Language {
    identifier: LanguageIdentifier,
    direction: &'static str,
    tag: String,
    default_tag: String,
    name: String,
    bundle: Bundle,
}

impl Languages {
    /// Returns the built-in languages, with [`DEFAULT_LANGUAGE`] as the default.
    pub fn built_in() -> Arc<Self> {
        catalogue().languages()
    }

    /// Creates the built-in languages and those of `files`. In one language, the last file that
    /// has a message wins. English is the default if there is no language `default`.
    pub fn new(default: &str, files: &[Arc<MessageFile>]) -> Self {
        Self::from_catalogue(&catalogue(), default, files)
    }

    fn from_catalogue(built_in: &Catalogue, default: &str, files: &[Arc<MessageFile>]) -> Self {
        let mut tags: BTreeSet<&str> = files.iter().map(|file| file.language()).collect();
        for tag in built_in.tags() {
            tags.insert(tag);
        }
        let default_tag = if tags.contains(default) { default } else { FALLBACK_LANGUAGE };
        let locale = |tag: &str| Locale::new(built_in, tag, default_tag, files);
        Self { locales: tags.iter().map(|tag| locale(tag)).collect(), default: locale(default_tag) }
    }

    /// Returns every language, sorted by tag.
    pub fn locales(&self) -> impl Iterator<Item = &Locale> {
        self.locales.iter()
    }

    /// Returns the default language.
    pub const fn default_locale(&self) -> &Locale {
        &self.default
    }

    /// Returns the language of a tag: `en` for `en-GB`.
    pub fn find(&self, tag: &str) -> Option<&Locale> {
        let requested: LanguageIdentifier = tag.parse().ok()?;
        self.locales.iter().find(|known| known.0.identifier.language == requested.language)
    }

    /// Returns the language of a page: the one that the user chose on a page, else the first known
    /// of `ui_locales`, then of `Accept-Language` by weight (RFC 9110 §12.5.4), then the default
    /// language. Invalid tags are skipped.
    pub fn negotiate(
        &self,
        chosen: Option<&str>,
        ui_locales: &[String],
        accept_language: Option<&str>,
    ) -> Locale {
        let preferred = chosen.into_iter().chain(ui_locales.iter().map(String::as_str));
        preferred
            .chain(accept_language::tags_by_weight(accept_language.unwrap_or_default()))
            .find_map(|tag| self.find(tag))
            .unwrap_or(&self.default)
            .clone()
    }
}

impl Locale {
    fn new(built_in: &Catalogue, tag: &str, default_tag: &str, files: &[Arc<MessageFile>]) -> Self {
        let identifier: LanguageIdentifier = tag.parse().unwrap_or_default();
        let mut bundle = FluentBundle::new_concurrent(vec![identifier.clone()]);
        // A built-in language is complete; a test proves it.
        let layers: &[&str] = if built_in.has_language(tag) {
            &[tag]
        } else {
            &[FALLBACK_LANGUAGE, default_tag, tag]
        };
        for layer in layers {
            let own = files.iter().filter(|file| file.language() == *layer);
            let resources = built_in.resources(layer).chain(own.map(|f| f.resource()));
            for resource in resources {
                bundle.add_resource_overriding(Arc::clone(resource));
            }
        }
        let mut own = files.iter().filter(|file| file.language() == tag);
        let has_name = built_in.has_language(tag) || own.any(|file| file.contains(NAME_KEY));
        let (tag, default_tag) = (tag.to_owned(), default_tag.to_owned());
        let name = if has_name { format_message(&bundle, NAME_KEY, None) } else { tag.clone() };
        let direction = match identifier.character_direction() {
            CharacterDirection::RTL => "rtl",
            CharacterDirection::LTR | CharacterDirection::TTB => "ltr",
        };
        Self(Arc::new(Language { identifier, direction, tag, default_tag, name, bundle }))
    }

    /// Returns the language tag (BCP 47), as in configuration files: `fr`.
    pub fn tag(&self) -> &str {
        &self.0.tag
    }

    /// Returns the direction of the script, as an HTML `dir` attribute has it.
    pub fn direction(&self) -> &'static str {
        self.0.direction
    }

    /// Returns the language's own name; its tag if its files have none.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the entry of a `{ fr = …, en = … }` table for this language, else for the default
    /// language, else in English, else the first.
    pub fn localize<'a>(&self, by_language: &'a BTreeMap<String, String>) -> LocalizedStr<'a> {
        let found = [self.0.tag.as_str(), &self.0.default_tag, FALLBACK_LANGUAGE]
            .into_iter()
            .find_map(|tag| by_language.get_key_value(tag))
            .or_else(|| by_language.iter().next());
        found.map_or_else(LocalizedStr::default, |(tag, text)| {
            LocalizedStr::new(text, Some(tag.as_str()).filter(|tag| *tag != self.0.tag))
        })
    }

    /// Returns the message of a key. An unknown key is returned as it is; a test proves that there
    /// is none.
    pub fn text(&self, key: &str) -> String {
        format_message(&self.0.bundle, key, None)
    }

    /// Returns the message of a key with one value.
    pub fn text_with(&self, key: &str, name: &'static str, value: &str) -> String {
        self.text_with_values(key, [(name, value.into())])
    }

    /// Returns the message of a key with several values, which may be numbers.
    pub fn text_with_values<const N: usize>(
        &self,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) -> String {
        format_message(&self.0.bundle, key, Some(&without_marks(values)))
    }

    /// Writes the message of a key with values, each between the characters [`FIRST_STRONG_ISOLATE`] and
    /// [`POP_DIRECTIONAL_ISOLATE`]: a name in another script must not reorder the text around it.
    pub fn write_isolated<const N: usize>(
        &self,
        text: &mut impl Write,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) {
        write_message(&self.0.bundle, text, key, Some(&without_marks(values)));
    }
}

/// Text that leaves out the marks around values.
struct Unisolated(String);

impl Write for Unisolated {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        if matches!(c, FIRST_STRONG_ISOLATE | POP_DIRECTIONAL_ISOLATE) {
            Ok(())
        } else {
            self.0.write_char(c)
        }
    }
}

/// Removes the marks from values, so that none ends its own isolation.
fn without_marks<'a, const N: usize>(
    values: [(&'static str, FluentValue<'a>); N],
) -> FluentArgs<'a> {
    FluentArgs::from_iter(values.map(|(name, value)| match value {
        FluentValue::String(text)
            if text.contains([FIRST_STRONG_ISOLATE, POP_DIRECTIONAL_ISOLATE]) =>
        {
            (name, text.replace([FIRST_STRONG_ISOLATE, POP_DIRECTIONAL_ISOLATE], "").into())
        }
        other => (name, other),
    }))
}

fn format_message(bundle: &Bundle, key: &str, values: Option<&FluentArgs<'_>>) -> String {
    let mut text = Unisolated(String::new());
    write_message(bundle, &mut text, key, values);
    text.0
}

/// Writes the message of a key; Fluent writes the marks around values as single characters.
fn write_message(
    bundle: &Bundle,
    text: &mut impl Write,
    key: &str,
    values: Option<&FluentArgs<'_>>,
) {
    // Writing to memory can't fail. An error leaves the name of the value in the text; the checks
    // of files exclude it.
    let _ok = match bundle.get_message(key).and_then(|message| message.value()) {
        Some(pattern) => bundle.write_pattern(text, pattern, values, &mut Vec::new()),
        None => text.write_str(key),
    };
}

impl PartialEq for Locale {
    fn eq(&self, other: &Self) -> bool {
        self.0.tag == other.0.tag
    }
}

impl Eq for Locale {}

#[cfg(test)]
mod tests;
