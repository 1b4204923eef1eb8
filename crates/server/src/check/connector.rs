//! Checks one connector's file: its form, a sample of claims, and the identity provider
//! (`passerelle check connector FILE`).

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;

use super::CheckInputs;
use super::sample::{self, SampleResult};
use crate::from_settings::identity_rules;
use passerelle_config::check_context::CheckContext;
use passerelle_config::connectors::ConnectorDraft;
use passerelle_connector::diagnostic::{
    CheckDiagnostic, DiagnosisContext, DiagnosticStatus, HubEndpoints, RegistrationParameter,
    SampleVerification,
};
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_connector::{ConfiguredConnector, Connector, ConnectorContext};
use passerelle_egress::http_client_pool::HttpClientPool;
use passerelle_federation::identity::mapping::{ClaimPath, MappingSource, UnmappedClaims};
use passerelle_federation::identity::rules::RequiredClaims;
use passerelle_federation::identity::{Claim, ClaimName};
use passerelle_hub::registry::ConnectorRow;
use passerelle_jose::RelyingPartyKeys;
use passerelle_jose::key_passphrase::KeyPassphrase;
use passerelle_jose::keyfiles::{self, KeyFolder};
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::json;
use passerelle_settings::Diagnostic;

/// Report on one connector's file.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectorReport {
    /// The file's stem.
    pub connector: ConnectorId,
    /// Worst status of the diagnostics.
    pub status: DiagnosticStatus,
    pub diagnostics: Vec<CheckDiagnostic>,
    /// Values to register at the identity provider.
    pub registration: Vec<RegistrationParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleResult>,
}

/// Checks one connector's file. `sample` is a JSON object of claims as the identity provider sends
/// them, or what a kind reads itself, such as a presentation of a wallet.
pub async fn check_connector(
    file: &Path,
    check: CheckInputs<'_>,
    sample: Option<&[u8]>,
) -> ConnectorReport {
    let CheckInputs { context, environment, env, is_online } = check;
    let draft = context.check_connector(file, environment);
    let mut diagnostics: Vec<CheckDiagnostic> =
        draft.problems.iter().chain(&draft.unverified).map(diagnostic_from_problem).collect();
    if diagnostics.is_empty() {
        diagnostics.push(CheckDiagnostic::ok("file", "the file is well formed"));
    }
    let endpoints = hub_endpoints(&draft.id, context);
    let (mut registration, mut sample_result) = (Vec::new(), None);
    if let Some(connector) = &draft.connector {
        let warnings = context.warnings(file, connector);
        diagnostics.extend(warnings.iter().filter_map(diagnostic_from_warning));
        registration = connector.kind.registration(&endpoints);
        if let Some(sample) = sample {
            let verified = verify_sample(sample, connector, check).await;
            sample_result = evaluate_sample(sample, verified, connector, context, &mut diagnostics);
        }
    }
    if is_online {
        diagnostics.extend(diagnose_online(&draft, context, endpoints.redirect_uri, env).await);
    }
    ConnectorReport {
        connector: draft.id,
        status: diagnostics
            .iter()
            .map(|diagnostic| diagnostic.status)
            .max()
            .unwrap_or(DiagnosticStatus::Ok),
        diagnostics,
        registration,
        sample: sample_result,
    }
}

/// Verifies a sample that the kind reads itself. `None` for a sample of claims.
async fn verify_sample(
    sample: &[u8],
    configured: &ConfiguredConnector,
    check: CheckInputs<'_>,
) -> Option<SampleVerification> {
    match build_connector(configured, check.context, check.env) {
        Ok(connector) => connector.verify_sample(sample, check.is_online).await,
        // Claims need no connector.
        Err(_) if json::parse_object(sample).is_ok() => None,
        Err(error) => Some(SampleVerification::rejected(error)),
    }
}

/// Processes a sample, or what the kind made of it, and adds the diagnostics.
fn evaluate_sample(
    sample: &[u8],
    verified: Option<SampleVerification>,
    connector: &ConfiguredConnector,
    context: &CheckContext,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> Option<SampleResult> {
    let claims = if let Some(SampleVerification { diagnostics: found, claims }) = verified {
        diagnostics.extend(found);
        claims?
    } else {
        let Ok(claims) = json::parse_object(sample) else {
            let message = "the sample is not a JSON object of claims";
            let fix =
                "write {\"claim\": \"value\"}, at most 16 levels deep, without duplicate names";
            diagnostics.push(CheckDiagnostic::error("sample", message, fix));
            return None;
        };
        claims
    };
    let rules = identity_rules(context.subject, &context.home_country);
    Some(sample::evaluate_sample(connector, context, &rules, claims, diagnostics))
}

/// Calls the identity provider.
async fn diagnose_online(
    draft: &ConnectorDraft,
    context: &CheckContext,
    redirect_uri: String,
    env: &Env,
) -> Vec<CheckDiagnostic> {
    let Some(configured) = draft.connector.as_ref().filter(|_| draft.problems.is_empty()) else {
        let message = "the identity provider was not called";
        return vec![CheckDiagnostic::error("online", message, "correct the file first")];
    };
    match build_connector(configured, context, env) {
        Ok(connector) => {
            let required_claims = required_claims(configured, context);
            connector.diagnose(&DiagnosisContext { redirect_uri, required_claims }).await
        }
        Err(error) => vec![error],
    }
}

pub(super) fn diagnostic_from_problem(problem: &Diagnostic) -> CheckDiagnostic {
    let place = problem
        .line
        .map_or_else(|| problem.file.clone(), |line| format!("{}:{line}", problem.file));
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
    CheckDiagnostic::error(
        "file",
        format!("{place}: {key}{}", problem.message),
        problem.fix.clone(),
    )
}

/// Converts a warning, named after the first part of its key. Missing TLS is reported by the online
/// check.
fn diagnostic_from_warning(problem: &Diagnostic) -> Option<CheckDiagnostic> {
    let name = ["category", "levels"].into_iter().find(|name| problem.key.starts_with(name))?;
    Some(CheckDiagnostic::warning(
        name,
        format!("{} {}", problem.key, problem.message),
        problem.fix.clone(),
    ))
}

fn build_connector(
    configured: &ConfiguredConnector,
    context: &CheckContext,
    env: &Env,
) -> Result<Arc<dyn Connector>, CheckDiagnostic> {
    let keys = match &context.keys {
        None => RelyingPartyKeys::empty(),
        Some(folder) => {
            let passphrase = context.key_passphrase.clone().map(KeyPassphrase::new).map(Arc::new);
            let opened = KeyFolder { passphrase, ..KeyFolder::from(folder.as_path()) };
            keyfiles::load_upstream_keys(opened, env.now()).map_err(|error| {
                let fix = format!("create them: passerelle keys new --dir {}", folder.display());
                CheckDiagnostic::error(
                    "own-keys",
                    format!("the hub's own keys can't be read: {error}"),
                    fix,
                )
            })?
        }
    };
    let connector_context = ConnectorContext {
        env: env.clone(),
        upstream_keys: Arc::new(ArcSwap::from_pointee(keys)),
        sandbox: context.kinds.sandbox,
        http_clients: HttpClientPool::default(),
        metrics: None,
        store: passerelle_store::LateStore::default(),
    };
    passerelle_connector::build(configured, connector_context).map_err(|error| {
        CheckDiagnostic::error("file", format!("{} {}", error.key, error.message), error.fix)
    })
}

/// Returns the claims that an identity requires, each with the upstream claims that it is made of;
/// none for a constant.
fn required_claims(
    connector: &ConfiguredConnector,
    context: &CheckContext,
) -> Vec<(Claim, Vec<String>)> {
    let required: &[Claim] = match identity_rules(context.subject, &context.home_country).required {
        RequiredClaims::SubjectOnly => &[],
        RequiredClaims::Pivot => &[
            Claim::GivenName,
            Claim::FamilyName,
            Claim::Birthdate,
            Claim::Gender,
            Claim::Birthcountry,
        ],
    };
    let mapping = connector.mapping.clone().unwrap_or_default();
    let made_of = |claim: &Claim| {
        let array =
            mapping.rules.get(&Claim::GivenNameArray.into()).filter(|_| *claim == Claim::GivenName);
        match mapping.rules.get(&ClaimName::from(*claim)).or(array).map(|rule| &rule.source) {
            None if mapping.unmapped == UnmappedClaims::Drop => Vec::new(),
            None => vec![claim.to_string()],
            Some(MappingSource::Constant(_)) => Vec::new(),
            Some(MappingSource::From(path)) => vec![path.claim().to_owned()],
            Some(MappingSource::Join { parts, .. }) => {
                parts.iter().map(ClaimPath::claim).map(str::to_owned).collect()
            }
        }
    };
    required.iter().map(|claim| (*claim, made_of(claim))).collect()
}

fn hub_endpoints(id: &ConnectorId, context: &CheckContext) -> HubEndpoints {
    let base_url = context.base_url.as_deref().unwrap_or("https://HUB");
    let base = format!("{base_url}{}", path::ISSUER);
    HubEndpoints {
        redirect_uri: format!("{base}/callback/{id}"),
        post_logout_redirect_uri: format!("{base}/session/end/{id}"),
        backchannel_logout_uri: format!("{base}/backchannel-logout/{id}"),
        jwks_uri: format!("{base}/client/jwks"),
    }
}

impl ConnectorReport {
    /// Adds what a running hub knows of the identity provider: which claims of its users logins
    /// left out, and whether the hub still fails to reach it; or why the hub can't be asked.
    pub fn add_running_hub<E: fmt::Display>(&mut self, connectors: Result<&[ConnectorRow], E>) {
        const NAME: &str = "received-claims";
        if let Ok(connectors) = connectors {
            let row = connectors.iter().find(|row| row.id == self.connector);
            let health = row.and_then(|row| row.health.as_ref());
            if let Some(unreachable) = health.and_then(|health| health.unreachable.as_ref())
                && self.status != DiagnosticStatus::Error
            {
                let message = format!(
                    "the running hub has not reached it since {} ({}), and waits until its next probe",
                    unreachable.since, unreachable.code
                );
                let fix = "run `passerelle node reload`: the hub then probes it at once";
                self.status = self.status.max(DiagnosticStatus::Warning);
                self.diagnostics.push(CheckDiagnostic::warning("running-hub", message, fix));
            }
        }
        let found = match connectors {
            Err(error) => vec![CheckDiagnostic::ok(
                NAME,
                format!("not known, because no running hub of this configuration answers: {error}"),
            )],
            Ok(connectors) => {
                let row = connectors.iter().find(|row| row.id == self.connector);
                let dropped = row.map(|row| row.dropped_claims.as_slice()).unwrap_or_default();
                let finding = |row: &DroppedClaimRow| {
                    let message = format!(
                        "the running hub leaves {} out of logins: its value {}",
                        row.claim, row.problem
                    );
                    CheckDiagnostic::warning(NAME, message, row.fix.clone())
                };
                let all_usable =
                    || CheckDiagnostic::ok(NAME, "the running hub has left out no claim");
                match dropped {
                    [] => vec![all_usable()],
                    rows => rows.iter().map(finding).collect(),
                }
            }
        };
        self.status = found.iter().map(|found| found.status).fold(self.status, Ord::max);
        self.diagnostics.extend(found);
    }

    /// Returns the report as one JSON object.
    ///
    /// # Errors
    /// Returns an error if serialization fails, which plain data never does.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

/// Writes each diagnostic with its fix.
pub(super) fn write_diagnostics(
    f: &mut fmt::Formatter<'_>,
    diagnostics: &[CheckDiagnostic],
) -> fmt::Result {
    for CheckDiagnostic { name, status, message, fix } in diagnostics {
        let word = match status {
            DiagnosticStatus::Ok => "ok",
            DiagnosticStatus::Warning => "warning",
            DiagnosticStatus::Error => "ERROR",
        };
        writeln!(f, "  {word:7}  {name}: {message}")?;
        if let Some(fix) = fix {
            writeln!(f, "           fix: {fix}")?;
        }
    }
    Ok(())
}

impl fmt::Display for ConnectorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "connector {}", self.connector)?;
        write_diagnostics(f, &self.diagnostics)?;
        if !self.registration.is_empty() {
            writeln!(f, "\nregister at the identity provider")?;
        }
        for RegistrationParameter { name, value } in &self.registration {
            writeln!(f, "  {name:26}  {value}")?;
        }
        self.sample.as_ref().map_or(Ok(()), |sample| sample.fmt(f))
    }
}

impl fmt::Display for SampleResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nclaims after the mapping")?;
        for (name, value) in &self.claims {
            writeln!(f, "  {name:26}  {value}")?;
        }
        match &self.identity {
            None => writeln!(f, "\nno identity: see the findings above")?,
            Some(identity) => {
                writeln!(f, "\nidentity after the rules")?;
                for (name, value) in identity {
                    writeln!(f, "  {name:26}  {value}")?;
                }
            }
        }
        for (title, scopes) in
            [("scopes", &self.scopes), ("scopes under rules = \"openid\"", &self.openid_scopes)]
        {
            if !scopes.is_empty() {
                writeln!(f, "\n{title}")?;
            }
            for (scope, filled) in scopes {
                let names = |claims: &[ClaimName]| {
                    claims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
                };
                let missing = if filled.missing.is_empty() {
                    String::new()
                } else {
                    format!("  (no {})", names(&filled.missing))
                };
                writeln!(f, "  {scope:26}  {}{missing}", names(&filled.claims))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_egress::circuit_breaker::CircuitState;
    use passerelle_federation::assurance::Level;
    use passerelle_hub::registry::{ConnectorState, HealthRow, UnreachableRow};

    fn report() -> ConnectorReport {
        ConnectorReport {
            connector: "idp".into(),
            status: DiagnosticStatus::Ok,
            diagnostics: Vec::new(),
            registration: Vec::new(),
            sample: None,
        }
    }

    fn row(dropped_claims: Vec<DroppedClaimRow>) -> ConnectorRow {
        ConnectorRow {
            invalid_file: None,
            id: "idp".into(),
            name: std::collections::BTreeMap::new(),
            state: ConnectorState::Available,
            lowest: Level::Eidas1,
            highest: Level::Eidas1,
            blocks: Vec::new(),
            health: None,
            dropped_claims,
        }
    }

    #[test]
    fn a_check_that_passes_says_how_a_running_hub_that_still_fails_tries_again() {
        let unreachable = UnreachableRow {
            since: "2026-11-28T12:00:00Z".into(),
            code: "Y020123".into(),
            reason: "no TLS".into(),
        };
        let health = HealthRow {
            circuit: CircuitState::Open,
            failure_ratio: 1.0,
            p99_seconds: None,
            median_seconds: None,
            reasons: Vec::new(),
            unreachable: Some(unreachable),
            skew_seconds: None,
        };
        let rows = [ConnectorRow { health: Some(health), ..row(Vec::new()) }];
        let find = |report: &ConnectorReport| {
            report.diagnostics.iter().find(|found| found.name == "running-hub").cloned()
        };
        let mut passing = report();
        passing.add_running_hub::<String>(Ok(&rows));
        let found = find(&passing).unwrap();
        assert_eq!(passing.status, DiagnosticStatus::Warning);
        assert!(found.fix.unwrap().contains("passerelle node reload"));
        let mut failing = ConnectorReport { status: DiagnosticStatus::Error, ..report() };
        failing.add_running_hub::<String>(Ok(&rows));
        assert!(find(&failing).is_none(), "a reload would change nothing");
    }

    #[test]
    fn claims_that_a_running_hub_left_out_are_warnings_with_type_and_fix() {
        let mut dropping = report();
        let dropped = DroppedClaimRow {
            claim: "email_verified".into(),
            problem: "must be true or false, and is a string".into(),
            fix: "map it".into(),
        };
        dropping.add_running_hub::<String>(Ok(&[row(vec![dropped])]));
        assert_eq!(dropping.status, DiagnosticStatus::Warning);
        let found = &dropping.diagnostics[0];
        assert!(found.message.contains("email_verified") && found.message.contains("a string"));
        assert_eq!(found.fix.as_deref(), Some("map it"));
        for connectors in [Ok(&[row(Vec::new())][..]), Ok(&[]), Err("no hub")] {
            let mut fine = report();
            fine.add_running_hub(connectors);
            assert_eq!(fine.status, DiagnosticStatus::Ok, "{:?}", fine.diagnostics);
        }
    }
}
