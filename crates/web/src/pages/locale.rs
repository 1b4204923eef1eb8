//! Levels, test failures and dates in the language of a page.

use std::fmt::{self, Write};

use askama::filters::{Escaper as _, Html, Safe};
use chrono::DateTime;

use passerelle_federation::assurance::amr::is_known_method;
use passerelle_localization::{FIRST_STRONG_ISOLATE, FluentValue, Locale, POP_DIRECTIONAL_ISOLATE};
use passerelle_protocol::acr::Level;
use passerelle_protocol::env::Timestamp;

/// Escaped text that has each isolated value in `<bdi>`.
struct IsolatedHtml(String);

impl Write for IsolatedHtml {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Html.write_escaped_str(&mut self.0, text)
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        match c {
            FIRST_STRONG_ISOLATE => self.0.write_str("<bdi>"),
            POP_DIRECTIONAL_ISOLATE => self.0.write_str("</bdi>"),
            other => Html.write_escaped_char(&mut self.0, other),
        }
    }
}

/// The messages of pages beyond plain text.
pub trait PageMessages {
    fn locale(&self) -> &Locale;

    /// Returns the message of a key with one name, as HTML.
    fn html_with(&self, key: &str, name: &'static str, value: &str) -> Safe<String> {
        self.html_with_values(key, [(name, value.into())])
    }

    /// Returns the message of a key as HTML: everything is escaped, and each value is in `<bdi>`.
    fn html_with_values<const N: usize>(
        &self,
        key: &str,
        values: [(&'static str, FluentValue<'_>); N],
    ) -> Safe<String> {
        let mut html = IsolatedHtml(String::new());
        self.locale().write_isolated(&mut html, key, values);
        Safe(html.0)
    }

    /// Returns the name of a level on the sandbox page.
    #[must_use]
    fn sandbox_level_label(&self, level: Level) -> String {
        self.locale().text(match level {
            Level::Eidas1 => "sandbox-level-eidas1",
            Level::Eidas2 => "sandbox-level-eidas2",
            Level::Eidas3 => "sandbox-level-eidas3",
        })
    }

    /// Returns the hint beside a level on the sandbox page that is lower than requested.
    #[must_use]
    fn sandbox_level_too_low(&self) -> String {
        self.locale().text("sandbox-level-too-low")
    }

    /// Returns the label of a simulated failure on the sandbox page; `none` is no failure.
    #[must_use]
    fn sandbox_failure_label(&self, id: &str) -> String {
        self.locale().text(&format!("sandbox-failure-{id}"))
    }

    /// Returns the name of an authentication method of RFC 8176; `None` for another value.
    #[must_use]
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
}
