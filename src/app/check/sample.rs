//! What becomes of an identity provider's claims: mapped, judged by the identity rules, released by scopes.
//!
//! Owns: the telling. Every decision is asked of the functions that a login asks. The values are the operator's own
//! sample, and are shown to nobody else.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::mapping::{self, PROTOCOL_CLAIMS};
use crate::config::model::{ConnectorFile, ConnectorKind};
use crate::config::scopes::Scopes;
use crate::config::surroundings::Surroundings;
use crate::connector::finding::Finding;
use crate::identity::mapping::{Mapping, Path, Source};
use crate::identity::rules::Rules;
use crate::identity::scopes::{Presumed, ScopeTable, delivered};
use crate::identity::{Claim, Identity};
use crate::ids::Scope;
use crate::protocol::acr::Platform;

/// A sample's way through the hub.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// After the mapping.
    pub claims: Map<String, Value>,
    /// After the identity rules; `None` where they refuse it.
    pub identity: Option<Map<String, Value>>,
    /// Scope → what it would release, and which of its claims have no value. Under the hub's own rules.
    pub scopes: BTreeMap<String, Filled>,
    /// The same for service providers under `rules = "openid"`; empty on the high platform.
    pub openid_scopes: BTreeMap<String, Filled>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Filled {
    pub claims: Vec<Claim>,
    pub missing: Vec<Claim>,
}

/// Follows the sample through the hub.
pub(super) fn follow(
    file: &ConnectorFile,
    around: &Surroundings,
    rules: &Rules,
    mut claims: Map<String, Value>,
    findings: &mut Vec<Finding>,
) -> Sample {
    // A mapping that can't work is among the file's problems.
    let Ok(mapping) = mapping::of(file) else { return Sample::default() };
    if matches!(file.kind, ConnectorKind::Oidc(_)) {
        claims.retain(|name, _| !PROTOCOL_CLAIMS.contains(&name.as_str()));
    }
    findings.extend(empty_sources(&mapping, &claims));
    let (claims, lost) = mapping.apply(claims);
    for lost in lost {
        let mend = format!(
            "look at mapping.{} in the file, and at what the identity provider sends",
            lost.claim
        );
        findings.push(Finding::warning(
            "mapping",
            format!("{} is left out: {}", lost.claim, lost.loss),
            mend,
        ));
    }
    let refused = refusals(&claims, rules);
    if refused.is_empty() {
        findings.push(Finding::ok("identity", "it keeps the identity rules"));
    }
    findings.extend(refused);
    let identity = Identity::from_claims(&claims, rules).ok();
    let mut sample = Sample { claims, ..Sample::default() };
    if let Some(identity) = &identity {
        let all: BTreeSet<Claim> = Claim::all().collect();
        sample.identity = Some(delivered(&all, identity, Presumed::Zeros));
        sample.scopes = filled(&around.scopes.scopes, identity, Presumed::Zeros);
        if around.platform == Platform::Standard {
            sample.openid_scopes = filled(&around.scopes.openid, identity, Presumed::YearAlone);
        }
    }
    sample
}

/// Rules whose claims are not in the sample.
fn empty_sources(mapping: &Mapping, claims: &Map<String, Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (claim, rule) in &mapping.rules {
        let paths = match &rule.source {
            Source::Constant(_) => continue,
            Source::From(path) => std::slice::from_ref(path),
            Source::Join { parts, .. } => parts.as_slice(),
        };
        if paths.iter().any(|path| path.find(claims).is_some()) {
            continue;
        }
        let sought = paths.iter().map(Path::as_str).collect::<Vec<_>>().join(", ");
        let mend = match paths.iter().find_map(|path| pointer(path, claims)) {
            Some(pointer) => format!("a path begins with /: write \"{pointer}\""),
            None => "nothing, if this person has none; else name the claim as the identity provider sends it".to_owned(),
        };
        findings.push(Finding::warning(
            "mapping",
            format!("{claim} is made of {sought}, which this sample does not have"),
            mend,
        ));
    }
    findings
}

/// What somebody meant who wrote `address.country`.
fn pointer(path: &Path, claims: &Map<String, Value>) -> Option<String> {
    let pointer = format!("/{}", path.as_str().replace('.', "/"));
    let dotted = !path.as_str().starts_with('/') && path.as_str().contains('.');
    (dotted && Path::parse(&pointer).ok()?.find(claims).is_some()).then_some(pointer)
}

/// Everything that the rules have against these claims; a login is told the first.
fn refusals(claims: &Map<String, Value>, rules: &Rules) -> Vec<Finding> {
    let (mut claims, mut told, mut findings) = (claims.clone(), BTreeSet::new(), Vec::new());
    while let Err(fault) = Identity::from_claims(&claims, rules) {
        // What would be right takes its place, so that the next fault shows.
        match stand_in(fault.claim) {
            Some(value) => claims.insert(fault.claim.as_str().to_owned(), value.into()),
            None => claims.remove(fault.claim.as_str()),
        };
        if !told.insert(fault.claim) {
            break;
        }
        let mend = format!(
            "have it sent as the identity rules want it, or map it: [mapping] {} = {{ … }}",
            fault.claim
        );
        let code = fault.code().entry().code;
        findings.push(Finding::fault(
            "identity",
            format!("{fault} (a login would end with {code})"),
            mend,
        ));
    }
    findings
}

const fn stand_in(claim: Claim) -> Option<&'static str> {
    match claim {
        Claim::GivenName | Claim::FamilyName => Some("X"),
        Claim::Birthdate => Some("2000-01-01"),
        Claim::Gender => Some("unspecified"),
        Claim::Birthplace | Claim::Birthcountry => Some("99999"),
        _ => None,
    }
}

fn filled(table: &Scopes, identity: &Identity, presumed: Presumed) -> BTreeMap<String, Filled> {
    let Ok(checked) = ScopeTable::from_names(table) else { return BTreeMap::new() };
    let fill = |scope: &Scope| {
        // `sub` is derived for each service provider.
        let mut names = checked.claim_names(std::slice::from_ref(scope));
        names.remove(&Claim::Sub);
        let values = delivered(&names, identity, presumed);
        let (claims, missing) =
            names.into_iter().partition(|claim| values.contains_key(claim.as_str()));
        (scope.to_string(), Filled { claims, missing })
    };
    checked
        .scopes()
        .map(fill)
        .filter(|(_, filled)| !(filled.claims.is_empty() && filled.missing.is_empty()))
        .collect()
}
