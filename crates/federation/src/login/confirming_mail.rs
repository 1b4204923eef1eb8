//! State: the user enters a one-time code that the hub has sent by mail (docs/mail.md).
//!
//! The code is sent when the page is opened, so that the mail has the page's language. Each new
//! code, each wrong one and the right one are stored before anything else happens: of two hubs, one
//! succeeds, so a code counts once and a wrong one can't be tried again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    Completed, Consenting, Effect, Failed, IdentifiedUser, LoginAnswer, LoginContext, LoginRequest,
    LoginState, MailAction, MailEffect, MailLanguage, MailSubmission, NextAction, Step, StepInputs,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest::{self, HmacKey};
use passerelle_protocol::env::{Entropy, Timestamp};
use passerelle_protocol::ids::{InteractionHash, Secret, Subject};

/// How long a code is valid.
pub const MAIL_CODE_LIFETIME: Duration = Duration::from_secs(600);
/// Time after which the user may ask for another code.
pub const MAIL_RESEND_INTERVAL: Duration = Duration::from_secs(60);
/// Wrong codes after which the login fails.
pub const MAX_WRONG_MAIL_CODES: u8 = 5;
const MAIL_CODE_DIGITS: usize = 6;

/// A code by mail that rules ask for, before it is sent.
#[derive(Clone)]
pub struct MailRequirement {
    /// By which the address and the wrong codes are stored; never a service provider's `sub`.
    pub person: Subject,
    pub address: Secret<String>,
}

/// An identified user who has to confirm a mailbox.
#[derive(Clone, Serialize, Deserialize)]
pub struct ConfirmingMail {
    #[serde(rename = "proven")]
    user: IdentifiedUser,
    person: Subject,
    #[serde(with = "passerelle_protocol::ids::stored_secret")]
    address: Secret<String>,
    /// The code in force. `None`: the page sends the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<SentCode>,
    /// Wrong codes that were entered in this login.
    #[serde(default)]
    wrong_codes: u8,
    /// Whether the last code that was entered was wrong.
    #[serde(default)]
    is_wrong: bool,
    /// Whether the right code was entered. It can't be used again.
    #[serde(default)]
    is_confirmed: bool,
}

/// A code, known by its digest.
#[derive(Clone, Serialize, Deserialize)]
struct SentCode {
    /// HMAC under a key that is not in the store: a million codes are quickly tried.
    digest: String,
    sent_at: Timestamp,
}

impl SentCode {
    fn is_valid(&self, now: Timestamp) -> bool {
        now.since(self.sent_at) < MAIL_CODE_LIFETIME
    }
}

/// Content of the page that asks for the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MailPage {
    /// The address with all but the first letters of its two parts hidden.
    pub masked_address: String,
    /// Codes that may still be entered.
    pub tries_left: u8,
    /// Whether the last code that was entered was wrong.
    pub is_wrong: bool,
    pub is_expired: bool,
    /// Seconds until another code may be requested.
    pub resend_after: u64,
}

redacted_debug!(MailRequirement, ConfirmingMail);

impl ConfirmingMail {
    /// Sends the browser to the page.
    pub(super) fn enter(
        context: Box<LoginContext>,
        user: IdentifiedUser,
        requirement: MailRequirement,
    ) -> Step {
        let MailRequirement { person, address } = requirement;
        let state = Self {
            user,
            person,
            address,
            sent: None,
            wrong_codes: 0,
            is_wrong: false,
            is_confirmed: false,
        };
        let state = LoginState::ConfirmingMail(Box::new(state));
        Step::save_and_answer(context, state, LoginAnswer::RedirectToMail)
    }

    /// Returns the user.
    pub const fn user(&self) -> &IdentifiedUser {
        &self.user
    }

    /// Returns true if the right code was entered.
    pub const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Applies a request of the browser.
    pub(super) fn on_request(
        self: Box<Self>,
        context: Box<LoginContext>,
        request: LoginRequest,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match request {
            // The process that accepted the code may have died before it confirmed the address.
            LoginRequest::OpenPage { .. }
            | LoginRequest::OpenMailPage(_)
            | LoginRequest::Mail(MailSubmission::Code(_))
                if self.is_confirmed =>
            {
                self.confirm_address(context)
            }
            LoginRequest::OpenMailPage(language) => self.on_open_page(context, language, inputs),
            LoginRequest::Mail(MailSubmission::Code(code)) => self.on_code(context, &code, inputs),
            LoginRequest::Mail(MailSubmission::Resend) => self.on_resend(context, inputs),
            LoginRequest::Mail(MailSubmission::Unreadable) => {
                self.fail(context, ErrorCode::MailUnreadable)
            }
            LoginRequest::OpenPage { .. } => self.show_page(context),
            LoginRequest::Cancel => Completed::finish_with_error(context, ErrorCode::UserCancelled),
            // A repeated callback gets the same answer.
            LoginRequest::Callback(callback)
                if context.accepted_state.as_deref() == Some(&callback.state) =>
            {
                self.show_page(context)
            }
            LoginRequest::Callback(_) => self.show_error(context, ErrorCode::StateUnknown),
            LoginRequest::Choose(_)
            | LoginRequest::OpenConsentPage
            | LoginRequest::Consent(_)
            | LoginRequest::ReportWrongUser
            | LoginRequest::Displace => self.show_error(context, ErrorCode::StepOutOfOrder),
        }
    }

    /// Applies the outcome of [`Effect::Mail`].
    pub(super) fn on_mail_outcome(
        self: Box<Self>,
        context: Box<LoginContext>,
        result: Result<(), ErrorCode>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        match result {
            Err(code) => self.fail(context, code),
            Ok(()) if self.is_confirmed => Consenting::enter(context, self.user, inputs),
            Ok(()) if self.wrong_codes >= MAX_WRONG_MAIL_CODES => {
                self.fail(context, ErrorCode::MailCodeWrong)
            }
            Ok(()) if self.is_wrong => self.show_page(context),
            Ok(()) => self.answer_page(context, inputs.now),
        }
    }

    /// Sends a code if none is in force.
    fn on_open_page(
        mut self: Box<Self>,
        context: Box<LoginContext>,
        language: MailLanguage,
        inputs: &StepInputs<'_>,
    ) -> Step {
        if self.sent.is_some() {
            return self.answer_page(context, inputs.now);
        }
        let code = new_code(inputs.entropy);
        self.sent = Some(SentCode {
            digest: code_digest(inputs.mail_code_key, &context.hash, inputs.now, code.reveal()),
            sent_at: inputs.now,
        });
        let send = MailAction::Send {
            address: self.address.clone(),
            code,
            language,
            expires_at: (inputs.now + MAIL_CODE_LIFETIME).min(context.expires_at),
        };
        self.save_and_perform(context, send)
    }

    fn on_code(
        mut self: Box<Self>,
        context: Box<LoginContext>,
        code: &Secret<String>,
        inputs: &StepInputs<'_>,
    ) -> Step {
        // The page says that the code has expired.
        let Some(sent) = self.sent.as_ref().filter(|sent| sent.is_valid(inputs.now)) else {
            return self.show_page(context);
        };
        // A slip, for example a digit that is missing: it guesses nothing.
        if code.reveal().len() != MAIL_CODE_DIGITS {
            self.is_wrong = true;
            let state = LoginState::ConfirmingMail(self);
            return Step::save_and_answer(context, state, LoginAnswer::RedirectToMail);
        }
        let entered = code_digest(inputs.mail_code_key, &context.hash, sent.sent_at, code.reveal());
        if !digest::constant_time_eq(entered.as_bytes(), sent.digest.as_bytes()) {
            (self.wrong_codes, self.is_wrong) = (self.wrong_codes.saturating_add(1), true);
            return self.save_and_perform(context, MailAction::RecordWrongCode);
        }
        (self.is_confirmed, self.sent) = (true, None);
        self.user.evidence.add_mail();
        self.confirm_address(context)
    }

    /// Lets the right code count, unless the person has entered too many wrong ones in all logins.
    fn confirm_address(self: Box<Self>, context: Box<LoginContext>) -> Step {
        let confirm = MailAction::ConfirmAddress(self.address.clone());
        self.save_and_perform(context, confirm)
    }

    /// Lets the page send another code. The wrong codes of the login stay counted.
    fn on_resend(mut self: Box<Self>, context: Box<LoginContext>, inputs: &StepInputs<'_>) -> Step {
        if self.resend_after(inputs.now).is_zero() {
            (self.sent, self.is_wrong) = (None, false);
        }
        let state = LoginState::ConfirmingMail(self);
        Step::save_and_answer(context, state, LoginAnswer::RedirectToMail)
    }

    fn resend_after(&self, now: Timestamp) -> Duration {
        let sent = self.sent.as_ref();
        sent.map_or(Duration::ZERO, |sent| (sent.sent_at + MAIL_RESEND_INTERVAL).since(now))
    }

    fn save_and_perform(self: Box<Self>, context: Box<LoginContext>, action: MailAction) -> Step {
        let effect = MailEffect {
            connector: self.user.authentication.connector.clone(),
            person: self.person.clone(),
            action,
        };
        Step::save_and_perform(
            context,
            LoginState::ConfirmingMail(self),
            Effect::Mail(Box::new(effect)),
        )
    }

    fn show_page(self: Box<Self>, context: Box<LoginContext>) -> Step {
        Step::answer_unsaved(context, LoginState::ConfirmingMail(self), LoginAnswer::RedirectToMail)
    }

    fn answer_page(self: Box<Self>, context: Box<LoginContext>, now: Timestamp) -> Step {
        let is_expired = self.sent.as_ref().is_some_and(|sent| !sent.is_valid(now));
        let resend_after = self.resend_after(now);
        let page = MailPage {
            masked_address: mask_address(self.address.reveal()),
            tries_left: MAX_WRONG_MAIL_CODES.saturating_sub(self.wrong_codes),
            is_wrong: self.is_wrong,
            is_expired,
            resend_after: resend_after.as_secs() + u64::from(resend_after.subsec_nanos() > 0),
        };
        Step::answer_unsaved(context, LoginState::ConfirmingMail(self), LoginAnswer::MailPage(page))
    }

    /// Ends the login with this account. Another account or the service provider is the way on.
    fn fail(self: Box<Self>, context: Box<LoginContext>, code: ErrorCode) -> Step {
        Failed::from_identification_error(code.into(), self.user.authentication.connector)
            .enter(context)
    }

    fn show_error(self: Box<Self>, context: Box<LoginContext>, code: ErrorCode) -> Step {
        Step::show_error(context, LoginState::ConfirmingMail(self), code, NextAction::ChooseIdp)
    }
}

/// Returns a new code, each as likely as any other.
fn new_code(entropy: &dyn Entropy) -> Secret<String> {
    let [a, b, c, d, e, f, g, h, ..] = entropy.bits256();
    let number = u64::from_be_bytes([a, b, c, d, e, f, g, h]) % 1_000_000;
    Secret::new(format!("{number:0MAIL_CODE_DIGITS$}"))
}

/// Returns the digest of a code, which is bound to its login and to when it was sent.
fn code_digest(key: &HmacKey, login: &InteractionHash, sent_at: Timestamp, code: &str) -> String {
    let message = format!("{}\n{}\n{code}", login.as_str(), sent_at.millis());
    digest::base64url(&key.tag(message.as_bytes()))
}

/// Returns the first letters of both parts of the address: `a***@e***`, whatever their lengths.
fn mask_address(address: &str) -> String {
    let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let first = |part: &str| part.chars().next().map(String::from).unwrap_or_default();
    format!("{}***@{}***", first(local), first(domain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::SeededEntropy;

    #[test]
    fn a_code_is_six_digits_and_its_digest_differs_by_login_and_time() {
        let entropy = SeededEntropy::new(1);
        let codes: Vec<String> = (0..500).map(|_| new_code(&entropy).reveal().clone()).collect();
        assert!(codes.iter().all(|code| code.len() == 6 && code.parse::<u32>().is_ok()));
        assert!(codes.iter().any(|code| code.starts_with('0')));
        let key = HmacKey::new(b"key");
        let digest = |login: &str, at| {
            code_digest(&key, &InteractionHash::new(login), Timestamp::from_seconds(at), "123456")
        };
        assert_ne!(digest("a", 1), digest("b", 1));
        assert_ne!(digest("a", 1), digest("a", 2));
    }

    #[test]
    fn the_page_shows_two_letters_of_an_address_whatever_its_length() {
        for (address, masked) in [
            ("angela@example.org", "a***@e***"),
            ("a@b", "a***@b***"),
            ("\"x@y\"@example.org", "\"***@e***"),
            ("élise@exemple.fr", "é***@e***"),
        ] {
            assert_eq!(mask_address(address), masked);
        }
    }
}
