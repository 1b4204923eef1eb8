//! Texts that an operator writes in some of the languages of the pages, such as names.

use std::ops::Deref;

/// The text of a `{ fr = …, en = … }` table that a page shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, derive_more::Display)]
#[display("{text}")]
pub struct LocalizedStr<'a> {
    text: &'a str,
    language: Option<&'a str>,
}

impl<'a> LocalizedStr<'a> {
    /// Creates the text; `language` is its tag if that is not the page's.
    pub const fn new(text: &'a str, language: Option<&'a str>) -> Self {
        Self { text, language }
    }
}

/// The same, as part of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default, derive_more::Display)]
#[display("{text}")]
pub struct OperatorText {
    text: String,
    language: Option<String>,
}

impl OperatorText {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A text with its language, for the `lang` attribute of HTML: a screen reader then pronounces it
/// (WCAG 2.2, success criterion 3.1.2).
pub trait TextInLanguage {
    fn text(&self) -> &str;

    /// Returns the tag of its language; `None` if it is in the language of the page.
    fn language(&self) -> Option<&str> {
        None
    }
}

impl From<LocalizedStr<'_>> for OperatorText {
    fn from(shown: LocalizedStr<'_>) -> Self {
        Self { text: shown.text.to_owned(), language: shown.language.map(str::to_owned) }
    }
}

impl From<&str> for OperatorText {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), language: None }
    }
}

impl From<String> for OperatorText {
    fn from(text: String) -> Self {
        Self { text, language: None }
    }
}

impl Deref for LocalizedStr<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.text
    }
}

impl Deref for OperatorText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl TextInLanguage for LocalizedStr<'_> {
    fn text(&self) -> &str {
        self.text
    }

    fn language(&self) -> Option<&str> {
        self.language
    }
}

impl TextInLanguage for OperatorText {
    fn text(&self) -> &str {
        &self.text
    }

    fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }
}

impl TextInLanguage for str {
    fn text(&self) -> &str {
        self
    }
}

impl TextInLanguage for String {
    fn text(&self) -> &str {
        self
    }
}

impl<T: TextInLanguage + ?Sized> TextInLanguage for &T {
    fn text(&self) -> &str {
        (**self).text()
    }

    fn language(&self) -> Option<&str> {
        (**self).language()
    }
}
