//! `passerelle check connector FILE`: one connector's file, by itself, with a sample of claims, and against the identity
//! provider.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::Serialize;

use super::sample::{self, Sample};
use crate::config::connectors::Draft;
use crate::config::mapping;
use crate::config::model::{
    ConnectorFile, ConnectorKind, OidcKind, SubjectSource, UpstreamAuthMethod,
};
use crate::config::surroundings::Surroundings;
use crate::config::{self, Environment, Problem};
use crate::connector::finding::{Examination, Finding, Verdict};
use crate::connector::one_time::Nowhere;
use crate::connector::{self, Connector};
use crate::egress::shared::Guards;
use crate::env::Env;
use crate::identity::Claim;
use crate::identity::mapping::{Path as ClaimPath, Source, Unmapped};
use crate::identity::rules::{Required, Rules};
use crate::ids::ConnectorId;
use crate::protocol::json;
use crate::token::{UpstreamKeys, keyfiles};

/// Whether the identity provider is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    No,
    /// `--online`.
    Yes,
}

/// What was found of one connector's file.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file's stem.
    pub connector: ConnectorId,
    /// The worst of the findings.
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    /// What to enter at the identity provider.
    pub register: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
}

/// A parameter of the hub's registration at the identity provider (OpenID Connect Dynamic Client Registration 1.0, 2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Entry {
    pub name: &'static str,
    pub value: String,
}

/// Checks one connector's file. `sample` is a JSON object of claims, as the identity provider gives them.
pub async fn connector(
    file: &Path,
    around: &Surroundings,
    environment: &Environment,
    sample: Option<&[u8]>,
    asked: Asked,
    env: &Env,
) -> Report {
    let draft = around.connector(file, environment);
    let mut findings: Vec<Finding> =
        draft.problems.iter().chain(&draft.refused).map(of_problem).collect();
    if findings.is_empty() {
        findings.push(Finding::ok("file", "it is well formed"));
    }
    let (mut register, mut followed) = (Vec::new(), None);
    let path = file;
    if let Some(file) = &draft.file {
        findings.extend(around.warnings(path, file).iter().filter_map(of_warning));
        register = to_register(&draft.id, file, around);
        if let Some(sample) = sample {
            match json::parse_object(sample) {
                Ok(claims) => {
                    followed =
                        Some(sample::follow(file, around, &rules(around), claims, &mut findings))
                }
                Err(_) => {
                    let mend =
                        "write {\"claim\": \"value\"}, at most 16 levels deep, no name twice";
                    findings.push(Finding::fault(
                        "sample",
                        "the sample is not a JSON object of claims",
                        mend,
                    ));
                }
            }
        }
    }
    if asked == Asked::Yes {
        match built(&draft, around, env) {
            Ok(Some(connector)) => {
                findings.extend(connector.examine(&examination(&draft, around)).await)
            }
            Ok(None) => findings.push(Finding::fault(
                "online",
                "the identity provider is not asked",
                "mend the file first",
            )),
            Err(fault) => findings.push(fault),
        }
    }
    let verdict = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
    Report { connector: draft.id, verdict, findings, register, sample: followed }
}

fn of_problem(problem: &Problem) -> Finding {
    let place = problem
        .line
        .map_or_else(|| problem.file.clone(), |line| format!("{}:{line}", problem.file));
    let key = if problem.key.is_empty() { String::new() } else { format!("{}: ", problem.key) };
    Finding::fault("file", format!("{place}: {key}{}", problem.what), problem.mend.clone())
}

/// Named after the first level of the key. That TLS is missing is found where the identity provider is asked.
fn of_warning(problem: &Problem) -> Option<Finding> {
    let name = ["category", "levels"].into_iter().find(|name| problem.key.starts_with(name))?;
    Some(Finding::warning(name, format!("{} {}", problem.key, problem.what), problem.mend.clone()))
}

fn rules(around: &Surroundings) -> Rules {
    let required = match around.subject {
        SubjectSource::Pivot => Required::Pivot,
        SubjectSource::Provider => Required::SubjectOnly,
    };
    Rules { home_country: around.home_country.clone(), required }
}

/// `None` where the file has problems, which are told already.
fn built(
    draft: &Draft,
    around: &Surroundings,
    env: &Env,
) -> Result<Option<Arc<dyn Connector>>, Finding> {
    let (Some(file), true) = (&draft.file, draft.problems.is_empty()) else { return Ok(None) };
    let keys = match &around.keys {
        None => UpstreamKeys::none(),
        Some(folder) => keyfiles::load_upstream(folder, env.now()).map_err(|fault| {
            let mend = format!("make them: passerelle keys new --dir {}", folder.display());
            Finding::fault("own-keys", format!("the hub's own keys can't be read: {fault}"), mend)
        })?,
    };
    let sandbox = match around.sandbox {
        config::Sandbox::On => connector::Sandbox::On,
        config::Sandbox::Off => connector::Sandbox::Off,
    };
    let keys = Arc::new(ArcSwap::from_pointee(keys));
    let means = connector::ConnectorContext {
        env: env.clone(),
        keys,
        sandbox,
        guards: Guards::default(),
        codes: Arc::new(Nowhere),
    };
    let built = connector::build(draft.id.clone(), file, draft.client_secret.clone(), means);
    built
        .map(Some)
        .map_err(|fault| Finding::fault("file", format!("{} can't work", fault.key), fault.mend))
}

fn examination(draft: &Draft, around: &Surroundings) -> Examination {
    let required: &[Claim] = match rules(around).required {
        Required::SubjectOnly => &[],
        Required::Pivot => &[
            Claim::GivenName,
            Claim::FamilyName,
            Claim::Birthdate,
            Claim::Gender,
            Claim::Birthcountry,
        ],
    };
    let needed = draft.file.as_ref().map(|file| needed(file, required)).unwrap_or_default();
    Examination { redirect_uri: redirect_uri(&draft.id, around), needed }
}

/// What the required claims are made of; a constant is made of nothing.
fn needed(file: &ConnectorFile, required: &[Claim]) -> Vec<(Claim, Vec<String>)> {
    let mapping = mapping::of(file).unwrap_or_default();
    let made_of = |claim: &Claim| {
        let array =
            mapping.rules.get(&Claim::GivenNameArray).filter(|_| *claim == Claim::GivenName);
        match mapping.rules.get(claim).or(array).map(|rule| &rule.source) {
            None if mapping.unmapped == Unmapped::Drop => Vec::new(),
            None => vec![claim.to_string()],
            Some(Source::Constant(_)) => Vec::new(),
            Some(Source::From(path)) => vec![path.claim().to_owned()],
            Some(Source::Join { parts, .. }) => {
                parts.iter().map(ClaimPath::claim).map(str::to_owned).collect()
            }
        }
    };
    required.iter().map(|claim| (*claim, made_of(claim))).collect()
}

fn redirect_uri(id: &ConnectorId, around: &Surroundings) -> String {
    format!("{}/api/v2/callback/{id}", base_url(around))
}

fn base_url(around: &Surroundings) -> &str {
    around.base_url.as_deref().unwrap_or("https://HUB")
}

/// One arm for each kind.
fn to_register(id: &ConnectorId, file: &ConnectorFile, around: &Surroundings) -> Vec<Entry> {
    match &file.kind {
        ConnectorKind::Oidc(kind) => {
            let logout = format!("{}/api/v2/session/end/{id}", base_url(around));
            let mut entries = vec![
                Entry { name: "redirect_uris", value: redirect_uri(id, around) },
                Entry { name: "post_logout_redirect_uris", value: logout },
            ];
            if reads_our_keys(kind) {
                entries.push(Entry {
                    name: "jwks_uri",
                    value: format!("{}/api/v2/client/jwks", base_url(around)),
                });
            }
            entries
        }
        ConnectorKind::Oauth2(_) => {
            vec![Entry { name: "redirect_uris", value: redirect_uri(id, around) }]
        }
        ConnectorKind::Ldap(_) | ConnectorKind::Persona(_) => Vec::new(),
    }
}

fn reads_our_keys(kind: &OidcKind) -> bool {
    kind.token_endpoint_auth_method == UpstreamAuthMethod::PrivateKeyJwt
        || kind.id_token_encrypted_response_alg.is_some()
        || kind.userinfo_encrypted_response_alg.is_some()
}

impl Report {
    /// As one JSON object.
    ///
    /// # Errors
    /// None in practice: every part of a report is plain data.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "connector {}", self.connector)?;
        for Finding { name, verdict, what, mend } in &self.findings {
            let word = match verdict {
                Verdict::Ok => "ok",
                Verdict::Warning => "warning",
                Verdict::Fault => "FAULT",
            };
            writeln!(f, "  {word:7}  {name}: {what}")?;
            if let Some(mend) = mend {
                writeln!(f, "           mend: {mend}")?;
            }
        }
        if !self.register.is_empty() {
            writeln!(f, "\nto be registered at the identity provider")?;
        }
        for Entry { name, value } in &self.register {
            writeln!(f, "  {name:26}  {value}")?;
        }
        self.sample.as_ref().map_or(Ok(()), |sample| sample.fmt(f))
    }
}

impl fmt::Display for Sample {
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
