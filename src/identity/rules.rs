//! From claims to an [`Identity`], or the one claim and the one rule that it breaks; never its value (decisions 7).
//!
//! Owns: required claims, the calendar, geographic codes, what a name may be. Must not know: who sent the claims.
//! `null` and the empty string count as absent (OpenID Connect Core 5.3.2 asks senders to omit such claims, and
//! some write `"birthplace": ""` for a person born abroad).

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::{Claim, Identity, pivot, standard};
use crate::protocol::catalogue::ErrorCode;

/// What is asked of an identity, apart from the form of each claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Geographic code of the country whose births need a `birthplace`.
    pub home_country: String,
    pub required: Required,
}

/// Which claims an identity can't do without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Required {
    /// A whole pivot identity.
    Pivot,
    /// None beyond `sub`, for `subject = "provider"`; those that are sent must still be well formed.
    SubjectOnly,
}

/// One claim broke one rule. Holds no value, so it can be logged and shown.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{claim}: {rule}")]
pub struct IdentityFault {
    pub claim: Claim,
    pub rule: Rule,
}

impl IdentityFault {
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self.rule {
            Rule::Required | Rule::NameRequired | Rule::RequiredAtHome => {
                ErrorCode::IdentityIncomplete
            }
            Rule::Text
            | Rule::TextArray
            | Rule::Length
            | Rule::ControlCharacter
            | Rule::Letter
            | Rule::Calendar
            | Rule::Geographic
            | Rule::Gender
            | Rule::Email => ErrorCode::IdentityMalformed,
        }
    }
}

/// A rule of decisions 7; its text says what would be right.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
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
    #[error("must be a day of the calendar as YYYY-MM-DD, or presumed as YYYY-MM-00 or YYYY-00-00")]
    Calendar,
    #[error("must be a geographic code: two digits, 2A or 2B, then three digits")]
    Geographic,
    #[error("must be male, female or unspecified")]
    Gender,
    #[error("must be an address with one @, without spaces, of at most 254 characters")]
    Email,
}

impl Rule {
    /// True where the claim is missing, not wrong.
    #[must_use]
    pub const fn is_about_absence(self) -> bool {
        matches!(self, Self::Required | Self::NameRequired | Self::RequiredAtHome)
    }
}

impl Identity {
    /// Checks and normalises what an identity provider (or a register) says of a person. Names become NFC and lose
    /// outer spaces; `given_name_array` wins over `given_name`. Claims that are not of an identity are ignored.
    ///
    /// # Errors
    /// The first claim that is malformed, else the first that is missing.
    pub fn from_claims(claims: &Map<String, Value>, rules: &Rules) -> Result<Self, IdentityFault> {
        let checked = |claim, check: fn(&str, Claim) -> Result<String, IdentityFault>| {
            text(claims, claim)?.map(|value| check(value, claim)).transpose()
        };
        let identity = Self {
            given_names: given_names(claims)?,
            family_name: checked(Claim::FamilyName, name)?,
            birthdate: match rules.required {
                Required::Pivot => checked(Claim::Birthdate, birthdate)?,
                Required::SubjectOnly => {
                    text(claims, Claim::Birthdate)?.map(ordinary_birthdate).transpose()?.flatten()
                }
            },
            gender: match rules.required {
                Required::Pivot => checked(Claim::Gender, gender)?,
                // Others are allowed there, and have no word here (OpenID Connect Core 1.0, 5.1).
                Required::SubjectOnly => {
                    text(claims, Claim::Gender)?.and_then(|value| gender(value, Claim::Gender).ok())
                }
            },
            birthplace: checked(Claim::Birthplace, geographic)?,
            birthcountry: checked(Claim::Birthcountry, geographic)?,
            email: checked(Claim::Email, email)?,
            preferred_username: checked(Claim::PreferredUsername, line)?,
            standard: standard::of_provider(claims),
        };
        match rules.required {
            Required::Pivot => identity.demand_pivot(&rules.home_country)?,
            Required::SubjectOnly => {}
        }
        Ok(identity)
    }

    fn demand_pivot(&self, home_country: &str) -> Result<(), IdentityFault> {
        let born_at_home = self.birthcountry.as_deref() == Some(home_country);
        let demands = [
            (
                self.given_names.is_empty() && self.family_name.is_none(),
                Claim::FamilyName,
                Rule::NameRequired,
            ),
            (self.birthdate.is_none(), Claim::Birthdate, Rule::Required),
            (self.gender.is_none(), Claim::Gender, Rule::Required),
            (self.birthcountry.is_none(), Claim::Birthcountry, Rule::Required),
            (born_at_home && self.birthplace.is_none(), Claim::Birthplace, Rule::RequiredAtHome),
        ];
        match demands.into_iter().find(|(missing, ..)| *missing) {
            Some((_, claim, rule)) => Err(IdentityFault { claim, rule }),
            None => Ok(()),
        }
    }
}

/// True for two digits, `2A` or `2B`, then three digits: `75107`, `2A004`, `99100`.
#[must_use]
pub fn is_geographic_code(value: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    value.len() == 5
        && value.split_at_checked(2).is_some_and(|(area, rest)| {
            (digits(area) || matches!(area, "2A" | "2B")) && digits(rest)
        })
}

const NAME_CHARACTERS: usize = 256;
/// No name of 256 characters needs more, in any form of Unicode; what is longer isn't worth normalising.
const NAME_BYTES: usize = 8 * 1024;

fn broken(claim: Claim, rule: Rule) -> IdentityFault {
    IdentityFault { claim, rule }
}

fn text(claims: &Map<String, Value>, claim: Claim) -> Result<Option<&str>, IdentityFault> {
    match claims.get(claim.as_str()) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(value)) => Ok((!value.is_empty()).then_some(value)),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(broken(claim, Rule::Text))
        }
    }
}

fn given_names(claims: &Map<String, Value>) -> Result<Vec<String>, IdentityFault> {
    let joined = text(claims, Claim::GivenName)?;
    let (claim, written) = match claims.get(Claim::GivenNameArray.as_str()) {
        None | Some(Value::Null) => (Claim::GivenName, split(joined)?),
        Some(Value::Array(items)) if items.is_empty() => (Claim::GivenName, split(joined)?),
        Some(Value::Array(items)) => (Claim::GivenNameArray, strings(items)?),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return Err(broken(Claim::GivenNameArray, Rule::TextArray));
        }
    };
    // Each name has a character at least, and the space before the next: what is longer isn't worth looking at.
    if written.len() > NAME_CHARACTERS.div_ceil(2) {
        return Err(broken(claim, Rule::Length));
    }
    let names: Vec<String> =
        written.into_iter().map(|item| name(item, claim)).collect::<Result<_, _>>()?;
    // Joined they are the claim `given_name`, which is a name of 256 characters at most too.
    let length = names.iter().map(|name| name.chars().count() + 1).sum::<usize>().saturating_sub(1);
    if length > NAME_CHARACTERS { Err(broken(claim, Rule::Length)) } else { Ok(names) }
}

fn split(joined: Option<&str>) -> Result<Vec<&str>, IdentityFault> {
    let Some(joined) = joined else { return Ok(Vec::new()) };
    let names: Vec<&str> = joined.split(' ').filter(|name| !name.is_empty()).collect();
    if names.is_empty() { Err(broken(Claim::GivenName, Rule::Letter)) } else { Ok(names) }
}

fn strings(items: &[Value]) -> Result<Vec<&str>, IdentityFault> {
    let strings: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    strings.ok_or_else(|| broken(Claim::GivenNameArray, Rule::TextArray))
}

fn name(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    let name = line(value, claim)?;
    // A name of marks and hyphens alone would fold to nothing, and so would everybody else's like it.
    let has_letter = |derivation| !pivot::fold(&name, derivation).is_empty();
    if pivot::Derivation::ALL.into_iter().all(has_letter) {
        Ok(name)
    } else {
        Err(broken(claim, Rule::Letter))
    }
}

/// One line of text, NFC, outer spaces cut, 1 to 256 characters.
fn line(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    if value.len() > NAME_BYTES {
        return Err(broken(claim, Rule::Length));
    }
    if value.chars().any(is_control) {
        return Err(broken(claim, Rule::ControlCharacter));
    }
    let line: String = value.trim().nfc().collect();
    if (1..=NAME_CHARACTERS).contains(&line.chars().count()) {
        Ok(line)
    } else {
        Err(broken(claim, Rule::Length))
    }
}

/// One line of text as [`line`] has it, without a claim to blame.
pub(super) fn is_line(value: &str) -> bool {
    line(value, Claim::Name).is_ok()
}

/// Control characters, and those that make a page show something else than what is there: line and paragraph
/// separators, zero-width space, byte order mark, direction marks, embeddings, overrides and isolates.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn birthdate(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    if is_birthdate(value) { Ok(value.to_owned()) } else { Err(broken(claim, Rule::Calendar)) }
}

/// An ordinary identity provider may tell the year alone, or keep it back as `0000`, of which nothing can be told here
/// (OpenID Connect Core 1.0, 5.1).
fn ordinary_birthdate(value: &str) -> Result<Option<String>, IdentityFault> {
    let date = match value.strip_prefix("0000-") {
        // In a leap year, for the 29th of February.
        Some(day) => return birthdate(&format!("2000-{day}"), Claim::Birthdate).map(|_| None),
        None if value.len() == 4 => format!("{value}-00-00"),
        None => value.to_owned(),
    };
    birthdate(&date, Claim::Birthdate).map(Some)
}

/// True for a day of the calendar, or one of which the day, or the month too, is only presumed.
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
        (Some(_), Some(0..=12), Some(0)) => true, // presumed: the day, or the day and the month, is not known
        (Some(year), Some(month), Some(day)) => i32::try_from(year)
            .is_ok_and(|year| chrono::NaiveDate::from_ymd_opt(year, month, day).is_some()),
        _ => false,
    }
}

fn geographic(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    if is_geographic_code(value) {
        Ok(value.to_owned())
    } else {
        Err(broken(claim, Rule::Geographic))
    }
}

fn gender(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    if matches!(value, "male" | "female" | "unspecified") {
        Ok(value.to_owned())
    } else {
        Err(broken(claim, Rule::Gender))
    }
}

/// Enough to keep nonsense out of a page; whether an address exists is not for this hub to say.
fn email(value: &str, claim: Claim) -> Result<String, IdentityFault> {
    let well_formed = value.chars().count() <= 254
        && !value.chars().any(|c| c.is_whitespace() || is_control(c))
        && value.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty() && !domain.is_empty() && !domain.contains('@')
        });
    if well_formed { Ok(value.to_owned()) } else { Err(broken(claim, Rule::Email)) }
}

#[cfg(test)]
mod tests;
