//! Checks one connector's file: its form, a sample of claims, and the identity provider
//! (`passerelle check connector FILE`).

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;

use super::sample::{self, SampleResult};
use crate::config::check_context::CheckContext;
use crate::config::connectors::ConnectorDraft;
use crate::config::mapping;
use crate::config::model::{
    ConnectorFile, ConnectorKind, OidcKind, SubjectSource, UpstreamAuthMethod,
};
use crate::config::{self, Diagnostic, Environment};
use crate::connector::diagnostic::{ConnectorDiagnostic, DiagnosisContext, DiagnosticStatus};
use crate::connector::one_time_code::NoCodeStore;
use crate::connector::{self, Connector};
use crate::egress::http_client_pool::HttpClientPool;
use crate::env::Env;
use crate::identity::Claim;
use crate::identity::mapping::{ClaimPath, MappingSource, UnmappedClaims};
use crate::identity::rules::{IdentityRules, RequiredClaims};
use crate::ids::ConnectorId;
use crate::protocol::json;
use crate::token::{UpstreamKeys, keyfiles};

/// Whether the identity provider is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnlineCheck {
    Skip,
    /// `--online`.
    Run,
}

/// Report on one connector's file.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectorReport {
    /// The file's stem.
    pub connector: ConnectorId,
    /// Worst status of the findings.
    pub status: DiagnosticStatus,
    pub diagnostics: Vec<ConnectorDiagnostic>,
    /// What to register at the identity provider.
    pub registration: Vec<RegistrationParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleResult>,
}

/// Parameter of the hub's registration at the identity provider (OpenID Connect Dynamic Client
/// Registration 1.0 §2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RegistrationParameter {
    pub name: &'static str,
    pub value: String,
}

/// Checks one connector's file. `sample` is a JSON object of claims as the identity provider sends
/// them.
pub async fn check_connector(
    file: &Path,
    context: &CheckContext,
    environment: &Environment,
    sample: Option<&[u8]>,
    online: OnlineCheck,
    env: &Env,
) -> ConnectorReport {
    let draft = context.check_connector(file, environment);
    let mut findings: Vec<ConnectorDiagnostic> =
        draft.problems.iter().chain(&draft.unverified).map(diagnostic_from_problem).collect();
    if findings.is_empty() {
        findings.push(ConnectorDiagnostic::ok("file", "the file is well formed"));
    }
    let (mut register, mut sample_result) = (Vec::new(), None);
    let path = file;
    if let Some(file) = &draft.file {
        findings.extend(context.warnings(path, file).iter().filter_map(diagnostic_from_warning));
        register = registration_parameters(&draft.id, file, context);
        if let Some(sample) = sample {
            match json::parse_object(sample) {
                Ok(claims) => {
                    sample_result = Some(sample::evaluate_sample(
                        file,
                        context,
                        &identity_rules(context),
                        claims,
                        &mut findings,
                    ))
                }
                Err(_) => {
                    let fix = "write {\"claim\": \"value\"}, at most 16 levels deep, without duplicate names";
                    findings.push(ConnectorDiagnostic::error(
                        "sample",
                        "the sample is not a JSON object of claims",
                        fix,
                    ));
                }
            }
        }
    }
    if online == OnlineCheck::Run {
        match build_connector(&draft, context, env) {
            Ok(Some(connector)) => {
                findings.extend(connector.diagnose(&expectations(&draft, context)).await)
            }
            Ok(None) => findings.push(ConnectorDiagnostic::error(
                "online",
                "the identity provider was not called",
                "correct the file first",
            )),
            Err(fault) => findings.push(fault),
        }
    }
    let verdict =
        findings.iter().map(|finding| finding.status).max().unwrap_or(DiagnosticStatus::Ok);
    ConnectorReport {
        connector: draft.id,
        status: verdict,
        diagnostics: findings,
        registration: register,
        sample: sample_result,
    }
}

fn diagnostic_from_problem(problem: &Diagnostic) -> ConnectorDiagnostic {
    let place = problem
        .line
        .map_or_else(|| problem.file.clone(), |line| format!("{}:{line}", problem.file));
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
    ConnectorDiagnostic::error(
        "file",
        format!("{place}: {key}{}", problem.message),
        problem.fix.clone(),
    )
}

/// Converts a warning, named after the first part of its key. Missing TLS is reported by the online
/// check.
fn diagnostic_from_warning(problem: &Diagnostic) -> Option<ConnectorDiagnostic> {
    let name = ["category", "levels"].into_iter().find(|name| problem.key.starts_with(name))?;
    Some(ConnectorDiagnostic::warning(
        name,
        format!("{} {}", problem.key, problem.message),
        problem.fix.clone(),
    ))
}

fn identity_rules(context: &CheckContext) -> IdentityRules {
    let required = match context.subject {
        SubjectSource::Pivot => RequiredClaims::Pivot,
        SubjectSource::Provider => RequiredClaims::SubjectOnly,
    };
    IdentityRules { home_country: context.home_country.clone(), required }
}

/// Builds the connector; returns `None` if the file has problems, which are already reported.
fn build_connector(
    draft: &ConnectorDraft,
    context: &CheckContext,
    env: &Env,
) -> Result<Option<Arc<dyn Connector>>, ConnectorDiagnostic> {
    let (Some(file), true) = (&draft.file, draft.problems.is_empty()) else { return Ok(None) };
    let keys = match &context.keys {
        None => UpstreamKeys::empty(),
        Some(folder) => keyfiles::load_upstream_keys(folder, env.now()).map_err(|fault| {
            let fix = format!("create them: passerelle keys new --dir {}", folder.display());
            ConnectorDiagnostic::error(
                "own-keys",
                format!("the hub's own keys can't be read: {fault}"),
                fix,
            )
        })?,
    };
    let sandbox = match context.sandbox {
        config::SandboxMode::On => connector::PersonaSupport::Enabled,
        config::SandboxMode::Off => connector::PersonaSupport::Disabled,
    };
    let keys = Arc::new(ArcSwap::from_pointee(keys));
    let connector_context = connector::ConnectorContext {
        env: env.clone(),
        upstream_keys: keys,
        sandbox,
        http_clients: HttpClientPool::default(),
        code_store: Arc::new(NoCodeStore),
    };
    let built =
        connector::build(draft.id.clone(), file, draft.client_secret.clone(), connector_context);
    built.map(Some).map_err(|fault| {
        ConnectorDiagnostic::error(
            "file",
            format!("{} prevents the connector from working", fault.key),
            fault.message,
        )
    })
}

fn expectations(draft: &ConnectorDraft, context: &CheckContext) -> DiagnosisContext {
    let required: &[Claim] = match identity_rules(context).required {
        RequiredClaims::SubjectOnly => &[],
        RequiredClaims::Pivot => &[
            Claim::GivenName,
            Claim::FamilyName,
            Claim::Birthdate,
            Claim::Gender,
            Claim::Birthcountry,
        ],
    };
    let needed = draft.file.as_ref().map(|file| source_claims(file, required)).unwrap_or_default();
    DiagnosisContext { redirect_uri: redirect_uri(&draft.id, context), required_claims: needed }
}

/// Returns the upstream claims that each required claim is made of; none for a constant.
fn source_claims(file: &ConnectorFile, required: &[Claim]) -> Vec<(Claim, Vec<String>)> {
    let mapping = mapping::parse_mapping(file).unwrap_or_default();
    let made_of = |claim: &Claim| {
        let array =
            mapping.rules.get(&Claim::GivenNameArray).filter(|_| *claim == Claim::GivenName);
        match mapping.rules.get(claim).or(array).map(|rule| &rule.source) {
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

fn redirect_uri(id: &ConnectorId, context: &CheckContext) -> String {
    format!("{}/api/v2/callback/{id}", base_url(context))
}

fn base_url(context: &CheckContext) -> &str {
    context.base_url.as_deref().unwrap_or("https://HUB")
}

/// Returns what to register at the identity provider.
fn registration_parameters(
    id: &ConnectorId,
    file: &ConnectorFile,
    context: &CheckContext,
) -> Vec<RegistrationParameter> {
    match &file.kind {
        ConnectorKind::Oidc(kind) => {
            let logout = format!("{}/api/v2/session/end/{id}", base_url(context));
            let mut entries = vec![
                RegistrationParameter { name: "redirect_uris", value: redirect_uri(id, context) },
                RegistrationParameter { name: "post_logout_redirect_uris", value: logout },
            ];
            if needs_jwks_uri(kind) {
                entries.push(RegistrationParameter {
                    name: "jwks_uri",
                    value: format!("{}/api/v2/client/jwks", base_url(context)),
                });
            }
            entries
        }
        ConnectorKind::Oauth2(_) => {
            vec![RegistrationParameter { name: "redirect_uris", value: redirect_uri(id, context) }]
        }
        ConnectorKind::Ldap(_) | ConnectorKind::Persona(_) => Vec::new(),
    }
}

fn needs_jwks_uri(kind: &OidcKind) -> bool {
    kind.token_endpoint_auth_method == UpstreamAuthMethod::PrivateKeyJwt
        || kind.id_token_encrypted_response_alg.is_some()
        || kind.userinfo_encrypted_response_alg.is_some()
}

impl ConnectorReport {
    /// Returns the report as one JSON object.
    ///
    /// # Errors
    /// Returns an error if serialization fails, which plain data never does.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for ConnectorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "connector {}", self.connector)?;
        for ConnectorDiagnostic { name, status, message, fix } in &self.diagnostics {
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
                let names = |claims: &[Claim]| {
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
