//! The languages of the pages: which one a person gets, its texts, its dates.
//!
//! Owns: language negotiation, and the only road from a key to a text. Must not know: which page asks. A language is
//! one folder in `locales/`; nothing else has to change for a third one.

use std::cmp::Reverse;
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

/// A language that the pages exist in. Displays as its tag (`fr`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Locale(&'static LanguageIdentifier);

/// The language for a person: what the service provider asked (`ui_locales`, in its order), then what the browser
/// prefers (`Accept-Language`, RFC 9110, 12.5.4, by weight), then French. Tags that can't be read are skipped.
#[must_use]
pub fn negotiate(ui_locales: &[String], accept_language: Option<&str>) -> Locale {
    ui_locales
        .iter()
        .map(String::as_str)
        .chain(by_weight(accept_language.unwrap_or_default()))
        .find_map(Locale::speaking)
        .unwrap_or_default()
}

/// More entries than any browser sends; keeps a hostile header cheap.
const MOST_RANGES: usize = 16;

fn by_weight(accept_language: &str) -> impl Iterator<Item = &str> {
    let mut ranges: Vec<(&str, f32)> = accept_language
        .split(',')
        .take(MOST_RANGES)
        .filter_map(|range| match range.split_once(';') {
            None => Some((range.trim(), 1.0)),
            Some((tag, weight)) => {
                Some((tag.trim(), weight.trim().strip_prefix("q=")?.parse().ok()?))
            }
        })
        .filter(|(_, weight)| (0.001..=1.0).contains(weight))
        .collect();
    ranges.sort_by_key(|(_, weight)| Reverse((weight * 1000.0) as u16));
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
    /// Every language, by its tag.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut tags: Vec<_> = TEXTS.locales().collect();
        tags.sort();
        tags.into_iter().map(Locale)
    }

    /// The language of a tag: `en-GB` is served by `en`.
    fn speaking(tag: &str) -> Option<Self> {
        let wanted: LanguageIdentifier = tag.parse().ok()?;
        TEXTS.locales().find(|known| known.language == wanted.language).map(Self)
    }

    /// Its language's letters, as configuration files write them: `fr`.
    #[must_use]
    pub fn language(self) -> &'static str {
        self.0.language.as_str()
    }

    /// The entry of a `{ fr = …, en = … }` table for this language; else the default language's, else the first.
    #[must_use]
    pub fn pick(self, by_language: &BTreeMap<String, String>) -> &str {
        let of = |locale: Self| by_language.get(locale.0.language.as_str());
        of(self)
            .or_else(|| of(Self::default()))
            .or_else(|| by_language.values().next())
            .map_or("", String::as_str)
    }

    /// The text of a key. A key that exists nowhere comes back as itself; a test proves that there is none.
    pub(super) fn text(self, key: &str) -> String {
        self.format(key, None)
    }

    /// The text of a key with one value in it.
    pub(super) fn with(self, key: &str, name: &'static str, value: &str) -> String {
        self.format(key, Some(&HashMap::from([(name, value.into())])))
    }

    fn format(self, key: &str, values: Option<&HashMap<&'static str, FluentValue<'_>>>) -> String {
        TEXTS
            .lookup_single_language(self.0, key, values)
            .or_else(|_| TEXTS.lookup_single_language(TEXTS.fallback(), key, values))
            .unwrap_or_else(|_| key.to_owned())
    }

    /// A level of assurance, named for the sandbox's page.
    #[must_use]
    pub fn level(self, level: Level) -> String {
        self.text(match level {
            Level::Eidas1 => "sandbox-level-eidas1",
            Level::Eidas2 => "sandbox-level-eidas2",
            Level::Eidas3 => "sandbox-level-eidas3",
        })
    }

    /// Beside a level at the sandbox that is lower than what was asked.
    pub fn level_too_low(self) -> String {
        self.text("sandbox-level-too-low")
    }

    /// What can be made to go wrong at the sandbox; `none` when nothing shall.
    #[must_use]
    pub fn sandbox_failure(self, id: &str) -> String {
        self.text(&format!("sandbox-failure-{id}"))
    }

    /// The text of a key with several values in it, numbers among them.
    pub(super) fn filled<const N: usize>(
        self,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) -> String {
        self.format(key, Some(&HashMap::from(values)))
    }

    /// `YYYY-MM-DD` in words. `YYYY-MM-00` and `YYYY-00-00`, presumed dates, say what is not known; anything else
    /// comes back as it is.
    pub(super) fn date(self, date: &str) -> String {
        self.known_date(date).unwrap_or_else(|| date.to_owned())
    }

    fn known_date(self, date: &str) -> Option<String> {
        let mut parts = date.splitn(3, '-');
        let year = FluentValue::from(parts.next()?);
        let (month, day): (usize, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        if month == 0 {
            return Some(self.format("date-year", Some(&HashMap::from([("year", year)]))));
        }
        let month = FluentValue::from(self.text(MONTHS.get(month - 1)?));
        let mut values = HashMap::from([("year", year), ("month", month)]);
        if day == 0 {
            return Some(self.format("date-month", Some(&values)));
        }
        values.insert("day", FluentValue::from(day));
        Some(self.format("date-day", Some(&values)))
    }

    /// Date and time of day, to the second, in UTC.
    pub(super) fn moment(self, at: Timestamp) -> String {
        let Some(at) = i64::try_from(at.seconds())
            .ok()
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        else {
            return at.seconds().to_string();
        };
        let date = FluentValue::from(self.date(&at.format("%Y-%m-%d").to_string()));
        let time = FluentValue::from(at.format("%H:%M:%S").to_string());
        self.format("date-time", Some(&HashMap::from([("date", date), ("time", time)])))
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
        Locale::speaking(tag).unwrap()
    }

    #[test]
    fn the_language_is_the_one_asked_else_french() {
        for (ui_locales, accept_language, expected) in [
            (&[][..], None, "fr"),
            (&[], Some("de, ja;q=0.5"), "fr"),
            (&[], Some("en"), "en"),
            (&[], Some("en-GB,en;q=0.9,fr;q=0.8"), "en"),
            (&[], Some("en;q=0.3, fr-CA;q=0.7"), "fr"),
            (&[], Some("en;q=0, *"), "fr"),
            (&[], Some("en;q=rubbish,,;;;"), "fr"),
            (&["en-US"], Some("fr"), "en"),
            (&["de", "en", "fr"], Some("fr"), "en"),
            (&["\u{0}", ""], Some("en"), "en"),
        ] {
            let ui_locales: Vec<String> = ui_locales.iter().map(ToString::to_string).collect();
            assert_eq!(
                negotiate(&ui_locales, accept_language).to_string(),
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
            assert_eq!(locale(tag).date(date), expected);
        }
        assert_eq!(
            locale("en").moment(Timestamp::from_seconds(86_399)),
            "1 January 1970 at 23:59:59 (UTC)"
        );
    }

    #[test]
    fn names_by_language_fall_back_to_the_default_language() {
        let names = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
        };
        assert_eq!(locale("en").pick(&names(&[("en", "Taxes"), ("fr", "Impôts")])), "Taxes");
        assert_eq!(locale("en").pick(&names(&[("br", "Tailhoù"), ("fr", "Impôts")])), "Impôts");
        assert_eq!(locale("en").pick(&names(&[("br", "Tailhoù")])), "Tailhoù");
        assert_eq!(locale("en").pick(&names(&[])), "");
    }
}
