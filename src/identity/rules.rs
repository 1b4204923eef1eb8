//! Validates claims into an [`Identity`], or names the claim and the rule that it breaks, never its
//! value. What the subject needs is checked strictly; a malformed claim that it doesn't need is left
//! out and reported.
//!
//! `null` and the empty string count as absent: OpenID Connect Core §5.3.2 asks senders to omit
//! such claims, and some send `"birthplace": ""` for a birth abroad.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::claim_reader::{ClaimReader, DroppedClaim};
use super::{Claim, DeclaredValues, Identity, pivot, standard};
use crate::protocol::catalogue::ErrorCode;

/// Requirements of an identity beyond the form of each claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityRules {
    /// Geographic code of the country whose births require a `birthplace`.
    pub home_country: String,
    pub required: RequiredClaims,
}

/// Which claims are required.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequiredClaims {
    /// A complete pivot identity.
    Pivot,
    /// None except `sub`, for `subject = "provider"`.
    SubjectOnly,
}

/// A claim breaks a rule. Contains no value, so it can be logged and displayed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{claim}: {rule}")]
pub struct IdentityError {
    pub claim: Claim,
    pub rule: IdentityRule,
}

impl IdentityError {
    /// Returns the error code of the login.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self.rule {
            IdentityRule::Required | IdentityRule::NameRequired | IdentityRule::RequiredAtHome => {
                ErrorCode::IdentityIncomplete
            }
            IdentityRule::Text
            | IdentityRule::TextArray
            | IdentityRule::Length
            | IdentityRule::ControlCharacter
            | IdentityRule::Letter
            | IdentityRule::Calendar
            | IdentityRule::Geographic
            | IdentityRule::Gender
            | IdentityRule::Email
            | IdentityRule::Boolean
            | IdentityRule::Seconds
            | IdentityRule::WebAddress
            | IdentityRule::Address => ErrorCode::IdentityMalformed,
        }
    }
}

/// A rule for claims; its text says what would be valid.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdentityRule {
    #[error("required")]
    Required,
    #[error("a given name or a family name is required")]
    NameRequired,
    #[error("required for a birth in the home country")]
    RequiredAtHome,
    #[error("must be a string")]
    Text,
    #[error("must be an array of strings")]
    TextArray,
    #[error("must have 1 to 256 characters")]
    Length,
    #[error("must have no control, line-separating or direction-changing character")]
    ControlCharacter,
    #[error("must have a letter or a digit")]
    Letter,
    #[error(
        "must be a calendar day as YYYY-MM-DD, or an incomplete date as YYYY-MM-00 or YYYY-00-00"
    )]
    Calendar,
    #[error("must be a geographic code: two digits, 2A or 2B, then three digits")]
    Geographic,
    #[error("must be male, female or unspecified")]
    Gender,
    #[error("must be an address with one @, without spaces, of at most 254 characters")]
    Email,
    #[error("must be true or false, without quotation marks")]
    Boolean,
    #[error("must be a number of seconds since 1970")]
    Seconds,
    #[error("must be an http or https URL")]
    WebAddress,
    #[error(
        "must be an object with formatted, street_address, locality, region, postal_code or country"
    )]
    Address,
}

impl IdentityRule {
    /// Returns the label for metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Required | Self::NameRequired | Self::RequiredAtHome => "missing",
            Self::Text | Self::TextArray | Self::Boolean | Self::Seconds | Self::Address => "type",
            Self::Length => "size",
            Self::ControlCharacter => "characters",
            Self::Letter
            | Self::Calendar
            | Self::Geographic
            | Self::Gender
            | Self::Email
            | Self::WebAddress => "form",
        }
    }

    /// Returns true if the rule reports a missing claim rather than a malformed one.
    #[must_use]
    pub const fn is_missing_claim(self) -> bool {
        matches!(self, Self::Required | Self::NameRequired | Self::RequiredAtHome)
    }
}

impl Identity {
    /// Validates and normalises the claims of an identity provider or a register. Names become NFC
    /// without outer spaces; `given_name_array` takes precedence over `given_name`. Claims that are
    /// not part of an identity are ignored, and malformed ones that the subject doesn't need are
    /// left out.
    ///
    /// # Errors
    /// The first malformed claim that is needed, else the first missing one.
    pub fn from_claims(
        claims: &Map<String, Value>,
        rules: &IdentityRules,
    ) -> Result<Self, IdentityError> {
        Self::with_dropped_claims(claims, rules).map(|(identity, _)| identity)
    }

    /// Returns an identity as [`Self::from_claims`] does, and the malformed claims that it leaves
    /// out.
    ///
    /// # Errors
    /// As for [`Self::from_claims`].
    pub fn with_dropped_claims(
        claims: &Map<String, Value>,
        rules: &IdentityRules,
    ) -> Result<(Self, Vec<DroppedClaim>), IdentityError> {
        let is_pivot = rules.required == RequiredClaims::Pivot;
        let mut reader = ClaimReader::new(claims);
        let given_names = reader.read_given_names(is_pivot)?;
        let family_name = reader.read(Claim::FamilyName, is_pivot, validate_name)?;
        let (birthdate, gender) = if is_pivot {
            (
                reader.read(Claim::Birthdate, true, validate_birthdate)?,
                reader.read(Claim::Gender, true, validate_gender)?,
            )
        } else {
            (
                reader.read(Claim::Birthdate, false, parse_openid_birthdate)?.flatten(),
                // Other values are allowed there, but have no meaning here (OpenID Connect Core 1.0
                // §5.1).
                reader
                    .read(Claim::Gender, false, |value, claim| {
                        Ok(validate_gender(value, claim).ok())
                    })?
                    .flatten(),
            )
        };
        let birthcountry = reader.read(Claim::Birthcountry, is_pivot, validate_geographic_code)?;
        // The pivot has a birthplace only for a birth in the home country.
        let is_born_at_home = birthcountry.as_ref() == Some(&rules.home_country);
        let birthplace = reader.read(
            Claim::Birthplace,
            is_pivot && is_born_at_home,
            validate_geographic_code,
        )?;
        let email = reader.read(Claim::Email, false, validate_email)?;
        let preferred_username = reader.read(Claim::PreferredUsername, false, validate_line)?;
        let standard =
            standard::from_provider_claims(claims, email.as_deref(), &mut reader.dropped);
        let identity = Self {
            given_names,
            family_name,
            birthdate,
            gender,
            birthplace,
            birthcountry,
            email,
            preferred_username,
            standard,
            declared: DeclaredValues::new(),
        };
        if is_pivot {
            identity.check_pivot_complete(&rules.home_country)?;
        }
        Ok((identity, reader.dropped))
    }

    fn check_pivot_complete(&self, home_country: &str) -> Result<(), IdentityError> {
        let born_at_home = self.birthcountry.as_deref() == Some(home_country);
        let demands = [
            (
                self.given_names.is_empty() && self.family_name.is_none(),
                Claim::FamilyName,
                IdentityRule::NameRequired,
            ),
            (self.birthdate.is_none(), Claim::Birthdate, IdentityRule::Required),
            (self.gender.is_none(), Claim::Gender, IdentityRule::Required),
            (self.birthcountry.is_none(), Claim::Birthcountry, IdentityRule::Required),
            (
                born_at_home && self.birthplace.is_none(),
                Claim::Birthplace,
                IdentityRule::RequiredAtHome,
            ),
        ];
        match demands.into_iter().find(|(missing, ..)| *missing) {
            Some((_, claim, rule)) => Err(IdentityError { claim, rule }),
            None => Ok(()),
        }
    }
}

/// Returns true for two digits, `2A` or `2B`, then three digits: `75107`, `2A004`, `99100`. The
/// case of the letter does not count.
#[must_use]
pub fn is_geographic_code(value: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    value.len() == 5
        && value.split_at_checked(2).is_some_and(|(area, rest)| {
            (digits(area) || matches!(area, "2A" | "2B" | "2a" | "2b")) && digits(rest)
        })
}

pub(super) const MAX_NAME_CHARS: usize = 256;
/// No name of 256 characters needs more bytes in any Unicode form; longer ones are not normalised.
const MAX_NAME_BYTES: usize = 8 * 1024;

pub(super) const fn violation(claim: Claim, rule: IdentityRule) -> IdentityError {
    IdentityError { claim, rule }
}

fn accept_if(
    is_valid: bool,
    value: &str,
    claim: Claim,
    rule: IdentityRule,
) -> Result<String, IdentityError> {
    if is_valid { Ok(value.to_owned()) } else { Err(violation(claim, rule)) }
}

pub(super) fn validate_name(value: &str, claim: Claim) -> Result<String, IdentityError> {
    let name = validate_line(value, claim)?;
    // A name of only marks and hyphens would fold to nothing, like all such names.
    if name.contains(|c: char| c.is_ascii_alphabetic()) || !pivot::fold(&name).is_empty() {
        Ok(name)
    } else {
        Err(violation(claim, IdentityRule::Letter))
    }
}

/// Validates one line of text of 1 to 256 characters; returns it trimmed, in NFC.
#[expect(clippy::disallowed_methods, reason = "a claim is text that people write")]
pub(super) fn validate_line(value: &str, claim: Claim) -> Result<String, IdentityError> {
    if value.len() > MAX_NAME_BYTES {
        return Err(violation(claim, IdentityRule::Length));
    }
    if value.chars().any(is_forbidden_char) {
        return Err(violation(claim, IdentityRule::ControlCharacter));
    }
    let line = value.trim();
    // ASCII is in NFC.
    let line = if line.is_ascii() { line.to_owned() } else { line.nfc().collect() };
    if (1..=MAX_NAME_CHARS).contains(&line.chars().count()) {
        Ok(line)
    } else {
        Err(violation(claim, IdentityRule::Length))
    }
}

/// Returns true for control characters, and for those that make a page display something else: line
/// and paragraph separators, zero-width space, byte order mark, direction marks, embeddings,
/// overrides and isolates.
#[must_use]
pub fn is_forbidden_char(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn validate_birthdate(value: &str, claim: Claim) -> Result<String, IdentityError> {
    accept_if(is_birthdate(value), value, claim, IdentityRule::Calendar)
}

/// Parses a birthdate of plain OpenID Connect: it may be the year only, or hide the year as `0000`,
/// which yields `None` (OpenID Connect Core 1.0 §5.1).
fn parse_openid_birthdate(value: &str, claim: Claim) -> Result<Option<String>, IdentityError> {
    let date = match value.strip_prefix("0000-") {
        // 2000 is a leap year, for February 29.
        Some(day) => {
            return validate_birthdate(&format!("2000-{day}"), claim).map(|_| None);
        }
        None if value.len() == 4 => format!("{value}-00-00"),
        None => value.to_owned(),
    };
    validate_birthdate(&date, claim).map(Some)
}

/// Returns true for a calendar day, or a date without a known day or without day and month.
pub(super) fn is_birthdate(value: &str) -> bool {
    let number = |digits: usize, text: &str| {
        (text.len() == digits && text.bytes().all(|c| c.is_ascii_digit()))
            .then(|| text.parse::<u32>().ok())
            .flatten()
    };
    let mut parts = value.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    match (number(4, year), number(2, month), number(2, day)) {
        (Some(0), _, _) => false,
        (Some(_), Some(0..=12), Some(0)) => true, // the day, or the day and the month, is unknown
        (Some(year), Some(month), Some(day)) => i32::try_from(year)
            .is_ok_and(|year| chrono::NaiveDate::from_ymd_opt(year, month, day).is_some()),
        _ => false,
    }
}

fn validate_geographic_code(value: &str, claim: Claim) -> Result<String, IdentityError> {
    let code = value.to_ascii_uppercase();
    accept_if(is_geographic_code(value), &code, claim, IdentityRule::Geographic)
}

fn validate_gender(value: &str, claim: Claim) -> Result<String, IdentityError> {
    accept_if(
        matches!(value, "male" | "female" | "unspecified"),
        value,
        claim,
        IdentityRule::Gender,
    )
}

/// Rejects malformed addresses; does not check that the address exists.
#[expect(clippy::disallowed_methods, reason = "white space of any script is refused")]
fn validate_email(value: &str, claim: Claim) -> Result<String, IdentityError> {
    let well_formed = value.chars().count() <= 254
        && !value.chars().any(|c| c.is_whitespace() || is_forbidden_char(c))
        && value.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
    accept_if(well_formed, value, claim, IdentityRule::Email)
}

#[cfg(test)]
mod tests;
