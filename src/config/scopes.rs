//! `config/scopes.toml`: which claims a scope opens (decisions 7). The tables are data; without the file, the built-in ones.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::identity::Claim;
use crate::identity::scopes::ScopeTable;
use crate::ids::Scope;
use crate::protocol::registration::Rules;

use super::files::ABSENT;
use super::problem::Problem;
use super::source::Source;

/// Scope → the claims that it opens.
pub type Scopes = BTreeMap<Scope, Vec<String>>;

/// `config/scopes.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopesFile {
    /// Scope → the claims that it opens. `openid` must be there, and opens `sub`.
    pub scopes: Scopes,
    /// The same for service providers under `rules = "openid"`. Default: the table of OpenID Connect Core 1.0, 5.4.
    #[serde(default)]
    pub openid: Option<Scopes>,
}

/// Both tables, as they count.
#[derive(Clone, Debug)]
pub struct Tables {
    pub scopes: Scopes,
    pub openid: Scopes,
}

impl Default for Tables {
    fn default() -> Self {
        Self { scopes: ScopeTable::default().names(), openid: ScopeTable::openid().names() }
    }
}

impl Tables {
    #[must_use]
    pub const fn of(&self, rules: Rules) -> &Scopes {
        match rules {
            Rules::Federation => &self.scopes,
            Rules::Openid => &self.openid,
        }
    }
}

pub fn load(file: &Path, problems: &mut Vec<Problem>) -> Option<(Source, Tables)> {
    if !file.exists() {
        let source = Source::parse(file, ABSENT).map_err(|problem| problems.push(problem)).ok()?;
        return Some((source, Tables::default()));
    }
    let source = Source::read(file).map_err(|problem| problems.push(problem)).ok()?;
    let tables = read(&source, problems)?;
    Some((source, tables))
}

/// The tables of a file that was read.
pub fn read(source: &Source, problems: &mut Vec<Problem>) -> Option<Tables> {
    let written = source.shape::<ScopesFile>(problems)?;
    let built_in = || ScopeTable::openid().names();
    let tables = Tables { scopes: written.scopes, openid: written.openid.unwrap_or_else(built_in) };
    let before = problems.len();
    check(source, "scopes", &tables.scopes, &Claim::FEDERATION, problems);
    check(source, "openid", &tables.openid, &Claim::all().collect::<Vec<_>>(), problems);
    (problems.len() == before).then_some(tables)
}

fn check(
    source: &Source,
    table: &str,
    scopes: &Scopes,
    claims: &[Claim],
    problems: &mut Vec<Problem>,
) {
    if !scopes.get("openid").is_some_and(|claims| claims.iter().any(|claim| claim == "sub")) {
        problems.push(source.problem(
            &format!("{table}.openid"),
            "does not open sub",
            "write openid = [\"sub\"]",
        ));
    }
    for (scope, names) in scopes {
        let key = format!("{table}.{scope}");
        // RFC 6749, 3.3: scope-token.
        if scope.as_str().is_empty()
            || !scope.as_str().bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b'\\')
        {
            problems.push(source.problem(
                &key,
                "is no scope name",
                "use printable ASCII without blanks, \" and \\",
            ));
        }
        if names.iter().any(|name| !claims.iter().any(|claim| claim.as_str() == name)) {
            let known = claims.iter().map(Claim::to_string).collect::<Vec<_>>().join(", ");
            problems.push(source.problem(
                &key,
                "names an unknown claim",
                format!("use only: {known}"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_for_operators_is_the_built_in_tables() {
        let mut problems = Vec::new();
        let (_, read) = load(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/config/scopes.toml")),
            &mut problems,
        )
        .unwrap();
        for (written, built_in) in
            [(read.scopes, ScopeTable::default()), (read.openid, ScopeTable::openid())]
        {
            assert_eq!(ScopeTable::from_names(&written), Ok(built_in));
        }
    }
}
