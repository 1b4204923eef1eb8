//! `[mapping]` of a connector's file: from what an operator writes to rules that can't fail at a login
//! (docs/claim-mapping.md).

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{ClaimRule, ConnectorFile, ConnectorKind, LetterCase, RuleValue};
use super::problem::Problem;
use super::source::Source as File;
use crate::identity::Claim;
use crate::identity::mapping::{
    Form, Mapping, Path, Pattern, Rule, Source, Type, Unmapped, check_value,
};

/// What can't work in a mapping: key, what is wrong, mend.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{key}: {what}; {mend}")]
pub struct MappingRefused {
    pub key: String,
    pub what: String,
    pub mend: String,
}

type Refused = MappingRefused;

const MOST_PARTS: usize = 16;
const MOST_ROWS: usize = 1000;
/// Characters of a separator.
const LONGEST_SEPARATOR: usize = 16;

/// Claims of the protocol, which an OpenID Connect connector judges itself and never passes on.
pub const PROTOCOL_CLAIMS: [&str; 15] = [
    "iss",
    "aud",
    "exp",
    "iat",
    "nbf",
    "jti",
    "nonce",
    "azp",
    "at_hash",
    "c_hash",
    "acr",
    "amr",
    "auth_time",
    "sid",
    "sub",
];

/// Claims that say who somebody is: made of a constant, they would make everybody that one.
const NO_CONSTANTS: [Claim; 11] = [
    Claim::GivenName,
    Claim::GivenNameArray,
    Claim::FamilyName,
    Claim::Birthdate,
    Claim::Email,
    Claim::PreferredUsername,
    Claim::Name,
    Claim::Nickname,
    Claim::PhoneNumber,
    Claim::UpdatedAt,
    Claim::Address,
];

/// The mapping of a connector's file.
///
/// # Errors
/// Everything that can't work; never an empty list.
pub fn of(file: &ConnectorFile) -> Result<Mapping, Vec<MappingRefused>> {
    let mut refused = Vec::new();
    let mut rules = BTreeMap::new();
    for (name, rule) in &file.mapping {
        let made = target(name)
            .and_then(|claim| Ok((claim, Reader { name, claim, rule, kind: &file.kind }.read()?)));
        match made {
            Ok((claim, rule)) => {
                rules.insert(claim, rule);
            }
            Err(fault) => refused.push(*fault),
        }
    }
    if file.mapping.is_empty() && file.unmapped_claims == Unmapped::Drop {
        let (what, mend) =
            ("drops every claim, for no rule makes one", "add a [mapping] table, or remove it");
        refused.push(MappingRefused {
            key: "unmapped_claims".into(),
            what: what.into(),
            mend: mend.into(),
        });
    }
    if refused.is_empty() {
        Ok(Mapping { rules, unmapped: file.unmapped_claims })
    } else {
        Err(refused)
    }
}

pub(super) fn check(source: &File, file: &ConnectorFile, problems: &mut Vec<Problem>) {
    for Refused { key, what, mend } in of(file).err().unwrap_or_default() {
        problems.push(source.problem(&key, what, mend));
    }
}

fn target(name: &str) -> Result<Claim, Box<Refused>> {
    let refuse = |what: &str, mend: String| {
        Err(Box::new(Refused { key: format!("mapping.{name}"), what: what.into(), mend }))
    };
    match Claim::named(name) {
        None => {
            let known: Vec<&str> =
                Claim::all().filter(|claim| *claim != Claim::Sub).map(Claim::as_str).collect();
            refuse(
                "is not a claim that this hub knows",
                format!("write one of: {}", known.join(", ")),
            )
        }
        Some(Claim::Sub) => refuse(
            "can't be made: every service provider gets a sub of its own",
            "remove it".into(),
        ),
        Some(claim) => Ok(claim),
    }
}

/// One rule as written.
struct Reader<'a> {
    name: &'a str,
    claim: Claim,
    rule: &'a ClaimRule,
    kind: &'a ConnectorKind,
}

impl Reader<'_> {
    fn read(&self) -> Result<Rule, Box<Refused>> {
        let source = self.source()?;
        let form = self.form(&source)?;
        self.fits_together(&source, &form)?;
        Ok(Rule { source, form })
    }

    /// A refusal at a key of this rule; at the rule itself where `key` is empty.
    fn refuse<T>(
        &self,
        key: &str,
        what: impl Into<String>,
        mend: impl Into<String>,
    ) -> Result<T, Box<Refused>> {
        let dot = if key.is_empty() { "" } else { "." };
        Err(Box::new(Refused {
            key: format!("mapping.{}{dot}{key}", self.name),
            what: what.into(),
            mend: mend.into(),
        }))
    }

    fn source(&self) -> Result<Source, Box<Refused>> {
        let ClaimRule { from, value, join, with, .. } = self.rule;
        if with.is_some() && join.is_none() {
            return self.refuse(
                "with",
                "is given, and nothing is joined",
                "remove it, or write join = [\"…\", \"…\"]",
            );
        }
        match (from, value, join) {
            (Some(from), None, None) => Ok(Source::From(self.path("from", from)?)),
            (None, Some(value), None) => self.constant(value),
            (None, None, Some(parts)) => {
                if parts.is_empty() || parts.len() > MOST_PARTS {
                    let mend = format!("name 1 to {MOST_PARTS} claims");
                    return self.refuse("join", "names no claim, or too many", mend);
                }
                let named = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| self.path(&format!("join[{index}]"), part));
                let with = with.clone().unwrap_or_else(|| " ".into());
                self.separator("with", &with)?;
                Ok(Source::Join { parts: named.collect::<Result<_, _>>()?, with })
            }
            (None, None, None) => self.refuse(
                "",
                "says not what the claim is made of",
                "add from = \"…\", join = [\"…\", \"…\"] or value = \"…\"",
            ),
            _ => self.refuse("", "is made of several things", "keep one of from, join and value"),
        }
    }

    fn constant(&self, value: &RuleValue) -> Result<Source, Box<Refused>> {
        if NO_CONSTANTS.contains(&self.claim) {
            let mend = "write from = \"…\" or join = [\"…\", \"…\"], with the identity provider's own claims";
            return self.refuse(
                "value",
                "is the same for everybody, and this claim says who somebody is",
                mend,
            );
        }
        Ok(Source::Constant(self.own_value("value", value)?))
    }

    /// A value from the file, as the identity rules would take it.
    fn own_value(&self, key: &str, value: &RuleValue) -> Result<Value, Box<Refused>> {
        let value = match value {
            RuleValue::Text(text) => Value::from(text.as_str()),
            RuleValue::Truth(truth) => Value::from(*truth),
        };
        check_value(self.claim, &value)
            .or_else(|mend| self.refuse(key, "would be refused as a value of this claim", mend))?;
        Ok(value)
    }

    fn path(&self, key: &str, written: &str) -> Result<Path, Box<Refused>> {
        let mend = "write a claim's name as the identity provider has it, or a path as \"/address/country\" or \"/names/0\"";
        let path =
            Path::parse(written).or_else(|fault| self.refuse(key, fault.to_string(), mend))?;
        if matches!(self.kind, ConnectorKind::Oidc(_)) && PROTOCOL_CLAIMS.contains(&path.claim()) {
            let what = "is a claim of the protocol, which is judged and not passed on";
            return self.refuse(key, what, "name a claim that speaks of the person");
        }
        Ok(path)
    }

    fn separator(&self, key: &str, text: &str) -> Result<(), Box<Refused>> {
        if text.chars().count() > LONGEST_SEPARATOR || text.chars().any(char::is_control) {
            let mend = format!("write at most {LONGEST_SEPARATOR} characters, as \" \" or \", \"");
            return self.refuse(key, "is too long, or holds a control character", mend);
        }
        Ok(())
    }

    fn form(&self, source: &Source) -> Result<Form, Box<Refused>> {
        let ClaimRule { split, part, date, map, otherwise, case, .. } = self.rule;
        let given = [split.is_some(), date.is_some(), map.is_some(), case.is_some()]
            .into_iter()
            .filter(|given| *given)
            .count();
        if given > 1 {
            return self.refuse(
                "",
                "does several things at once",
                "keep one of split, date, map and case",
            );
        }
        if given == 1 && matches!(source, Source::Constant(_)) {
            return self.refuse(
                "value",
                "needs no split, date, map or case",
                "write the value as it shall be",
            );
        }
        if part.is_some() && split.is_none() {
            return self.refuse(
                "part",
                "is given, and nothing is split",
                "remove it, or write split = \",\"",
            );
        }
        if otherwise.is_some() && map.is_none() {
            return self.refuse(
                "otherwise",
                "is given without a map",
                "remove it, or write map = { \"…\" = \"…\" }",
            );
        }
        if let Some(separator) = split {
            self.separator("split", separator)?;
            if separator.is_empty() {
                return self.refuse(
                    "split",
                    "is empty",
                    "write what stands between the parts, as \" \" or \", \"",
                );
            }
            return Ok(Form::Split { separator: separator.clone(), part: *part });
        }
        if let Some(pattern) = date {
            let mend = "write YYYY with MM and DD (or M and D, where they may have one digit), as \"DD/MM/YYYY\"";
            return Pattern::parse(pattern)
                .map(Form::Date)
                .or_else(|fault| self.refuse("date", fault.to_string(), mend));
        }
        if let Some(rows) = map {
            return self.table(rows, otherwise.as_ref());
        }
        Ok(match case {
            None => Form::AsItIs,
            Some(LetterCase::Upper) => Form::Upper,
            Some(LetterCase::Lower) => Form::Lower,
        })
    }

    fn table(
        &self,
        rows: &BTreeMap<String, RuleValue>,
        otherwise: Option<&RuleValue>,
    ) -> Result<Form, Box<Refused>> {
        if rows.is_empty() || rows.len() > MOST_ROWS {
            let mend =
                format!("write 1 to {MOST_ROWS} rows, as {{ M = \"male\", F = \"female\" }}");
            return self.refuse("map", "has no row, or too many", mend);
        }
        let checked = |(key, value): (&String, &RuleValue)| -> Result<_, Box<Refused>> {
            Ok((key.clone(), self.own_value(&format!("map.{key}"), value)?))
        };
        Ok(Form::Table {
            rows: rows.iter().map(checked).collect::<Result<_, _>>()?,
            otherwise: otherwise.map(|value| self.own_value("otherwise", value)).transpose()?,
        })
    }

    /// What the claim's own type rules out.
    fn fits_together(&self, source: &Source, form: &Form) -> Result<(), Box<Refused>> {
        let wanted = Type::of(self.claim);
        match form {
            Form::Date(_) if self.claim != Claim::Birthdate => {
                self.refuse("date", "is for birthdate alone", "remove it")
            }
            Form::Split { part: None, .. } if wanted != Type::Texts => self.refuse(
                "split",
                "makes a list, and this claim is none",
                "add part = 0 for the first part, 1 for the second",
            ),
            Form::Split { part: Some(_), .. } | Form::Upper | Form::Lower | Form::Date(_)
                if wanted != Type::Text =>
            {
                self.refuse(
                    "",
                    "makes a text, and this claim is none",
                    "use split without part for a list, and map for true or false",
                )
            }
            Form::Table { .. } if !matches!(wanted, Type::Text | Type::Truth) => self.refuse(
                "map",
                "makes a text or true and false, and this claim is neither",
                "remove it",
            ),
            Form::AsItIs if matches!(source, Source::Join { .. }) && wanted != Type::Text => self
                .refuse(
                    "join",
                    "makes a text, and this claim is none",
                    "use from; for given names, map given_name",
                ),
            Form::AsItIs
            | Form::Upper
            | Form::Lower
            | Form::Split { .. }
            | Form::Date(_)
            | Form::Table { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
