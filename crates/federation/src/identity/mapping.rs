//! Maps an identity provider's claims to the hub's, by `[mapping]` of the connector's file
//! (`docs/claim-mapping.md`).
//!
//! A mapping never fails: every rule reads the original claims once, no rule sees another's result,
//! and a claim that a rule can't build is omitted and reported.
//! Paths are JSON Pointers (RFC 6901).

mod date;
mod path;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::date::{DatePattern, DatePatternError};
pub use self::path::{ClaimPath, ClaimPathError};
use super::declared::MAX_DECLARED_BYTES;
use super::pivot;
use super::rules::{IdentityRules, RequiredClaims};
use super::{Claim, ClaimName, ClaimType, Identity, IdentityRule, describe_type};

/// Maximum size of a text or value that a rule builds, in bytes: the limit of the identity rules.
const MAX_VALUE_BYTES: usize = 8 * 1024;
/// Maximum number of list items that a rule builds; the identity rules reject more given names.
const MAX_ITEMS: usize = 128;
/// Maximum nesting of a value that is passed on unchanged.
const MAX_DEPTH: usize = 8;

/// Treatment of claims without a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnmappedClaims {
    /// Passed on unchanged.
    #[default]
    Pass,
    /// Dropped: only claims that `[mapping]` builds remain.
    Drop,
}

/// Mapping of a connector. The default changes nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mapping {
    pub rules: BTreeMap<ClaimName, MappingRule>,
    pub unmapped: UnmappedClaims,
}

/// How one claim is built.
#[derive(Clone, PartialEq, Debug)]
pub struct MappingRule {
    pub source: MappingSource,
    pub transform: Transform,
}

/// Source of a claim's value.
#[derive(Clone, PartialEq, Debug)]
pub enum MappingSource {
    Constant(Value),
    From(ClaimPath),
    /// The present parts, joined in order; a list contributes its items.
    Join {
        parts: Vec<ClaimPath>,
        with: String,
    },
}

/// Transformation of the source value.
#[derive(Clone, PartialEq, Debug)]
pub enum Transform {
    Unchanged,
    Upper,
    Lower,
    /// The trimmed, non-empty parts between separators: all of them, or the one at this index.
    Split {
        separator: String,
        part: Option<usize>,
    },
    /// A birthdate in the form of the identity rules.
    Date(DatePattern),
    /// The row for exactly this text; a number or boolean counts as its text.
    Table {
        rows: BTreeMap<String, Value>,
        otherwise: Option<Value>,
    },
}

/// Why a rule could not build a claim from its source. Contains no value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingError {
    #[error("its type does not fit this rule or claim")]
    Type,
    #[error("it is too long, nested too deeply, or has too many parts")]
    Size,
    #[error("it is not a calendar day in the rule's pattern")]
    Date,
    #[error("the rule's map has no row for it and no otherwise")]
    Row,
}

impl MappingError {
    /// Returns the label for metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Size => "size",
            Self::Date => "date",
            Self::Row => "row",
        }
    }
}

/// A claim that its rule could not build.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{claim}: {error}")]
pub struct ClaimMappingError {
    pub claim: ClaimName,
    pub error: MappingError,
    /// The JSON type of the source's first value.
    pub found: &'static str,
}

impl Mapping {
    /// Returns true if the mapping changes nothing.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.unmapped == UnmappedClaims::Pass
    }

    /// Applies the mapping; returns the claims for the identity rules, and the claims that could
    /// not be built. A claim with a rule has the rule's value or is absent; the identity provider's
    /// claim of that name is never a fallback.
    pub fn apply(
        &self,
        mut claims: Map<String, Value>,
    ) -> (Map<String, Value>, Vec<ClaimMappingError>) {
        let (mut built, mut errors) = (Vec::new(), Vec::new());
        for (claim, rule) in &self.rules {
            match rule.build_claim(claim, &claims) {
                Ok(Some(value)) => built.push((claim.as_str().to_owned(), value)),
                Ok(None) => {}
                Err(error) => {
                    let found = rule.source.describe_type(&claims);
                    errors.push(ClaimMappingError { claim: claim.clone(), error, found });
                }
            }
        }
        match self.unmapped {
            UnmappedClaims::Drop => claims.clear(),
            UnmappedClaims::Pass => {
                for claim in self.rules.keys() {
                    claims.remove(claim.as_str());
                    if let Some(dependent) = dependent_claim(claim) {
                        claims.remove(dependent.as_str());
                    }
                }
            }
        }
        claims.extend(built);
        if self.contradicts_name(&claims) {
            claims.remove(Claim::Name.as_str());
        }
        (claims, errors)
    }

    /// Returns true if the identity provider's own `name` lacks a part of the names that rules have
    /// built: a `name` has all parts (OpenID Connect Core 1.0 §5.1), so it is another one, and the
    /// hub composes `name` from the mapped parts.
    fn contradicts_name(&self, claims: &Map<String, Value>) -> bool {
        const PARTS: [Claim; 3] = [Claim::GivenName, Claim::GivenNameArray, Claim::FamilyName];
        let has_rule = |claim: &Claim| self.rules.contains_key(&ClaimName::from(*claim));
        let Some(name) = claims.get(Claim::Name.as_str()).and_then(Value::as_str) else {
            return false;
        };
        let name = if has_rule(&Claim::Name) { return false } else { pivot::fold(name) };
        PARTS.iter().filter(|part| has_rule(part)).filter_map(|part| claims.get(part.as_str())).any(
            |value| {
                let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
                let texts = items.iter().filter_map(Value::as_str).map(pivot::fold);
                texts.into_iter().any(|text| !text.split(' ').all(|word| name.contains(word)))
            },
        )
    }
}

/// Returns the claim that depends on `claim` and does not apply to a mapped value: the other form
/// of given names, and the `…_verified` claim of an address or number.
const fn dependent_claim(claim: &ClaimName) -> Option<Claim> {
    match claim {
        ClaimName::Specified(Claim::GivenName) => Some(Claim::GivenNameArray),
        ClaimName::Specified(Claim::GivenNameArray) => Some(Claim::GivenName),
        ClaimName::Specified(Claim::Email) => Some(Claim::EmailVerified),
        ClaimName::Specified(Claim::PhoneNumber) => Some(Claim::PhoneNumberVerified),
        ClaimName::Specified(_) | ClaimName::Declared(_) => None,
    }
}

impl MappingRule {
    /// Builds the claim; `None` if its source is absent. The type of a declared claim is checked
    /// with its declaration, whether a rule builds it or not.
    fn build_claim(
        &self,
        claim: &ClaimName,
        claims: &Map<String, Value>,
    ) -> Result<Option<Value>, MappingError> {
        let Some(found) = self.source.resolve(claims)? else { return Ok(None) };
        let limits = ValueLimits::for_claim(claim);
        let Some(value) = self.transform.apply(found, limits)? else { return Ok(None) };
        let value = match claim {
            ClaimName::Specified(claim) => ClaimType::for_claim(*claim)
                .read_value(&value)
                .ok_or(MappingError::Type)?
                .into_owned(),
            ClaimName::Declared(_) => value,
        };
        if value.as_array().is_some_and(|items| items.len() > limits.items) {
            return Err(MappingError::Size);
        }
        Ok(Some(value))
    }
}

/// Bounds of a value that a rule builds.
#[derive(Clone, Copy)]
struct ValueLimits {
    bytes: usize,
    items: usize,
}

impl ValueLimits {
    const fn for_claim(claim: &ClaimName) -> Self {
        match claim {
            ClaimName::Specified(_) => Self { bytes: MAX_VALUE_BYTES, items: MAX_ITEMS },
            // The declaration bounds it further.
            ClaimName::Declared(_) => Self { bytes: MAX_DECLARED_BYTES, items: MAX_DECLARED_BYTES },
        }
    }
}

impl MappingSource {
    fn describe_type(&self, claims: &Map<String, Value>) -> &'static str {
        let found = match self {
            Self::Constant(value) => Some(value),
            Self::From(path) => path.find(claims),
            Self::Join { parts, .. } => parts.iter().find_map(|path| path.find(claims)),
        };
        found.map_or("nothing", describe_type)
    }

    fn resolve<'c>(
        &'c self,
        claims: &'c Map<String, Value>,
    ) -> Result<Option<Cow<'c, Value>>, MappingError> {
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
                        append_part(
                            &mut joined,
                            with,
                            &scalar_text(item).ok_or(MappingError::Type)?,
                        )?;
                    }
                }
                Ok((!joined.is_empty()).then(|| Cow::Owned(Value::String(joined))))
            }
        }
    }
}

fn append_part(joined: &mut String, with: &str, part: &str) -> Result<(), MappingError> {
    if part.is_empty() {
        return Ok(());
    }
    if joined.len() + with.len() + part.len() > MAX_VALUE_BYTES {
        return Err(MappingError::Size);
    }
    if !joined.is_empty() {
        joined.push_str(with);
    }
    joined.push_str(part);
    Ok(())
}

impl Transform {
    #[expect(clippy::disallowed_methods, reason = "a claim is text that people write")]
    fn apply(
        &self,
        value: Cow<'_, Value>,
        limits: ValueLimits,
    ) -> Result<Option<Value>, MappingError> {
        match self {
            Self::Unchanged => {
                if is_within(&value, &mut limits.bytes.clone(), MAX_DEPTH) {
                    Ok(Some(value.into_owned()))
                } else {
                    Err(MappingError::Size)
                }
            }
            Self::Upper => for_each_item(&value, limits, |item| {
                expect_text(item).map(|text| Some(text.to_uppercase().into()))
            }),
            Self::Lower => for_each_item(&value, limits, |item| {
                expect_text(item).map(|text| Some(text.to_lowercase().into()))
            }),
            Self::Split { separator, part } => {
                split_text(expect_text(&value)?, separator, *part, limits.items)
            }
            Self::Date(pattern) => {
                let written = scalar_text(&value).ok_or(MappingError::Type)?;
                pattern.parse_date(&written).map(|date| Some(date.into())).ok_or(MappingError::Date)
            }
            Self::Table { rows, otherwise } => {
                let is_list = value.is_array();
                let found = for_each_item(&value, limits, |item| {
                    match find_row(rows, item)?.or(otherwise.as_ref()) {
                        Some(row) => Ok(Some(row.clone())),
                        // A person may have groups that mean nothing to the services.
                        None if is_list => Ok(None),
                        None => Err(MappingError::Row),
                    }
                })?;
                Ok(found.map(without_repeated_items))
            }
        }
    }
}

/// Applies a transformation to a value, or to each item of a list: a directory's attribute is a list
/// only for the persons who have several values.
fn for_each_item(
    value: &Value,
    limits: ValueLimits,
    transform: impl Fn(&Value) -> Result<Option<Value>, MappingError>,
) -> Result<Option<Value>, MappingError> {
    let Some(items) = value.as_array() else { return transform(value) };
    if items.len() > limits.items {
        return Err(MappingError::Size);
    }
    let (mut results, mut room): (Vec<Value>, _) = (Vec::new(), limits.bytes);
    for item in items {
        let Some(result) = transform(item)? else { continue };
        if !is_within(&result, &mut room, MAX_DEPTH) {
            return Err(MappingError::Size);
        }
        results.push(result);
    }
    Ok((!results.is_empty()).then_some(Value::Array(results)))
}

/// Several groups may be one role.
fn without_repeated_items(value: Value) -> Value {
    let Value::Array(items) = value else { return value };
    let mut distinct: Vec<Value> = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    Value::Array(distinct)
}

fn find_row<'r>(
    rows: &'r BTreeMap<String, Value>,
    value: &Value,
) -> Result<Option<&'r Value>, MappingError> {
    let key = match value {
        Value::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        other => scalar_text(other).ok_or(MappingError::Type)?,
    };
    Ok(rows.get(key.as_ref()))
}

#[expect(clippy::disallowed_methods, reason = "a claim is text that people write")]
fn split_text(
    text: &str,
    separator: &str,
    part: Option<usize>,
    max_items: usize,
) -> Result<Option<Value>, MappingError> {
    let mut parts = text.split(separator).map(str::trim).filter(|part| !part.is_empty());
    if let Some(index) = part {
        return Ok(parts.nth(index).map(Value::from));
    }
    let all: Vec<Value> = parts.by_ref().take(max_items).map(Value::from).collect();
    if parts.next().is_some() {
        return Err(MappingError::Size);
    }
    Ok((!all.is_empty()).then_some(Value::Array(all)))
}

fn expect_text(value: &Value) -> Result<&str, MappingError> {
    let text = value.as_str().ok_or(MappingError::Type)?;
    if text.len() > MAX_VALUE_BYTES { Err(MappingError::Size) } else { Ok(text) }
}

/// Returns a text, or an integer as its digits.
fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Some(Cow::Owned(number.to_string()))
        }
        Value::Null => Some(Cow::Borrowed("")),
        Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns true if a value is small and flat enough to be passed on. Each node counts as a byte, so
/// that empty nodes are bounded too.
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

/// Checks that the identity rules accept this value for this claim, for constants in a mapping.
///
/// # Errors
/// What would be valid, in the words of the rule.
pub fn check_value(claim: Claim, value: &Value) -> Result<(), String> {
    if value.as_str() == Some("") {
        return Err(IdentityRule::Required.to_string());
    }
    let claims = Map::from_iter([(claim.as_str().to_owned(), value.clone())]);
    let rules = |required| IdentityRules { home_country: String::new(), required };
    match Identity::from_claims(&claims, &rules(RequiredClaims::Pivot)) {
        Err(error) if error.claim == claim && !error.rule.is_missing_claim() => {
            return Err(error.rule.to_string());
        }
        Ok(_) | Err(_) => {}
    }
    // Without a required claim, every malformed one is dropped.
    match Identity::with_dropped_claims(&claims, &rules(RequiredClaims::SubjectOnly)) {
        Ok((_, dropped)) => dropped.first().map_or(Ok(()), |dropped| Err(dropped.rule.to_string())),
        Err(error) => Err(error.rule.to_string()),
    }
}

#[cfg(test)]
mod tests;
