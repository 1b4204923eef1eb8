//! Writes the mails: plain text and HTML, in the language of the user.
//!
//! A mail has no link, and no fact about the person but the code. Its subject is a fixed message.
//! Names are data of others: they are escaped, and can neither begin a header nor become a link.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use askama::Template;
use lettre::Address;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart};
use passerelle_localization::Locale;
use passerelle_protocol::env::{Env, Timestamp};

/// Characters of a service's name in a mail.
const MAX_NAME_CHARS: usize = 80;
/// Invisible character that joins words. A mail program makes no link of a name with it.
const WORD_JOINER: char = '\u{2060}';

/// The hub in its mails.
pub(crate) struct MailSender {
    pub from: Address,
    pub reply_to: Option<Address>,
    /// Display name of the hub, by language.
    pub name: BTreeMap<String, String>,
    /// `#` and six hex digits.
    pub colour: String,
}

/// Content of a mail.
pub(crate) enum MailContent<'a> {
    /// A one-time code for a sign-in to `service`, with the time for which it remains valid.
    Code { code: &'a str, service: &'a str, remaining: Duration },
    /// The mail of `check --online`.
    Test,
}

#[derive(Template)]
#[template(path = "code.html")]
struct HtmlMail<'a> {
    language: &'a str,
    direction: &'a str,
    subject: &'a str,
    colour: &'a str,
    hub_name: &'a str,
    before: &'a [String],
    code: Option<&'a str>,
    after: &'a [String],
}

/// Says that no person wrote the mail, so that no absence notice answers it (RFC 3834 §5).
#[derive(Clone)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl MailSender {
    /// Writes a mail. `None` if a library can't render it.
    pub(crate) fn write_mail(
        &self,
        to: Address,
        content: &MailContent<'_>,
        locale: &Locale,
        env: &Env,
    ) -> Option<Message> {
        let name = locale.localize(&self.name).to_string();
        let (subject, before, code, after) = content.texts(locale, &name);
        let html = HtmlMail {
            language: locale.tag(),
            direction: locale.direction(),
            subject: &subject,
            colour: &self.colour,
            hub_name: &name,
            before: &before,
            code,
            after: &after,
        };
        let code_lines = code.map(|code| format!("    {code}"));
        let paragraphs: Vec<&str> =
            before.iter().chain(&code_lines).chain(&after).map(String::as_str).collect();
        let text = format!("{}\r\n\r\n{name}\r\n", paragraphs.join("\r\n\r\n"));
        let id = format!("<{}@{}>", env.entropy().token(), self.from.domain());
        let builder = Message::builder()
            .date(system_time(env.now()))
            .message_id(Some(id))
            .from(Mailbox::new(Some(name.clone()), self.from.clone()))
            .to(Mailbox::new(None, to))
            .subject(subject.clone())
            .header(AutoSubmitted);
        let builder = match &self.reply_to {
            Some(reply_to) => builder.reply_to(Mailbox::new(None, reply_to.clone())),
            None => builder,
        };
        let html = html.render().ok()?;
        builder.multipart(MultiPart::alternative_plain_html(text, html)).ok()
    }
}

impl<'a> MailContent<'a> {
    /// Returns the subject, the paragraphs before the code, the code, and those after it.
    fn texts(
        &self,
        locale: &Locale,
        hub: &str,
    ) -> (String, Vec<String>, Option<&'a str>, Vec<String>) {
        match self {
            Self::Code { code, service, remaining } => {
                let minutes = remaining.as_secs().div_ceil(60).max(1);
                let lead = locale.text_with("mail-code-lead", "service", &plain_name(service));
                let valid =
                    locale.text_with_values("mail-code-valid", [("minutes", minutes.into())]);
                let after = vec![valid, locale.text("mail-code-warning")];
                (locale.text("mail-code-subject"), vec![lead], Some(*code), after)
            }
            Self::Test => {
                let text = locale.text_with("mail-test", "hub", hub);
                (locale.text("mail-test-subject"), vec![text], None, Vec::new())
            }
        }
    }
}

/// Returns a name for a text of one line: without control characters, shortened, and so that no mail
/// program makes a link of it (phishing by the name of a service).
fn plain_name(name: &str) -> String {
    let printable = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS);
    let mut plain = String::new();
    for character in printable {
        plain.push(character);
        if matches!(character, '.' | ':' | '/' | '@') {
            plain.push(WORD_JOINER);
        }
    }
    plain
}

fn system_time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.millis())
}
