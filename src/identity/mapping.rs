//! From the claims as an identity provider calls and writes them to the claims that the identity rules know: data, not
//! code, from `[mapping]` of a connector's file.
//!
//! Owns: what a rule makes of a claim, and how much that may be. Must not know: files, kinds, who sent the claims. A
//! mapping is total: every rule looks at one set of claims once, none sees another's result, and what a rule can't make
//! something of is left out, so that the identity rules name the missing claim. RFC 6901 (JSON Pointer).

mod date;
mod path;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::date::{Pattern, PatternFault};
pub use self::path::{Path, PathFault};
use super::rules::{self, Required, Rules};
use super::{Claim, Identity, standard};

/// The longest text, and the largest value, that a rule makes, in bytes: what the identity rules would look at.
const LARGEST: usize = 8 * 1024;
/// The most items of a list that a rule makes: more given names are refused by the identity rules.
const MOST_ITEMS: usize = 128;
/// How deep a value that is passed on as it is may go.
const DEEPEST: usize = 8;

/// What becomes of the claims that no rule names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unmapped {
    /// They reach the identity rules as they came.
    #[default]
    Pass,
    /// They are left out: only what `[mapping]` makes counts.
    Drop,
}

/// A connector's mapping. The default changes nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mapping {
    pub rules: BTreeMap<Claim, Rule>,
    pub unmapped: Unmapped,
}

/// How one claim is made.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    pub source: Source,
    pub form: Form,
}

/// What a claim is made of.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    Constant(Value),
    From(Path),
    /// The parts that are there, in order; a list counts as its items.
    Join {
        parts: Vec<Path>,
        with: String,
    },
}

/// What is done with it.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    AsItIs,
    Upper,
    Lower,
    /// The parts between the separators, trimmed, empty ones left out: all of them, or the one of this index.
    Split {
        separator: String,
        part: Option<usize>,
    },
    /// A birthdate as the identity rules write it.
    Date(Pattern),
    /// The row of exactly this text (a number or a truth value counts as its text).
    Table {
        rows: BTreeMap<String, Value>,
        otherwise: Option<Value>,
    },
}

/// Why a claim that has a rule and a source was left out. Never with its value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    #[error("it is not of the type that this rule or claim needs")]
    Type,
    #[error("it is too long, too deep, or has too many parts")]
    Size,
    #[error("it is no day of the calendar in the rule's pattern")]
    Date,
    #[error("the rule's map has no row for it, and there is no otherwise")]
    Row,
}

/// A claim that was left out.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("{claim}: {loss}")]
pub struct Lost {
    pub claim: Claim,
    pub loss: Loss,
}

impl Mapping {
    /// True if claims stay as they are.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.rules.is_empty() && self.unmapped == Unmapped::Pass
    }

    /// The claims for the identity rules, and what was left out of them. A claim that has a rule is what the rule makes,
    /// or is not there: the identity provider's own claim of that name never stands in for it.
    #[must_use]
    pub fn apply(&self, mut claims: Map<String, Value>) -> (Map<String, Value>, Vec<Lost>) {
        let (mut made, mut lost) = (Vec::new(), Vec::new());
        for (claim, rule) in &self.rules {
            match rule.make(*claim, &claims) {
                Ok(Some(value)) => made.push((claim.as_str().to_owned(), value)),
                Ok(None) => {}
                Err(loss) => lost.push(Lost { claim: *claim, loss }),
            }
        }
        match self.unmapped {
            Unmapped::Drop => claims.clear(),
            Unmapped::Pass => {
                for claim in self.rules.keys() {
                    claims.remove(claim.as_str());
                    if let Some(tied) = tied_to(*claim) {
                        claims.remove(tied.as_str());
                    }
                }
            }
        }
        claims.extend(made);
        (claims, lost)
    }
}

/// A claim that says something of another one, and nothing of what a rule makes of that: the other way of writing given
/// names, and the word that an address or a number is verified.
const fn tied_to(claim: Claim) -> Option<Claim> {
    match claim {
        Claim::GivenName => Some(Claim::GivenNameArray),
        Claim::GivenNameArray => Some(Claim::GivenName),
        Claim::Email => Some(Claim::EmailVerified),
        Claim::PhoneNumber => Some(Claim::PhoneNumberVerified),
        _ => None,
    }
}

impl Rule {
    /// `None` where there is nothing to make the claim of.
    fn make(&self, claim: Claim, claims: &Map<String, Value>) -> Result<Option<Value>, Loss> {
        let Some(found) = self.source.find(claims)? else { return Ok(None) };
        let Some(value) = self.form.of(found)? else { return Ok(None) };
        if Type::of(claim).fits(&value) { Ok(Some(value)) } else { Err(Loss::Type) }
    }
}

impl Source {
    fn find<'c>(&'c self, claims: &'c Map<String, Value>) -> Result<Option<Cow<'c, Value>>, Loss> {
        match self {
            Self::Constant(value) => Ok(Some(Cow::Borrowed(value))),
            Self::From(path) => Ok(path.find(claims).map(Cow::Borrowed)),
            Self::Join { parts, with } => {
                let mut joined = String::new();
                for value in parts.iter().filter_map(|path| path.find(claims)) {
                    let items = if let Value::Array(items) = value {
                        items.as_slice()
                    } else {
                        std::slice::from_ref(value)
                    };
                    for item in items {
                        add(&mut joined, with, &text_of(item).ok_or(Loss::Type)?)?;
                    }
                }
                Ok((!joined.is_empty()).then(|| Cow::Owned(Value::String(joined))))
            }
        }
    }
}

fn add(joined: &mut String, with: &str, part: &str) -> Result<(), Loss> {
    if part.is_empty() {
        return Ok(());
    }
    if joined.len() + with.len() + part.len() > LARGEST {
        return Err(Loss::Size);
    }
    if !joined.is_empty() {
        joined.push_str(with);
    }
    joined.push_str(part);
    Ok(())
}

impl Form {
    fn of(&self, value: Cow<'_, Value>) -> Result<Option<Value>, Loss> {
        match self {
            Self::AsItIs => {
                if is_within(&value, &mut LARGEST.clone(), DEEPEST) {
                    Ok(Some(value.into_owned()))
                } else {
                    Err(Loss::Size)
                }
            }
            Self::Upper => text(&value).map(|text| Some(text.to_uppercase().into())),
            Self::Lower => text(&value).map(|text| Some(text.to_lowercase().into())),
            Self::Split { separator, part } => split(text(&value)?, separator, *part),
            Self::Date(pattern) => {
                let written = text_of(&value).ok_or(Loss::Type)?;
                pattern.read(&written).map(|date| Some(date.into())).ok_or(Loss::Date)
            }
            Self::Table { rows, otherwise } => {
                let key = match value.as_ref() {
                    Value::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
                    other => text_of(other).ok_or(Loss::Type)?,
                };
                rows.get(key.as_ref()).or(otherwise.as_ref()).cloned().map(Some).ok_or(Loss::Row)
            }
        }
    }
}

fn split(text: &str, separator: &str, part: Option<usize>) -> Result<Option<Value>, Loss> {
    let mut parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
    if let Some(index) = part {
        return Ok(parts.nth(index).map(Value::from));
    }
    let all: Vec<Value> = parts.by_ref().take(MOST_ITEMS).map(Value::from).collect();
    if parts.next().is_some() {
        return Err(Loss::Size);
    }
    Ok((!all.is_empty()).then_some(Value::Array(all)))
}

fn text(value: &Value) -> Result<&str, Loss> {
    let text = value.as_str().ok_or(Loss::Type)?;
    if text.len() > LARGEST { Err(Loss::Size) } else { Ok(text) }
}

/// A text, or a whole number as its digits.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Some(Cow::Owned(number.to_string()))
        }
        Value::Null => Some(Cow::Borrowed("")),
        Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Whether a value is small and flat enough to be passed on. Each node counts as a byte, so that empty ones add up too.
fn is_within(value: &Value, room: &mut usize, depth: usize) -> bool {
    let mut take = |bytes: usize| {
        *room = room.saturating_sub(bytes);
        *room > 0
    };
    let Some(deeper) = depth.checked_sub(1) else { return false };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => take(1),
        Value::String(text) => take(text.len()),
        Value::Array(items) => {
            take(items.len()) && items.iter().all(|item| is_within(item, room, deeper))
        }
        Value::Object(members) => {
            take(members.keys().map(|name| name.len() + 1).sum())
                && members.values().all(|member| is_within(member, room, deeper))
        }
    }
}

/// The JSON type of a claim's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Text,
    Texts,
    Truth,
    Number,
    Object,
}

impl Type {
    #[must_use]
    pub const fn of(claim: Claim) -> Self {
        match claim {
            Claim::GivenNameArray => Self::Texts,
            Claim::EmailVerified | Claim::PhoneNumberVerified => Self::Truth,
            Claim::UpdatedAt => Self::Number,
            Claim::Address => Self::Object,
            Claim::Sub
            | Claim::GivenName
            | Claim::FamilyName
            | Claim::Birthdate
            | Claim::Gender
            | Claim::Birthplace
            | Claim::Birthcountry
            | Claim::Email
            | Claim::PreferredUsername
            | Claim::Name
            | Claim::MiddleName
            | Claim::Nickname
            | Claim::Profile
            | Claim::Picture
            | Claim::Website
            | Claim::Zoneinfo
            | Claim::Locale
            | Claim::PhoneNumber => Self::Text,
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|items| {
                items.len() <= MOST_ITEMS && items.iter().all(Value::is_string)
            }),
            Self::Truth => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
        }
    }
}

/// Whether the identity rules would take this value for this claim: for what an operator writes into a rule.
///
/// # Errors
/// What would be right, as the rule says it.
pub fn check_value(claim: Claim, value: &Value) -> Result<(), String> {
    let mut claims = Map::from_iter([(claim.as_str().to_owned(), value.clone())]);
    if Claim::STANDARD.contains(&claim) {
        // Whether they are verified is only told of an address and a number that are there.
        claims.entry("email").or_insert_with(|| "a@b".into());
        claims.entry("phone_number").or_insert_with(|| "1".into());
        let kept = standard::of_provider(&claims).contains_key(&claim);
        return if kept {
            Ok(())
        } else {
            Err("must be of the form that OpenID Connect Core 1.0, 5.1, gives this claim".into())
        };
    }
    // With these rules a malformed claim is told before a missing one.
    let rules = Rules { home_country: String::new(), required: Required::Pivot };
    match Identity::from_claims(&claims, &rules) {
        Err(fault) if fault.claim == claim && !fault.rule.is_about_absence() => {
            Err(fault.rule.to_string())
        }
        Ok(_) | Err(_) if value.as_str() == Some("") => Err(rules::Rule::Required.to_string()),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
