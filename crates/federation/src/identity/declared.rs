//! Claims that the operator declares beyond the specification's: `[claims.NAME]` of
//! `passerelle.toml`. Their values come from the identity provider alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::claim_rules::is_forbidden_char;
use super::{Claim, ClaimName, ClaimType, DeclaredValues};

/// Maximum size of a declared claim's value as JSON, in bytes.
pub const MAX_DECLARED_BYTES: usize = 32 * 1024;
/// Maximum size of all declared claims of one user together, in bytes.
pub const MAX_DECLARED_TOTAL_BYTES: usize = 64 * 1024;
/// Maximum nesting of a value.
const MAX_DEPTH: usize = 8;

/// Names that a declaration can't use, besides the specification's claims: RFC 7519 §4.1, OpenID
/// Connect Core 1.0 §2, §3.1.3.6, §3.3.2.11 and §5.6.2, RFC 7662 §2.2, RFC 7800, RFC 8693 §4,
/// RFC 9701 §5, OpenID Connect for Identity Assurance and the OpenID Connect logout specifications.
pub const RESERVED_NAMES: [&str; 29] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "azp",
    "at_hash",
    "c_hash",
    "s_hash",
    "sub_jwk",
    "_claim_names",
    "_claim_sources",
    "active",
    "scope",
    "client_id",
    "username",
    "token_type",
    "token_introspection",
    "cnf",
    "act",
    "sid",
    "events",
    "verified_claims",
];

/// A claim beyond the specification's.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimDeclaration {
    /// JSON type of its values: `"string"`, `"string_array"`, `"boolean"`, `"number"` or
    /// `"object"`. A value of another type is left out and counted.
    #[serde(rename = "type")]
    pub value_type: ClaimType,
    /// Its name on the consent page, by language (`fr`, `en`).
    pub label: BTreeMap<String, String>,
    /// Maximum size of a value as JSON, in bytes: at most 32768, and 65536 for all declared claims
    /// together. A larger value is left out and counted.
    #[serde(default = "default_max_bytes")]
    #[schemars(range(min = 1, max = MAX_DECLARED_BYTES))]
    pub max_bytes: usize,
    /// `false` for a claim that says nothing about a person, for example the number of an
    /// organization: a mapping may give all users of an identity provider the same value, and
    /// consent need not cover it.
    #[serde(default = "default_personal")]
    pub personal: bool,
    /// Ends a login whose identity provider sends no valid value.
    #[serde(default)]
    pub required: bool,
}

const fn default_max_bytes() -> usize {
    1024
}

const fn default_personal() -> bool {
    true
}

/// Why a value of a declared claim is left out. Contains no value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeclaredValueError {
    #[error("it is not {}", .0.description())]
    Type(ClaimType),
    #[error("it is larger than max_bytes, or nested too deeply")]
    Size,
    #[error("it has a control or direction-changing character")]
    Characters,
}

impl DeclaredValueError {
    /// Returns the label for metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Size => "size",
            Self::Characters => "characters",
        }
    }
}

impl ClaimDeclaration {
    /// Reads a value in the form that the declaration gives it ([`ClaimType::read_value`]).
    ///
    /// # Errors
    /// Why a login would leave it out.
    pub fn read_value<'v>(&self, value: &'v Value) -> Result<Cow<'v, Value>, DeclaredValueError> {
        let value =
            self.value_type.read_value(value).ok_or(DeclaredValueError::Type(self.value_type))?;
        let is_small = serde_json::to_vec(&value).is_ok_and(|json| json.len() <= self.max_bytes);
        if !is_small || !has_bounded_depth(&value, MAX_DEPTH) {
            return Err(DeclaredValueError::Size);
        }
        if has_only_displayable_text(&value) {
            Ok(value)
        } else {
            Err(DeclaredValueError::Characters)
        }
    }
}

fn has_bounded_depth(value: &Value, depth: usize) -> bool {
    let Some(deeper) = depth.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().all(|item| has_bounded_depth(item, deeper)),
        Value::Object(members) => members.values().all(|member| has_bounded_depth(member, deeper)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns true if no text has a character that makes the consent page display something else.
/// Line breaks are allowed, as in an address.
fn has_only_displayable_text(value: &Value) -> bool {
    let is_displayable =
        |text: &str| !text.chars().any(|c| is_forbidden_char(c) && !matches!(c, '\r' | '\n'));
    match value {
        Value::String(text) => is_displayable(text),
        Value::Array(items) => items.iter().all(has_only_displayable_text),
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| is_displayable(name) && has_only_displayable_text(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The declared claims by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeclaredClaims(BTreeMap<Arc<str>, ClaimDeclaration>);

impl DeclaredClaims {
    /// Creates the claims from their declarations.
    pub fn new(declarations: &BTreeMap<String, ClaimDeclaration>) -> Self {
        let entry = |(name, declaration): (&String, &ClaimDeclaration)| {
            (Arc::from(name.as_str()), declaration.clone())
        };
        Self(declarations.iter().map(entry).collect())
    }

    /// Returns the declaration of a claim.
    pub fn get(&self, name: &str) -> Option<&ClaimDeclaration> {
        self.0.get(name)
    }

    /// Returns the declared names.
    pub fn names(&self) -> impl Iterator<Item = ClaimName> {
        self.0.keys().map(|name| ClaimName::Declared(Arc::clone(name)))
    }

    /// Returns the claim with this name on the wire, if it is the specification's or declared.
    pub fn find(&self, name: &str) -> Option<ClaimName> {
        let declared = || self.0.get_key_value(name).map(|(name, _)| Arc::clone(name).into());
        Claim::from_name(name).map(ClaimName::from).or_else(declared)
    }

    /// Returns true if consent must cover the claim.
    pub(crate) fn is_personal(&self, claim: &ClaimName) -> bool {
        self.get(claim.as_str()).is_none_or(|declaration| declaration.personal)
    }

    /// Returns the valid values among the claims of an identity provider, and those left out.
    /// `null` and the empty string count as absent.
    pub fn read_values(
        &self,
        claims: &Map<String, Value>,
    ) -> (DeclaredValues, Vec<(Arc<str>, DeclaredValueError)>) {
        let (mut values, mut rejected) = (DeclaredValues::new(), Vec::new());
        for (name, declaration) in &self.0 {
            let Some(value) = claims.get(&**name) else { continue };
            if value.is_null() || value.as_str() == Some("") {
                continue;
            }
            match declaration.read_value(value) {
                Ok(value) => {
                    values.insert(Arc::clone(name), value.into_owned());
                }
                Err(error) => rejected.push((Arc::clone(name), error)),
            }
        }
        (values, rejected)
    }

    /// Returns the first required claim without a value.
    pub fn missing_required(&self, values: &DeclaredValues) -> Option<ClaimName> {
        let missing = |(name, declaration): &(&Arc<str>, &ClaimDeclaration)| {
            declaration.required && !values.contains_key(*name)
        };
        self.0.iter().find(missing).map(|(name, _)| Arc::clone(name).into())
    }
}

#[cfg(test)]
mod tests;
