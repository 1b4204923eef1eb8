//! Operator notices as pages show them (`notices.html`).

use super::Locale;
use passerelle_federation::notices;
use passerelle_federation::notices::NoticeSeverity;
use passerelle_localization::OperatorText;
use passerelle_protocol::env::Timestamp;

/// An operator notice in the page's language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisplayedNotice {
    pub text: OperatorText,
    pub severity: NoticeSeverity,
    /// Absolute https address, from the configuration.
    pub link: Option<String>,
}

impl DisplayedNotice {
    /// Returns the notices that are in force at `now`.
    pub fn in_force(all: &[notices::Notice], locale: &Locale, now: Timestamp) -> Vec<Self> {
        let shown = |notice: &notices::Notice| Self {
            text: locale.localize(&notice.text).into(),
            severity: notice.severity,
            link: notice.link.clone(),
        };
        all.iter().filter(|notice| notice.is_in_force(now)).map(shown).collect()
    }

    /// Returns whether the notice is a warning.
    pub fn is_warning(&self) -> bool {
        self.severity == NoticeSeverity::Warning
    }
}
