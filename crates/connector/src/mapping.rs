//! Parses the `[mapping]` table of a connector into rules that can't fail during a login
//! (docs/claim-mapping.md).

mod target_claim;

use std::collections::BTreeMap;

use serde_json::Value;
use target_claim::{TargetClaim, target_claim};

use crate::claim_rule::{LetterCase, RuleValue};
use crate::{ClaimRule, ConnectorFile};
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::mapping::{
    ClaimPath, DatePattern, Mapping, MappingRule, MappingSource, Transform, UnmappedClaims,
};
use passerelle_federation::identity::{Claim, ClaimName, ClaimType};
use passerelle_settings::{FieldDiagnostic, FileCheck};

const MAX_JOIN_PARTS: usize = 16;
const MAX_MAP_ROWS: usize = 1000;
const MAX_SEPARATOR_CHARS: usize = 16;

/// Parses the mapping of a connector file. A rule can't use the claims that its kind never passes
/// on ([`KindSettings::protocol_claims`](crate::kind_settings::KindSettings::protocol_claims)).
///
/// # Errors
/// Returns every invalid rule; never an empty list.
fn parse_mapping(
    file: &ConnectorFile,
    protocol_claims: &[&str],
    declared: &DeclaredClaims,
) -> Result<Mapping, Vec<FieldDiagnostic>> {
    let mut refused = Vec::new();
    let mut rules = BTreeMap::new();
    for (name, rule) in &file.mapping {
        let parsed = target_claim(name, declared).and_then(|target| {
            let parsed = RuleParser { name, target, rule, protocol_claims }.parse()?;
            Ok((ClaimName::from_name(name), parsed))
        });
        match parsed {
            Ok((claim, rule)) => {
                rules.insert(claim, rule);
            }
            Err(error) => refused.push(error),
        }
    }
    if file.mapping.is_empty() && file.unmapped_claims == UnmappedClaims::Drop {
        let (message, fix) =
            ("drops every claim, since there are no rules", "add a [mapping] table, or remove it");
        refused.push(FieldDiagnostic::new("unmapped_claims", message, fix));
    }
    if refused.is_empty() {
        Ok(Mapping { rules, unmapped: file.unmapped_claims })
    } else {
        Err(refused)
    }
}

/// Returns the mapping of a connector file. Returns `None` and reports the invalid rules if there
/// are any.
pub fn check_mapping(
    check: &mut FileCheck<'_>,
    file: &ConnectorFile,
    protocol_claims: &[&str],
    declared: &DeclaredClaims,
) -> Option<Mapping> {
    parse_mapping(file, protocol_claims, declared)
        .map_err(|refused| refused.into_iter().for_each(|one| check.add(one)))
        .ok()
}

/// Parses one rule.
struct RuleParser<'a> {
    name: &'a str,
    target: TargetClaim<'a>,
    rule: &'a ClaimRule,
    protocol_claims: &'a [&'a str],
}

impl RuleParser<'_> {
    fn parse(&self) -> Result<MappingRule, FieldDiagnostic> {
        let source = self.parse_source()?;
        let form = self.parse_transform(&source)?;
        self.check_types(&source, &form)?;
        Ok(MappingRule { source, transform: form })
    }

    /// Creates an error at a key of this rule, or at the rule itself if `key` is empty.
    fn reject<T>(
        &self,
        key: &str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Result<T, FieldDiagnostic> {
        let dot = if key.is_empty() { "" } else { "." };
        let key = format!("mapping.{}{dot}{key}", self.name);
        Err(FieldDiagnostic::new(key, message, fix))
    }

    fn parse_source(&self) -> Result<MappingSource, FieldDiagnostic> {
        let ClaimRule { from, value, join, with, .. } = self.rule;
        if with.is_some() && join.is_none() {
            return self.reject(
                "with",
                "is set, but nothing is joined",
                "remove it, or write join = [\"…\", \"…\"]",
            );
        }
        match (from, value, join) {
            (Some(from), None, None) => Ok(MappingSource::From(self.parse_path("from", from)?)),
            (None, Some(value), None) => self.parse_constant(value),
            (None, None, Some(parts)) => {
                if parts.is_empty() || parts.len() > MAX_JOIN_PARTS {
                    let fix = format!("name 1 to {MAX_JOIN_PARTS} claims");
                    return self.reject("join", "is empty or too long", fix);
                }
                let named = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| self.parse_path(&format!("join[{index}]"), part));
                let with = with.clone().unwrap_or_else(|| " ".into());
                self.check_separator("with", &with)?;
                Ok(MappingSource::Join { parts: named.collect::<Result<_, _>>()?, with })
            }
            (None, None, None) => self.reject(
                "",
                "has no source",
                "add from = \"…\", join = [\"…\", \"…\"] or value = \"…\"",
            ),
            _ => self.reject("", "has several sources", "keep one of from, join and value"),
        }
    }

    fn parse_constant(&self, value: &RuleValue) -> Result<MappingSource, FieldDiagnostic> {
        if self.target.identifies_user() {
            let fix =
                "write from = \"…\" or join = [\"…\", \"…\"], with claims of the identity provider";
            return self.reject(
                "value",
                "is the same for every user, but this claim identifies a user",
                match self.target {
                    TargetClaim::Specified(_) => fix.to_owned(),
                    TargetClaim::Declared(_) => format!("{fix}; or personal = false in its [claims] table, if it says nothing about a person"),
                },
            );
        }
        Ok(MappingSource::Constant(self.configured_value("value", value)?))
    }

    /// Returns a value from the file if it is valid for this claim.
    fn configured_value(&self, key: &str, value: &RuleValue) -> Result<Value, FieldDiagnostic> {
        let value = match value {
            RuleValue::Text(text) => Value::from(text.as_str()),
            RuleValue::Boolean(value) => Value::from(*value),
        };
        self.target
            .check_value(&value)
            .or_else(|fix| self.reject(key, "is not a valid value of this claim", fix))?;
        Ok(value)
    }

    fn parse_path(&self, key: &str, written: &str) -> Result<ClaimPath, FieldDiagnostic> {
        let fix = "write the name of the identity provider's claim, or a path, for example \"/address/country\" or \"/names/0\"";
        let path =
            ClaimPath::parse(written).or_else(|error| self.reject(key, error.to_string(), fix))?;
        if self.protocol_claims.contains(&path.claim()) {
            let message = "is a protocol claim, which is verified and not passed on";
            return self.reject(key, message, "name a claim about the user");
        }
        Ok(path)
    }

    fn check_separator(&self, key: &str, text: &str) -> Result<(), FieldDiagnostic> {
        if text.chars().count() > MAX_SEPARATOR_CHARS || text.chars().any(char::is_control) {
            let fix = format!(
                "write at most {MAX_SEPARATOR_CHARS} characters, for example \" \" or \", \""
            );
            return self.reject(key, "is too long, or contains a control character", fix);
        }
        Ok(())
    }

    fn parse_transform(&self, source: &MappingSource) -> Result<Transform, FieldDiagnostic> {
        let ClaimRule { split, part, date, map, otherwise, case, .. } = self.rule;
        let given = [split.is_some(), date.is_some(), map.is_some(), case.is_some()]
            .into_iter()
            .filter(|given| *given)
            .count();
        if given > 1 {
            return self.reject(
                "",
                "has several transforms",
                "keep one of split, date, map and case",
            );
        }
        if given == 1 && matches!(source, MappingSource::Constant(_)) {
            return self.reject(
                "value",
                "can't be combined with split, date, map or case",
                "write the final value",
            );
        }
        if part.is_some() && split.is_none() {
            return self.reject(
                "part",
                "is set, but nothing is split",
                "remove it, or write split = \",\"",
            );
        }
        if otherwise.is_some() && map.is_none() {
            return self.reject(
                "otherwise",
                "is set without map",
                "remove it, or write map = { \"…\" = \"…\" }",
            );
        }
        if let Some(separator) = split {
            self.check_separator("split", separator)?;
            if separator.is_empty() {
                return self.reject(
                    "split",
                    "is empty",
                    "write the separator, for example \" \" or \", \"",
                );
            }
            return Ok(Transform::Split { separator: separator.clone(), part: *part });
        }
        if let Some(pattern) = date {
            let fix = "write YYYY with MM and DD (or M and D, if they may have one digit), for example \"DD/MM/YYYY\"";
            return DatePattern::parse(pattern)
                .map(Transform::Date)
                .or_else(|error| self.reject("date", error.to_string(), fix));
        }
        if let Some(rows) = map {
            return self.parse_table(rows, otherwise.as_ref());
        }
        Ok(match case {
            None => Transform::Unchanged,
            Some(LetterCase::Upper) => Transform::Upper,
            Some(LetterCase::Lower) => Transform::Lower,
        })
    }

    fn parse_table(
        &self,
        rows: &BTreeMap<String, RuleValue>,
        otherwise: Option<&RuleValue>,
    ) -> Result<Transform, FieldDiagnostic> {
        if rows.is_empty() || rows.len() > MAX_MAP_ROWS {
            let fix = format!(
                "write 1 to {MAX_MAP_ROWS} rows, for example {{ M = \"male\", F = \"female\" }}"
            );
            return self.reject("map", "is empty or too long", fix);
        }
        let checked = |(key, value): (&String, &RuleValue)| -> Result<_, FieldDiagnostic> {
            Ok((key.clone(), self.configured_value(&format!("map.{key}"), value)?))
        };
        Ok(Transform::Table {
            rows: rows.iter().map(checked).collect::<Result<_, _>>()?,
            otherwise: otherwise
                .map(|value| self.configured_value("otherwise", value))
                .transpose()?,
        })
    }

    /// Checks that the rule's result fits the type of the claim.
    fn check_types(&self, source: &MappingSource, form: &Transform) -> Result<(), FieldDiagnostic> {
        let target_type = self.target.value_type();
        let is_birthdate = matches!(self.target, TargetClaim::Specified(Claim::Birthdate));
        match form {
            Transform::Date(_) if !is_birthdate => {
                self.reject("date", "is for birthdate only", "remove it")
            }
            Transform::Split { part: None, .. } if target_type != ClaimType::StringArray => self
                .reject(
                    "split",
                    "returns a list, but this claim is not a list",
                    "add part = 0 for the first part, 1 for the second",
                ),
            Transform::Split { part: Some(_), .. } | Transform::Date(_)
                if target_type != ClaimType::String =>
            {
                self.reject(
                    "",
                    "returns a text, but this claim is not a text",
                    "use split without part for a list, or map for true or false",
                )
            }
            Transform::Upper | Transform::Lower
                if !matches!(target_type, ClaimType::String | ClaimType::StringArray) =>
            {
                self.reject(
                    "case",
                    "returns a text or a list of texts, but this claim is neither",
                    "use map for true or false",
                )
            }
            Transform::Table { .. }
                if matches!(target_type, ClaimType::Number | ClaimType::Object) =>
            {
                self.reject(
                    "map",
                    "returns texts or booleans, but this claim is neither",
                    "remove it",
                )
            }
            Transform::Unchanged
                if matches!(source, MappingSource::Join { .. })
                    && target_type != ClaimType::String =>
            {
                self.reject(
                    "join",
                    "returns a text, but this claim is not a text",
                    "use from; for given names, map given_name",
                )
            }
            Transform::Unchanged
            | Transform::Upper
            | Transform::Lower
            | Transform::Split { .. }
            | Transform::Date(_)
            | Transform::Table { .. } => Ok(()),
        }
    }
}
