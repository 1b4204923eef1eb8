//! What the operator has to say to everybody, as a page shows it: `notices.html`.

use super::Locale;
use crate::config::notices::{self, Severity};
use crate::env::Timestamp;

/// In the page's language.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    pub text: String,
    pub severity: Severity,
    /// Absolute https address, from the configuration.
    pub link: Option<String>,
}

impl Notice {
    /// Those in force at this moment.
    #[must_use]
    pub fn in_force(all: &[notices::Notice], locale: Locale, now: Timestamp) -> Vec<Self> {
        let shown = |notice: &notices::Notice| Self {
            text: locale.pick(&notice.text).to_owned(),
            severity: notice.severity,
            link: notice.link.clone(),
        };
        all.iter().filter(|notice| notice.is_in_force(now)).map(shown).collect()
    }

    pub(super) fn is_warning(&self) -> bool {
        self.severity == Severity::Warning
    }
}
