//! Checks one service provider's file, its addresses, and an authorization request (`passerelle
//! check service-provider FILE`).

mod online;

use std::fmt;
use std::path::Path;

use serde::Serialize;

use self::online::diagnose_online;
use super::CheckInputs;
use super::connector::diagnostic_from_problem;
use passerelle_config::CheckedServiceProvider;
use passerelle_config::check_context::{CheckContext, ServiceProviderDraft};
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosticStatus, RegistrationParameter};
use passerelle_federation::Federation;
use passerelle_federation::client_keys::KeySource;
use passerelle_protocol::alg::VerificationAlg;
use passerelle_protocol::authorize::explanation::{
    ParameterStatus, RequestExplanation, RequestOutcome,
};
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::ClientId;
use passerelle_settings::Diagnostic;
use passerelle_web::pasted_request::{HubIdentity, PastedRequest};

/// Report on one service provider's file.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceProviderReport {
    /// The client_id; `None` if the file is unreadable.
    pub service_provider: Option<ClientId>,
    /// Worst status of the diagnostics, and of the request.
    pub status: DiagnosticStatus,
    pub diagnostics: Vec<CheckDiagnostic>,
    /// Values to configure in the application.
    pub registration: Vec<RegistrationParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestExplanation>,
}

/// Checks one service provider's file. `request` is the URL of an authorization request.
pub async fn check_service_provider(
    file: &Path,
    CheckInputs { context, environment, env, is_online }: CheckInputs<'_>,
    request: Option<&str>,
) -> ServiceProviderReport {
    let draft = context.check_service_provider(file, environment, env.now());
    let mut diagnostics: Vec<CheckDiagnostic> =
        draft.problems.iter().map(diagnostic_from_problem).collect();
    if diagnostics.is_empty() {
        diagnostics.push(CheckDiagnostic::ok("file", "the file is well formed"));
    }
    diagnostics.extend(draft.warnings.iter().map(diagnostic_from_warning));
    let federation = draft_federation(&draft, context, &mut diagnostics);
    let issuer = issuer(context);
    let mut explanation = None;
    if let Some(request) = request {
        explanation =
            explain_request(request, &draft, federation.as_ref(), context, &mut diagnostics);
    }
    if is_online {
        diagnostics.extend(diagnose_online(&draft, federation.as_ref(), env).await);
    }
    let client = draft.client.as_ref();
    let worst = diagnostics.iter().map(|diagnostic| diagnostic.status).max();
    ServiceProviderReport {
        service_provider: client.map(|client| client.file.client_id.clone()),
        status: worst.unwrap_or(DiagnosticStatus::Ok),
        diagnostics,
        registration: client.map(|client| registration(client, &issuer)).unwrap_or_default(),
        request: explanation,
    }
}

fn diagnostic_from_warning(warning: &Diagnostic) -> CheckDiagnostic {
    CheckDiagnostic::warning("file", warning.located_message(), warning.fix.clone())
}

fn issuer(context: &CheckContext) -> String {
    format!("{}{}", context.base_url.as_deref().unwrap_or("https://HUB"), path::ISSUER)
}

fn draft_federation(
    draft: &ServiceProviderDraft,
    context: &CheckContext,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> Option<Federation> {
    let client = draft.client.as_ref()?;
    context
        .federation(client, &draft.connectors)
        .map_err(|error| {
            let fix = "correct scopes.toml of the configuration folder";
            diagnostics.push(CheckDiagnostic::error("scopes", error.to_string(), fix));
        })
        .ok()
}

/// Explains the request, and adds the diagnostics about it.
fn explain_request(
    url: &str,
    draft: &ServiceProviderDraft,
    federation: Option<&Federation>,
    context: &CheckContext,
    diagnostics: &mut Vec<CheckDiagnostic>,
) -> Option<RequestExplanation> {
    const NAME: &str = "request";
    let issuer = issuer(context);
    let request = PastedRequest::parse(url)
        .map_err(|error| {
            let message = format!("the request can't be read: {error}");
            diagnostics.push(CheckDiagnostic::error(NAME, message, error.fix()));
        })
        .ok()?;
    let (Some(federation), Some(client)) = (federation, &draft.client) else {
        let message = "the request was not explained";
        diagnostics.push(CheckDiagnostic::error(NAME, message, "correct the file first"));
        return None;
    };
    if context.base_url.is_some()
        && let Some(endpoint) = request.expected_endpoint(&issuer)
    {
        let message = "the request is addressed to another endpoint, not to this hub's";
        let fix = format!("send it to {endpoint}, which discovery announces");
        diagnostics.push(CheckDiagnostic::warning(NAME, message, fix));
    }
    if request.client_id().is_some_and(|id| id != client.file.client_id) {
        let message =
            format!("the request is not from {}: it has another client_id", client.file.client_id);
        let fix = "check the file of the client that the request names, or correct its client_id";
        diagnostics.push(CheckDiagnostic::error(NAME, message, fix));
    }
    let hub = HubIdentity { platform: context.platform, issuer: &issuer };
    let permit =
        |client_id: &_, connector: &_| federation.permit_connector(client_id, connector, None);
    let explanation = request.explain(hub, federation, &permit);
    let summary = explanation.outcome.summary();
    diagnostics.push(match explanation.outcome {
        RequestOutcome::Accepted if explanation.has(ParameterStatus::Warning) => {
            let fix = "see the parameters below";
            CheckDiagnostic::warning(NAME, summary, fix)
        }
        RequestOutcome::Accepted | RequestOutcome::Unresolved => CheckDiagnostic::ok(NAME, summary),
        RequestOutcome::ErrorPage(_) | RequestOutcome::ErrorRedirect { .. } => {
            CheckDiagnostic::error(NAME, summary, "correct the rejected parameters below")
        }
    });
    Some(explanation)
}

/// Returns what to configure in the application's OpenID Connect library.
fn registration(client: &CheckedServiceProvider, issuer: &str) -> Vec<RegistrationParameter> {
    let file = &client.file;
    let method = file.token_endpoint_auth_method.unwrap_or_default();
    let scopes = file.scopes.iter().map(ToString::to_string).collect::<Vec<_>>();
    [
        ("issuer", issuer.to_owned()),
        ("client_id", file.client_id.to_string()),
        ("token_endpoint_auth_method", method.as_str().to_owned()),
        ("redirect_uris", file.redirect_uris.join(" ")),
        ("scope", scopes.join(" ")),
    ]
    .into_iter()
    .chain(profile_registration(client))
    .map(|(name, value)| RegistrationParameter { name, value })
    .collect()
}

/// Returns what a security profile demands of the application, in the names of dynamic client
/// registration (RFC 7591; RFC 9126 §6; RFC 9449 §5.2; RFC 9101 §10.5; JARM §3).
fn profile_registration(client: &CheckedServiceProvider) -> Vec<(&'static str, String)> {
    let file = &client.file;
    let Some(profile) = file.profile else { return Vec::new() };
    let key = if file.tls_client_certificate_bound_access_tokens {
        "tls_client_certificate_bound_access_tokens"
    } else {
        "dpop_bound_access_tokens"
    };
    let switches = ["require_pushed_authorization_requests", key];
    let can_sign = |alg: &VerificationAlg| match &client.service_provider.keys {
        KeySource::Inline(keys) => keys.verification.verifies(*alg),
        KeySource::Uri(_) | KeySource::None => true,
    };
    let must_sign = file.request_object_signing_alg.is_some() || profile.signs_messages();
    let signs = client
        .service_provider
        .registration
        .protection
        .request_object_algs
        .filter(|_| must_sign)
        .map(|algs| {
            algs.iter()
                .filter(can_sign)
                .map(VerificationAlg::as_str)
                .collect::<Vec<_>>()
                .join(" or ")
        });
    let gets = file.authorization_signed_response_alg.map(|alg| alg.as_str().to_owned());
    let algorithms =
        [("request_object_signing_alg", signs), ("authorization_signed_response_alg", gets)];
    let algorithms = algorithms.into_iter().filter_map(|(name, alg)| Some((name, alg?)));
    std::iter::once(("profile", profile.as_str().to_owned()))
        .chain(switches.map(|name| (name, "true".to_owned())))
        .chain(algorithms)
        .collect()
}

impl ServiceProviderReport {
    /// Returns the report as one JSON object.
    ///
    /// # Errors
    /// Returns an error if serialization fails, which plain data never does.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

impl fmt::Display for ServiceProviderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.service_provider {
            Some(client_id) => writeln!(f, "service provider {client_id}")?,
            None => writeln!(f, "service provider")?,
        }
        super::connector::write_diagnostics(f, &self.diagnostics)?;
        if !self.registration.is_empty() {
            writeln!(f, "\nconfigure in the application")?;
        }
        for RegistrationParameter { name, value } in &self.registration {
            writeln!(f, "  {name:26}  {value}")?;
        }
        let Some(request) = &self.request else { return Ok(()) };
        writeln!(f, "\nthe request, parameter by parameter")?;
        for parameter in &request.parameters {
            let sent = parameter.sent.as_deref().unwrap_or("(not sent)");
            writeln!(f, "  {:9}  {} = {sent}", parameter.status.as_str(), parameter.name)?;
            let code = parameter.code.map_or_else(String::new, |code| format!("{code}: "));
            writeln!(f, "             {code}{}", parameter.message)?;
            if let Some(fix) = &parameter.fix {
                writeln!(f, "             fix: {fix}")?;
            }
        }
        writeln!(f, "\n{}", request.outcome.summary())
    }
}
