//! Defines the rules of a connector's `[mapping]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A mapping rule: one source (`from`, `join` or `value`) and at most one transform (`split`,
/// `date`, `map` or `case`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// Name of the identity provider's claim, or a path starting with `/` (JSON Pointer, RFC 6901).
    #[serde(default)]
    pub from: Option<String>,
    /// Several claims, each as in `from`, joined to one text. Missing ones are skipped.
    #[serde(default)]
    pub join: Option<Vec<String>>,
    /// Separator between joined claims. Default: one space.
    #[serde(default)]
    pub with: Option<String>,
    /// A constant for all users of this identity provider.
    #[serde(default)]
    pub value: Option<RuleValue>,
    /// Splits at this separator: into a list, for `given_name_array`, or into the one part selected
    /// by `part`.
    #[serde(default)]
    pub split: Option<String>,
    /// Index of the part of a split, from 0.
    #[serde(default)]
    pub part: Option<usize>,
    /// The identity provider's format of a birthdate: `DD/MM/YYYY`, `D.M.YYYY`, `YYYYMMDD`, `YYYY`.
    #[serde(default)]
    pub date: Option<String>,
    /// Replaces values of the identity provider, for example `{ M = "male", F = "female" }`.
    #[serde(default)]
    pub map: Option<BTreeMap<String, RuleValue>>,
    /// Replacement for values that are not in `map`. Without it the claim is dropped.
    #[serde(default)]
    pub otherwise: Option<RuleValue>,
    /// Converts the text to upper or lower case.
    #[serde(default)]
    pub case: Option<LetterCase>,
}

/// A text or a boolean.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RuleValue {
    /// A text.
    Text(String),
    /// A boolean.
    Boolean(bool),
}

/// Case of letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LetterCase {
    /// Upper case.
    Upper,
    /// Lower case.
    Lower,
}
