//! The page that shows which claims the service provider gets, for information or for consent.

use super::Locale;
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

page_template!(ConsentPage, "consent.html", |page, t| {
    t.text(if page.is_consent() { "consent-title" } else { "inform-title" })
});

impl ConsentPage {
    fn is_consent(&self) -> bool {
        self.mode == ConsentMode::Consent
    }

    fn lead(&self, t: &Locale) -> String {
        let lead = match self.mode {
            _ if self.claims.is_empty() => "consent-pseudonym",
            ConsentMode::Information => "inform-lead",
            ConsentMode::Consent => "consent-lead",
        };
        t.text_with(lead, "service", &self.service)
    }

    fn source(&self, t: &Locale) -> String {
        let source = match self.source {
            _ if self.claims.is_empty() => "consent-account",
            ClaimSource::Register => "consent-source-register",
            ClaimSource::Provider => "consent-source-provider",
        };
        t.text_with(source, "provider", &self.provider)
    }
}
