//! Validates claims into an [`Identity`], or names the claim and the rule that it breaks, never its
//! value. What the subject needs is checked strictly; a malformed claim that it doesn't need is left
//! out and reported.
//!
//! `null` and the empty string count as absent: OpenID Connect Core §5.3.2 asks senders to omit
//! such claims, and some send `"birthplace": ""` for a birth abroad.

use serde_json::{Map, Value};

use super::claim_rules::{
    ClaimReader, DroppedClaim, IdentityError, IdentityRule, is_forbidden_char, validate_line,
    validate_name, violation,
};
use super::{Claim, DeclaredValues, Identity, standard};

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
pub(crate) fn is_geographic_code(value: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    value.len() == 5
        && value.split_at_checked(2).is_some_and(|(area, rest)| {
            (digits(area) || matches!(area, "2A" | "2B" | "2a" | "2b")) && digits(rest)
        })
}

fn accept_if(
    is_valid: bool,
    value: &str,
    claim: Claim,
    rule: IdentityRule,
) -> Result<String, IdentityError> {
    if is_valid { Ok(value.to_owned()) } else { Err(violation(claim, rule)) }
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
