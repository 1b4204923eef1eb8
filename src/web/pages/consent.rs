//! The page that shows which claims the service provider gets, for information or for consent.

use askama::Template;

use super::{Locale, PageChrome, render_template};
use crate::identity::Claim;

/// The consent page: one form to `…/consent` with `csrf`, `page_digest` and `answer` = `yes` or
/// `no`.
#[derive(Clone, Debug)]
pub struct ConsentPage {
    /// The login's hash, for the form's URL.
    pub interaction: String,
    pub csrf: String,
    /// Digest of the displayed claims; `csrf` binds it.
    pub page_digest: String,
    /// Name of the service provider.
    pub service: String,
    /// Name of the identity provider.
    pub provider: String,
    pub source: ClaimSource,
    pub mode: ConsentMode,
    /// Empty if the service provider gets only a pseudonym.
    pub claims: Vec<ConsentClaim>,
}

/// Whether the page informs or asks for consent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsentMode {
    /// The user is informed and continues.
    Information,
    /// The user consents or declines.
    Consent,
}

/// Source of the claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimSource {
    Register,
    Provider,
}

/// A claim on the consent page.
#[derive(Clone, Debug)]
pub struct ConsentClaim {
    pub name: Claim,
    /// The value as delivered; `None` if it is unknown.
    pub value: Option<String>,
}

/// Returns whether pages name the claim: `sub` is a pseudonym, and `given_name_array` repeats
/// `given_name`.
#[must_use]
pub const fn has_label(claim: Claim) -> bool {
    !matches!(claim, Claim::Sub | Claim::GivenNameArray)
}

impl Locale {
    /// Returns the claim's label in the page's language.
    pub(super) fn claim_label(self, claim: &Claim) -> String {
        match claim {
            Claim::GivenName => self.text("claim-given-names"),
            claim => self.text(&format!("claim-{}", claim.as_str().replace('_', "-"))),
        }
    }
}

impl ConsentClaim {
    /// Returns the value in the page's language.
    fn display_value(&self, t: &Locale) -> String {
        let Some(value) = self.value.as_deref().filter(|value| !value.is_empty()) else {
            return t.text("value-none");
        };
        match (self.name, value) {
            (Claim::Birthdate, _) => t.date_in_words(value),
            (Claim::Gender, "female") => t.text("gender-female"),
            (Claim::Gender, "male") => t.text("gender-male"),
            (Claim::Gender, "unspecified") => t.text("gender-unspecified"),
            (Claim::EmailVerified | Claim::PhoneNumberVerified, "true") => t.text("value-yes"),
            (Claim::EmailVerified | Claim::PhoneNumberVerified, _) => t.text("value-no"),
            (Claim::Birthcountry, "99100") => t.text("country-99100"),
            (Claim::Birthcountry | Claim::Birthplace, _) => {
                t.text_with("value-code", "code", value)
            }
            _ => value.to_owned(),
        }
    }
}

impl ConsentPage {
    /// Renders the page as HTML.
    #[must_use]
    pub fn render(&self, chrome: &PageChrome<'_>) -> String {
        let t = chrome.locale;
        let (title, lead) = match self.mode {
            ConsentMode::Information => ("inform-title", "inform-lead"),
            ConsentMode::Consent => ("consent-title", "consent-lead"),
        };
        let (lead, source) = match (self.claims.is_empty(), self.source) {
            (true, _) => ("consent-pseudonym", "consent-account"),
            (false, ClaimSource::Register) => (lead, "consent-source-register"),
            (false, ClaimSource::Provider) => (lead, "consent-source-provider"),
        };
        render_template(&ConsentTemplate {
            chrome,
            t,
            title: t.text(title),
            lead: t.text_with(lead, "service", &self.service),
            source: t.text_with(source, "provider", &self.provider),
            is_consent: self.mode == ConsentMode::Consent,
            page: self,
        })
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentTemplate<'a> {
    chrome: &'a PageChrome<'a>,
    t: Locale,
    title: String,
    lead: String,
    source: String,
    is_consent: bool,
    page: &'a ConsentPage,
}
