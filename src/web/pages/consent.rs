//! The page that shows which claims the service provider gets, for information or for consent.

use super::Locale;

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
    pub name: ClaimName,
    /// The value as delivered; `None` if it is unknown.
    pub value: Option<String>,
}

/// A claim that has a label on pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClaimName {
    GivenNames,
    FamilyName,
    Birthdate,
    Gender,
    Birthplace,
    Birthcountry,
    PreferredUsername,
    Email,
    Name,
    MiddleName,
    Nickname,
    Profile,
    Picture,
    Website,
    Zoneinfo,
    Locale,
    UpdatedAt,
    EmailVerified,
    PhoneNumber,
    PhoneNumberVerified,
    Address,
}

impl ClaimName {
    /// All claims with a label.
    pub const ALL: [Self; 21] = [
        Self::GivenNames,
        Self::FamilyName,
        Self::Birthdate,
        Self::Gender,
        Self::Birthplace,
        Self::Birthcountry,
        Self::PreferredUsername,
        Self::Email,
        Self::Name,
        Self::MiddleName,
        Self::Nickname,
        Self::Profile,
        Self::Picture,
        Self::Website,
        Self::Zoneinfo,
        Self::Locale,
        Self::UpdatedAt,
        Self::EmailVerified,
        Self::PhoneNumber,
        Self::PhoneNumberVerified,
        Self::Address,
    ];

    /// Returns the claim of a wire name; `None` for claims that pages do not show (`sub`, and
    /// `given_name_array`, which repeats `given_name`).
    #[must_use]
    pub fn from_wire_name(name: &str) -> Option<Self> {
        Some(match name {
            "given_name" => Self::GivenNames,
            "family_name" => Self::FamilyName,
            "birthdate" => Self::Birthdate,
            "gender" => Self::Gender,
            "birthplace" => Self::Birthplace,
            "birthcountry" => Self::Birthcountry,
            "preferred_username" => Self::PreferredUsername,
            "email" => Self::Email,
            "name" => Self::Name,
            "middle_name" => Self::MiddleName,
            "nickname" => Self::Nickname,
            "profile" => Self::Profile,
            "picture" => Self::Picture,
            "website" => Self::Website,
            "zoneinfo" => Self::Zoneinfo,
            "locale" => Self::Locale,
            "updated_at" => Self::UpdatedAt,
            "email_verified" => Self::EmailVerified,
            "phone_number" => Self::PhoneNumber,
            "phone_number_verified" => Self::PhoneNumberVerified,
            "address" => Self::Address,
            _ => return None,
        })
    }

    /// Returns the claim's label in the page's language.
    pub(super) fn label(self, t: &Locale) -> String {
        t.text(match self {
            Self::GivenNames => "claim-given-names",
            Self::FamilyName => "claim-family-name",
            Self::Birthdate => "claim-birthdate",
            Self::Gender => "claim-gender",
            Self::Birthplace => "claim-birthplace",
            Self::Birthcountry => "claim-birthcountry",
            Self::PreferredUsername => "claim-preferred-username",
            Self::Email => "claim-email",
            Self::Name => "claim-name",
            Self::MiddleName => "claim-middle-name",
            Self::Nickname => "claim-nickname",
            Self::Profile => "claim-profile",
            Self::Picture => "claim-picture",
            Self::Website => "claim-website",
            Self::Zoneinfo => "claim-zoneinfo",
            Self::Locale => "claim-locale",
            Self::UpdatedAt => "claim-updated-at",
            Self::EmailVerified => "claim-email-verified",
            Self::PhoneNumber => "claim-phone-number",
            Self::PhoneNumberVerified => "claim-phone-number-verified",
            Self::Address => "claim-address",
        })
    }
}

impl ConsentClaim {
    /// Returns the value in the page's language.
    fn display_value(&self, t: &Locale) -> String {
        let Some(value) = self.value.as_deref().filter(|value| !value.is_empty()) else {
            return t.text("value-none");
        };
        match (self.name, value) {
            (ClaimName::Birthdate, _) => t.date_in_words(value),
            (ClaimName::Gender, "female") => t.text("gender-female"),
            (ClaimName::Gender, "male") => t.text("gender-male"),
            (ClaimName::Gender, "unspecified") => t.text("gender-unspecified"),
            (ClaimName::EmailVerified | ClaimName::PhoneNumberVerified, "true") => {
                t.text("value-yes")
            }
            (ClaimName::EmailVerified | ClaimName::PhoneNumberVerified, _) => t.text("value-no"),
            (ClaimName::Birthcountry, "99100") => t.text("country-99100"),
            (ClaimName::Birthcountry | ClaimName::Birthplace, _) => {
                t.text_with("value-code", "code", value)
            }
            (
                ClaimName::Gender
                | ClaimName::GivenNames
                | ClaimName::FamilyName
                | ClaimName::PreferredUsername
                | ClaimName::Email
                | ClaimName::Name
                | ClaimName::MiddleName
                | ClaimName::Nickname
                | ClaimName::Profile
                | ClaimName::Picture
                | ClaimName::Website
                | ClaimName::Zoneinfo
                | ClaimName::Locale
                | ClaimName::UpdatedAt
                | ClaimName::PhoneNumber
                | ClaimName::Address,
                _,
            ) => value.to_owned(),
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
