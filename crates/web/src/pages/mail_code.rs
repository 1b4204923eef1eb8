//! The page that asks for a one-time code that the hub sent by mail.

use super::locale::PageMessages as _;
use super::{Locale, title_with_error};
use passerelle_federation::login::MailPage;
use passerelle_localization::OperatorText;

/// The page: one form with `code`, and one for each other answer.
#[derive(Clone, Debug)]
pub struct MailCodePage {
    /// URL that the forms post to.
    pub action: String,
    pub csrf: String,
    /// Name of the service provider.
    pub service: OperatorText,
    pub mail: MailPage,
}

page_template!(MailCodePage, "mail_code.html", |page, t| {
    title_with_error(page.error(t), t.text("mail-page-title"))
});

impl MailCodePage {
    fn error(&self, t: &Locale) -> Option<String> {
        let MailPage { is_expired, is_wrong, tries_left, .. } = self.mail;
        if is_expired {
            return Some(t.text("mail-page-expired"));
        }
        let count = u64::from(tries_left);
        is_wrong.then(|| t.text_with_values("mail-page-wrong", [("count", count.into())]))
    }

    const fn is_invalid(&self) -> bool {
        self.mail.is_wrong || self.mail.is_expired
    }
}
