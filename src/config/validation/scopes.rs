//! Loads `config/scopes.toml`: the claims of each scope. Without the file, the built-in tables
//! apply.

use std::path::Path;

use crate::config::loading::{Diagnostic, SourceFile};
use crate::config::model::{Scopes, ScopesFile};
use crate::identity::Claim;
use crate::identity::scopes::ScopeTable;
use crate::protocol::registration::ProtocolRules;

/// Content in place of a missing scopes.toml: the built-in tables apply.
pub(in crate::config) const ABSENT_SCOPES_FILE: &str = "# absent: the built-in tables\n";

/// The tables for both rules.
#[derive(Clone, Debug)]
pub struct ScopeTables {
    /// Table under federation rules.
    pub scopes: Scopes,
    /// Table under `rules = "openid"`.
    pub openid: Scopes,
}

impl Default for ScopeTables {
    fn default() -> Self {
        Self { scopes: ScopeTable::default().names(), openid: ScopeTable::openid().names() }
    }
}

impl ScopeTables {
    /// Returns the table for `rules`.
    #[must_use]
    pub const fn for_rules(&self, rules: ProtocolRules) -> &Scopes {
        match rules {
            ProtocolRules::Federation => &self.scopes,
            ProtocolRules::Openid => &self.openid,
        }
    }
}

/// Loads the file. Returns `None` and reports problems if it is invalid.
pub fn load_scopes(
    file: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Option<(SourceFile, ScopeTables)> {
    if !file.exists() {
        let source = SourceFile::parse(file, ABSENT_SCOPES_FILE)
            .map_err(|problem| problems.push(problem))
            .ok()?;
        return Some((source, ScopeTables::default()));
    }
    let source = SourceFile::read(file).map_err(|problem| problems.push(problem)).ok()?;
    let tables = parse_scopes(&source, problems)?;
    Some((source, tables))
}

/// Returns the tables of a parsed file. Returns `None` and reports problems if it is invalid.
pub fn parse_scopes(source: &SourceFile, problems: &mut Vec<Diagnostic>) -> Option<ScopeTables> {
    let written = source.deserialize::<ScopesFile>(problems)?;
    let built_in = || ScopeTable::openid().names();
    let tables =
        ScopeTables { scopes: written.scopes, openid: written.openid.unwrap_or_else(built_in) };
    let before = problems.len();
    check_table(source, "scopes", &tables.scopes, &Claim::FEDERATION, problems);
    check_table(source, "openid", &tables.openid, &Claim::all().collect::<Vec<_>>(), problems);
    (problems.len() == before).then_some(tables)
}

fn check_table(
    source: &SourceFile,
    table: &str,
    scopes: &Scopes,
    claims: &[Claim],
    problems: &mut Vec<Diagnostic>,
) {
    if !scopes.get("openid").is_some_and(|claims| claims.iter().any(|claim| claim == "sub")) {
        problems.push(source.diagnostic(
            &format!("{table}.openid"),
            "does not contain sub",
            "write openid = [\"sub\"]",
        ));
    }
    for (scope, names) in scopes {
        let key = format!("{table}.{scope}");
        // RFC 6749 §3.3: scope-token.
        if scope.as_str().is_empty()
            || !scope.as_str().bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b'\\')
        {
            problems.push(source.diagnostic(
                &key,
                "is not a valid scope name",
                "use printable ASCII without spaces, \" and \\",
            ));
        }
        if names.iter().any(|name| !claims.iter().any(|claim| claim.as_str() == name)) {
            let known = claims.iter().map(Claim::to_string).collect::<Vec<_>>().join(", ");
            problems.push(source.diagnostic(
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
    fn the_committed_file_contains_the_built_in_tables() {
        let mut problems = Vec::new();
        let (_, read) = load_scopes(
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
