//! Levels, test failures and dates in the language of a page.

use std::fmt::{self, Write};

use askama::filters::{Escaper as _, Html, Safe};
use chrono::DateTime;

use passerelle_federation::assurance::amr::is_known_method;
use passerelle_localization::{
    FIRST_STRONG_ISOLATE, FluentValue, Locale, POP_DIRECTIONAL_ISOLATE, TextInLanguage,
};
use passerelle_protocol::acr::Level;
use passerelle_protocol::env::Timestamp;

/// Escaped text that has each isolated value in `<bdi>`.
#[derive(Default)]
struct IsolatedHtml<'a> {
    html: String,
    /// Language of the values, if it is not the page's.
    language: Option<&'a str>,
}

impl Write for IsolatedHtml<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Html.write_escaped_str(&mut self.html, text)
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        match c {
            FIRST_STRONG_ISOLATE => {
                self.html.push_str("<bdi");
                if let Some(language) = self.language {
                    self.html.push_str(" lang=\"");
                    Html.write_escaped_str(&mut self.html, language)?;
                    self.html.push('"');
                }
                self.html.write_str(">")
            }
            POP_DIRECTIONAL_ISOLATE => self.html.write_str("</bdi>"),
            other => Html.write_escaped_char(&mut self.html, other),
        }
    }
}

/// The messages of pages beyond plain text.
pub trait PageMessages {
    fn locale(&self) -> &Locale;

    /// Returns the message of a key with one name, as HTML. The name has its language.
    fn html_with(&self, key: &str, name: &'static str, value: impl TextInLanguage) -> Safe<String> {
        let mut html = IsolatedHtml { language: value.language(), ..IsolatedHtml::default() };
        self.locale().write_isolated(&mut html, key, [(name, value.text().into())]);
        Safe(html.html)
    }

    /// Returns a text of the operator in `<bdi>`, with its language.
    fn isolated(&self, value: impl TextInLanguage) -> Safe<String> {
        let mut html = IsolatedHtml { language: value.language(), ..IsolatedHtml::default() };
        // Writing to a String can't fail.
        let _ = html.write_char(FIRST_STRONG_ISOLATE);
        let _ = html.write_str(value.text());
        let _ = html.write_char(POP_DIRECTIONAL_ISOLATE);
        Safe(html.html)
    }

    /// Returns a text of the operator as HTML: in `<bdi>`, with its language, if that is not the
    /// page's.
    fn text_in_language(&self, value: impl TextInLanguage) -> Safe<String> {
        if value.language().is_some() {
            return self.isolated(value);
        }
        let mut html = IsolatedHtml::default();
        // Writing to a String can't fail.
        let _ = html.write_str(value.text());
        Safe(html.html)
    }

    /// Returns the message of a key as HTML: everything is escaped, and each value is in `<bdi>`.
    fn html_with_values<const N: usize>(
        &self,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) -> Safe<String> {
        let mut html = IsolatedHtml::default();
        self.locale().write_isolated(&mut html, key, values);
        Safe(html.html)
    }

    /// Returns the name of a level on the sandbox page.
    fn sandbox_level_label(&self, level: Level) -> String {
        self.locale().text(match level {
            Level::Eidas1 => "sandbox-level-eidas1",
            Level::Eidas2 => "sandbox-level-eidas2",
            Level::Eidas3 => "sandbox-level-eidas3",
        })
    }

    /// Returns the hint beside a level on the sandbox page that is lower than requested.
    fn sandbox_level_too_low(&self) -> String {
        self.locale().text("sandbox-level-too-low")
    }

    /// Returns the label of a simulated failure on the sandbox page; `none` is no failure.
    fn sandbox_failure_label(&self, id: &str) -> String {
        self.locale().text(&format!("sandbox-failure-{id}"))
    }

    /// Returns the name of an authentication method of RFC 8176; `None` for another value.
    fn method_label(&self, id: &str) -> Option<String> {
        is_known_method(id).then(|| self.locale().text(&format!("method-{id}")))
    }

    /// Returns a date `YYYY-MM-DD` in words. For the partial dates `YYYY-MM-00` and `YYYY-00-00`
    /// the text says what is unknown; anything else is returned as it is.
    fn date_in_words(&self, date: &str) -> String {
        self.known_date_in_words(date).unwrap_or_else(|| date.to_owned())
    }

    fn known_date_in_words(&self, date: &str) -> Option<String> {
        let mut parts = date.splitn(3, '-');
        let year = FluentValue::from(parts.next()?);
        let (month, day): (usize, u8) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        if month == 0 {
            return Some(self.locale().text_with_values("date-year", [("year", year)]));
        }
        let month = FluentValue::from(self.locale().text(MONTHS.get(month - 1)?));
        let values = [("year", year), ("month", month)];
        if day == 0 {
            return Some(self.locale().text_with_values("date-month", values));
        }
        let [year, month] = values;
        Some(
            self.locale()
                .text_with_values("date-day", [year, month, ("day", FluentValue::from(day))]),
        )
    }

    /// Returns date and time to the second, in UTC.
    fn date_time(&self, at: Timestamp) -> String {
        let Some(at) = i64::try_from(at.seconds())
            .ok()
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        else {
            return at.seconds().to_string();
        };
        let date = FluentValue::from(self.date_in_words(&at.format("%Y-%m-%d").to_string()));
        let time = FluentValue::from(at.format("%H:%M:%S").to_string());
        self.locale().text_with_values("date-time", [("date", date), ("time", time)])
    }
}

impl PageMessages for Locale {
    fn locale(&self) -> &Locale {
        self
    }
}

const MONTHS: [&str; 12] = [
    "month-1", "month-2", "month-3", "month-4", "month-5", "month-6", "month-7", "month-8",
    "month-9", "month-10", "month-11", "month-12",
];

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_localization::Languages;

    fn locale(tag: &str) -> Locale {
        Languages::built_in().find(tag).unwrap().clone()
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
    fn a_name_can_not_end_its_isolation_or_be_markup() {
        let html = |name: &str| locale("en").html_with("inform-lead", "service", name).0;
        assert_eq!(html("A"), "“<bdi>A</bdi>” will receive:");
        assert_eq!(html("<b>\u{2069}x\u{2068}"), "“<bdi>&#60;b&#62;x</bdi>” will receive:");
        assert_eq!(locale("en").text_with("inform-lead", "service", "A"), "“A” will receive:");
    }

    #[test]
    fn a_name_in_another_language_says_so() {
        let names = [("fr".to_owned(), "Impôts <b>".to_owned())].into();
        for (tag, bdi) in [("de", "<bdi lang=\"fr\">"), ("fr", "<bdi>")] {
            let locale = locale(tag);
            let name = locale.localize(&names);
            let expected = format!("{bdi}Impôts &#60;b&#62;</bdi>");
            assert_eq!(locale.isolated(name).0, expected);
            assert!(locale.html_with("choice-asks", "service", name).0.contains(&expected));
        }
    }
}
