//! Applies claim mapping, identity rules and scopes to a sample of claims, with the functions that
//! a login calls.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use passerelle_config::check_context::CheckContext;
use passerelle_config::model::Scopes;
use passerelle_connector::ConfiguredConnector;
use passerelle_connector::diagnostic::CheckDiagnostic;
use passerelle_federation::identity::mapping::{ClaimPath, Mapping, MappingSource};
use passerelle_federation::identity::rules::IdentityRules;
use passerelle_federation::identity::scopes::{PartialDateFormat, ScopeTable, claim_values};
use passerelle_federation::identity::{Claim, ClaimName, DeclaredValues, DroppedClaim, Identity};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Scope;

/// Result of processing a sample.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SampleResult {
    /// Claims after the mapping.
    pub claims: Map<String, Value>,
    /// Identity after the identity rules; `None` if they reject it.
    pub identity: Option<Map<String, Value>>,
    /// Claims of each scope, for service providers under the federation rules.
    pub scopes: BTreeMap<String, ScopeClaims>,
    /// The same for service providers under `rules = "openid"`; empty on the high platform.
    pub openid_scopes: BTreeMap<String, ScopeClaims>,
}

/// Claims of one scope in the sample.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeClaims {
    pub claims: Vec<ClaimName>,
    pub missing: Vec<ClaimName>,
}

/// Processes the sample, and adds the diagnostics.
pub(super) fn evaluate_sample(
    connector: &ConfiguredConnector,
    context: &CheckContext,
    rules: &IdentityRules,
    mut claims: Map<String, Value>,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> SampleResult {
    // An invalid mapping is already reported.
    let protocol_claims = connector.kind.protocol_claims();
    let Some(mapping) = &connector.mapping else {
        return SampleResult::default();
    };
    claims.retain(|name, _| !protocol_claims.contains(&name.as_str()));
    diagnostics.extend(find_missing_sources(mapping, &claims));
    let (claims, lost) = mapping.apply(claims);
    for lost in lost {
        let fix = format!(
            "look at mapping.{} in the file, and at what the identity provider sends",
            lost.claim
        );
        diagnostics.push(CheckDiagnostic::warning(
            "mapping",
            format!("{} is omitted: {}", lost.claim, lost.error),
            fix,
        ));
    }
    let (violations, dropped) = find_rule_violations(&claims, rules);
    if violations.is_empty() {
        diagnostics
            .push(CheckDiagnostic::ok("identity", "the sample satisfies the identity rules"));
    }
    diagnostics.extend(violations);
    diagnostics.extend(dropped.iter().map(|dropped| {
        let message = format!("{} is left out: it {dropped}", dropped.claim);
        CheckDiagnostic::warning("claims", message, dropped.fix())
    }));
    let declared = read_declared_claims(context, &claims, diagnostics);
    let identity = Identity::from_claims(&claims, rules).ok();
    let identity = identity.map(|identity| Identity { declared, ..identity });
    let mut sample = SampleResult { claims, ..SampleResult::default() };
    if let Some(identity) = &identity {
        let all: BTreeSet<ClaimName> =
            Claim::all().map(ClaimName::from).chain(context.declarations.claims.names()).collect();
        sample.identity = Some(claim_values(&all, identity, PartialDateFormat::ZeroPadded));
        sample.scopes = released_claims(
            &context.scopes.scopes,
            context,
            identity,
            PartialDateFormat::ZeroPadded,
        );
        if context.platform == Platform::Standard {
            sample.openid_scopes = released_claims(
                &context.scopes.openid,
                context,
                identity,
                PartialDateFormat::YearOnly,
            );
        }
    }
    sample
}

/// Returns the valid values of declared claims, and adds the diagnostics of the others.
fn read_declared_claims(
    context: &CheckContext,
    claims: &Map<String, Value>,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> DeclaredValues {
    let (declared, rejected) = context.declarations.claims.read_values(claims);
    diagnostics.extend(rejected.into_iter().map(|(name, error)| {
        let fix = format!(
            "look at mapping.{name} in the file, and at [claims.{name}] in passerelle.toml"
        );
        CheckDiagnostic::warning("claims", format!("{name} is left out: {error}"), fix)
    }));
    if let Some(claim) = context.declarations.claims.missing_required(&declared) {
        let message = format!("{claim} is required, and this sample has no valid value");
        let fix = format!("map it: [mapping] {claim} = {{ … }}; or remove required = true");
        diagnostics.push(CheckDiagnostic::error("claims", message, fix));
    }
    declared
}

/// Finds mapping rules whose source claims are not in the sample.
fn find_missing_sources(mapping: &Mapping, claims: &Map<String, Value>) -> Vec<CheckDiagnostic> {
    let mut diagnostics = Vec::new();
    for (claim, rule) in &mapping.rules {
        let paths = match &rule.source {
            MappingSource::Constant(_) => continue,
            MappingSource::From(path) => std::slice::from_ref(path),
            MappingSource::Join { parts, .. } => parts.as_slice(),
        };
        if paths.iter().any(|path| path.find(claims).is_some()) {
            continue;
        }
        let sought = paths.iter().map(ClaimPath::as_str).collect::<Vec<_>>().join(", ");
        let fix = match paths.iter().find_map(|path| suggest_pointer(path, claims)) {
            Some(pointer) => format!("paths begin with /: write \"{pointer}\""),
            None => "nothing, if this user has none; otherwise name the claim as the identity provider sends it".to_owned(),
        };
        diagnostics.push(CheckDiagnostic::warning(
            "mapping",
            format!("{claim} is made from {sought}, which this sample does not have"),
            fix,
        ));
    }
    diagnostics
}

/// Suggests a JSON pointer for a dotted path such as `address.country`.
fn suggest_pointer(path: &ClaimPath, claims: &Map<String, Value>) -> Option<String> {
    let pointer = format!("/{}", path.as_str().replace('.', "/"));
    let dotted = !path.as_str().starts_with('/') && path.as_str().contains('.');
    (dotted && ClaimPath::parse(&pointer).ok()?.find(claims).is_some()).then_some(pointer)
}

/// Finds every rule that these claims violate, of which a login reports only the first, and the
/// malformed claims that are left out.
fn find_rule_violations(
    claims: &Map<String, Value>,
    rules: &IdentityRules,
) -> (Vec<CheckDiagnostic>, Vec<DroppedClaim>) {
    let (mut claims, mut reported, mut diagnostics) = (claims.clone(), BTreeSet::new(), Vec::new());
    loop {
        let error = match Identity::with_dropped_claims(&claims, rules) {
            Ok((_, dropped)) => return (diagnostics, dropped),
            Err(error) => error,
        };
        // A valid value replaces it, so that the next violation shows.
        match placeholder_value(error.claim) {
            Some(value) => claims.insert(error.claim.as_str().to_owned(), value.into()),
            None => claims.remove(error.claim.as_str()),
        };
        if !reported.insert(error.claim) {
            return (diagnostics, Vec::new());
        }
        let fix = format!(
            "make the identity provider send it as the identity rules require, or map it: [mapping] {} = {{ … }}",
            error.claim
        );
        let code = error.code().entry().code;
        diagnostics.push(CheckDiagnostic::error(
            "identity",
            format!("{error} (a login would end with {code})"),
            fix,
        ));
    }
}

const fn placeholder_value(claim: Claim) -> Option<&'static str> {
    match claim {
        Claim::GivenName | Claim::FamilyName => Some("X"),
        Claim::Birthdate => Some("2000-01-01"),
        Claim::Gender => Some("unspecified"),
        Claim::Birthplace | Claim::Birthcountry => Some("99999"),
        _ => None,
    }
}

fn released_claims(
    table: &Scopes,
    context: &CheckContext,
    identity: &Identity,
    date_format: PartialDateFormat,
) -> BTreeMap<String, ScopeClaims> {
    let Ok(checked) = ScopeTable::from_names(table, &context.declarations.claims) else {
        return BTreeMap::new();
    };
    let fill = |scope: &Scope| {
        // `sub` is derived for each service provider.
        let mut names = checked.claim_names(std::slice::from_ref(scope));
        names.remove(&Claim::Sub.into());
        let values = claim_values(&names, identity, date_format);
        let (claims, missing) =
            names.into_iter().partition(|claim| values.contains_key(claim.as_str()));
        (scope.to_string(), ScopeClaims { claims, missing })
    };
    checked
        .scopes()
        .map(fill)
        .filter(|(_, filled)| !(filled.claims.is_empty() && filled.missing.is_empty()))
        .collect()
}
