//! `config/scopes.toml`: which claims a scope opens (decisions 7). The table is data; without the file, the built-in one.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::ids::Scope;

use super::problem::Problem;
use super::source::Source;

/// `config/scopes.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopesFile {
    /// Scope → the claims that it opens. `openid` must be there, and opens `sub`.
    pub scopes: BTreeMap<Scope, Vec<String>>,
}

/// Claims that the hub can deliver.
const CLAIMS: [&str; 10] = [
    "sub",
    "given_name",
    "given_name_array",
    "family_name",
    "gender",
    "birthdate",
    "birthplace",
    "birthcountry",
    "email",
    "preferred_username",
];

pub fn load(file: &Path, problems: &mut Vec<Problem>) -> Option<BTreeMap<Scope, Vec<String>>> {
    if !file.exists() {
        return Some(built_in());
    }
    let source = Source::read(file).map_err(|problem| problems.push(problem)).ok()?;
    let scopes = source.shape::<ScopesFile>(problems)?.scopes;
    let before = problems.len();
    if !scopes.get("openid").is_some_and(|claims| claims.iter().any(|claim| claim == "sub")) {
        problems.push(source.problem("scopes.openid", "does not open sub", "write openid = [\"sub\"]"));
    }
    for (scope, claims) in &scopes {
        let key = format!("scopes.{scope}");
        // RFC 6749, 3.3: scope-token.
        if scope.as_str().is_empty() || !scope.as_str().bytes().all(|c| c.is_ascii_graphic() && c != b'"' && c != b'\\') {
            problems.push(source.problem(&key, "is no scope name", "use printable ASCII without blanks, \" and \\"));
        }
        if claims.iter().any(|claim| !CLAIMS.contains(&claim.as_str())) {
            problems.push(source.problem(&key, "names an unknown claim", format!("use only: {}", CLAIMS.join(", "))));
        }
    }
    (problems.len() == before).then_some(scopes)
}

/// The table of decisions 7.
#[must_use]
pub fn built_in() -> BTreeMap<Scope, Vec<String>> {
    let table: [(&str, &[&str]); 11] = [
        ("openid", &["sub"]),
        ("given_name", &["given_name", "given_name_array"]),
        ("family_name", &["family_name"]),
        ("gender", &["gender"]),
        ("birthdate", &["birthdate"]),
        ("birthplace", &["birthplace"]),
        ("birthcountry", &["birthcountry"]),
        ("email", &["email"]),
        ("preferred_username", &["preferred_username"]),
        ("profile", &["given_name", "given_name_array", "family_name", "birthdate", "gender"]),
        ("birth", &["birthplace", "birthcountry"]),
    ];
    let pivot: &[&str] = &["given_name", "given_name_array", "family_name", "gender", "birthdate", "birthplace", "birthcountry"];
    let rows = table.into_iter().chain([("identite_pivot", pivot)]);
    rows.map(|(scope, claims)| (Scope::from(scope), claims.iter().map(ToString::to_string).collect())).collect()
}
