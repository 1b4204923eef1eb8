//! The page that shows which claims the service provider gets, for information or for consent.

use askama::filters::Safe;

use super::locale::PageMessages as _;
use super::{Locale, PageChrome};
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::{Claim, ClaimName};
use passerelle_federation::login::ClaimsSource;
use passerelle_localization::OperatorText;

/// The consent page: one form to `…/consent` with `csrf`, `page_digest` and `answer` = `yes` or
/// `no`.
#[derive(Clone, Debug)]
pub struct ConsentPage {
    /// The login's hash, for the form's URL.
    pub interaction: String,
    pub csrf: String,
    /// Token of the form to `…/not-me`.
    pub not_me_csrf: String,
    /// The name of the signed-in person, if the hub knows one.
    pub person: Option<String>,
    /// Digest of the displayed claims; `csrf` binds it.
    pub page_digest: String,
    /// Name of the service provider.
    pub service: OperatorText,
    /// Name of the identity provider.
    pub provider: OperatorText,
    pub source: ClaimsSource,
    pub mode: ConsentMode,
    /// Whether the service provider may fetch the claims again while the user is away.
    pub offline_access: bool,
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

/// How a page names a claim.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::From)]
pub enum ClaimLabel {
    /// By the page's own text.
    #[from]
    Specified(Claim),
    /// By the label of its declaration, in the page's language.
    Declared(OperatorText),
}

/// A claim on the consent page.
#[derive(Clone, Debug)]
pub struct ConsentClaim {
    pub name: ClaimLabel,
    /// The value as delivered; `None` if it is unknown.
    pub value: Option<String>,
    /// The name of the place or country that the value is the code of, if the hub knows it.
    pub place: Option<String>,
}

/// Returns whether pages name the claim: `sub` is a pseudonym, and `given_name_array` repeats
/// `given_name`.
pub(super) const fn has_label(claim: Claim) -> bool {
    !matches!(claim, Claim::Sub | Claim::GivenNameArray)
}

impl ClaimLabel {
    /// Returns the label of a claim; `None` for one that pages don't name.
    pub fn new(claim: &ClaimName, declared: &DeclaredClaims, t: &Locale) -> Option<Self> {
        match claim {
            ClaimName::Specified(claim) => has_label(*claim).then_some((*claim).into()),
            ClaimName::Declared(name) => {
                let label = &declared.get(name)?.label;
                Some(Self::Declared(t.localize(label).into()))
            }
        }
    }

    /// Returns the label in the page's language.
    pub(super) fn text(&self, t: &Locale) -> OperatorText {
        match self {
            Self::Specified(Claim::GivenName) => t.text("claim-given-names").into(),
            Self::Specified(claim) => {
                t.text(&format!("claim-{}", claim.as_str().replace('_', "-"))).into()
            }
            Self::Declared(label) => label.clone(),
        }
    }
}

impl ConsentClaim {
    /// Returns the value in the page's language.
    fn display_value(&self, t: &Locale) -> String {
        if let Some(place) = &self.place {
            return place.clone();
        }
        let Some(value) = self.value.as_deref().filter(|value| !value.is_empty()) else {
            return t.text("value-none");
        };
        let ClaimLabel::Specified(name) = self.name else { return value.to_owned() };
        match (name, value) {
            (Claim::Birthdate, _) => t.date_in_words(value),
            (Claim::Gender, "female") => t.text("gender-female"),
            (Claim::Gender, "male") => t.text("gender-male"),
            (Claim::Gender, "unspecified") => t.text("gender-unspecified"),
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
    fn url(&self, chrome: &PageChrome<'_>) -> String {
        format!("{}/interaction/{}", chrome.base_path, self.interaction)
    }

    fn is_consent(&self) -> bool {
        self.mode == ConsentMode::Consent
    }

    /// Returns whether the page says why the service asks: the question for consent says so itself.
    fn says_why(&self) -> bool {
        !self.is_consent() && !self.claims.is_empty()
    }

    fn lead(&self, t: &Locale) -> Safe<String> {
        let lead = match self.mode {
            _ if self.claims.is_empty() => "consent-pseudonym",
            ConsentMode::Information => "inform-lead",
            ConsentMode::Consent => "consent-lead",
        };
        t.html_with(lead, "service", &self.service)
    }

    fn source(&self, t: &Locale) -> Safe<String> {
        let source = match self.source {
            _ if self.claims.is_empty() => "consent-account",
            ClaimsSource::Register => "consent-source-register",
            ClaimsSource::Provider => "consent-source-provider",
        };
        t.html_with(source, "provider", &self.provider)
    }
}
