//! Validates claims into an [`Identity`], or names the claim and the rule that it breaks, never its
//! value.
//!
//! `null` and the empty string count as absent: OpenID Connect Core §5.3.2 asks senders to omit
//! such claims, and some send `"birthplace": ""` for a birth abroad.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

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
    /// None except `sub`, for `subject = "provider"`; claims that are sent must still be well
    /// formed.
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
            | IdentityRule::Email => ErrorCode::IdentityMalformed,
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
}

impl IdentityRule {
    /// Returns true if the rule reports a missing claim rather than a malformed one.
    #[must_use]
    pub const fn is_missing_claim(self) -> bool {
        matches!(self, Self::Required | Self::NameRequired | Self::RequiredAtHome)
    }
}

impl Identity {
    /// Validates and normalises the claims of an identity provider or a register. Names become NFC
    /// without outer spaces; `given_name_array` takes precedence over `given_name`. Claims that are
    /// not part of an identity are ignored.
    ///
    /// # Errors
    /// The first malformed claim, else the first missing one.
    pub fn from_claims(
        claims: &Map<String, Value>,
        rules: &IdentityRules,
    ) -> Result<Self, IdentityError> {
        let checked = |claim, check: fn(&str, Claim) -> Result<String, IdentityError>| {
            text_claim(claims, claim)?.map(|value| check(value, claim)).transpose()
        };
        let identity = Self {
            given_names: given_names(claims)?,
            family_name: checked(Claim::FamilyName, validate_name)?,
            birthdate: match rules.required {
                RequiredClaims::Pivot => checked(Claim::Birthdate, validate_birthdate)?,
                RequiredClaims::SubjectOnly => text_claim(claims, Claim::Birthdate)?
                    .map(parse_openid_birthdate)
                    .transpose()?
                    .flatten(),
            },
            gender: match rules.required {
                RequiredClaims::Pivot => checked(Claim::Gender, validate_gender)?,
                // Other values are allowed there, but have no meaning here (OpenID Connect Core 1.0
                // §5.1).
                RequiredClaims::SubjectOnly => text_claim(claims, Claim::Gender)?
                    .and_then(|value| validate_gender(value, Claim::Gender).ok()),
            },
            birthplace: checked(Claim::Birthplace, validate_geographic_code)?,
            birthcountry: checked(Claim::Birthcountry, validate_geographic_code)?,
            email: checked(Claim::Email, validate_email)?,
            preferred_username: checked(Claim::PreferredUsername, validate_line)?,
            standard: standard::from_provider_claims(claims),
            declared: DeclaredValues::new(),
        };
        match rules.required {
            RequiredClaims::Pivot => identity.check_pivot_complete(&rules.home_country)?,
            RequiredClaims::SubjectOnly => {}
        }
        Ok(identity)
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

/// Returns true for two digits, `2A` or `2B`, then three digits: `75107`, `2A004`, `99100`.
#[must_use]
pub fn is_geographic_code(value: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    value.len() == 5
        && value.split_at_checked(2).is_some_and(|(area, rest)| {
            (digits(area) || matches!(area, "2A" | "2B")) && digits(rest)
        })
}

const MAX_NAME_CHARS: usize = 256;
/// No name of 256 characters needs more bytes in any Unicode form; longer ones are not normalised.
const MAX_NAME_BYTES: usize = 8 * 1024;

fn violation(claim: Claim, rule: IdentityRule) -> IdentityError {
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

fn text_claim(claims: &Map<String, Value>, claim: Claim) -> Result<Option<&str>, IdentityError> {
    match claims.get(claim.as_str()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(value)) => Ok((!value.is_empty()).then_some(value)),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(violation(claim, IdentityRule::Text))
        }
    }
}

fn given_names(claims: &Map<String, Value>) -> Result<Vec<String>, IdentityError> {
    let joined = text_claim(claims, Claim::GivenName)?;
    let (claim, written) = match claims.get(Claim::GivenNameArray.as_str()) {
        None | Some(Value::Null) => (Claim::GivenName, split_given_names(joined)?),
        Some(Value::Array(items)) if items.is_empty() => {
            (Claim::GivenName, split_given_names(joined)?)
        }
        Some(Value::Array(items)) => (Claim::GivenNameArray, string_items(items)?),
        Some(Value::String(one)) if one.is_empty() => {
            (Claim::GivenName, split_given_names(joined)?)
        }
        Some(Value::String(one)) => (Claim::GivenNameArray, vec![one.as_str()]),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(violation(Claim::GivenNameArray, IdentityRule::TextArray));
        }
    };
    // Each name has at least one character and a space before the next; more names can't fit.
    if written.len() > MAX_NAME_CHARS.div_ceil(2) {
        return Err(violation(claim, IdentityRule::Length));
    }
    let names: Vec<String> =
        written.into_iter().map(|item| validate_name(item, claim)).collect::<Result<_, _>>()?;
    // Joined they form the claim `given_name`, which also has at most 256 characters.
    let length = names.iter().map(|name| name.chars().count() + 1).sum::<usize>().saturating_sub(1);
    if length > MAX_NAME_CHARS { Err(violation(claim, IdentityRule::Length)) } else { Ok(names) }
}

fn split_given_names(joined: Option<&str>) -> Result<Vec<&str>, IdentityError> {
    let Some(joined) = joined else { return Ok(Vec::new()) };
    let names: Vec<&str> = joined.split(' ').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        Err(violation(Claim::GivenName, IdentityRule::Letter))
    } else {
        Ok(names)
    }
}

fn string_items(items: &[Value]) -> Result<Vec<&str>, IdentityError> {
    let strings: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    strings.ok_or_else(|| violation(Claim::GivenNameArray, IdentityRule::TextArray))
}

fn validate_name(value: &str, claim: Claim) -> Result<String, IdentityError> {
    let name = validate_line(value, claim)?;
    // A name of only marks and hyphens would fold to nothing, like all such names.
    let has_letter = |derivation| !pivot::fold(&name, derivation).is_empty();
    if name.contains(|c: char| c.is_ascii_alphabetic())
        || pivot::Derivation::ALL.into_iter().all(has_letter)
    {
        Ok(name)
    } else {
        Err(violation(claim, IdentityRule::Letter))
    }
}

/// Validates one line of text of 1 to 256 characters; returns it trimmed, in NFC.
#[expect(clippy::disallowed_methods, reason = "a claim is text that people write")]
fn validate_line(value: &str, claim: Claim) -> Result<String, IdentityError> {
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

/// Returns true if [`validate_line`] accepts the text.
pub(super) fn is_line(value: &str) -> bool {
    validate_line(value, Claim::Name).is_ok()
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
fn parse_openid_birthdate(value: &str) -> Result<Option<String>, IdentityError> {
    let date = match value.strip_prefix("0000-") {
        // 2000 is a leap year, for February 29.
        Some(day) => {
            return validate_birthdate(&format!("2000-{day}"), Claim::Birthdate).map(|_| None);
        }
        None if value.len() == 4 => format!("{value}-00-00"),
        None => value.to_owned(),
    };
    validate_birthdate(&date, Claim::Birthdate).map(Some)
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
    accept_if(is_geographic_code(value), value, claim, IdentityRule::Geographic)
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
