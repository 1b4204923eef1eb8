//! Reads the claims of an identity one by one. A malformed claim that is needed is an error; another
//! one is left out and reported.

use serde_json::{Map, Value};

use super::Claim;
use super::claim_type::describe_type;
use super::rules::{IdentityError, IdentityRule, MAX_NAME_CHARS, validate_name, violation};

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
    #[must_use]
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
