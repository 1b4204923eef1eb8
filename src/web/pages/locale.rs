//! The languages of the pages: negotiation, texts, dates.
//!
//! A language is one folder in `locales/`; adding one needs no other change.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use chrono::DateTime;
use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, Loader};

use crate::env::Timestamp;
use crate::protocol::acr::Level;

fluent_templates::static_loader! {
    static TEXTS = {
        locales: "./src/web/pages/locales",
        fallback_language: "fr",
        customise: |bundle| bundle.set_use_isolating(false),
    };
}

/// A language of the pages. Displays as its tag (`fr`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Locale(&'static LanguageIdentifier);

/// Returns the language of a page: the first known of `ui_locales`, then of `Accept-Language` by
/// weight (RFC 9110 §12.5.4), then French. Invalid tags are skipped.
#[must_use]
pub fn negotiate_language(ui_locales: &[String], accept_language: Option<&str>) -> Locale {
    ui_locales
        .iter()
        .map(String::as_str)
        .chain(tags_by_weight(accept_language.unwrap_or_default()))
        .find_map(Locale::for_tag)
        .unwrap_or_default()
}

/// Entries of `Accept-Language` that are read: more than any browser sends.
const MAX_LANGUAGE_RANGES: usize = 16;

fn tags_by_weight(accept_language: &str) -> impl Iterator<Item = &str> {
    let mut ranges: Vec<(&str, f32)> = accept_language
        .split(',')
        .take(MAX_LANGUAGE_RANGES)
        .filter_map(|range| match range.split_once(';') {
            None => Some((range.trim(), 1.0)),
            Some((tag, weight)) => {
                Some((tag.trim(), weight.trim().strip_prefix("q=")?.parse().ok()?))
            }
        })
        .filter(|(_, weight)| (0.001..=1.0).contains(weight))
        .collect();
    ranges.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    ranges.into_iter().map(|(tag, _)| tag)
}

impl Default for Locale {
    fn default() -> Self {
        Self(TEXTS.fallback())
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Locale {
    /// Returns every language, sorted by tag.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut tags: Vec<_> = TEXTS.locales().collect();
        tags.sort();
        tags.into_iter().map(Locale)
    }

    /// Returns the language of a tag: `en` for `en-GB`.
    fn for_tag(tag: &str) -> Option<Self> {
        let requested: LanguageIdentifier = tag.parse().ok()?;
        TEXTS.locales().find(|known| known.language == requested.language).map(Self)
    }

    /// Returns the language code, as in configuration files: `fr`.
    #[must_use]
    pub fn language(self) -> &'static str {
        self.0.language.as_str()
    }

    /// Returns the entry of a `{ fr = …, en = … }` table for this language, else for the default
    /// language, else the first.
    #[must_use]
    pub fn localize(self, by_language: &BTreeMap<String, String>) -> &str {
        let entry = |locale: Self| by_language.get(locale.0.language.as_str());
        entry(self)
            .or_else(|| entry(Self::default()))
            .or_else(|| by_language.values().next())
            .map_or("", String::as_str)
    }

    /// Returns the text of a key. An unknown key is returned as it is; a test proves that there is
    /// none.
    pub(super) fn text(self, key: &str) -> String {
        self.format_text(key, None)
    }

    /// Returns the text of a key with one value.
    pub(super) fn text_with(self, key: &str, name: &'static str, value: &str) -> String {
        self.format_text(key, Some(&HashMap::from([(name, value.into())])))
    }

    fn format_text(
        self,
        key: &str,
        values: Option<&HashMap<&'static str, FluentValue<'_>>>,
    ) -> String {
        TEXTS
            .lookup_single_language(self.0, key, values)
            .or_else(|_| TEXTS.lookup_single_language(TEXTS.fallback(), key, values))
            .unwrap_or_else(|_| key.to_owned())
    }

    /// Returns the name of a level on the sandbox page.
    #[must_use]
    pub fn sandbox_level_label(self, level: Level) -> String {
        self.text(match level {
            Level::Eidas1 => "sandbox-level-eidas1",
            Level::Eidas2 => "sandbox-level-eidas2",
            Level::Eidas3 => "sandbox-level-eidas3",
        })
    }

    /// Returns the hint beside a level on the sandbox page that is lower than requested.
    #[must_use]
    pub fn sandbox_level_too_low(self) -> String {
        self.text("sandbox-level-too-low")
    }

    /// Returns the label of a simulated failure on the sandbox page; `none` is no failure.
    #[must_use]
    pub fn sandbox_failure_label(self, id: &str) -> String {
        self.text(&format!("sandbox-failure-{id}"))
    }

    /// Returns the text of a key with several values, which may be numbers.
    pub(super) fn text_with_values<const N: usize>(
        self,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) -> String {
        self.format_text(key, Some(&HashMap::from(values)))
    }

    /// Returns a date `YYYY-MM-DD` in words. For the partial dates `YYYY-MM-00` and `YYYY-00-00`
    /// the text says what is unknown; anything else is returned as it is.
    pub(super) fn date_in_words(self, date: &str) -> String {
        self.known_date_in_words(date).unwrap_or_else(|| date.to_owned())
    }

    fn known_date_in_words(self, date: &str) -> Option<String> {
        let mut parts = date.splitn(3, '-');
        let year = FluentValue::from(parts.next()?);
        let (month, day): (usize, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        if month == 0 {
            return Some(self.format_text("date-year", Some(&HashMap::from([("year", year)]))));
        }
        let month = FluentValue::from(self.text(MONTHS.get(month - 1)?));
        let mut values = HashMap::from([("year", year), ("month", month)]);
        if day == 0 {
            return Some(self.format_text("date-month", Some(&values)));
        }
        values.insert("day", FluentValue::from(day));
        Some(self.format_text("date-day", Some(&values)))
    }

    /// Returns date and time to the second, in UTC.
    pub(super) fn date_time(self, at: Timestamp) -> String {
        let Some(at) = i64::try_from(at.seconds())
            .ok()
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        else {
            return at.seconds().to_string();
        };
        let date = FluentValue::from(self.date_in_words(&at.format("%Y-%m-%d").to_string()));
        let time = FluentValue::from(at.format("%H:%M:%S").to_string());
        self.format_text("date-time", Some(&HashMap::from([("date", date), ("time", time)])))
    }
}

const MONTHS: [&str; 12] = [
    "month-1", "month-2", "month-3", "month-4", "month-5", "month-6", "month-7", "month-8",
    "month-9", "month-10", "month-11", "month-12",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn locale(tag: &str) -> Locale {
        Locale::for_tag(tag).unwrap()
    }

    #[test]
    fn the_language_is_the_one_asked_else_french() {
        for (ui_locales, accept_language, expected) in [
            (&[][..], None, "fr"),
            (&[], Some("da, ja;q=0.5"), "fr"),
            (&[], Some("da, de-AT;q=0.5"), "de"),
            (&[], Some("en"), "en"),
            (&[], Some("en-GB,en;q=0.9,fr;q=0.8"), "en"),
            (&[], Some("en;q=0.3, fr-CA;q=0.7"), "fr"),
            (&[], Some("en;q=0, *"), "fr"),
            (&[], Some("en;q=rubbish,,;;;"), "fr"),
            (&["en-US"], Some("fr"), "en"),
            (&["da", "en", "fr"], Some("fr"), "en"),
            (&["\u{0}", ""], Some("en"), "en"),
        ] {
            let ui_locales: Vec<String> = ui_locales.iter().map(ToString::to_string).collect();
            assert_eq!(
                negotiate_language(&ui_locales, accept_language).to_string(),
                expected,
                "{ui_locales:?} {accept_language:?}"
            );
        }
    }

    #[test]
    fn dates_read_naturally_and_presumed_ones_say_so() {
        for (tag, date, expected) in [
            ("fr", "1962-08-24", "24 août 1962"),
            ("fr", "1970-01-01", "1er janvier 1970"),
            ("fr", "1962-08-00", "août 1962 (jour inconnu)"),
            ("fr", "1962-00-00", "1962 (jour et mois inconnus)"),
            ("en", "1962-08-24", "24 August 1962"),
            ("en", "1962-00-00", "1962 (day and month unknown)"),
            ("en", "1962-13-01", "1962-13-01"),
            ("en", "not a date", "not a date"),
        ] {
            assert_eq!(locale(tag).date_in_words(date), expected);
        }
        assert_eq!(
            locale("en").date_time(Timestamp::from_seconds(86_399)),
            "1 January 1970 at 23:59:59 (UTC)"
        );
    }

    #[test]
    fn names_by_language_fall_back_to_the_default_language() {
        let names = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
        };
        assert_eq!(locale("en").localize(&names(&[("en", "Taxes"), ("fr", "Impôts")])), "Taxes");
        assert_eq!(locale("en").localize(&names(&[("br", "Tailhoù"), ("fr", "Impôts")])), "Impôts");
        assert_eq!(locale("en").localize(&names(&[("br", "Tailhoù")])), "Tailhoù");
        assert_eq!(locale("en").localize(&names(&[])), "");
    }
}
