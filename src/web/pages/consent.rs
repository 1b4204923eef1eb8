//! What is sent to the service provider: for information, or to be agreed to (decisions 5).

use askama::Template;

use super::{Chrome, Locale, draw};

/// One form to `…/consent` with `csrf` and `answer` = `yes` or `no`.
#[derive(Clone, Debug)]
pub struct ConsentPage {
    /// The login's public name, for the form's address.
    pub interaction: String,
    pub csrf: String,
    /// Names what is on the page; `csrf` binds it.
    pub shown: String,
    /// The service provider's name, from its file.
    pub service: String,
    /// The identity provider's name.
    pub provider: String,
    pub source: Source,
    pub question: Question,
    /// Empty when the service provider gets a pseudonym only.
    pub claims: Vec<Claim>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// The person is told, and goes on.
    Information,
    /// The person says yes or no.
    Consent,
}

/// Where the claims come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    Register,
    Provider,
}

#[derive(Clone, Debug)]
pub struct Claim {
    pub name: ClaimName,
    /// As it is delivered; `None` shows that nothing is known.
    pub value: Option<String>,
}

/// The claims that a page can name.
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

    /// The claim of a wire name; `None` for those that say nothing more to a person (`sub`, and `given_name_array`,
    /// which is `given_name` again).
    #[must_use]
    pub fn of_wire(name: &str) -> Option<Self> {
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

impl Claim {
    /// The value as a person reads it.
    fn words(&self, t: &Locale) -> String {
        let Some(value) = self.value.as_deref().filter(|value| !value.is_empty()) else {
            return t.text("value-none");
        };
        match (self.name, value) {
            (ClaimName::Birthdate, _) => t.date(value),
            (ClaimName::Gender, "female") => t.text("gender-female"),
            (ClaimName::Gender, "male") => t.text("gender-male"),
            (ClaimName::Gender, "unspecified") => t.text("gender-unspecified"),
            (ClaimName::EmailVerified | ClaimName::PhoneNumberVerified, "true") => {
                t.text("value-yes")
            }
            (ClaimName::EmailVerified | ClaimName::PhoneNumberVerified, _) => t.text("value-no"),
            (ClaimName::Birthcountry, "99100") => t.text("country-99100"),
            (ClaimName::Birthcountry | ClaimName::Birthplace, _) => {
                t.with("value-code", "code", value)
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

impl ConsentPage {
    #[must_use]
    pub fn render(&self, chrome: &Chrome<'_>) -> String {
        let t = chrome.locale;
        let (title, lead) = match self.question {
            Question::Information => ("inform-title", "inform-lead"),
            Question::Consent => ("consent-title", "consent-lead"),
        };
        let (lead, source) = match (self.claims.is_empty(), self.source) {
            (true, _) => ("consent-pseudonym", "consent-account"),
            (false, Source::Register) => (lead, "consent-source-register"),
            (false, Source::Provider) => (lead, "consent-source-provider"),
        };
        draw(&ConsentTemplate {
            chrome,
            t,
            title: t.text(title),
            lead: t.with(lead, "service", &self.service),
            source: t.with(source, "provider", &self.provider),
            is_consent: self.question == Question::Consent,
            page: self,
        })
    }
}

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentTemplate<'a> {
    chrome: &'a Chrome<'a>,
    t: Locale,
    title: String,
    lead: String,
    source: String,
    is_consent: bool,
    page: &'a ConsentPage,
}
