//! Loads `config/scopes.toml`: the claims of each scope. Without the file, the built-in tables
//! apply.

use std::path::Path;

use crate::model::{Scopes, ScopesFile};
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::scopes::ScopeTable;
use passerelle_federation::identity::{Claim, ClaimName};
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::{Diagnostic, FileCheck, SourceFile};

/// Content in place of a missing scopes.toml: the built-in tables apply.
pub(crate) const ABSENT_SCOPES_FILE: &str = "# absent: the built-in tables\n";

/// The tables for both rules.
#[derive(Clone, Debug)]
pub struct ScopeTables {
    /// Table under federation rules.
    pub scopes: Scopes,
    /// Table under `rules = "openid"`.
    pub openid: Scopes,
}

/// A scope table with its name in `scopes.toml`.
#[derive(Clone, Copy, Debug)]
pub struct NamedScopeTable<'a> {
    pub name: &'static str,
    pub scopes: &'a Scopes,
}

impl Default for ScopeTables {
    fn default() -> Self {
        Self { scopes: ScopeTable::default().names(), openid: ScopeTable::openid().names() }
    }
}

impl ScopeTables {
    /// Returns the table for `rules`.
    pub const fn for_rules(&self, rules: ProtocolRules) -> &Scopes {
        match rules {
            ProtocolRules::Federation => &self.scopes,
            ProtocolRules::Openid => &self.openid,
        }
    }

    /// Returns the table for `rules` with its name in the file.
    pub const fn named(&self, rules: ProtocolRules) -> NamedScopeTable<'_> {
        let name = match rules {
            ProtocolRules::Federation => "scopes",
            ProtocolRules::Openid => "openid",
        };
        NamedScopeTable { name, scopes: self.for_rules(rules) }
    }
}

/// Loads the file. Returns `None` and reports problems if it is invalid. `declared` is `None` if the
/// settings are unreadable: the names of claims are not checked then.
pub fn load_scopes(
    file: &Path,
    declared: Option<&DeclaredClaims>,
    problems: &mut Vec<Diagnostic>,
) -> Option<(SourceFile, ScopeTables)> {
    if !file.exists() {
        let source = SourceFile::parse(file, ABSENT_SCOPES_FILE)
            .map_err(|problem| problems.push(problem))
            .ok()?;
        return Some((source, ScopeTables::default()));
    }
    let source = SourceFile::read(file).map_err(|problem| problems.push(problem)).ok()?;
    let tables = parse_scopes(&mut FileCheck::new(&source, problems), declared)?;
    Some((source, tables))
}

/// Returns the tables of a parsed file. Returns `None` and reports problems if it is invalid.
pub fn parse_scopes(
    check: &mut FileCheck<'_>,
    declared: Option<&DeclaredClaims>,
) -> Option<ScopeTables> {
    let written = check.source.deserialize::<ScopesFile>(check.problems)?;
    // A table of one scope adds it; the scopes of the standard stay.
    let openid = ScopeTable::openid().names().into_iter().chain(written.openid).collect();
    let scopes = written.scopes.unwrap_or_else(|| ScopeTable::default().names());
    let tables = ScopeTables { scopes, openid };
    let before = check.problems.len();
    let with_declared = |claims: &mut dyn Iterator<Item = Claim>| {
        let claims = claims.map(ClaimName::from);
        declared.map(|declared| claims.chain(declared.names()).collect::<Vec<_>>())
    };
    let federation = with_declared(&mut Claim::FEDERATION.into_iter());
    check_table(check, tables.named(ProtocolRules::Federation), federation.as_deref());
    let openid = with_declared(&mut Claim::all());
    check_table(check, tables.named(ProtocolRules::Openid), openid.as_deref());
    (check.problems.len() == before).then_some(tables)
}

fn check_table(
    check: &mut FileCheck<'_>,
    table: NamedScopeTable<'_>,
    claims: Option<&[ClaimName]>,
) {
    let NamedScopeTable { name: table, scopes } = table;
    if !scopes.get("openid").is_some_and(|claims| claims.iter().any(|claim| claim == "sub")) {
        check.report(
            &format!("{table}.openid"),
            "does not contain sub",
            "write openid = [\"sub\"]",
        );
    }
    for (scope, names) in scopes {
        let key = format!("{table}.{scope}");
        // RFC 6749 §3.3: scope-token.
        if scope.as_str().is_empty()
            || !scope.as_str().bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b'\\')
        {
            check.report(
                &key,
                "is not a valid scope name",
                "use printable ASCII without spaces, \" and \\",
            );
        }
        let Some(claims) = claims else { continue };
        let is_known = |name: &String| claims.iter().any(|claim| claim.as_str() == name);
        if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
            let known = claims.iter().map(ClaimName::as_str).collect::<Vec<_>>().join(", ");
            check.report(
                &key,
                format!("names an unknown claim, {unknown}"),
                format!(
                    "declare it as [claims.{unknown}] in passerelle.toml, or use only: {known}"
                ),
            );
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
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/scopes.toml")),
            Some(&DeclaredClaims::default()),
            &mut problems,
        )
        .unwrap();
        for (written, built_in) in
            [(read.scopes, ScopeTable::default()), (read.openid, ScopeTable::openid())]
        {
            assert_eq!(ScopeTable::from_names(&written, &DeclaredClaims::default()), Ok(built_in));
        }
    }
}
