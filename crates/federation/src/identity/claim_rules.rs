//! The rules for single claims, and the reader that applies them. A malformed claim that is needed is
//! an error; another one is left out and reported.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::claim_type::describe_type;
use super::{Claim, pivot};
use passerelle_protocol::catalogue::ErrorCode;

/// A claim breaks a rule. Contains no value, so it can be logged and displayed.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{claim}: {rule}")]
pub struct IdentityError {
    pub claim: Claim,
    pub rule: IdentityRule,
}

impl IdentityError {
    /// Returns the claims of which one would have satisfied the rule.
    pub const fn claims(&self) -> &[Claim] {
        match self.rule {
            IdentityRule::NameRequired => {
                &[Claim::FamilyName, Claim::GivenName, Claim::GivenNameArray]
            }
            _ => std::slice::from_ref(&self.claim),
        }
    }

    /// Returns the error code of the login.
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
    pub const fn is_missing_claim(self) -> bool {
        matches!(self, Self::Required | Self::NameRequired | Self::RequiredAtHome)
    }
}

/// A malformed claim that an identity leaves out, because no login needs it. Contains no value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{rule}, and is {found}")]
pub struct DroppedClaim {
    pub claim: Claim,
    pub rule: IdentityRule,
    /// The JSON type of its value.
    pub found: &'static str,
}

impl DroppedClaim {
    /// Returns what makes an identity provider's claim usable.
    pub fn fix(&self) -> String {
        let claim = self.claim;
        let rule = match (self.rule, claim) {
            (IdentityRule::Boolean, _) => format!(
                "{claim} = {{ from = \"{claim}\", map = {{ \"true\" = true, \"1\" = true }}, otherwise = false }}"
            ),
            (IdentityRule::Calendar, _) => {
                format!(
                    "{claim} = {{ from = \"{claim}\", date = \"MM/DD/YYYY\" }}, in its order of day and month"
                )
            }
            (IdentityRule::Gender, _) | (IdentityRule::Text, Claim::Gender) => {
                format!(
                    "{claim} = {{ from = \"{claim}\", map = {{ \"1\" = \"male\", \"2\" = \"female\" }} }}"
                )
            }
            (IdentityRule::Email, _) => format!(
                "{claim} = {{ from = \"{claim}\", split = \" \", part = 0 }} if it has outer spaces"
            ),
            _ => format!("{claim} = {{ from = … }} with another claim of it"),
        };
        format!(
            "ask the identity provider to send it as OpenID Connect Core 1.0 §5.1 says, or to omit it; or map it: [mapping] {rule}"
        )
    }
}

/// Reads claims, and collects the malformed ones that are not needed.
pub(super) struct ClaimReader<'c> {
    claims: &'c Map<String, Value>,
    pub(super) dropped: Vec<DroppedClaim>,
}

impl<'c> ClaimReader<'c> {
    pub(super) const fn new(claims: &'c Map<String, Value>) -> Self {
        Self { claims, dropped: Vec::new() }
    }

    /// Returns a valid text claim; `None` if it is absent, or malformed and not needed.
    pub(super) fn read<T>(
        &mut self,
        claim: Claim,
        is_needed: bool,
        validate: impl Fn(&str, Claim) -> Result<T, IdentityError>,
    ) -> Result<Option<T>, IdentityError> {
        let value =
            self.text(claim).and_then(|text| text.map(|text| validate(text, claim)).transpose());
        match value {
            Err(error) if !is_needed => {
                self.drop_claim(error);
                Ok(None)
            }
            outcome => outcome,
        }
    }

    fn text(&self, claim: Claim) -> Result<Option<&'c str>, IdentityError> {
        match self.claims.get(claim.as_str()) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(value)) => Ok((!value.is_empty()).then_some(value)),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Err(violation(claim, IdentityRule::Text))
            }
        }
    }

    fn drop_claim(&mut self, IdentityError { claim, rule }: IdentityError) {
        let found = self.claims.get(claim.as_str()).map_or("absent", describe_type);
        self.dropped.push(DroppedClaim { claim, rule, found });
    }

    /// Returns the given names: those of `given_name_array`, else those of `given_name`. A malformed
    /// one of the two is not needed beside the other.
    pub(super) fn read_given_names(
        &mut self,
        is_needed: bool,
    ) -> Result<Vec<String>, IdentityError> {
        let from_text = self.text(Claim::GivenName).and_then(|joined| {
            joined
                .map(|joined| given_names(split_given_names(joined)?, Claim::GivenName))
                .transpose()
        });
        let from_array = self.given_name_items().and_then(|items| {
            items.map(|items| given_names(items, Claim::GivenNameArray)).transpose()
        });
        match (from_array, from_text) {
            (Ok(Some(names)), text) => {
                text.err().into_iter().for_each(|error| self.drop_claim(error));
                Ok(names)
            }
            (Err(error), Ok(Some(names))) => {
                self.drop_claim(error);
                Ok(names)
            }
            (Ok(None), Ok(names)) => Ok(names.unwrap_or_default()),
            (Err(error), _) | (Ok(None), Err(error)) if is_needed => Err(error),
            (array, text) => {
                array.err().into_iter().chain(text.err()).for_each(|error| self.drop_claim(error));
                Ok(Vec::new())
            }
        }
    }

    fn given_name_items(&self) -> Result<Option<Vec<&'c str>>, IdentityError> {
        match self.claims.get(Claim::GivenNameArray.as_str()) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) if items.is_empty() => Ok(None),
            Some(Value::Array(items)) => string_items(items).map(Some),
            Some(Value::String(only)) => Ok((!only.is_empty()).then(|| vec![only.as_str()])),
            Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                Err(violation(Claim::GivenNameArray, IdentityRule::TextArray))
            }
        }
    }
}

fn given_names(written: Vec<&str>, claim: Claim) -> Result<Vec<String>, IdentityError> {
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

fn split_given_names(joined: &str) -> Result<Vec<&str>, IdentityError> {
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

pub(super) const MAX_NAME_CHARS: usize = 256;
/// No name of 256 characters needs more bytes in any Unicode form; longer ones are not normalised.
const MAX_NAME_BYTES: usize = 8 * 1024;

pub(super) const fn violation(claim: Claim, rule: IdentityRule) -> IdentityError {
    IdentityError { claim, rule }
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

/// Returns true for control characters, for what is no character, and for those that make a page
/// display something else: line and paragraph separators, zero-width space, byte order mark,
/// direction marks, embeddings, overrides and isolates.
pub fn is_forbidden_char(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
