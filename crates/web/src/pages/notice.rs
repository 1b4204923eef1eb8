//! Operator notices as pages show them (`notices.html`).

use super::Locale;
use passerelle_federation::notices::{Notice, NoticeSeverity};
use passerelle_localization::OperatorText;

/// An operator notice in the page's language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplayedNotice {
    pub text: OperatorText,
    pub severity: NoticeSeverity,
    /// Absolute https address, from an operator.
    pub link: Option<String>,
}

impl DisplayedNotice {
    /// Selects the text in the page's language.
    pub fn new(notice: Notice, locale: &Locale) -> Self {
        let Notice { text, severity, link, .. } = notice;
        Self { text: locale.localize(&text).into(), severity, link }
    }

    /// Returns whether the notice is a warning.
    pub fn is_warning(&self) -> bool {
        self.severity == NoticeSeverity::Warning
    }
}
